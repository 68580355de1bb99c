// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values sampled at even intervals.

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
    /// Samples; NaN where there was none.
    pub values: Vec<f64>,
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
    /// The newest samples, in each a value of every series: each of thousands of series is seldom in the cache, so that some values are added
    /// to it at a time.
    fresh: Vec<f64>,
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
            fresh: Vec::new(),
        }
    }

    /// Makes room for the samples of a run that ends at `end`: of thousands of series each moves several times as it grows.
    pub fn reserve(&mut self, end: Time) {
        /// Samples of all series for which there is room from the beginning: those of a gibibyte.
        const MOST: u64 = 1 << 27;
        let samples = end.as_nanos() / (self.interval.as_nanos() as u64).max(1);
        let most = MOST / (self.series.len() as u64).max(1);
        for series in &mut self.series {
            series.values.reserve_exact(samples.min(most) as usize);
        }
    }

    /// Adds values of the newest sample, in the order of the series.
    #[inline]
    pub fn add_values<const VALUES: usize>(&mut self, values: [f64; VALUES]) {
        // A copy of known length, where `extend` calls a function.
        self.fresh.extend_from_slice(&values);
    }

    /// The newest sample is complete.
    pub fn end_sample(&mut self) {
        let samples = FRESH_BYTES / size_of::<f64>() / self.series.len().max(1);
        let samples = samples.clamp(LEAST_FRESH, MOST_FRESH);
        if self.fresh.len() >= samples * self.series.len() {
            self.settle();
        }
    }

    /// Adds all samples to the series.
    pub fn settle(&mut self) {
        let all = self.series.len();
        let samples = self.fresh.len() / all.max(1);
        for (number, series) in self.series.iter_mut().enumerate() {
            let values = (0..samples).map(|sample| self.fresh[sample * all + number]);
            series.values.extend(values);
        }
        self.fresh.clear();
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
        self.links.push(link);
        self.add(&OF_LINKS, name);
    }

    fn add(&mut self, quantities: &[Quantity], name: &str) {
        self.series
            .extend(quantities.iter().map(|&quantity| Series {
                quantity,
                of: name.to_owned(),
                values: Vec::new(),
            }));
    }
}
