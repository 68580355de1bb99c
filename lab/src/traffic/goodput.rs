// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes that arrived, by time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Width of a bin.
const BIN: Duration = Duration::from_millis(10);

/// Payload bytes that reached the receiving program, in bins of 10 ms since the beginning of the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Goodput {
    bins: Vec<u64>,
}

impl Goodput {
    pub(super) fn record(&mut self, time: Duration, bytes: usize) {
        let bin = (time.as_nanos() / BIN.as_nanos()) as usize;
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += bytes as u64;
    }

    /// All bytes.
    pub fn total_bytes(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// Mean goodput between two times, in bits per second; a bin cut by either time counts in proportion. Zero for an
    /// empty interval.
    pub fn between(&self, from: Duration, to: Duration) -> f64 {
        if to <= from {
            return 0.0;
        }
        let width = BIN.as_secs_f64();
        let (first, last) = (from.as_secs_f64() / width, to.as_secs_f64() / width);
        let end = (last.ceil() as usize).min(self.bins.len());
        let bytes: f64 = (first as usize..end)
            .map(|bin| {
                let share = last.min((bin + 1) as f64) - first.max(bin as f64);
                self.bins[bin] as f64 * share
            })
            .sum();
        8.0 * bytes / (to - from).as_secs_f64()
    }

    /// Goodput in bits per second in consecutive intervals of `width` from the beginning, for plots.
    pub fn series(&self, width: Duration) -> Vec<f64> {
        let end = BIN * self.bins.len() as u32;
        let count = if width.is_zero() {
            0
        } else {
            end.as_nanos().div_ceil(width.as_nanos()) as u32
        };
        (0..count)
            .map(|n| self.between(width * n, width * (n + 1)))
            .collect()
    }

    /// When the last byte arrived, to the bin; `None` where none did.
    pub fn last_arrival(&self) -> Option<Duration> {
        let last = self.bins.iter().rposition(|&bytes| bytes > 0)?;
        Some(BIN * (last as u32 + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_bin_counts_in_proportion() {
        let ms = Duration::from_millis;
        let mut goodput = Goodput::default();
        goodput.record(ms(5), 1000);
        goodput.record(ms(10), 2000);
        goodput.record(ms(39), 4000);
        assert_eq!(goodput.total_bytes(), 7000);
        assert_eq!(goodput.between(ms(0), ms(20)), 8.0 * 3000.0 / 0.020);
        assert!((goodput.between(ms(5), ms(15)) - 8.0 * 1500.0 / 0.010).abs() < 1e-6);
        assert_eq!(goodput.between(ms(40), ms(50)), 0.0);
        assert_eq!(goodput.between(ms(20), ms(20)), 0.0);
        assert_eq!(
            goodput.series(ms(20)),
            [8.0 * 3000.0 / 0.020, 8.0 * 4000.0 / 0.020]
        );
        assert_eq!(goodput.last_arrival(), Some(ms(40)));
    }
}
