// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers in text form, and tables of them.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;

/// Formats a number of bytes: `12.3 MB`.
pub fn bytes(bytes: u64) -> String {
    scaled(bytes as f64, &["B", "kB", "MB", "GB", "TB"])
}

/// Formats a rate, given in bytes per second, in bits: `9.56 Mb/s`.
pub fn rate(bytes_per_second: u64) -> String {
    scaled(
        bytes_per_second as f64 * 8.0,
        &["b/s", "kb/s", "Mb/s", "Gb/s"],
    )
}

/// Formats a time: `40.2 ms`.
pub fn time(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1e3;
    format!("{} ms", three_digits(milliseconds))
}

/// Formats a count: `1 connection`, `2 connections`.
pub fn count(number: u64, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {one}{plural}")
}

/// Parses an option's number of seconds within a range.
pub fn seconds(text: &str, range: RangeInclusive<f64>) -> Result<Duration, String> {
    let seconds: f64 = text.parse().unwrap_or(f64::NAN);
    match range.contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err(format!(
            "give a number of seconds from {} to {}",
            range.start(),
            range.end()
        )),
    }
}

/// Returns a parser of an option's whole number within a range.
pub fn whole_number<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let number = number.and_then(|number: u64| T::try_from(number).ok());
        number.ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            format!("give a whole number from {least} to {most}")
        })
    }
}

/// Parses an option's whole number of at least 1.
pub fn at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse();
    number.map_err(|_| "give a whole number of at least 1".to_owned())
}

/// The settings of a run or of a point of a sweep, each as `key = value`.
pub fn settings(settings: &[(String, String)]) -> Vec<String> {
    let settings = settings.iter();
    settings
        .map(|(key, value)| format!("{key} = {value}"))
        .collect()
}

fn scaled(mut value: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let number = if unit == 0 {
        format!("{value:.0}")
    } else {
        three_digits(value)
    };
    format!("{number} {}", units[unit])
}

fn three_digits(value: f64) -> String {
    match value {
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Writes a line on stderr, like `eprintln!`, but ignores write errors, which change neither actions nor exit codes.
#[macro_export]
macro_rules! say {
    ($($line:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($line)*);
    }};
}
pub use say;

/// Prints a line on stdout; see [`print`].
pub fn print_line(line: &str) -> anyhow::Result<()> {
    print(&format!("{line}\n"))
}

/// Prints on stdout; exits with code 0 if the reader has closed the pipe.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_by(|out| out.write_all(text.as_bytes()))
}

/// Prints a line of JSON on stdout as it is made; see [`print`]. That of a large summary would take several times its memory.
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    const AT_A_TIME: usize = 1 << 18;
    print_by(|out| {
        let mut out = BufWriter::with_capacity(AT_A_TIME, out);
        serde_json::to_writer(&mut out, value)?;
        out.write_all(b"\n")?;
        out.flush()
    })
}

fn print_by(write: impl FnOnce(&mut StdoutLock) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => other.context("writing to stdout"),
    }
}

/// Aligns the columns: numbers to the right, columns in `left` to the left.
pub fn table(rows: &[Vec<String>], left: &[usize]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    rows.iter()
        .map(|row| {
            let cells = row.iter().enumerate().map(|(column, cell)| {
                let width = widths[column];
                match left.contains(&column) {
                    true => format!("{cell:<width$}"),
                    false => format!("{cell:>width$}"),
                }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1000), "1.00 kB");
        assert_eq!(bytes(999_600), "1.00 MB");
        assert_eq!(bytes(12_345_678), "12.3 MB");
        assert_eq!(rate(1_195_000), "9.56 Mb/s");
        assert_eq!(time(Duration::from_micros(40_240)), "40.2 ms");
        assert_eq!(time(Duration::from_micros(9_996)), "10.0 ms");
        assert_eq!(count(1, "connection"), "1 connection");
        assert_eq!(count(0, "connection"), "0 connections");
    }

    #[test]
    fn columns_line_up() {
        let row = |name: &str, number: &str| vec![name.to_owned(), number.to_owned()];
        let lines = table(&[row("curl", "7"), row("rsync", "123")], &[0]);
        assert_eq!(lines, ["curl     7", "rsync  123"]);
    }
}
