// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records of netnice's decisions, as the kernel's programs write them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use netnice_parameters::decisions::Transition;

/// Takes note of netnice's decisions on the connections of a flow, which have numbers in the order in which they first decide.
#[derive(Clone)]
pub struct Observer(Arc<Observed>);

struct Observed {
    note: Box<dyn Fn(&Transition) + Send + Sync>,
    connections: AtomicU64,
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").finish_non_exhaustive()
    }
}

impl Observer {
    /// Has `note` called with each record.
    pub fn new(note: impl Fn(&Transition) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Observed {
            note: Box::new(note),
            connections: AtomicU64::new(0),
        }))
    }
}

/// The members of a connection's state that a record copies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decided {
    pub(crate) moves: u32,
    pub(crate) phase: u8,
    pub(crate) reason: u8,
    pub(crate) queue_us: u32,
    pub(crate) threshold_us: u32,
}

/// From the array that the native functions fill.
impl From<[u32; 5]> for Decided {
    fn from([moves, phase, reason, queue_us, threshold_us]: [u32; 5]) -> Self {
        Self {
            moves,
            phase: phase as u8,
            reason: reason as u8,
            queue_us,
            threshold_us,
        }
    }
}

/// Tells an observer of one connection: `nice/kernel/src/bpf/decision_record.h`.
#[derive(Debug, Clone)]
pub(crate) struct Teller {
    observer: Observer,
    connection: Option<u64>,
    at_receiver: bool,
    moves: u32,
    phase: u8,
}

impl Teller {
    /// Of a connection that has decided nothing.
    pub(crate) fn new(observer: &Observer, at_receiver: bool) -> Self {
        Self {
            observer: observer.clone(),
            connection: None,
            at_receiver,
            moves: 0,
            phase: 0,
        }
    }

    /// Tells of the transitions since the last call, if there are any.
    pub(crate) fn tell(&mut self, now_ns: u64, decided: Decided, window_before: u32, window: u32) {
        if decided.moves == self.moves {
            return;
        }
        let observed = &self.observer.0;
        let next = || observed.connections.fetch_add(1, Ordering::Relaxed);
        let connection = *self.connection.get_or_insert_with(next);
        (observed.note)(&Transition {
            time_ns: now_ns,
            connection,
            number: decided.moves,
            moves: decided.moves.wrapping_sub(self.moves),
            window_before,
            window_after: window,
            queue_us: decided.queue_us,
            threshold_us: decided.threshold_us,
            before: self.phase,
            after: decided.phase,
            reason: decided.reason,
            at_receiver: self.at_receiver.into(),
            reserved: [0; 4],
        });
        self.moves = decided.moves;
        self.phase = decided.phase;
    }
}
