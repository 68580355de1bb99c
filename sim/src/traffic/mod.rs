// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traffic sources: when a program writes how many bytes. The same sources feed UDP, where each write is a packet, and
//! TCP.
//!
//! A new source is one file with a description and a generator, and a variant in [`Traffic`].

mod constant_rate;
mod of_scenario;
mod on_off;
mod poisson;
mod square_wave;
mod trace;
mod web;

use netnice_queue::Time;

pub use constant_rate::ConstantRate;
pub use on_off::{OnOff, PeriodLength};
pub use poisson::{PacketSize, Poisson};
pub use square_wave::SquareWave;
pub use trace::{TraceError, WriteTrace};
pub use web::{Object, ObjectSize, Session, Web};

use crate::random::Stream;

/// A write of the program above the transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// When.
    pub at: Time,
    /// How much: data and, as in a packet of its own, headers. At least one byte of data is written.
    pub bytes: u32,
}

/// What a flow's program does, from the flow's start.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    /// A transfer over TCP that is as fast as TCP lets it be: FTP.
    Bulk,
    /// Packets of one size at even intervals.
    ConstantRate(ConstantRate),
    /// Constant rate for a time, silence for a time, and so on.
    SquareWave(SquareWave),
    /// Periods of constant rate and of silence, of random length.
    OnOff(OnOff),
    /// Packets at random, independently of one another.
    Poisson(Poisson),
    /// Writes at given times.
    Trace(WriteTrace),
}

impl Traffic {
    /// The largest packet, in bytes with headers; `None` where TCP decides.
    pub fn largest_packet(&self) -> Option<u32> {
        match self {
            Traffic::Bulk => None,
            Traffic::ConstantRate(source) => Some(source.packet_bytes),
            Traffic::SquareWave(source) => Some(source.high.packet_bytes),
            Traffic::OnOff(source) => Some(source.high.packet_bytes),
            Traffic::Poisson(source) => Some(match source.size {
                PacketSize::Fixed(bytes) => bytes,
                PacketSize::Exponential { .. } => u32::from(u16::MAX),
            }),
            Traffic::Trace(trace) => Some(trace.largest()),
        }
    }
}

/// A source at work: an iterator over writes, whose times never decrease.
#[derive(Debug)]
pub struct Generator(Source);

#[derive(Debug)]
enum Source {
    ConstantRate(constant_rate::Generator),
    SquareWave(square_wave::Generator),
    OnOff(on_off::Generator),
    Poisson(poisson::Generator),
    Trace(trace::Generator),
}

impl Traffic {
    /// The source, starting at `start`; `None` for bulk transfers, which write all at once.
    pub fn generator(&self, start: Time, stream: Stream) -> Option<Generator> {
        Some(Generator(match self {
            Traffic::Bulk => return None,
            Traffic::ConstantRate(source) => Source::ConstantRate(source.generator(start)),
            Traffic::SquareWave(source) => Source::SquareWave(source.generator(start)),
            Traffic::OnOff(source) => Source::OnOff(source.generator(start, stream)),
            Traffic::Poisson(source) => Source::Poisson(source.generator(start, stream)),
            Traffic::Trace(source) => Source::Trace(source.generator(start)),
        }))
    }
}

impl Iterator for Generator {
    type Item = Write;

    fn next(&mut self) -> Option<Write> {
        match &mut self.0 {
            Source::ConstantRate(generator) => generator.next(),
            Source::SquareWave(generator) => generator.next(),
            Source::OnOff(generator) => generator.next(),
            Source::Poisson(generator) => generator.next(),
            Source::Trace(generator) => generator.next(),
        }
    }
}
