// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traffic sources: when a program writes how many bytes. The same sources feed UDP, where each write is a packet, and
//! TCP.
//!
//! A new source is one file that implements [`Source`]; `of_scenario.rs` makes it of a scenario's application.

mod call;
mod constant_rate;
mod of_scenario;
mod on_off;
mod poisson;
mod sizes;
mod square_wave;
mod trace;
mod video;
mod web;

use std::fmt::{self, Debug};
use std::sync::Arc;

use netnice_queue::Time;

pub use call::{Call, CallReceiver};
pub use constant_rate::ConstantRate;
pub use on_off::{OnOff, PeriodLength};
pub use poisson::{PacketSize, Poisson};
pub use sizes::{ObjectSize, Sizes};
pub use square_wave::SquareWave;
pub use trace::{TraceError, WriteTrace};
pub use video::{Player, Video};
pub use web::{Clients, Object, Pauses, Session, Web};

use netnice_queue::random::Stream;

/// A write of the program above the transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// Time of the write.
    pub at: Time,
    /// Bytes of data and, as in a packet of its own, headers. At least one byte of data is written.
    pub bytes: u32,
}

/// When a flow's program writes how many bytes, from the flow's start.
#[derive(Debug, Clone)]
pub enum Traffic {
    /// A transfer over TCP that is as fast as TCP lets it be: FTP.
    Bulk,
    /// Writes at the times of a source.
    Source(Arc<dyn Source>),
}

/// A description of a traffic source.
pub trait Source: Debug + Send + Sync {
    /// The largest packet, in bytes with headers.
    fn largest_packet(&self) -> u32;

    /// The writes of a flow that starts at `start`, whose times never decrease. What is random is drawn from `stream`.
    fn writes(&self, start: Time, stream: Stream) -> Box<dyn Iterator<Item = Write> + Send>;

    /// The player of a video that starts at `start`, which asks for the data; `None` for other traffic.
    fn player(&self, start: Time) -> Option<Player> {
        let _ = start;
        None
    }

    /// The receiving end of a call that starts at `start`; `None` for other traffic.
    fn call_receiver(&self, start: Time) -> Option<CallReceiver> {
        let _ = start;
        None
    }
}

impl<S: Source + 'static> From<S> for Traffic {
    fn from(source: S) -> Traffic {
        Traffic::Source(Arc::new(source))
    }
}

impl Traffic {
    /// The largest packet, in bytes with headers; `None` where TCP decides.
    pub fn largest_packet(&self) -> Option<u32> {
        match self {
            Traffic::Bulk => None,
            Traffic::Source(source) => Some(source.largest_packet()),
        }
    }

    /// The receiving end of a call that starts at `start`; `None` for other traffic.
    pub(crate) fn call_receiver(&self, start: Time) -> Option<CallReceiver> {
        match self {
            Traffic::Bulk => None,
            Traffic::Source(source) => source.call_receiver(start),
        }
    }

    /// The player of a video that starts at `start`; `None` for other traffic.
    pub(crate) fn player(&self, start: Time) -> Option<Player> {
        match self {
            Traffic::Bulk => None,
            Traffic::Source(source) => source.player(start),
        }
    }

    /// The source, starting at `start`; `None` for bulk transfers, which write all at once.
    pub fn generator(&self, start: Time, stream: Stream) -> Option<Generator> {
        match self {
            Traffic::Bulk => None,
            Traffic::Source(source) => Some(Generator(source.writes(start, stream))),
        }
    }
}

/// A source at work: an iterator over writes, whose times never decrease.
pub struct Generator(Box<dyn Iterator<Item = Write> + Send>);

impl Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Generator")
    }
}

impl Iterator for Generator {
    type Item = Write;

    #[inline]
    fn next(&mut self) -> Option<Write> {
        self.0.next()
    }
}
