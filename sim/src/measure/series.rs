// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values sampled at even intervals.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use netnice_queue::Time;

/// A sampled quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// Congestion window, in packets.
    Cwnd,
    /// Slow start threshold, in packets; infinite until something sets it.
    Ssthresh,
    /// Smoothed round-trip time, in seconds.
    SmoothedRtt,
    /// One-way delay of the newest data packet that has arrived, in seconds.
    OneWayDelay,
    /// Data delivered to the receiver's program since the sample before, in bits per second.
    Goodput,
    /// Packets waiting.
    QueuePackets,
    /// Time that the bytes waiting take to send, in seconds.
    QueueDelay,
}

impl Quantity {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Cwnd => "cwnd",
            Quantity::Ssthresh => "ssthresh",
            Quantity::SmoothedRtt => "smoothed_rtt",
            Quantity::OneWayDelay => "one_way_delay",
            Quantity::Goodput => "goodput",
            Quantity::QueuePackets => "queue_packets",
            Quantity::QueueDelay => "queue_delay",
        }
    }

    /// The unit of the values.
    pub fn unit(self) -> &'static str {
        match self {
            Quantity::Cwnd | Quantity::Ssthresh | Quantity::QueuePackets => "packets",
            Quantity::SmoothedRtt | Quantity::OneWayDelay | Quantity::QueueDelay => "s",
            Quantity::Goodput => "bit/s",
        }
    }
}

/// One value over time: a sample at each multiple of the interval from the interval on.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The sampled quantity.
    pub quantity: Quantity,
    /// Name of the flow or link.
    pub of: String,
    /// Samples; NaN where there was none. Links where no packet had to wait share theirs, which are zero.
    pub values: Arc<Vec<f64>>,
}

impl Series {
    /// Removes the samples, and returns them.
    pub(crate) fn take(&mut self) -> Series {
        Series {
            quantity: self.quantity,
            of: std::mem::take(&mut self.of),
            values: std::mem::take(&mut self.values),
        }
    }
}

/// All series of a run.
///
/// Values of a flow or a drop-tail link are read when it next does something, or at the end of the run: until then they are what they
/// were at the time of the sample. So a sample keeps no packet from being simulated ahead of the present (`lookahead/`), and finds
/// what it reads in the cache.
#[derive(Debug)]
pub(crate) struct Sampler {
    pub interval: Duration,
    /// The times that the run has come to.
    pub times: Vec<Time>,
    /// The series; without samples before [`Sampler::finish`].
    pub series: Vec<Series>,
    /// Numbers of the flows and links sampled.
    pub flows: Vec<usize>,
    pub links: Vec<usize>,
    interval_ns: u64,
    /// The time of the next sample of each flow's sender, of its receiver, and of each link, in nanoseconds.
    sender_due_ns: Vec<u64>,
    receiver_due_ns: Vec<u64>,
    link_due_ns: Vec<u64>,
    /// The samples so far, by the number of the flow and of the link.
    of_flows: Vec<FlowSamples>,
    of_links: Vec<LinkSamples>,
    /// Samples of a series for which there is room from the beginning.
    room: usize,
}

/// The time of the next sample of what is not sampled.
const NEVER_NS: u64 = u64::MAX;

/// The samples of a flow so far, those of one time together: of thousands of flows each is seldom in the cache.
#[derive(Debug, Default)]
struct FlowSamples {
    /// Received up to the newest sample.
    goodput_bytes: u64,
    sender: Vec<[f64; SENDERS_QUANTITIES]>,
    receiver: Vec<[f64; RECEIVERS_QUANTITIES]>,
}

/// The samples of a link so far, likewise.
#[derive(Debug, Default)]
struct LinkSamples {
    queue: Vec<[f64; OF_LINKS.len()]>,
}

/// The values of a flow's receiver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received {
    /// In seconds; NaN before data have arrived.
    pub one_way_delay_s: f64,
    /// Since the beginning.
    pub goodput_bytes: u64,
}

/// Quantities of a flow over TCP, in this order; a flow over UDP has the last two.
pub(crate) const OF_FLOWS: [Quantity; 5] = [
    Quantity::Cwnd,
    Quantity::Ssthresh,
    Quantity::SmoothedRtt,
    Quantity::OneWayDelay,
    Quantity::Goodput,
];

/// So many of them are of the sender, the others of the receiver.
pub(crate) const SENDERS_QUANTITIES: usize = 3;
const RECEIVERS_QUANTITIES: usize = OF_FLOWS.len() - SENDERS_QUANTITIES;

/// Quantities of a link, in this order.
pub(crate) const OF_LINKS: [Quantity; 2] = [Quantity::QueuePackets, Quantity::QueueDelay];

impl Sampler {
    pub fn new(interval: Duration) -> Sampler {
        Sampler {
            interval,
            times: Vec::new(),
            series: Vec::new(),
            flows: Vec::new(),
            links: Vec::new(),
            interval_ns: (interval.as_nanos() as u64).max(1),
            sender_due_ns: Vec::new(),
            receiver_due_ns: Vec::new(),
            link_due_ns: Vec::new(),
            of_flows: Vec::new(),
            of_links: Vec::new(),
            room: 0,
        }
    }

    /// Adds a flow, before any link. `has_sender`: its cwnd and the like can be sampled.
    pub fn add_flow(&mut self, flow: usize, name: &str, has_sender: bool) {
        self.of_flows.resize_with(flow + 1, FlowSamples::default);
        self.sender_due_ns.resize(flow + 1, NEVER_NS);
        self.receiver_due_ns.resize(flow + 1, NEVER_NS);
        self.receiver_due_ns[flow] = self.interval_ns;
        if has_sender {
            self.sender_due_ns[flow] = self.interval_ns;
        }
        self.flows.push(flow);
        self.add(&OF_FLOWS, name);
    }

    pub fn add_link(&mut self, link: usize, name: &str) {
        self.of_links.resize_with(link + 1, LinkSamples::default);
        self.link_due_ns.resize(link + 1, NEVER_NS);
        self.link_due_ns[link] = self.interval_ns;
        self.links.push(link);
        self.add(&OF_LINKS, name);
    }

    fn add(&mut self, quantities: &[Quantity], name: &str) {
        self.series
            .extend(quantities.iter().map(|&quantity| Series {
                quantity,
                of: name.to_owned(),
                values: Arc::default(),
            }));
    }

    /// Makes room for the samples of a run that ends at `end`: of thousands of series each moves several times as it grows.
    pub fn reserve(&mut self, end: Time) {
        /// Samples of all series for which there is room from the beginning: those of a gibibyte.
        const MOST: u64 = 1 << 27;
        let samples = end.as_nanos() / self.interval_ns;
        let most = MOST / (self.series.len() as u64).max(1);
        self.room = samples.min(most) as usize;
        for &flow in &self.flows {
            let samples = &mut self.of_flows[flow];
            samples.sender.reserve_exact(self.room);
            samples.receiver.reserve_exact(self.room);
        }
    }

    /// The time of the sample behind so many.
    fn time_ns(&self, samples: usize) -> u64 {
        time_ns(samples, self.interval_ns)
    }

    /// The number of samples at times before `time`, of which there were so many at last.
    #[inline(always)]
    fn samples_before(&self, time: Time, so_far: usize) -> usize {
        let before_ns = time.as_nanos().saturating_sub(1);
        // Mostly it is one more, which takes no division to find out.
        match before_ns < self.time_ns(so_far + 1) {
            true => so_far + usize::from(before_ns >= self.time_ns(so_far)),
            false => (before_ns / self.interval_ns) as usize,
        }
    }

    /// Returns true if the sender of `flow` has a sample at a time before `now`.
    #[inline(always)]
    pub fn sender_is_due(&self, flow: usize, now: Time) -> bool {
        is_before(self.sender_due_ns.get(flow), now)
    }

    /// Returns true if the receiver of `flow` has a sample at a time before `now`.
    #[inline(always)]
    pub fn receiver_is_due(&self, flow: usize, now: Time) -> bool {
        is_before(self.receiver_due_ns.get(flow), now)
    }

    /// Returns true if `link` has a sample at a time before `now`.
    #[inline(always)]
    pub fn link_is_due(&self, link: usize, now: Time) -> bool {
        is_before(self.link_due_ns.get(link), now)
    }

    /// The samples of a flow's sender at times before `now` are `values`.
    pub fn sample_sender(&mut self, flow: usize, now: Time, values: [f64; SENDERS_QUANTITIES]) {
        let samples = self.samples_before(now, self.of_flows[flow].sender.len());
        self.add_of_sender(flow, samples, values);
    }

    fn add_of_sender(&mut self, flow: usize, samples: usize, values: [f64; SENDERS_QUANTITIES]) {
        self.sender_due_ns[flow] = self.time_ns(samples);
        fill(&mut self.of_flows[flow].sender, samples, values);
    }

    /// The samples of a flow's receiver at times before `now` are `received`.
    pub fn sample_receiver(&mut self, flow: usize, now: Time, received: Received) {
        let samples = self.samples_before(now, self.of_flows[flow].receiver.len());
        self.add_of_receiver(flow, samples, received);
    }

    fn add_of_receiver(&mut self, flow: usize, samples: usize, received: Received) {
        self.receiver_due_ns[flow] = self.time_ns(samples);
        let interval_s = self.interval.as_secs_f64();
        let of_flow = &mut self.of_flows[flow];
        if of_flow.receiver.len() < samples {
            let before = mem::replace(&mut of_flow.goodput_bytes, received.goodput_bytes);
            let bits = (received.goodput_bytes - before) as f64 * 8.0;
            let delay_s = received.one_way_delay_s;
            of_flow.receiver.push([delay_s, bits / interval_s]);
            // All of it came before the first of them.
            fill(&mut of_flow.receiver, samples, [delay_s, 0.0]);
        }
    }

    /// Samples a link's queue for the times before `now`: `queue` returns its values at each.
    pub fn sample_link(
        &mut self,
        link: usize,
        now: Time,
        queue: impl FnMut(Time) -> [f64; OF_LINKS.len()],
    ) {
        let samples = self.samples_before(now, self.of_links[link].queue.len());
        self.add_of_link(link, samples, queue);
    }

    fn add_of_link(
        &mut self,
        link: usize,
        samples: usize,
        mut queue: impl FnMut(Time) -> [f64; OF_LINKS.len()],
    ) {
        self.link_due_ns[link] = self.time_ns(samples);
        let interval_ns = self.interval_ns;
        let of_link = &mut self.of_links[link];
        if of_link.queue.is_empty() {
            of_link.queue.reserve_exact(self.room);
        }
        for number in of_link.queue.len()..samples {
            let at_ns = time_ns(number, interval_ns);
            of_link.queue.push(queue(Time::from_nanos(at_ns)));
        }
    }

    /// Adds the samples of a flow that are missing up to the present.
    pub fn complete_flow(
        &mut self,
        flow: usize,
        values: [f64; SENDERS_QUANTITIES],
        received: Received,
    ) {
        let samples = self.times.len();
        self.add_of_sender(flow, samples, values);
        self.add_of_receiver(flow, samples, received);
    }

    /// Adds the samples of a link that are missing up to the present.
    pub fn complete_link(&mut self, link: usize, queue: impl FnMut(Time) -> [f64; OF_LINKS.len()]) {
        self.add_of_link(link, self.times.len(), queue);
    }

    /// Hands over all samples to the series. Those of a link of which none was taken are zero. Of a run that was stopped, some may have samples
    /// for times that it has not come to.
    pub fn finish(&mut self) {
        let samples = self.times.len();
        let flows = self.flows.len() * OF_FLOWS.len();
        let (of_flows, of_links) = self.series.split_at_mut(flows);
        let of_flows = of_flows.chunks_exact_mut(OF_FLOWS.len());
        for (&flow, series) in self.flows.iter().zip(of_flows) {
            let of_flow = &mut self.of_flows[flow];
            let (sender, receiver) = series.split_at_mut(SENDERS_QUANTITIES);
            hand_over(mem::take(&mut of_flow.sender), samples, sender);
            hand_over(mem::take(&mut of_flow.receiver), samples, receiver);
        }
        let zeros = Arc::new(vec![0.0; samples]);
        let of_links = of_links.chunks_exact_mut(OF_LINKS.len());
        for (&link, series) in self.links.iter().zip(of_links) {
            let queue = mem::take(&mut self.of_links[link].queue);
            if queue.is_empty() {
                series
                    .iter_mut()
                    .for_each(|series| series.values = zeros.clone());
            } else {
                hand_over(queue, samples, series);
            }
        }
    }
}

/// The time of the sample behind so many.
fn time_ns(samples: usize, interval_ns: u64) -> u64 {
    (samples as u64 + 1).saturating_mul(interval_ns)
}

/// Returns true if a sample is due before `now`.
#[inline(always)]
fn is_before(due_ns: Option<&u64>, now: Time) -> bool {
    due_ns.is_some_and(|&due_ns| due_ns < now.as_nanos())
}

/// Adds `values` until there are so many samples.
fn fill<const VALUES: usize>(of: &mut Vec<[f64; VALUES]>, samples: usize, values: [f64; VALUES]) {
    // Mostly one is missing.
    while of.len() < samples {
        of.push(values);
    }
}

/// Hands over the first `samples` of some series.
fn hand_over<const VALUES: usize>(of: Vec<[f64; VALUES]>, samples: usize, series: &mut [Series]) {
    for (place, series) in series.iter_mut().enumerate() {
        let values = of[..samples].iter().map(|values| values[place]);
        series.values = Arc::new(values.collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// A sampler of flow 2 and of links 1 and 3 each 10 ms, of a run of 100 ms.
    fn sampler() -> Sampler {
        let mut sampler = Sampler::new(Duration::from_millis(10));
        sampler.add_flow(2, "flow", true);
        sampler.add_link(1, "one");
        sampler.add_link(3, "three");
        sampler.reserve(ms(100));
        sampler
    }

    fn received(goodput_bytes: u64) -> Received {
        Received {
            one_way_delay_s: 0.5,
            goodput_bytes,
        }
    }

    #[test]
    fn a_sample_has_what_was_before_the_next_event() {
        let mut sampler = sampler();
        // An event at the time of a sample comes before it.
        assert!(!sampler.sender_is_due(2, ms(10)));
        assert!(sampler.sender_is_due(2, Time::from_nanos(10_000_001)));
        assert!(!sampler.sender_is_due(1, ms(50)) && !sampler.sender_is_due(9, ms(50)));
        sampler.sample_sender(2, ms(11), [2.0, 3.0, f64::NAN]);
        assert!(!sampler.sender_is_due(2, ms(20)));
        sampler.sample_sender(2, ms(41), [4.0, 3.0, 0.25]);
        sampler.sample_receiver(2, ms(35), received(1000));
        sampler.times = (1..=5).map(|number| ms(10 * number)).collect();
        sampler.complete_flow(2, [5.0, 6.0, 0.5], received(1250));
        sampler.finish();
        let values = |place: usize| &sampler.series[place].values[..];
        assert_eq!(values(0), [2.0, 4.0, 4.0, 4.0, 5.0]);
        assert_eq!(values(1), [3.0, 3.0, 3.0, 3.0, 6.0]);
        assert_eq!(values(2)[1..], [0.25, 0.25, 0.25, 0.5]);
        assert_eq!(values(3), [0.5; 5]);
        // 1000 bytes within 10 ms.
        assert_eq!(values(4), [800_000.0, 0.0, 0.0, 200_000.0, 0.0]);
    }

    #[test]
    fn links_without_samples_share_zeros() {
        let mut sampler = sampler();
        let mut asked = Vec::new();
        sampler.sample_link(3, ms(31), |at| {
            asked.push(at);
            [at.as_nanos() as f64, 1.0]
        });
        assert_eq!(asked, [ms(10), ms(20), ms(30)]);
        sampler.times = (1..=4).map(|number| ms(10 * number)).collect();
        sampler.complete_flow(2, [1.0; 3], received(0));
        sampler.complete_link(3, |_| [7.0, 8.0]);
        sampler.finish();
        let [one, packets, three] = [5, 6, 7].map(|place| &sampler.series[place].values);
        assert_eq!(**one, [0.0; 4]);
        assert!(Arc::ptr_eq(one, packets));
        assert_eq!(**three, [1e7, 2e7, 3e7, 7.0]);
    }

    #[test]
    fn a_stopped_run_has_no_samples_beyond_its_present() {
        let mut sampler = sampler();
        sampler.sample_sender(2, ms(90), [2.0, 3.0, 0.1]);
        sampler.times = vec![ms(10), ms(20)];
        sampler.complete_flow(2, [9.0; 3], received(0));
        sampler.finish();
        assert_eq!(*sampler.series[0].values, [2.0, 2.0]);
    }
}
