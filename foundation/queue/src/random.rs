// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random streams: each source has its own, so that adding a source does not change the draws of the others.

use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The random stream of one source of randomness in one run.
#[derive(Debug, Clone)]
pub struct Stream(Xoshiro256PlusPlus);

/// Derives a seed for the source called `name` in the run with `seed`: FNV-1a over both, then the finaliser of
/// SplitMix64.
pub fn seed_of(seed: u64, name: &str) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in seed.to_le_bytes().into_iter().chain(name.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Draws a number uniformly from [0, 1).
pub(crate) fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

impl Stream {
    /// Creates the stream of the source called `name` in the run with `seed`.
    pub fn new(seed: u64, name: &str) -> Stream {
        Stream(Xoshiro256PlusPlus::seed_from_u64(seed_of(seed, name)))
    }

    /// Draws a number uniformly from [0, 1), with 53 bits.
    pub fn uniform(&mut self) -> f64 {
        uniform(&mut self.0)
    }

    /// Draws a number uniformly from 0 .. `count`, which must not be zero.
    pub fn below(&mut self, count: usize) -> usize {
        // Multiply and shift (Lemire); the bias is below count / 2^64.
        ((u128::from(self.0.next_u64()) * count as u128) >> 64) as usize
    }

    /// Draws from the exponential distribution with `mean`.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }

    /// Draws from the normal distribution with mean 0 and standard deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Draws from the Pareto distribution with `mean` and `shape` above 1; the smallest value is `mean * (shape - 1) /
    /// shape`.
    pub fn pareto(&mut self, mean: f64, shape: f64) -> f64 {
        mean * (shape - 1.0) / shape * (1.0 - self.uniform()).powf(-1.0 / shape)
    }
}

/// The random streams of one direction of a link, which the simulator and the lab draw from in the same way.
///
/// The stream of a flow has the flow's name, or that and ` session NUMBER`. A flow may have a link's name; but names in
/// scenarios have neither quotation marks nor spaces.
#[derive(Debug, Clone, Copy)]
pub struct LinkStreams<'a> {
    seed: u64,
    name: &'a str,
}

impl<'a> LinkStreams<'a> {
    /// Creates the streams of the link called `name` in the run with `seed`.
    pub fn new(seed: u64, name: &'a str) -> LinkStreams<'a> {
        LinkStreams { seed, name }
    }

    /// Seed for [`LinkConfig::seed`](crate::LinkConfig::seed): losses, and jitter that keeps the order.
    pub fn link_seed(self) -> u64 {
        seed_of(self.seed, &format!("link \"{}\"", self.name))
    }

    /// Stream of jitter that reorders packets.
    pub fn reordering(self) -> Stream {
        Stream::new(self.seed, &format!("jitter of link \"{}\"", self.name))
    }

    /// Seed of the queue discipline.
    pub fn queue_seed(self) -> u64 {
        seed_of(self.seed, &format!("{} queue", self.name))
    }

    /// Seed of the marker.
    pub fn marker_seed(self) -> u64 {
        seed_of(self.seed, &format!("{} conditioner", self.name))
    }
}

/// Converts seconds to a duration; saturates at 584 years.
pub fn seconds(value: f64) -> Duration {
    Duration::from_nanos((value * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_and_by_name() {
        let draw = |seed, name| Stream::new(seed, name).uniform();
        assert_eq!(draw(1, "web 1"), draw(1, "web 1"));
        assert_ne!(draw(1, "web 1"), draw(2, "web 1"));
        assert_ne!(draw(1, "web 1"), draw(1, "web 2"));
    }

    #[test]
    fn means_and_least_values_are_as_asked() {
        let mut stream = Stream::new(7, "means");
        let count = 200_000;
        let mean: f64 = (0..count).map(|_| stream.exponential(3.0)).sum::<f64>() / f64::from(count);
        assert!((mean - 3.0).abs() < 0.03, "{mean}");
        // With shape 3 the variance is finite, so the mean converges.
        let draws: Vec<f64> = (0..count).map(|_| stream.pareto(3.0, 3.0)).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(count);
        assert!((mean - 3.0).abs() < 0.03, "{mean}");
        assert!(draws.iter().all(|&draw| draw >= 2.0));
        assert!((0..1000).all(|_| stream.below(7) < 7));
    }
}
