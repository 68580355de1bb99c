// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that can be written in two ways.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Defaults, DelayedAck, Seeds, Sweep, TimeSpan};

/// Seeds given as a number, at most.
const MAX_SEEDS: i64 = 100_000;

/// The delay of `delayed_ack = true`: Linux delays an ACK for 40 ms.
const DELAYED_ACK: TimeSpan = TimeSpan::from_millis(40);

impl<'de> Deserialize<'de> for Seeds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Seeds, D::Error> {
        struct SeedsVisitor;
        impl<'de> Visitor<'de> for SeedsVisitor {
            type Value = Seeds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    "a number of seeds from 1 to {MAX_SEEDS}, or a list of seeds"
                )
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Seeds, E> {
                match number {
                    1..=MAX_SEEDS => Ok(Seeds((1..=number as u64).collect())),
                    _ => Err(E::invalid_value(
                        serde::de::Unexpected::Signed(number),
                        &self,
                    )),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Seeds, A::Error> {
                let mut seeds = Vec::new();
                let mut known = HashSet::new();
                while let Some(seed) = list.next_element::<u64>()? {
                    if !known.insert(seed) {
                        return Err(A::Error::custom(format!("seed {seed} is given twice")));
                    }
                    seeds.push(seed);
                }
                match seeds.is_empty() {
                    true => Err(A::Error::invalid_length(0, &self)),
                    false => Ok(Seeds(seeds)),
                }
            }
        }
        deserializer.deserialize_any(SeedsVisitor)
    }
}

impl<'de> Deserialize<'de> for Sweep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Sweep, D::Error> {
        deserializer.deserialize_ignored_any(IgnoredAny)?;
        Ok(Sweep)
    }
}

impl<'de> Deserialize<'de> for Defaults {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Defaults, D::Error> {
        deserializer.deserialize_ignored_any(IgnoredAny)?;
        Ok(Defaults)
    }
}

impl<'de> Deserialize<'de> for DelayedAck {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DelayedAck, D::Error> {
        struct DelayedAckVisitor;
        impl Visitor<'_> for DelayedAckVisitor {
            type Value = DelayedAck;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, or a time such as \"100ms\"")
            }

            fn visit_bool<E: Error>(self, delayed: bool) -> Result<DelayedAck, E> {
                Ok(match delayed {
                    true => DelayedAck::After(DELAYED_ACK),
                    false => DelayedAck::Off,
                })
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<DelayedAck, E> {
                text.parse().map(DelayedAck::After).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(DelayedAckVisitor)
    }
}
