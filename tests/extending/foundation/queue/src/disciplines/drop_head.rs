// SPDX-License-Identifier: MIT OR Apache-2.0
// What the source tree needs in addition to `lab/examples/extension/src/drop_head.rs`.

use serde::{Deserialize, Serialize};

use crate::{DisciplineContext, DisciplineError, QueueLimit};

/// Configuration of a drop-head queue.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropHeadConfig {
    /// Most packets that wait.
    pub limit: QueueLimit,
}

impl DropHeadConfig {
    /// Returns true if the discipline marks ECN-capable packets.
    pub(crate) fn marks(&self) -> bool {
        false
    }
}

impl<P: Packet> DropHead<P> {
    /// Creates the queue that `config` describes. The queue is not random, so `seed` has no effect.
    pub fn from_config(
        config: &DropHeadConfig,
        context: &DisciplineContext,
        _seed: u64,
    ) -> Result<DropHead<P>, DisciplineError> {
        Ok(DropHead::new(context.bound_in_packets(config.limit)?))
    }
}
