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

    /// Reads a trace; empty lines and those that begin with `#` do not count. Lines of two numbers are seconds and Mb/s.
    fn from_str(text: &str) -> Result<DeliveryTrace, TraceError> {
        let data = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with('#');
        if (text.lines().find(data)).is_some_and(|line| line.split_whitespace().count() == 2) {
            return of_rates(text);
        }
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
            // The message does not quote the line: the author of a scenario may name a file that only the user who runs it can
            // read.
            let time: u64 = line.parse().map_err(|_| {
                error("this is not a whole number of milliseconds, such as 125".to_owned())
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

/// Reads a trace of rates: a time in seconds and the rate from then on in Mb/s on each line, as of the HSDPA sets and Pensieve. The
/// last rate holds as long as the one before. An opportunity comes when the rate has made room for its bytes.
fn of_rates(text: &str) -> Result<DeliveryTrace, TraceError> {
    const BITS: f64 = (OPPORTUNITY_BYTES * 8) as f64;
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let error = |message: &str| TraceError {
            line: index + 1,
            message: message.to_owned(),
        };
        let mut words = line.split_whitespace().map(str::parse::<f64>);
        let (Some(Ok(at)), Some(Ok(rate)), None) = (words.next(), words.next(), words.next())
        else {
            return Err(error(
                "this is not a time in seconds and a rate in Mb/s, as in `0.5 3.2`",
            ));
        };
        if !(0.0..=f64::from(u32::MAX) / 1e3).contains(&at) || !(0.0..=1e6).contains(&rate) {
            return Err(error(
                "the time must be 0 to 4294967 s, and the rate 0 to 1000000 Mb/s",
            ));
        }
        if steps.last().is_some_and(|&(last, _)| at <= last) {
            return Err(error(
                "the time is not after that of the line before; times ascend",
            ));
        }
        steps.push((at, rate));
    }
    let last = text.lines().count();
    let [.., (before, _), (at, rate)] = steps[..] else {
        return Err(TraceError {
            line: last,
            message: "a trace of rates needs two lines".to_owned(),
        });
    };
    let begin = steps[0].0;
    steps.push((2.0 * at - before, rate));
    let mut times: Vec<String> = Vec::new();
    let mut bits = 0.0;
    for pair in steps.windows(2) {
        let ((from, rate), to) = (pair[0], pair[1].0);
        let per_second = rate * 1e6;
        let mut at = from;
        while per_second > 0.0 && at + (BITS - bits) / per_second <= to {
            at += (BITS - bits) / per_second;
            bits = 0.0;
            times.push(format!("{:.0}", ((at - begin) * 1e3).ceil()));
            if times.len() > MOST {
                return Err(TraceError {
                    line: last,
                    message: format!("the trace is too long; allowed are {MOST} packets of it"),
                });
            }
        }
        bits += (to - at) * per_second;
    }
    times.join("\n").parse()
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

    /// 1.2 Mb/s for a second, none for a second, 12 Mb/s for as long: 100, 0 and 1,000 packets.
    #[test]
    fn rates_become_opportunities() {
        let trace: DeliveryTrace = "# s Mb/s\n7.0\t1.2\n8.0 0\n9 12\n".parse().unwrap();
        assert_eq!((trace.opportunities(), trace.period_ms()), (1100, 3000));
        let times = [0, 1, 99, 100, 101].map(|n| trace.time(n).as_nanos() / 1_000_000);
        assert_eq!(times, [10, 20, 1000, 2001, 2002]);
    }

    #[test]
    fn mistakes_have_their_line() {
        for (text, line, words) in [
            ("", 1, "no time after 0 ms"),
            ("# x\n0\n0\n", 3, "no time after 0 ms"),
            ("5\n\n4\n", 3, "earlier than the line before"),
            ("5\n6.5\n", 2, "this is not a whole number"),
            ("5\n-1\n", 2, "this is not"),
            ("0 1\n", 1, "two lines"),
            ("0 1\n1 x\n", 2, "as in `0.5 3.2`"),
            ("0 1\n1 -1\n", 2, "the rate 0 to"),
            ("1 1\n1 1\n", 2, "times ascend"),
            ("0 1000000\n4000000 1\n", 2, "too long"),
            ("99999999999\n", 1, "too long"),
        ] {
            let error = text.parse::<DeliveryTrace>().unwrap_err();
            assert_eq!(error.line, line, "{text}");
            assert!(error.message.contains(words), "{text}: {error}");
        }
    }
}
