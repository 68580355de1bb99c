// SPDX-License-Identifier: MIT OR Apache-2.0
//! Delays as results have them: number, mean, quantiles; and their distribution.

use serde::{Deserialize, Serialize};

/// A distribution of delays, in seconds. All are 0 where nothing was measured.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Delays {
    /// Samples.
    pub count: u64,
    /// Smallest.
    pub min_s: f64,
    /// Mean.
    pub mean_s: f64,
    /// Median.
    pub p50_s: f64,
    /// 95 % are no larger.
    pub p95_s: f64,
    /// 99 % are no larger.
    pub p99_s: f64,
    /// Largest.
    pub max_s: f64,
}

/// Times counted in the bins of a histogram, from small to large; bins without a time are left out. A bin is at most 1/32 of its times
/// wide, so that a hundred thousand times have some hundred bins. Equal bins of two distributions have equal edges.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Distribution {
    /// The largest time of each bin, in seconds.
    pub up_to_s: Vec<f64>,
    /// Times in each bin.
    pub count: Vec<u64>,
}

impl Distribution {
    /// Returns true without any time.
    pub fn is_empty(&self) -> bool {
        self.count.is_empty()
    }

    /// For each bin its largest time in seconds, the times in it, and the share of all times that are no larger.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64, f64)> + '_ {
        let total: u64 = self.count.iter().sum();
        let mut sum = 0;
        let bins = self.up_to_s.iter().zip(&self.count);
        bins.map(move |(&up_to_s, &count)| {
            sum += count;
            (up_to_s, count, sum as f64 / total as f64)
        })
    }

    /// Adds the times that `other` has.
    pub fn merge(&mut self, other: &Distribution) {
        let mut merged = Distribution::default();
        let bins = |of: &Distribution| {
            let bins = of.up_to_s.iter().copied().zip(of.count.iter().copied());
            bins.collect::<Vec<_>>().into_iter().peekable()
        };
        let (mut a, mut b) = (bins(self), bins(other));
        loop {
            let edges = [a.peek(), b.peek()].into_iter().flatten();
            let Some(edge) = edges.map(|&(edge, _)| edge).reduce(f64::min) else {
                break;
            };
            let counts = [&mut a, &mut b].map(|bins| bins.next_if(|&(other, _)| other == edge));
            merged.up_to_s.push(edge);
            (merged.count).push(counts.iter().flatten().map(|&(_, count)| count).sum());
        }
        *self = merged;
    }
}
