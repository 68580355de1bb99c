// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values sampled at even intervals.

use std::mem;
use std::ops::Range;
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
    /// Those of the links that have to be sampled at the time of each sample.
    pub links_in_time: Vec<usize>,
    of_senders: Samples<SENDERS_QUANTITIES>,
    /// In place of the goodput, the bytes received since the beginning.
    of_receivers: Samples<RECEIVERS_QUANTITIES>,
    of_links: Samples<{ OF_LINKS.len() }>,
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
            links_in_time: Vec::new(),
            of_senders: Samples::new(interval, f64::NAN),
            of_receivers: Samples::new(interval, f64::NAN),
            of_links: Samples::new(interval, 0.0),
        }
    }

    /// Adds a flow, before any link. `has_sender`: its cwnd and the like can be sampled.
    pub fn add_flow(&mut self, flow: usize, name: &str, has_sender: bool) {
        self.of_receivers.add(flow);
        if has_sender {
            self.of_senders.add(flow);
        }
        self.flows.push(flow);
        self.add(&OF_FLOWS, name);
    }

    /// Adds a link. `in_time`: what its queue was cannot be found out later.
    pub fn add_link(&mut self, link: usize, name: &str, in_time: bool) {
        self.of_links.add(link);
        self.links.push(link);
        if in_time {
            self.links_in_time.push(link);
        }
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

    /// Returns true if the sender of `flow` has a sample at a time before `now`.
    #[inline(always)]
    pub fn sender_is_due(&self, flow: usize, now: Time) -> bool {
        self.of_senders.is_due(flow, now)
    }

    /// Returns true if the receiver of `flow` has a sample at a time before `now`.
    #[inline(always)]
    pub fn receiver_is_due(&self, flow: usize, now: Time) -> bool {
        self.of_receivers.is_due(flow, now)
    }

    /// Returns true if `link` has a sample at a time before `now`.
    #[inline(always)]
    pub fn link_is_due(&self, link: usize, now: Time) -> bool {
        self.of_links.is_due(link, now)
    }

    /// The time of the next sample of `link`.
    pub fn link_due(&self, link: usize) -> Time {
        Time::from_nanos(self.of_links.next[link].due_ns)
    }

    /// The samples of a flow's sender at times before `now` are `values`.
    pub fn sample_sender(&mut self, flow: usize, now: Time, values: [f64; SENDERS_QUANTITIES]) {
        self.of_senders.take(flow, now, values);
    }

    /// The samples of a flow's receiver at times before `now` are `received`.
    pub fn sample_receiver(&mut self, flow: usize, now: Time, received: Received) {
        // Exact up to 2⁵³ bytes.
        let values = [received.one_way_delay_s, received.goodput_bytes as f64];
        self.of_receivers.take(flow, now, values);
    }

    /// The link's queue was empty at the times of all samples before `now`.
    pub fn skip_link(&mut self, link: usize, now: Time) {
        self.of_links.pass(link, now);
    }

    /// Samples a link's queue for the times before `now`: `queue` returns its values at each.
    pub fn sample_link(
        &mut self,
        link: usize,
        now: Time,
        queue: impl FnMut(Time) -> [f64; OF_LINKS.len()],
    ) {
        self.of_links.take_each(link, now, queue);
    }

    /// Adds the samples of a flow that are missing up to the present.
    pub fn complete_flow(
        &mut self,
        flow: usize,
        values: [f64; SENDERS_QUANTITIES],
        received: Received,
    ) {
        let after = self.after_newest();
        self.sample_sender(flow, after, values);
        self.sample_receiver(flow, after, received);
    }

    /// Adds the samples of a link that are missing up to the present.
    pub fn complete_link(&mut self, link: usize, queue: impl FnMut(Time) -> [f64; OF_LINKS.len()]) {
        self.sample_link(link, self.after_newest(), queue);
    }

    /// A time after the newest that the run has come to, and before the next.
    fn after_newest(&self) -> Time {
        let newest = self.times.last();
        newest.map_or(Time::ZERO, |newest| Time::from_nanos(newest.as_nanos() + 1))
    }

    /// Hands over all samples to the series. Those of a link of which none was taken are zero. Of a run that was stopped, some may have samples
    /// for times that it has not come to.
    pub fn finish(&mut self) {
        let samples = self.times.len();
        let flows = self.flows.len() * OF_FLOWS.len();
        let (of_flows, of_links) = self.series.split_at_mut(flows);
        let mut of_senders = self.of_senders.finish();
        let mut of_receivers = self.of_receivers.finish();
        for samples in &mut of_receivers {
            let goodputs = samples.iter_mut().map(|[_, goodput]| goodput);
            to_rates(goodputs, self.interval.as_secs_f64());
        }
        let none = Arc::new(vec![f64::NAN; samples]);
        let of_flows = of_flows.chunks_exact_mut(OF_FLOWS.len());
        for (&flow, series) in self.flows.iter().zip(of_flows) {
            let (sender, receiver) = series.split_at_mut(SENDERS_QUANTITIES);
            hand_over(of_senders.get_mut(flow), &none, sender);
            hand_over(of_receivers.get_mut(flow), &none, receiver);
        }
        let zeros = Arc::new(vec![0.0; samples]);
        let mut values = self.of_links.finish();
        let of_links = of_links.chunks_exact_mut(OF_LINKS.len());
        for (&link, series) in self.links.iter().zip(of_links) {
            hand_over(values.get_mut(link), &zeros, series);
        }
    }
}

/// Hands over samples to a series for each of their values, as many as `missing` has, which takes the place of those that are missing.
fn hand_over<const VALUES: usize>(
    samples: Option<&mut Vec<[f64; VALUES]>>,
    missing: &Arc<Vec<f64>>,
    series: &mut [Series],
) {
    let samples = samples.map(mem::take).unwrap_or_default();
    for (place, series) in series.iter_mut().enumerate() {
        series.values = match samples.is_empty() {
            true => missing.clone(),
            false => {
                let mut values = Vec::with_capacity(missing.len());
                let present = samples.iter().take(missing.len());
                values.extend(present.map(|sample| sample[place]));
                values.extend_from_slice(&missing[values.len()..]);
                Arc::new(values)
            }
        };
    }
}

/// Turns the bytes up to each sample into the bits per second since the sample before.
fn to_rates<'a>(bytes: impl Iterator<Item = &'a mut f64>, interval_s: f64) {
    let mut before = 0.0;
    for bytes in bytes {
        let so_far = mem::replace(bytes, (*bytes - before) * 8.0 / interval_s);
        before = so_far;
    }
}

/// The samples of flows' senders, of their receivers or of links so far: `VALUES` of each at a time.
///
/// All values of a sample lie together until the end of the run, so that there is one list for each flow or link, not one for each value.
#[derive(Debug)]
struct Samples<const VALUES: usize> {
    interval_ns: u64,
    /// The value of samples that were not noted.
    unnoted: f64,
    /// The next sample of each flow or link, by its number.
    next: Vec<Next>,
    /// The samples so far, by the number of the flow or link.
    noted: Vec<Vec<[f64; VALUES]>>,
}

/// A sample that has not been taken.
#[derive(Debug, Clone, Copy)]
struct Next {
    /// How many there are before it.
    number: usize,
    due_ns: u64,
}

impl Next {
    /// Of what is not sampled.
    const NEVER: Next = Next {
        number: 0,
        due_ns: u64::MAX,
    };
}

impl<const VALUES: usize> Samples<VALUES> {
    fn new(interval: Duration, unnoted: f64) -> Samples<VALUES> {
        Samples {
            interval_ns: (interval.as_nanos() as u64).max(1),
            unnoted,
            next: Vec::new(),
            noted: Vec::new(),
        }
    }

    /// Adds a flow or a link.
    fn add(&mut self, of: usize) {
        self.next.resize(of + 1, Next::NEVER);
        self.next[of] = Next {
            number: 0,
            due_ns: self.interval_ns,
        };
        self.noted.resize_with(of + 1, Vec::new);
    }

    /// Returns true if a sample is due before `now`.
    #[inline(always)]
    fn is_due(&self, of: usize, now: Time) -> bool {
        let next = self.next.get(of);
        next.is_some_and(|next| next.due_ns < now.as_nanos())
    }

    /// Takes the samples at times before `now`: all of them are `values`.
    fn take(&mut self, of: usize, now: Time, values: [f64; VALUES]) {
        let samples = self.pass(of, now);
        if !samples.is_empty() {
            self.note(of, samples, values);
        }
    }

    /// Goes on to the first sample that is not before `now`, and returns the numbers of those that are.
    fn pass(&mut self, of: usize, now: Time) -> Range<usize> {
        if !self.is_due(of, now) {
            return 0..0;
        }
        let next = &mut self.next[of];
        let late_ns = now.as_nanos() - 1 - next.due_ns;
        // Mostly it is one, which takes no division to find out.
        let samples = match late_ns < self.interval_ns {
            true => 1,
            false => 1 + late_ns / self.interval_ns,
        };
        let first = next.number;
        next.number += samples as usize;
        next.due_ns += samples * self.interval_ns;
        first..next.number
    }

    /// Takes the samples at times before `now`: `values` returns those of each time.
    fn take_each(&mut self, of: usize, now: Time, mut values: impl FnMut(Time) -> [f64; VALUES]) {
        for number in self.pass(of, now) {
            let at_ns = (number as u64 + 1) * self.interval_ns;
            let values = values(Time::from_nanos(at_ns));
            if values != [self.unnoted; VALUES] {
                self.note(of, number..number + 1, values);
            }
        }
    }

    /// Appends samples that have the same values.
    fn note(&mut self, of: usize, samples: Range<usize>, values: [f64; VALUES]) {
        let noted = &mut self.noted[of];
        noted.resize(samples.start, [self.unnoted; VALUES]);
        noted.resize(samples.end, values);
    }

    /// Removes all samples, and returns them by the number of the flow or link. Of those at the end that were not noted, there are none.
    fn finish(&mut self) -> Vec<Vec<[f64; VALUES]>> {
        mem::take(&mut self.noted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// A sampler of flow 2 and of links 1 and 3 each 10 ms.
    fn sampler() -> Sampler {
        let mut sampler = Sampler::new(Duration::from_millis(10));
        sampler.add_flow(2, "flow", true);
        sampler.add_link(1, "one", false);
        sampler.add_link(3, "three", false);
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
    fn times_at_which_a_queue_was_empty_are_zeros() {
        let mut sampler = sampler();
        sampler.skip_link(1, ms(21));
        sampler.sample_link(1, ms(41), |at| [f64::from(u8::from(at == ms(30))), 0.0]);
        sampler.times = (1..=6).map(|number| ms(10 * number)).collect();
        sampler.complete_flow(2, [1.0; 3], received(0));
        sampler.complete_link(1, |_| [0.0; 2]);
        sampler.finish();
        assert_eq!(*sampler.series[5].values, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
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
