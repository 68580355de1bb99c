// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decisions of the control netnice: records of its transitions between phases, and what they mean.
//!
//! Names and sentences are those of the table in `policies/netnice/decisions.h`.

use std::fmt;

use bytemuck::{Pod, Zeroable};
use serde::Serialize;

/// Names of the phases, by number (`enum netnice_phase`).
pub static PHASES: &[&str] = include!(concat!(env!("OUT_DIR"), "/phases.rs"));

/// Names of the reasons, what each says, and to what it makes the flow give way (a name as of
/// [`GaveWay`](crate::exchange::GaveWay), or `nobody`), by number less 1 (`enum netnice_reason`, whose 0 is none).
pub static REASONS: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/reasons.rs"));

/// Transitions by one event, as the kernel's programs and the simulator record them (`struct decision` of
/// `nice/kernel/src/bpf/abi.h`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Transition {
    /// In a kernel CLOCK_MONOTONIC, in the simulator time of the run.
    pub time_ns: u64,
    /// Number of the connection.
    pub connection: u64,
    /// Transitions of the connection so far.
    pub number: u32,
    /// Transitions by this event; the record is of the last.
    pub moves: u32,
    /// Window before the event, in packets; in bytes at a receiver.
    pub window_before: u32,
    /// Window after it.
    pub window_after: u32,
    /// Queueing delay.
    pub queue_us: u32,
    /// Threshold over which a queue is an indication.
    pub threshold_us: u32,
    /// Number of the phase before the event.
    pub before: u8,
    /// Number of the phase after it.
    pub after: u8,
    /// Number of the reason.
    pub reason: u8,
    /// 1 if the data's receiver decided.
    pub at_receiver: u8,
    /// Padding.
    pub reserved: [u8; 4],
}

/// A record for people and files. Units are in the names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// Time since the beginning of the record.
    pub time_s: f64,
    /// Number of the connection.
    pub connection: u64,
    /// Name of the phase before the event.
    pub before: &'static str,
    /// Name of the phase after it.
    pub after: &'static str,
    /// Name of the reason.
    pub reason: &'static str,
    /// Evidence for the reason, in words.
    pub because: &'static str,
    /// To what the flow gives way by it: a name as of [`GaveWay`](crate::exchange::GaveWay), or `nobody`.
    pub gives_way_to: &'static str,
    /// Transitions by this event, of which the record has the last.
    pub transitions: u32,
    /// Number of the last among those of the connection: a gap shows records that are missing.
    pub number: u32,
    /// True if the data's receiver decided.
    pub at_receiver: bool,
    /// Congestion window before the event; `null` at a receiver.
    pub cwnd_before_packets: Option<u32>,
    /// Congestion window after it.
    pub cwnd_packets: Option<u32>,
    /// Advertised window before the event; `null` at a sender.
    pub window_before_bytes: Option<u32>,
    /// Advertised window after it.
    pub window_bytes: Option<u32>,
    /// Queueing delay.
    pub queue_ms: f64,
    /// Threshold over which a queue is an indication.
    pub threshold_ms: f64,
    /// All of it but the connection, as a line for people.
    pub text: String,
}

impl Transition {
    /// Returns the record in words, with times since `began_ns`.
    pub fn told(&self, began_ns: u64) -> Decision {
        let phase = |number: u8| PHASES.get(usize::from(number)).copied().unwrap_or("?");
        let reason = usize::from(self.reason).checked_sub(1);
        let (reason, because, gives_way_to) = (reason.and_then(|index| REASONS.get(index)))
            .copied()
            .unwrap_or(("?", "of another version", "nobody"));
        let receiver = self.at_receiver != 0;
        let at_sender = |window: u32| (!receiver).then_some(window);
        let at_receiver = |window: u32| receiver.then_some(window);
        let mut decision = Decision {
            time_s: self.time_ns.saturating_sub(began_ns) as f64 / 1e9,
            connection: self.connection,
            before: phase(self.before),
            after: phase(self.after),
            reason,
            because,
            gives_way_to,
            transitions: self.moves,
            number: self.number,
            at_receiver: receiver,
            cwnd_before_packets: at_sender(self.window_before),
            cwnd_packets: at_sender(self.window_after),
            window_before_bytes: at_receiver(self.window_before),
            window_bytes: at_receiver(self.window_after),
            queue_ms: f64::from(self.queue_us) / 1e3,
            threshold_ms: f64::from(self.threshold_us) / 1e3,
            text: String::new(),
        };
        decision.text = decision.to_string();
        decision
    }
}

/// Such as `12.402 s  FILL -> INFER  a queue for a window in a row  window 41 -> 36, queue 3.1 ms over 1.8 ms`.
impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (time, because) = (self.time_s, self.because);
        let (before, after) = (self.before, self.after);
        write!(f, "{time:.3} s  {before} -> {after}  {because}")?;
        if self.transitions > 1 {
            write!(f, " (the last of {} reasons)", self.transitions)?;
        }
        match (self.cwnd_before_packets.zip(self.cwnd_packets))
            .or(self.window_before_bytes.zip(self.window_bytes))
        {
            Some((from, to)) if self.at_receiver => write!(f, "  window {from} -> {to} bytes")?,
            Some((from, to)) => write!(f, "  window {from} -> {to}")?,
            None => {}
        }
        let (queue, threshold) = (self.queue_ms, self.threshold_ms);
        let relation = match queue > threshold {
            true => "over",
            false => "within",
        };
        write!(f, ", queue {queue:.1} ms {relation} {threshold:.1} ms")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number_of(reason: &str) -> u8 {
        let index = REASONS.iter().position(|(name, ..)| *name == reason);
        index.unwrap() as u8 + 1
    }

    #[test]
    fn a_record_reads_as_a_sentence() {
        let transition = Transition {
            time_ns: 20_402_000_000,
            connection: 7,
            number: 9,
            moves: 1,
            window_before: 41,
            window_after: 36,
            queue_us: 3_100,
            threshold_us: 1_800,
            before: 1,
            after: 2,
            reason: number_of("INDICATION"),
            ..Transition::default()
        };
        let told = transition.told(8_000_000_000);
        assert_eq!(
            told.text,
            "12.402 s  FILL -> INFER  a queue for a window in a row  window 41 -> 36, queue 3.1 ms over 1.8 ms"
        );
        assert_eq!((told.reason, told.cwnd_packets), ("INDICATION", Some(36)));
        let at_receiver = Transition {
            at_receiver: 1,
            moves: 2,
            queue_us: 400,
            after: 4,
            reason: number_of("BLIND_LOSS"),
            ..transition
        };
        assert_eq!(
            at_receiver.told(0).text,
            "20.402 s  FILL -> YIELD  losses of others that no delay announces (the last of 2 reasons)  \
             window 41 -> 36 bytes, queue 0.4 ms within 1.8 ms"
        );
    }

    #[test]
    fn each_cause_has_a_reason_of_the_table() {
        for (cause, ..) in crate::exchange::GaveWay::default().by_cause() {
            assert!(REASONS.iter().any(|one| one.2 == cause), "{cause}");
        }
        let others = REASONS.iter().filter(|one| one.2 == "nobody");
        assert!(others.count() > 10 && PHASES.len() == 7);
    }

    #[test]
    fn numbers_of_another_version_are_told_as_such() {
        let transition = Transition {
            before: u8::MAX,
            reason: u8::MAX,
            ..Transition::default()
        };
        let told = transition.told(0);
        assert_eq!((told.before, told.because), ("?", "of another version"));
    }
}
