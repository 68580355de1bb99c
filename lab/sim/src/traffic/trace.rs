// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes at times given in a file.

use std::sync::Arc;
use std::time::Duration;

use netnice_queue::Time;

use super::{Source, Write};
use netnice_queue::random::{Stream, seconds};

/// Writes at given times after the flow's start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteTrace(Arc<[(Duration, u32)]>);

/// A line of a trace that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line}: expected a time in seconds, not before the line above, and a number of bytes from 1 to 65535, found {found:?}"
)]
pub struct TraceError {
    /// Counted from 1.
    pub line: usize,
    /// Text of the line.
    pub found: String,
}

impl WriteTrace {
    /// A trace as text: on each line a time in seconds and a number of bytes, with blanks or a comma between them.
    /// Empty lines and lines that begin with `#` are ignored.
    pub fn parse(text: &str) -> Result<WriteTrace, TraceError> {
        let mut writes: Vec<(Duration, u32)> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let after = writes.last().map_or(Duration::ZERO, |write| write.0);
            writes.push(parse_line(line, after).ok_or_else(|| TraceError {
                line: index + 1,
                found: line.to_owned(),
            })?);
        }
        Ok(WriteTrace(writes.into()))
    }

    /// Writes at these times after the flow's start, which do not decrease, of so many bytes.
    pub fn new(writes: impl IntoIterator<Item = (Duration, u32)>) -> WriteTrace {
        WriteTrace(writes.into_iter().collect())
    }

    pub(super) fn generator(&self, start: Time) -> Generator {
        Generator {
            trace: self.0.clone(),
            next: 0,
            start,
        }
    }
}

fn parse_line(line: &str, after: Duration) -> Option<(Duration, u32)> {
    let mut fields = line
        .split([',', ' ', '\t'])
        .filter(|field| !field.is_empty());
    let at: f64 = fields.next()?.parse().ok()?;
    let bytes: u32 = fields.next()?.parse().ok()?;
    let sound = at.is_finite() && at >= 0.0 && (1..=65_535).contains(&bytes);
    let at = seconds(at);
    (sound && at >= after && fields.next().is_none()).then_some((at, bytes))
}

impl Source for WriteTrace {
    fn largest_packet(&self) -> u32 {
        self.0.iter().map(|&(_, bytes)| bytes).max().unwrap_or(0)
    }

    fn writes(&self, start: Time, _stream: Stream) -> Box<dyn Iterator<Item = Write> + Send> {
        Box::new(self.generator(start))
    }
}

#[derive(Debug)]
pub(crate) struct Generator {
    trace: Arc<[(Duration, u32)]>,
    next: usize,
    start: Time,
}

impl Iterator for Generator {
    type Item = Write;

    fn next(&mut self) -> Option<Write> {
        let &(after, bytes) = self.trace.get(self.next)?;
        self.next += 1;
        Some(Write {
            at: self.start + after,
            bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_times_and_bytes() {
        let trace = WriteTrace::parse("# seconds, bytes\n0.5,1000\n\n0.5 40\n2\t65535\n").unwrap();
        let writes: Vec<(u64, u32)> = trace
            .generator(Time::from_millis(1000))
            .map(|write| (write.at.as_nanos() / 1_000_000, write.bytes))
            .collect();
        assert_eq!(writes, [(1500, 1000), (1500, 40), (3000, 65535)]);
    }

    #[test]
    fn a_bad_line_is_named() {
        for (text, line) in [
            ("1 1000\n0.5 1000", 2),
            ("1", 1),
            ("1 2 3", 1),
            ("\n-1 5", 2),
            ("nan 5", 1),
            ("1 0", 1),
            ("1 65536", 1),
        ] {
            assert_eq!(WriteTrace::parse(text).unwrap_err().line, line, "{text:?}");
        }
    }
}
