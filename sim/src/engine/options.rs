// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a run is computed.

/// How a run is computed. Results do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineOptions {
    /// How pending events are sorted.
    pub scheduler: SchedulerKind,
    /// Packets are fast-forwarded and prefetched where that is possible.
    pub lookahead: bool,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            scheduler: SchedulerKind::Fast,
            lookahead: true,
        }
    }
}

/// How pending events are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SchedulerKind {
    /// By the structures that are fastest for the number of links.
    #[default]
    Fast,
    /// By those for thousands of links, however many there are.
    FastForManyLinks,
    /// In one binary heap: the reference that the others are tested against.
    BinaryHeap,
}
