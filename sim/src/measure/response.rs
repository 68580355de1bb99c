// SPDX-License-Identifier: MIT OR Apache-2.0
//! Response times of web objects by their size.

use std::collections::BTreeMap;

use netnice_scenario::results::{self, SizeBin};

use super::Histogram;

/// Response times, in bins of object sizes: two for each doubling.
#[derive(Debug, Clone, Default)]
pub struct ResponseTimes {
    bins: BTreeMap<u32, (u64, Histogram)>,
    /// Objects requested that have not arrived yet.
    pub unfinished: u64,
}

/// One bin.
#[derive(Debug, Clone, Copy)]
pub struct ResponseBin<'a> {
    /// Smallest size, in bytes.
    pub from_bytes: u64,
    /// Sizes are below this, in bytes.
    pub to_bytes: u64,
    /// Mean size of the objects that have arrived, in bytes.
    pub mean_bytes: f64,
    /// Response times in nanoseconds.
    pub nanoseconds: &'a Histogram,
}

/// The first size of a bin: 2 to the power of half its number, rounded up.
fn first_size(bin: u32) -> u64 {
    (f64::from(bin) / 2.0).exp2().ceil() as u64
}

/// The bin of a size, which is at least 1.
fn bin(bytes: u64) -> u32 {
    let even = bytes.ilog2() * 2;
    even + u32::from(bytes >= first_size(even + 1))
}

impl ResponseTimes {
    /// An object of `bytes` has come after `nanoseconds`.
    pub fn record(&mut self, bytes: u64, nanoseconds: u64) {
        let (sum, times) = self.bins.entry(bin(bytes.max(1))).or_default();
        *sum += bytes;
        times.record(nanoseconds);
    }

    /// The bins with objects, from small to large.
    pub fn bins(&self) -> impl Iterator<Item = ResponseBin<'_>> {
        self.bins.iter().map(|(&bin, (sum, times))| ResponseBin {
            from_bytes: first_size(bin),
            to_bytes: first_size(bin + 1),
            mean_bytes: *sum as f64 / times.count() as f64,
            nanoseconds: times,
        })
    }
}

impl ResponseTimes {
    /// As results of the flow called `flow`.
    pub fn results(&self, flow: &str) -> results::ResponseTimes {
        let bins = self.bins().map(|bin| SizeBin {
            from_bytes: bin.from_bytes,
            to_bytes: bin.to_bytes,
            mean_bytes: bin.mean_bytes,
            response: bin.nanoseconds.delays(),
        });
        results::ResponseTimes {
            flow: flow.to_owned(),
            unfinished: self.unfinished,
            bins: bins.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_within_its_bin() {
        for bytes in (1..5000).chain([1 << 20, 1_482_911, 1 << 40]) {
            let bin = bin(bytes);
            assert!(
                (first_size(bin)..first_size(bin + 1)).contains(&bytes),
                "{bytes} in {bin}"
            );
        }
    }

    #[test]
    fn a_bin_knows_its_means() {
        let mut responses = ResponseTimes::default();
        responses.record(1100, 3_000_000);
        responses.record(1300, 5_000_000);
        responses.record(1500, 9_000_000);
        let bins: Vec<_> = responses
            .bins()
            .map(|bin| (bin.from_bytes, bin.to_bytes, bin.mean_bytes))
            .collect();
        assert_eq!(bins, [(1024, 1449, 1200.0), (1449, 2048, 1500.0)]);
        assert_eq!(
            responses.bins().next().unwrap().nanoseconds.mean(),
            Some(4_000_000.0)
        );
    }
}
