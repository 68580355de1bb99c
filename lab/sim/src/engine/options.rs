// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of the engine.

/// How a run is computed. Results do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineOptions {
    /// How pending events are sorted.
    pub scheduler: SchedulerKind,
    /// Drop-tail links compute on a packet's arrival when it will leave. Otherwise they are plain
    /// [`Link`](netnice_queue::Link)s as all others are.
    pub computed_departures: bool,
    /// Packets are fast-forwarded and prefetched where that is possible.
    pub lookahead: bool,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            scheduler: SchedulerKind::Fast,
            computed_departures: true,
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
    /// In one binary heap: the reference scheduler, which the others are tested against.
    Reference,
}
