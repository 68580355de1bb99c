// SPDX-License-Identifier: MIT OR Apache-2.0
//! The markers, a file each.
//!
//! A new marker is one file, its `mod` and `pub use` here, and an entry in `markers!` of `registry.rs`.

mod registry;
mod three_colour;
mod token_bucket;
mod tsw;

pub use registry::{Marker, MarkerConfig};
pub use three_colour::{SrTcm, SrTcmConfig, TrTcm, TrTcmConfig};
pub use token_bucket::{TokenBucket, TokenBucketConfig};
pub use tsw::{Tsw, TswConfig};
