// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values sampled at even intervals.

use std::iter;
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
#[derive(Debug)]
pub(crate) struct Sampler {
    pub interval: Duration,
    pub times: Vec<Time>,
    pub series: Vec<Series>,
    pub flows: Vec<SampledFlow>,
    /// Numbers of the links sampled.
    pub links: Vec<usize>,
    /// Places in `links` of those whose queues are looked at, in the order of their samples: packets have had to wait there, or it is not
    /// known whether any has.
    pub queued: Vec<usize>,
    /// Places in `links` of the others. All their samples so far are zero, and are not kept: most of thousands of links stay like that.
    idle: Vec<usize>,
    /// The newest samples, in each a value of every series but those of idle links: each of thousands of series is seldom in the cache, so that
    /// some values are added to it at a time.
    fresh: Vec<f64>,
    /// Where in `fresh` each of these samples ends.
    ends: Vec<usize>,
    /// Samples of a series for which there is room from the beginning.
    room: usize,
    /// The samples of idle links, as many as all series had last.
    zeros: Arc<Vec<f64>>,
}

/// Bytes of samples that are kept before they are added to the series, and the least and the most samples.
const FRESH_BYTES: usize = 4 << 20;
const LEAST_FRESH: usize = 8;
const MOST_FRESH: usize = 64;

#[derive(Debug)]
pub(crate) struct SampledFlow {
    pub flow: usize,
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
            queued: Vec::new(),
            idle: Vec::new(),
            fresh: Vec::new(),
            ends: Vec::new(),
            room: 0,
            zeros: Arc::default(),
        }
    }

    /// Makes room for the samples of a run that ends at `end`: of thousands of series each moves several times as it grows.
    pub fn reserve(&mut self, end: Time) {
        /// Samples of all series for which there is room from the beginning: those of a gibibyte.
        const MOST: u64 = 1 << 27;
        let samples = end.as_nanos() / (self.interval.as_nanos() as u64).max(1);
        let most = MOST / (self.series.len() as u64).max(1);
        self.room = samples.min(most) as usize;
        let of_flows = self.flows.len() * OF_FLOWS.len();
        for series in &mut self.series[..of_flows] {
            series.values = Arc::new(Vec::with_capacity(self.room));
        }
    }

    /// Begins a sample. Returns true from `may_be_queued` if packets may have had to wait at the link with this number: its samples are kept from
    /// now on.
    pub fn begin_sample(&mut self, now: Time, mut may_be_queued: impl FnMut(usize) -> bool) {
        let settled = self.times.len() - self.ends.len();
        self.times.push(now);
        self.idle.retain(|&place| {
            let queued = may_be_queued(self.links[place]);
            if queued {
                for series in &mut self.series[series_of_link(self.flows.len(), place)] {
                    let mut values = Vec::with_capacity(self.room);
                    values.resize(settled, 0.0);
                    series.values = Arc::new(values);
                }
                self.queued.push(place);
            }
            !queued
        });
    }

    /// Adds values of the newest sample, in the order of flows and of `queued`.
    #[inline]
    pub fn add_values<const VALUES: usize>(&mut self, values: [f64; VALUES]) {
        // A copy of known length, where `extend` calls a function.
        self.fresh.extend_from_slice(&values);
    }

    /// The newest sample is complete.
    pub fn end_sample(&mut self) {
        self.ends.push(self.fresh.len());
        let begin = self.ends.iter().rev().nth(1).copied().unwrap_or(0);
        let values = self.fresh.len() - begin;
        let samples = FRESH_BYTES / size_of::<f64>() / values.max(1);
        if self.ends.len() >= samples.clamp(LEAST_FRESH, MOST_FRESH) {
            self.settle();
        }
    }

    /// Adds the newest samples to the series.
    fn settle(&mut self) {
        let begins = iter::once(0).chain(self.ends.iter().copied());
        let samples: Vec<&[f64]> = begins
            .zip(&self.ends)
            .map(|(begin, &end)| &self.fresh[begin..end])
            .collect();
        let flows = self.flows.len();
        let of_flows = 0..flows * OF_FLOWS.len();
        let of_links = (self.queued.iter()).flat_map(|&place| series_of_link(flows, place));
        for (column, number) in of_flows.chain(of_links).enumerate() {
            // Links that were idle then have no value in a sample.
            let values = samples
                .iter()
                .map(|sample| sample.get(column).copied().unwrap_or(0.0));
            Arc::make_mut(&mut self.series[number].values).extend(values);
        }
        self.fresh.clear();
        self.ends.clear();
    }

    /// Adds all samples to all series, those of idle links included.
    pub fn settle_all(&mut self) {
        self.settle();
        self.zeros = Arc::new(vec![0.0; self.times.len()]);
        for &place in &self.idle {
            for series in &mut self.series[series_of_link(self.flows.len(), place)] {
                series.values = self.zeros.clone();
            }
        }
    }

    /// Flows come before links.
    pub fn add_flow(&mut self, flow: usize, name: &str) {
        self.flows.push(SampledFlow {
            flow,
            goodput_bytes: 0,
        });
        self.add(&OF_FLOWS, name);
    }

    pub fn add_link(&mut self, link: usize, name: &str) {
        self.idle.push(self.links.len());
        self.links.push(link);
        self.add(&OF_LINKS, name);
    }

    fn add(&mut self, quantities: &[Quantity], name: &str) {
        self.series
            .extend(quantities.iter().map(|&quantity| Series {
                quantity,
                of: name.to_owned(),
                values: self.zeros.clone(),
            }));
    }
}

/// Numbers of the series of the link with this place, where there are so many flows.
fn series_of_link(flows: usize, place: usize) -> Range<usize> {
    let first = flows * OF_FLOWS.len() + place * OF_LINKS.len();
    first..first + OF_LINKS.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes samples of these numbers; link 0 of three begins to queue packets at sample 5, link 2 at sample 150, link 1 never.
    fn take(sampler: &mut Sampler, numbers: Range<u32>) {
        for number in numbers {
            let queued = |link| match link {
                10 => number >= 5,
                12 => number >= 150,
                _ => false,
            };
            sampler.begin_sample(Time::from_millis(u64::from(number)), queued);
            let number = f64::from(number);
            sampler.add_values([number; OF_FLOWS.len()]);
            for place in sampler.queued.clone() {
                sampler.add_values([number + place as f64, -number]);
            }
            sampler.end_sample();
        }
    }

    #[test]
    fn links_have_zeros_until_they_queue_packets() {
        for stops in [vec![400], vec![3, 4, 140, 151, 400]] {
            let mut sampler = Sampler::new(Duration::from_millis(1));
            sampler.add_flow(0, "flow");
            for link in 10..13 {
                sampler.add_link(link, "link");
            }
            sampler.reserve(Time::from_millis(400));
            let mut begin = 0;
            for stop in stops {
                take(&mut sampler, begin..stop);
                sampler.settle_all();
                begin = stop;
                let expected = |from: u32, add: f64, sign: f64| -> Vec<f64> {
                    let value = |number: u32| sign * f64::from(number) + add;
                    (0..stop)
                        .map(|number| if number < from { 0.0 } else { value(number) })
                        .collect()
                };
                let found: Vec<&Vec<f64>> = sampler
                    .series
                    .iter()
                    .map(|series| &*series.values)
                    .collect();
                assert_eq!(found[..5], [&expected(0, 0.0, 1.0); 5]);
                assert_eq!(
                    found[5..7],
                    [&expected(5, 0.0, 1.0), &expected(5, 0.0, -1.0)]
                );
                assert_eq!(found[7..9], [&expected(stop, 0.0, 1.0); 2]);
                assert_eq!(
                    found[9..],
                    [&expected(150, 2.0, 1.0), &expected(150, 0.0, -1.0)]
                );
                assert_eq!(sampler.times.len(), stop as usize);
            }
            let [first, second] = &sampler.series[7..9] else {
                panic!("a link has two series");
            };
            assert!(Arc::ptr_eq(&first.values, &second.values));
        }
    }
}
