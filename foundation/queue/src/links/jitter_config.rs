// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random delays of a link's packets, as they are described.

use serde::Deserialize;

use super::impairments::Jitter;
use crate::units::{LossFraction, TimeSpan};

/// Random delay of each packet after the propagation; a text such as "5ms" is uniform from 0 to that.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schemars", schemars(rename = "Jitter"))]
#[serde(deny_unknown_fields)]
pub struct JitterConfig {
    /// The largest delay of `uniform`, the mean of `exponential` and `pareto`, the standard deviation of `netem_pareto`, the delay
    /// of all packets but the early ones of `early`.
    pub size: TimeSpan,
    /// How the delay is distributed.
    #[serde(default)]
    pub distribution: JitterDistribution,
    /// Share of the packets that come early; of `early` only, 1 % unless given.
    pub early_fraction: Option<LossFraction>,
    /// Packets may overtake each other; otherwise each waits for the one before.
    #[serde(default)]
    pub reordering: bool,
}

/// How a random delay is distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum JitterDistribution {
    /// Uniform from 0 to the size.
    #[default]
    Uniform,
    /// Exponential with the size as mean.
    Exponential,
    /// Pareto (Lomax) of shape 3 with the size as mean: heavy-tailed.
    Pareto,
    /// Pareto of shape 3 as netem's table of that name has it: the size is its standard deviation, 14/3 of that its largest
    /// delay.
    NetemPareto,
    /// The size, but for a share of the packets that come without it.
    Early,
}

impl JitterConfig {
    /// Returns the delays to draw.
    pub fn jitter(&self) -> Jitter {
        let size = self.size.get();
        match self.distribution {
            JitterDistribution::Uniform => Jitter::Uniform(size),
            JitterDistribution::Exponential => Jitter::Exponential(size),
            JitterDistribution::Pareto => Jitter::Pareto(size),
            JitterDistribution::NetemPareto => Jitter::NetemPareto(size),
            JitterDistribution::Early => {
                let percent = || LossFraction::from_billionths(10_000_000).ok();
                let early = self.early_fraction.or_else(percent).unwrap_or_default();
                Jitter::Early(size, early)
            }
        }
    }
}
