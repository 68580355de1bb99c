// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transfers that arrive at random times, and the distributions of their sizes.

use std::time::Duration;

use netnice_queue::{Bytes, Rate};
use schemars::JsonSchema;
use serde::Deserialize;

use super::TimeSpan;
use super::kind_schema::or_name;

/// Transfers that arrive as a Poisson process, each over a connection of its own.
///
/// A flow with this application is from the servers to the clients; it covers all hosts of both groups. For each transfer a
/// client picked at random sends a request to a server picked at random, which answers with the data. The transfer begins
/// with the client's SYN and ends when the client has the last byte.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// Mean rate of the transfers' data, headers left out; while on.
    pub rate: Option<Rate>,
    /// Mean time from the beginning of a transfer to the beginning of the next, in place of `rate`; exponential.
    pub between_flows: Option<TimeSpan>,
    /// Sizes of the transfers.
    pub size: TransferSize,
    /// Mean length of the times in which transfers arrive; exponential. Without it they arrive all the time.
    pub mean_on: Option<TimeSpan>,
    /// Mean length of the times between, in which none begins; exponential.
    pub mean_off: Option<TimeSpan>,
    /// Sizes that divide the classes for which results have completion times, in ascending order.
    #[serde(default = "size_classes")]
    pub size_classes: Vec<Bytes>,
    /// Size of a request.
    #[serde(default = "request_size")]
    pub request_size: Bytes,
}

pub(super) fn request_size() -> Bytes {
    Bytes::new(300)
}

/// Small: queries and short messages; large: updates (as section 2.2 of the DCTCP paper divides them).
fn size_classes() -> Vec<Bytes> {
    vec![Bytes::new(100_000), Bytes::new(10_000_000)]
}

/// The distribution of the sizes of transfers, in bytes of data.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[schemars(tag = "kind", transform = or_name)]
pub enum TransferSize {
    /// All alike.
    Fixed {
        /// Size.
        bytes: Bytes,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean: Bytes,
    },
    /// Pareto.
    Pareto {
        /// Mean, before the cut.
        mean: Bytes,
        /// Shape, more than 1.
        #[serde(default = "pareto_shape")]
        #[schemars(range(min = 1.0))]
        shape: f64,
        /// Larger draws are cut to this.
        max: Option<Bytes>,
    },
    /// Lognormal.
    Lognormal {
        /// Mean.
        mean: Bytes,
        /// Standard deviation of the natural logarithm of the size, more than 0.
        sigma: f64,
    },
    /// Web search in a data centre (Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, figure 4).
    WebSearch,
    /// Data mining in a data centre (Greenberg et al., "VL2", SIGCOMM 2009, figure 2).
    DataMining,
    /// A cumulative distribution from a file.
    File {
        /// A text file with a size in bytes and the share of transfers that are no larger on each line, named relative to
        /// the scenario.
        file: String,
        /// The points of the file.
        #[serde(skip)]
        points: Vec<SizePoint>,
    },
}

fn pareto_shape() -> f64 {
    1.2
}

/// A point of a cumulative distribution. Between two points it is linear.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizePoint {
    /// Size in bytes.
    pub bytes: f64,
    /// Share of the transfers that are no larger, 0 to 1.
    pub share: f64,
}

/// Points of the paper's curve, as simulations of data centres use them: a mean of 1.71 MB.
const WEB_SEARCH: [(f64, f64); 12] = [
    (0.0, 0.0),
    (10e3, 0.15),
    (20e3, 0.2),
    (30e3, 0.3),
    (50e3, 0.4),
    (80e3, 0.53),
    (200e3, 0.6),
    (1e6, 0.7),
    (2e6, 0.8),
    (5e6, 0.9),
    (10e6, 0.97),
    (30e6, 1.0),
];

/// Points of the paper's curve, as simulations of data centres use them: a mean of 12.7 MB.
const DATA_MINING: [(f64, f64); 13] = [
    (0.0, 0.0),
    (180.0, 0.1),
    (216.0, 0.2),
    (560.0, 0.3),
    (900.0, 0.4),
    (1100.0, 0.5),
    (1870.0, 0.6),
    (3160.0, 0.7),
    (10e3, 0.8),
    (400e3, 0.9),
    (3.16e6, 0.95),
    (100e6, 0.98),
    (1e9, 1.0),
];

impl TransferSize {
    /// The points of an empirical distribution; `None` of one with a formula.
    pub fn points(&self) -> Option<Vec<SizePoint>> {
        let of = |points: &[(f64, f64)]| {
            let points = points.iter();
            points
                .map(|&(bytes, share)| SizePoint { bytes, share })
                .collect()
        };
        match self {
            TransferSize::WebSearch => Some(of(&WEB_SEARCH)),
            TransferSize::DataMining => Some(of(&DATA_MINING)),
            TransferSize::File { points, .. } => Some(points.clone()),
            _ => None,
        }
    }

    /// The mean in bytes, after the cut.
    pub fn mean_bytes(&self) -> f64 {
        match *self {
            TransferSize::Fixed { bytes: mean }
            | TransferSize::Exponential { mean }
            | TransferSize::Lognormal { mean, .. }
            | TransferSize::Pareto {
                mean, max: None, ..
            } => mean.get() as f64,
            TransferSize::Pareto {
                mean,
                shape,
                max: Some(max),
            } => mean_of_cut_pareto(mean, shape, max),
            _ => {
                let points = self.points().unwrap_or_default();
                let pieces = points.windows(2);
                pieces
                    .map(|piece| {
                        let middle = (piece[0].bytes + piece[1].bytes) / 2.0;
                        (piece[1].share - piece[0].share) * middle
                    })
                    .sum()
            }
        }
    }
}

/// The mean in bytes of a Pareto distribution whose larger draws are cut to `max`.
///
/// The integral of P(X > x) from 0 to the cut, with the smallest size x_m = mean (shape - 1) / shape.
pub(super) fn mean_of_cut_pareto(mean: Bytes, shape: f64, max: Bytes) -> f64 {
    let least = mean.get() as f64 * (shape - 1.0) / shape;
    let tail = (least / max.get() as f64).powf(shape - 1.0);
    least + least / (shape - 1.0) * (1.0 - tail)
}

impl Arrivals {
    /// The mean time from the beginning of a transfer to the beginning of the next, while on: as given, or so that the data
    /// come at `rate`. `None` if neither is given.
    pub fn mean_gap(&self) -> Option<Duration> {
        match (self.between_flows, self.rate) {
            (Some(gap), _) => Some(gap.get()),
            (None, Some(rate)) => {
                let seconds = 8.0 * self.size.mean_bytes() / rate.as_f64();
                Duration::try_from_secs_f64(seconds).ok()
            }
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_the_published_curves() {
        // Sums of (share of a piece) * (middle of the piece), by hand.
        assert!((TransferSize::WebSearch.mean_bytes() - 1_711_250.0).abs() < 1e-6);
        let mining = TransferSize::DataMining.mean_bytes();
        // 9 + 19.8 + 38.8 + 73 + 100 + 148.5 + 251.5 + 658 + 20,500 + 89,000 + 1,547,400 + 11,000,000.
        assert!((mining - 12_658_198.6).abs() < 1e-6, "{mining}");
    }

    #[test]
    fn a_cut_takes_from_the_mean_of_pareto() {
        let cut = TransferSize::Pareto {
            mean: Bytes::new(12_000),
            shape: 1.5,
            max: Some(Bytes::new(16_000)),
        };
        // x_m = 4000; 4000 + 4000 / 0.5 * (1 - sqrt(1/4)) = 8000.
        assert!((cut.mean_bytes() - 8000.0).abs() < 1e-9);
    }

    #[test]
    fn a_rate_sets_the_time_between_transfers() {
        let arrivals = Arrivals {
            rate: Some("8mbit".parse().unwrap()),
            between_flows: None,
            size: TransferSize::Fixed {
                bytes: Bytes::new(10_000),
            },
            mean_on: None,
            mean_off: None,
            size_classes: Vec::new(),
            request_size: Bytes::new(300),
        };
        // 80,000 bits at 8 Mb/s.
        assert_eq!(arrivals.mean_gap(), Some(Duration::from_millis(10)));
    }
}
