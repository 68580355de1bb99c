// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of values in buckets of equal relative width, which grow only as far as values lie.

use std::collections::BTreeMap;

use crate::delays::{Delays, Distribution};

/// Buckets for each doubling: percentiles are exact to 1/64, 1.6 %.
const BUCKETS_LOG2: u32 = 5;
const BUCKETS: u64 = 1 << BUCKETS_LOG2;

/// So many buckets are added at a time: half a cache line of counts.
const STEP: usize = 16;

/// Bits of a count that are kept by bucket.
const LOW_BITS: u32 = u16::BITS;

/// The upper bits of counts, by bucket.
#[derive(Debug, Clone, Default)]
struct Carries(BTreeMap<usize, u64>);

/// A histogram of whole numbers. A hundred thousand of them fit into memory: delays of a flow mostly lie within a few
/// doublings, and each doubling takes 64 bytes.
///
/// A packet of such a run finds neither the histogram nor the bucket in the cache. So the histogram is smaller than a cache
/// line, and of the rest only the bucket is touched.
#[derive(Debug, Clone)]
pub struct Histogram {
    /// From before the first bucket with a value to after the last one: the lower 16 bits of each count.
    counts: Box<[u16]>,
    /// By bucket what is above those, where any is.
    carries: Option<Box<Carries>>,
    /// The greatest number where there are no values.
    min: u64,
    max: u64,
    /// The values' sum has 96 bits: a billion values of a century each, in nanoseconds, fit.
    sum_low: u64,
    sum_high: u32,
    /// Number of the first bucket in `counts`.
    first: u32,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            counts: Box::default(),
            carries: None,
            min: u64::MAX,
            max: 0,
            sum_low: 0,
            sum_high: 0,
            first: 0,
        }
    }
}

const _: () = assert!(size_of::<Histogram>() == 56);

/// The bucket of `value`: below 32 one for each value, then 32 for each doubling.
#[inline]
fn bucket(value: u64) -> usize {
    let shift = (value | BUCKETS).ilog2() - BUCKETS_LOG2;
    // For values below 32 the shift is 0 as well, and the sum is the value.
    ((u64::from(shift) << BUCKETS_LOG2) + (value >> shift)) as usize
}

/// The smallest value in a bucket, and how many more there are in it.
fn values(bucket: usize) -> (f64, f64) {
    let bucket = bucket as u64;
    if bucket < BUCKETS {
        return (bucket as f64, 0.0);
    }
    let shift = (bucket >> BUCKETS_LOG2) - 1;
    let mantissa = BUCKETS + (bucket & (BUCKETS - 1));
    let width = (shift as f64).exp2();
    (mantissa as f64 * width, width - 1.0)
}

/// The middle of the values in a bucket.
fn middle(bucket: usize) -> f64 {
    let (smallest, more) = values(bucket);
    smallest + more / 2.0
}

/// The largest value in a bucket.
fn largest(bucket: usize) -> f64 {
    let (smallest, more) = values(bucket);
    smallest + more
}

impl Histogram {
    /// Returns the place in memory where `value` is counted, for whoever wants it in the cache; `None` without one.
    #[inline]
    pub fn place_of(&self, value: u64) -> Option<&u16> {
        self.counts.get(self.place(bucket(value)))
    }

    /// Where a bucket's count is; beyond all of them where it has none.
    #[inline]
    fn place(&self, bucket: usize) -> usize {
        bucket.wrapping_sub(self.first as usize)
    }

    /// Counts `value`.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_times(value, 1);
    }

    /// Counts `value` as often as `times` says.
    #[inline]
    pub fn record_times(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.count_in(bucket(value), times);
        self.extend(value, value);
        self.add(u128::from(value) * u128::from(times));
    }

    /// There are values from `min` to `max`.
    #[inline]
    fn extend(&mut self, min: u64, max: u64) {
        self.min = self.min.min(min);
        self.max = self.max.max(max);
    }

    fn sum(&self) -> u128 {
        u128::from(self.sum_high) << 64 | u128::from(self.sum_low)
    }

    /// Adds to the sum.
    #[inline]
    fn add(&mut self, more: u128) {
        let sum = self.sum() + more;
        self.sum_low = sum as u64;
        self.sum_high = (sum >> 64) as u32;
    }

    #[inline]
    fn count_in(&mut self, bucket: usize, times: u64) {
        let place = self.place(bucket);
        if let Some(count) = self.counts.get_mut(place) {
            let sum = u64::from(*count).saturating_add(times);
            *count = sum as u16;
            if sum > u64::from(u16::MAX) {
                self.carry(bucket, sum >> LOW_BITS);
            }
        } else {
            self.grow_to(bucket);
            self.count_in(bucket, times);
        }
    }

    #[cold]
    fn carry(&mut self, bucket: usize, more: u64) {
        let carries = self.carries.get_or_insert_default();
        *carries.0.entry(bucket).or_default() += more;
    }

    /// Makes room for a bucket, and by a quarter of what there was for those beyond it.
    #[cold]
    fn grow_to(&mut self, bucket: usize) {
        let here = bucket / STEP * STEP;
        let (mut begin, mut end) = (self.first as usize, self.first as usize + self.counts.len());
        let more = self.counts.len() / 4 / STEP * STEP;
        if begin == end {
            (begin, end) = (here, here + STEP);
        } else if here < begin {
            begin = here.saturating_sub(more);
        } else {
            end = here + STEP + more;
        }
        let mut counts = vec![0; end - begin].into_boxed_slice();
        let before = self.first as usize - begin.min(self.first as usize);
        counts[before..before + self.counts.len()].copy_from_slice(&self.counts);
        self.counts = counts;
        self.first = begin as u32;
    }

    /// Each bucket with its count, in order.
    fn buckets(&self) -> impl Iterator<Item = (usize, u64)> {
        let first = self.first as usize;
        let carries = self.carries.as_deref();
        let counts = self.counts.iter().enumerate();
        counts.map(move |(index, &count)| {
            let bucket = first + index;
            let carry = carries.and_then(|carries| carries.0.get(&bucket));
            (bucket, u64::from(count) + (carry.unwrap_or(&0) << LOW_BITS))
        })
    }

    /// Adds what `other` has counted.
    pub fn merge(&mut self, other: &Histogram) {
        for (bucket, times) in other.buckets() {
            if times > 0 {
                self.count_in(bucket, times);
            }
        }
        self.extend(other.min, other.max);
        self.add(other.sum());
    }

    /// Values counted.
    pub fn count(&self) -> u64 {
        self.buckets().map(|(_, times)| times).sum()
    }

    /// Their mean, exactly; `None` where there are none.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum() as f64 / count as f64)
    }

    /// The smallest, exactly.
    pub fn min(&self) -> Option<u64> {
        (!self.counts.is_empty()).then_some(self.min)
    }

    /// The largest, exactly.
    pub fn max(&self) -> Option<u64> {
        (!self.counts.is_empty()).then_some(self.max)
    }

    /// The value that a share `quantile` (from 0 to 1) of all values do not exceed, to 1.6 %.
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        let total = self.count();
        let rank = ((quantile * total as f64).ceil() as u64).clamp(1, total.max(1));
        let mut seen = 0;
        for (bucket, times) in self.buckets() {
            seen += times;
            if seen >= rank {
                let value = middle(bucket);
                return Some(value.clamp(self.min as f64, self.max as f64));
            }
        }
        None
    }
}

impl Histogram {
    /// The counts by bucket, of a histogram of nanoseconds.
    pub fn distribution(&self) -> Distribution {
        let buckets = self.buckets().filter(|&(_, times)| times > 0);
        let (up_to_s, count) = buckets
            .map(|(bucket, times)| (largest(bucket) / 1e9, times))
            .unzip();
        Distribution { up_to_s, count }
    }

    /// Number, mean and quantiles, of a histogram of nanoseconds.
    pub fn delays(&self) -> Delays {
        let quantile = |q| self.quantile(q).unwrap_or(0.0) * 1e-9;
        Delays {
            count: self.count(),
            min_s: self.min().unwrap_or(0) as f64 * 1e-9,
            mean_s: self.mean().unwrap_or(0.0) * 1e-9,
            p50_s: quantile(0.5),
            p95_s: quantile(0.95),
            p99_s: quantile(0.99),
            max_s: self.max().unwrap_or(0) as f64 * 1e-9,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_values_are_exact() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.mean(), histogram.quantile(0.5)), (None, None));
        for value in [31, 3, 7, 7, 0] {
            histogram.record(value);
        }
        assert_eq!(histogram.quantile(0.0), Some(0.0));
        assert_eq!(histogram.quantile(0.5), Some(7.0));
        assert_eq!(histogram.quantile(1.0), Some(31.0));
        assert_eq!(histogram.mean(), Some(9.6));
        assert_eq!((histogram.min(), histogram.max()), (Some(0), Some(31)));
    }

    #[test]
    fn sums_beyond_64_bits_are_exact() {
        let mut histogram = Histogram::default();
        let mut other = Histogram::default();
        histogram.record_times(1 << 62, 6);
        other.record_times(1 << 62, 2);
        histogram.merge(&other);
        // Eight times 2^62 is 2^65.
        assert_eq!(histogram.sum(), 1 << 65);
        assert_eq!(histogram.mean(), Some(62f64.exp2()));
    }

    #[test]
    fn counts_beyond_32_bits_are_exact() {
        let mut histogram = Histogram::default();
        histogram.record_times(5, u64::from(u32::MAX));
        assert_eq!(histogram.count(), u64::from(u32::MAX));
        histogram.record(5);
        histogram.record(5);
        histogram.record_times(9, 3 << 33);
        assert_eq!(histogram.count(), (1 << 32) + 1 + (3 << 33));
        assert_eq!(histogram.quantile(0.1), Some(5.0));
        assert_eq!(histogram.quantile(0.2), Some(9.0));
        let mut both = histogram.clone();
        both.merge(&histogram);
        assert_eq!(both.count(), 2 * histogram.count());
    }

    #[test]
    fn a_distribution_by_hand() {
        let mut histogram = Histogram::default();
        // From 64 on there are two values to a bucket, from 128 on four.
        for (value, times) in [(5, 1), (66, 2), (67, 1), (68, 4), (130, 1)] {
            histogram.record_times(value, times);
        }
        let distribution = histogram.distribution();
        let edges: Vec<f64> = (distribution.up_to_s.iter())
            .map(|&edge| (edge * 1e9).round())
            .collect();
        assert_eq!(edges, [5.0, 67.0, 69.0, 131.0]);
        assert_eq!(distribution.count, [1, 3, 4, 1]);
        assert!(Histogram::default().distribution().is_empty());
    }

    proptest! {
        #[test]
        fn a_distribution_is_the_values_to_a_32nd(
            values in prop::collection::vec(0u64..1 << 40, 1..300),
            bound in 0u64..1 << 40,
            split in 0usize..300,
        ) {
            let mut parts = [Histogram::default(), Histogram::default()];
            for (index, &value) in values.iter().enumerate() {
                parts[usize::from(index < split)].record(value);
            }
            // As the distributions of two seeds.
            let mut merged = parts[0].distribution();
            merged.merge(&parts[1].distribution());
            let [mut both, other] = parts;
            both.merge(&other);
            prop_assert_eq!(&merged, &both.distribution());
            prop_assert!(merged.up_to_s.is_sorted_by(|a, b| a < b));
            let shares: Vec<f64> = merged.cumulative().map(|(_, _, share)| share).collect();
            prop_assert_eq!(shares.last(), Some(&1.0));
            // Values up to the edge of a bin, and no others, are counted up to it.
            let bound = bound as f64 * 1e-9;
            let at_most = |bound: f64| values.iter().filter(|&&value| value as f64 * 1e-9 <= bound).count() as u64;
            let counted: u64 = (merged.up_to_s.iter().zip(&merged.count))
                .filter(|&(&edge, _)| edge <= bound)
                .map(|(_, &count)| count)
                .sum();
            prop_assert!(counted <= at_most(bound));
            prop_assert!(counted >= at_most(bound * 32.0 / 33.0));
        }

        #[test]
        fn buckets_are_in_order_without_gaps(value in 0u64..u64::MAX) {
            let step = bucket(value + 1) - bucket(value);
            prop_assert!(step <= 1);
        }

        #[test]
        fn quantiles_are_within_a_64th(mut values in prop::collection::vec(0u64..1 << 40, 1..300), quantile in 0.0..1.0f64) {
            let mut histogram = Histogram::default();
            let mut other = Histogram::default();
            for (index, &value) in values.iter().enumerate() {
                if index % 2 == 0 { histogram.record(value) } else { other.record(value) }
            }
            histogram.merge(&other);
            values.sort_unstable();
            let rank = ((quantile * values.len() as f64).ceil() as usize).max(1);
            let exact = values[rank - 1] as f64;
            let got = histogram.quantile(quantile).unwrap();
            prop_assert!((got - exact).abs() <= exact / 64.0 + 0.5, "{got} {exact}");
        }
    }
}
