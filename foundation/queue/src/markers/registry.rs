// SPDX-License-Identifier: MIT OR Apache-2.0
//! Markers at the edge (RFC 2475, section 2.3.3.2): they mark packets as within their profile (IN) or beyond it (OUT)
//! for the RIO queues inside the network.

use serde::de::{Error as _, VariantAccess};
use serde::{Deserialize, Serialize};

use crate::described::Described;
use crate::queue_discipline::Packet;
// Includes all markers and their configurations.
use crate::markers::*;
use crate::time::Time;

/// Declares the markers. A marker is a type with `new(&Config, seed: u64)` and `tag(&mut self, Time, &mut impl Packet)`.
macro_rules! markers {
    ($($(#[doc = $doc:literal])+ $name:literal => $Marker:ident($Config:ty),)+) => {
        /// Configuration of a marker. In a file: a table whose `kind` is one of the names below, with the fields of
        /// that marker.
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum MarkerConfig {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $Marker($Config),)+
        }

        impl Described for MarkerConfig {
            const NAMES: &[&str] = &[$($name),+];

            fn read<'de, A: VariantAccess<'de>>(name: &str, fields: A) -> Result<Self, A::Error> {
                match name {
                    $($name => fields.newtype_variant().map(MarkerConfig::$Marker),)+
                    _ => Err(A::Error::unknown_variant(name, Self::NAMES)),
                }
            }
        }

        /// Any of the markers. It holds the state of what it meters: one flow, or an aggregate of flows.
        #[derive(Debug, Clone)]
        pub enum Marker {
            $($(#[doc = $doc])+ $Marker($Marker),)+
        }

        impl Marker {
            /// Creates the marker that `config` describes; `seed` seeds its own random stream.
            pub fn new(config: &MarkerConfig, seed: u64) -> Marker {
                match config {
                    $(MarkerConfig::$Marker(config) => Marker::$Marker($Marker::new(config, seed)),)+
                }
            }

            /// Meters and marks a packet that arrives at `now`, which must not be earlier than in any previous call.
            pub fn tag(&mut self, now: Time, packet: &mut impl Packet) {
                match self {
                    $(Marker::$Marker(marker) => marker.tag(now, packet),)+
                }
            }
        }
    };
}

// An entry for each marker.
markers! {
    /// The time sliding window tagger.
    "tsw" => Tsw(TswConfig),
    /// The token-bucket tagger.
    "token_bucket" => TokenBucket(TokenBucketConfig),
    /// The single-rate three-colour marker (RFC 2697).
    "srtcm" => SrTcm(SrTcmConfig),
    /// The two-rate three-colour marker (RFC 2698).
    "trtcm" => TrTcm(TrTcmConfig),
}
