// SPDX-License-Identifier: MIT OR Apache-2.0
//! Distributions of the sizes of objects and transfers.

use std::sync::Arc;

use netnice_scenario::model::{SizePoint, TransferSize};

use netnice_queue::random::Stream;

/// A distribution of sizes. Every draw is at least one byte.
#[derive(Debug, Clone, PartialEq)]
pub enum Sizes {
    /// Pareto, or all alike.
    Object(ObjectSize),
    /// Exponential.
    Exponential {
        /// Mean in bytes.
        mean_bytes: f64,
    },
    /// Lognormal.
    Lognormal {
        /// Mean in bytes.
        mean_bytes: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// By the points of a cumulative distribution, in ascending order from a share of 0 to a share of 1, and linear between
    /// two points.
    Empirical(Arc<[SizePoint]>),
}

/// The distribution of object sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObjectSize {
    /// Mean in bytes, before the cut.
    pub mean_bytes: f64,
    /// Shape of a Pareto distribution: 1.2 in the papers; all alike if `None`.
    pub shape: Option<f64>,
    /// Larger draws are cut to this.
    pub max_bytes: Option<u64>,
}

impl From<ObjectSize> for Sizes {
    fn from(size: ObjectSize) -> Sizes {
        Sizes::Object(size)
    }
}

impl Sizes {
    /// The distribution of a scenario.
    pub fn of(size: &TransferSize) -> Sizes {
        let alike = |mean_bytes| ObjectSize {
            mean_bytes,
            shape: None,
            max_bytes: None,
        };
        match size {
            TransferSize::Fixed { bytes } => alike(bytes.get() as f64).into(),
            TransferSize::Exponential { mean } => Sizes::Exponential {
                mean_bytes: mean.get() as f64,
            },
            TransferSize::Pareto { mean, shape, max } => Sizes::Object(ObjectSize {
                shape: Some(*shape),
                max_bytes: max.map(|bytes| bytes.get()),
                ..alike(mean.get() as f64)
            }),
            TransferSize::Lognormal { mean, sigma } => Sizes::Lognormal {
                mean_bytes: mean.get() as f64,
                sigma: *sigma,
            },
            TransferSize::WebSearch | TransferSize::DataMining | TransferSize::File { .. } => {
                Sizes::Empirical(size.points().unwrap_or_default().into())
            }
        }
    }

    /// Draws a size in bytes.
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        let (bytes, most) = match self {
            Sizes::Object(size) => {
                let bytes = match size.shape {
                    Some(shape) => stream.pareto(size.mean_bytes, shape),
                    None => size.mean_bytes,
                };
                (bytes, size.max_bytes)
            }
            Sizes::Exponential { mean_bytes } => (stream.exponential(*mean_bytes), None),
            Sizes::Lognormal { mean_bytes, sigma } => {
                // The mean of exp(mu + sigma Z) is exp(mu + sigma^2 / 2).
                let deviation = sigma * stream.normal() - sigma * sigma / 2.0;
                (mean_bytes * deviation.exp(), None)
            }
            Sizes::Empirical(points) => (quantile(points, stream.uniform()), None),
        };
        (bytes.ceil().min(1e15) as u64)
            .min(most.unwrap_or(u64::MAX))
            .max(1)
    }
}

/// The size that a share of all transfers do not exceed.
fn quantile(points: &[SizePoint], share: f64) -> f64 {
    let above = points.partition_point(|point| point.share <= share);
    match (points.get(above.wrapping_sub(1)), points.get(above)) {
        (Some(low), Some(high)) => {
            let part = (share - low.share) / (high.share - low.share);
            low.bytes + part * (high.bytes - low.bytes)
        }
        _ => points.last().map_or(0.0, |point| point.bytes),
    }
}

#[cfg(test)]
mod tests {
    use netnice_queue::Bytes;

    use super::*;

    fn mean_of(size: &TransferSize, draws: u32) -> f64 {
        let sizes = Sizes::of(size);
        let mut stream = Stream::new(1, "sizes");
        let sum: f64 = (0..draws).map(|_| sizes.draw(&mut stream) as f64).sum();
        sum / f64::from(draws)
    }

    #[test]
    fn means_are_those_of_the_distributions() {
        let mean = Bytes::new(50_000);
        // Bounds are four standard errors of 200,000 draws: of web search with a deviation of 4.2 MB, for example.
        for (size, bound) in [
            (TransferSize::Fixed { bytes: mean }, 0.0),
            (TransferSize::Exponential { mean }, 0.009),
            (TransferSize::Lognormal { mean, sigma: 1.0 }, 0.012),
            (TransferSize::WebSearch, 0.023),
            (
                TransferSize::Pareto {
                    mean,
                    shape: 1.5,
                    max: Some(Bytes::new(1_000_000)),
                },
                0.03,
            ),
        ] {
            let ratio = mean_of(&size, 200_000) / size.mean_bytes();
            // A draw is rounded up to a byte.
            assert!((ratio - 1.0).abs() <= bound + 1e-4, "{size:?}: {ratio}");
        }
    }

    #[test]
    fn quantiles_lie_between_the_points() {
        let points = TransferSize::WebSearch.points().unwrap();
        assert_eq!(quantile(&points, 0.0), 0.0);
        assert_eq!(quantile(&points, 0.15), 10e3);
        // Between 50 kB at 0.4 and 80 kB at 0.53.
        assert!((quantile(&points, 0.465) - 65e3).abs() < 1e-6);
        assert!((quantile(&points, 0.985) - 20e6).abs() < 1e-3);
    }
}
