// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links whose rate follows a trace: packets leave at recorded times only.

use std::str::FromStr;

use crate::time::Time;
use crate::units::Rate;

/// Bytes that a delivery opportunity carries.
const OPPORTUNITY_BYTES: u64 = 1500;
/// More opportunities than an hour at 10 Gb/s has.
const MOST: usize = 4_000_000;

/// Times at which a link delivers, in mahimahi's format: on each line the milliseconds since the beginning, in ascending
/// order, of an opportunity to deliver 1500 bytes. After the last line the trace begins again. Small packets share an
/// opportunity and large packets take several, but an opportunity that finds no packet is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryTrace {
    times_ms: Vec<u64>,
    period_ms: u64,
    mean_rate: Rate,
}

/// A mistake in a trace, with the number of its line from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {message}")]
pub struct TraceError {
    /// The line.
    pub line: usize,
    /// The mistake, and what to write.
    pub message: String,
}

impl FromStr for DeliveryTrace {
    type Err = TraceError;

    /// Reads a trace; empty lines and those that begin with `#` do not count.
    fn from_str(text: &str) -> Result<DeliveryTrace, TraceError> {
        let mut times_ms: Vec<u64> = Vec::new();
        let mut last_line = 1;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            last_line = index + 1;
            let error = |message: String| TraceError {
                line: index + 1,
                message,
            };
            let time: u64 = line.parse().map_err(|_| {
                let line: String = line.chars().take(40).collect();
                error(format!(
                    "`{}` is not a whole number of milliseconds, such as 125",
                    line.escape_debug()
                ))
            })?;
            if times_ms.last().is_some_and(|&last| time < last) {
                return Err(error(format!(
                    "{time} is earlier than the line before; times ascend"
                )));
            }
            if time > u64::from(u32::MAX) || times_ms.len() == MOST {
                return Err(error(format!(
                    "the trace is too long; allowed are {MOST} lines and {} ms",
                    u32::MAX
                )));
            }
            times_ms.push(time);
        }
        let period_ms = times_ms.last().copied().unwrap_or(0);
        let bits = times_ms.len() as u64 * OPPORTUNITY_BYTES * 8;
        let rate = (bits * 1000)
            .checked_div(period_ms)
            .map(Rate::from_bits_per_second);
        match rate {
            Some(Ok(mean_rate)) => Ok(DeliveryTrace {
                times_ms,
                period_ms,
                mean_rate,
            }),
            _ => Err(TraceError {
                line: last_line,
                message: "the trace has no time after 0 ms, so it has no length and no rate"
                    .to_owned(),
            }),
        }
    }
}

impl DeliveryTrace {
    /// The mean rate over the trace.
    pub fn mean_rate(&self) -> Rate {
        self.mean_rate
    }

    /// Opportunities before the trace begins again.
    pub fn opportunities(&self) -> usize {
        self.times_ms.len()
    }

    /// Length of the trace in milliseconds.
    pub fn period_ms(&self) -> u64 {
        self.period_ms
    }

    /// The time of the opportunity with this number, counted through all repetitions.
    fn time(&self, number: u64) -> Time {
        let length = self.times_ms.len() as u64;
        let begun = (number / length).saturating_mul(self.period_ms);
        Time::from_millis(begun.saturating_add(self.times_ms[(number % length) as usize]))
    }

    /// The number of the first opportunity at or after `time`.
    fn first_at(&self, time: Time) -> u64 {
        let length = self.times_ms.len() as u64;
        let ms = time.as_nanos().div_ceil(1_000_000);
        // The last opportunity of a repetition coincides with the beginning of the next.
        let (repetition, within) = match (ms / self.period_ms, ms % self.period_ms) {
            (repetition @ 1.., 0) => (repetition - 1, self.period_ms),
            other => other,
        };
        let index = self.times_ms.partition_point(|&time| time < within) as u64;
        repetition * length + index
    }
}

/// A link that follows a trace.
#[derive(Debug, Clone)]
pub(crate) struct TraceService {
    trace: std::sync::Arc<DeliveryTrace>,
    /// The number of the opportunity in use or to be used next, and the bytes left in it.
    next: u64,
    left: u64,
}

impl TraceService {
    pub(crate) fn new(trace: std::sync::Arc<DeliveryTrace>) -> TraceService {
        TraceService {
            trace,
            next: 0,
            left: OPPORTUNITY_BYTES,
        }
    }

    pub(crate) fn mean_rate(&self) -> Rate {
        self.trace.mean_rate
    }

    /// Returns when a packet may leave that has come at or before `time`.
    pub(crate) fn available(&mut self, time: Time) -> Time {
        if self.trace.time(self.next) < time {
            self.next = self.trace.first_at(time);
            self.left = OPPORTUNITY_BYTES;
        }
        self.trace.time(self.next)
    }

    /// Serves a packet from the next opportunity on; returns when its last byte leaves, and from when the next packet may
    /// follow.
    pub(crate) fn serve(&mut self, length: u64) -> (Time, Time) {
        let mut length = length;
        while length > self.left {
            length -= self.left;
            self.next += 1;
            self.left = OPPORTUNITY_BYTES;
        }
        let end = self.trace.time(self.next);
        self.left -= length;
        if self.left == 0 {
            self.next += 1;
            self.left = OPPORTUNITY_BYTES;
        }
        (end, self.trace.time(self.next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opportunities_repeat_with_the_period() {
        let trace: DeliveryTrace = "# ms\n0\n5\n5\n\n20\n".parse().unwrap();
        assert_eq!((trace.opportunities(), trace.period_ms()), (4, 20));
        // 4 * 12,000 bits in 20 ms.
        assert_eq!(trace.mean_rate(), "2.4mbit".parse().unwrap());
        let times: Vec<u64> = (0..9)
            .map(|n| trace.time(n).as_nanos() / 1_000_000)
            .collect();
        assert_eq!(times, [0, 5, 5, 20, 20, 25, 25, 40, 40]);
        for (time, first) in [
            (0, 0),
            (1, 1),
            (5_000_000, 1),
            (5_000_001, 3),
            (20_000_000, 3),
            (20_000_001, 5),
            (39_000_000, 7),
            (40_000_000, 7),
        ] {
            assert_eq!(trace.first_at(Time::from_nanos(time)), first, "{time}");
        }
    }

    #[test]
    fn mistakes_have_their_line() {
        for (text, line, words) in [
            ("", 1, "no time after 0 ms"),
            ("# x\n0\n0\n", 3, "no time after 0 ms"),
            ("5\n\n4\n", 3, "earlier than the line before"),
            ("5\n6.5\n", 2, "`6.5` is not a whole number"),
            ("5\n-1\n", 2, "`-1` is not"),
            ("99999999999\n", 1, "too long"),
        ] {
            let error = text.parse::<DeliveryTrace>().unwrap_err();
            assert_eq!(error.line, line, "{text}");
            assert!(error.message.contains(words), "{text}: {error}");
        }
    }
}
