// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface between a stack and the receivers at low priority, and the state that the connections of a group share.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::decisions::Observer;
use crate::floor::Floor;
use crate::netnice_receiver::{Advertised, Group, Path, Segment};
use netnice_parameters::exchange::{Parameters, Report};

/// Name, description and constructor of a receiver: the constant of its file that `RECEIVERS` lists.
pub(crate) struct Registration {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    /// A program of the kernel does the same.
    pub(crate) in_kernel: bool,
    /// It works without the timestamp option (RFC 7323) as well.
    pub(crate) without_timestamps: bool,
    /// Parameters of this name in the table that have no effect at a receiver.
    pub(crate) of_senders: &'static [&'static str],
    pub(crate) open: fn(&Parameters, Opening) -> Box<dyn ReceiverPolicy>,
}

/// A connection as it begins.
#[derive(Debug)]
pub struct Opening {
    /// Window that the handshake has advertised, in bytes.
    pub window_bytes: u32,
    /// Most bytes of data in a packet of the peer.
    pub mss: u32,
    /// Current time in microseconds, which wraps.
    pub now_us: u32,
    /// True if both ends send timestamps (RFC 7323).
    pub timestamps: bool,
    /// Its place in a group; `None` if it knows only itself.
    pub member: Option<Member>,
}

/// Sets the window that the receiver of one connection advertises.
pub trait ReceiverPolicy: fmt::Debug + Send {
    /// Returns the window to advertise in a segment that is about to leave, in bytes; 0, only if the segment may close
    /// it, closes it once what was advertised has arrived. The stack never takes back what it has advertised.
    fn window(&mut self, segment: &Segment, advertised: &Advertised) -> u32;

    /// Returns the limit to keep for the window, in bytes: the latest window, or, while that is 0, the one that opens it.
    fn clamp_bytes(&self) -> u32;

    /// Has netnice's decisions told, of a connection that begins at `now_ns`, in segments' time `now_us`; other policies
    /// make none.
    fn observe(&mut self, _observer: &Observer, _now_ns: u64, _now_us: u32) {}

    /// The report of the policy.
    fn report(&self) -> Report;

    /// Returns a copy of the state.
    fn boxed_clone(&self) -> Box<dyn ReceiverPolicy>;
}

impl Clone for Box<dyn ReceiverPolicy> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// State shared by the connections of a group from one sender to one receiver.
#[derive(Debug, Default)]
pub struct Shared {
    pub(crate) path: Path,
    pub(crate) group: Group,
    pub(crate) floor: Floor,
    /// Connections so far, which gives each its number.
    connections: u32,
}

/// A connection of a group, by its number from 1 on.
#[derive(Debug, Clone)]
pub struct Member {
    shared: Arc<Mutex<Shared>>,
    number: u32,
}

impl Member {
    /// The group's next connection.
    pub fn next_of(shared: &Arc<Mutex<Shared>>) -> Member {
        let mut locked = shared.lock().unwrap_or_else(PoisonError::into_inner);
        locked.connections += 1;
        Member {
            number: locked.connections,
            shared: shared.clone(),
        }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn locked(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
