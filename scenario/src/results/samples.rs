// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of all samples of time series: often millions of rows, so none of them is kept.

use std::io::{self, Write};
use std::sync::Arc;

use super::{RunResults, Series};

/// All samples of all runs: the values of a sweep, and then the columns of [`COLUMNS`].
#[derive(Debug, Clone, Copy)]
pub struct Samples<'a> {
    pub(super) axes: &'a [String],
    runs: &'a [RunResults],
}

/// The columns behind those of the sweep.
const COLUMNS: [&str; 6] = ["seed", "of", "quantity", "unit", "time_s", "value"];

impl<'a> Samples<'a> {
    pub(super) fn new(axes: &'a [String], runs: &'a [RunResults]) -> Samples<'a> {
        Samples { axes, runs }
    }

    /// The names of the columns.
    pub(super) fn columns(&self) -> impl Iterator<Item = &'a str> {
        self.axes.iter().map(String::as_str).chain(COLUMNS)
    }

    /// Each series with its run.
    pub(super) fn series(&self) -> impl Iterator<Item = (&'a RunResults, &'a Series)> {
        let runs = self.runs.iter();
        runs.flat_map(|run| run.series.iter().map(move |series| (run, series)))
    }

    /// Returns true if there is no sample.
    pub fn is_empty(&self) -> bool {
        self.series().all(|(_, series)| rows(series) == 0)
    }

    /// Writes comma-separated values (RFC 4180) with a heading.
    pub fn write_csv(&self, to: &mut impl Write) -> io::Result<()> {
        /// Bytes written at a time.
        const ENOUGH: usize = 1 << 16;
        let mut records = Records::default();
        let mut lines = Vec::with_capacity(ENOUGH + 1024);
        lines.extend_from_slice(records.fields(self.columns())?);
        lines.push(b'\n');
        let mut times = Times::default();
        let mut same = Vec::new();
        let mut last = (0f64.to_bits(), b"0".to_vec());
        for (run, series) in self.series() {
            let seed = run.seed.to_string();
            let settings = run.settings.iter().map(|(_, value)| value.as_str());
            let of_series = [&*seed, &*series.of, &*series.quantity, &*series.unit];
            same.clear();
            same.extend_from_slice(records.fields(settings.chain(of_series))?);
            same.push(b',');
            times.set(&series.time_s);
            for (time, &value) in times.texts().zip(&series.value) {
                lines.extend_from_slice(&same);
                lines.extend_from_slice(time);
                lines.push(b',');
                // Most links are idle, and many values stay what they were.
                if value.to_bits() != last.0 {
                    last.0 = value.to_bits();
                    last.1.clear();
                    push_number(&mut last.1, value);
                }
                lines.extend_from_slice(&last.1);
                lines.push(b'\n');
                if lines.len() >= ENOUGH {
                    to.write_all(&lines)?;
                    lines.clear();
                }
            }
        }
        to.write_all(&lines)
    }
}

/// Samples of a series.
pub(super) fn rows(series: &Series) -> usize {
    series.time_s.len().min(series.value.len())
}

/// Lines of fields, those with commas and the like in quotes.
struct Records {
    /// It keeps the lines that it has written.
    writer: csv::Writer<Vec<u8>>,
    /// Their bytes.
    written: usize,
}

impl Default for Records {
    fn default() -> Records {
        // A writer's buffer takes longer to make than a line: of thousands of series all are written by one.
        let mut writer = csv::WriterBuilder::new();
        writer.flexible(true);
        Records {
            writer: writer.from_writer(Vec::new()),
            written: 0,
        }
    }
}

impl Records {
    /// One line, without its end.
    fn fields<'a>(&mut self, fields: impl Iterator<Item = &'a str>) -> io::Result<&[u8]> {
        const MOST_KEPT: usize = 1 << 16;
        if self.written > MOST_KEPT {
            *self = Records::default();
        }
        self.writer.write_record(fields)?;
        self.writer.flush()?;
        let line = &self.writer.get_ref()[self.written..];
        self.written += line.len();
        Ok(&line[..line.len() - 1])
    }
}

/// The times of a series as texts, which many series share.
#[derive(Default)]
struct Times {
    of: Option<Arc<[f64]>>,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Times {
    fn set(&mut self, times: &Arc<[f64]>) {
        if self.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, times)) {
            return;
        }
        self.text.clear();
        self.ends.clear();
        for &time in times.iter() {
            push_number(&mut self.text, time);
            self.ends.push(self.text.len());
        }
        self.of = Some(times.clone());
    }

    fn texts(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let ends = self.ends.iter();
        begins.zip(ends).map(|(begin, &end)| &self.text[begin..end])
    }
}

/// Adds a number as [`f64`]'s `Display` writes it; nothing where there is none.
fn push_number(to: &mut Vec<u8>, number: f64) {
    if !number.is_finite() {
        return;
    }
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(number);
    // Of two shortest texts that are equally near, which have 16 digits or more, `Display` takes another. It never has
    // an exponent.
    if text.len() > 16 || text.contains('e') {
        // Writing to a vector does not fail.
        let _ = write!(to, "{number}");
    } else {
        // Nor does it have the fraction of a whole number.
        to.extend_from_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pushed(number: f64) -> String {
        let mut text = Vec::new();
        push_number(&mut text, number);
        String::from_utf8(text).unwrap()
    }

    proptest! {
        #[test]
        fn numbers_are_written_as_by_display(bits in any::<u64>(), thousandths in any::<i32>()) {
            let any = f64::from_bits(bits);
            for number in [any, f64::from(thousandths) / 1e3, f64::from(thousandths), any.fract()] {
                if number.is_finite() {
                    prop_assert_eq!(pushed(number), number.to_string());
                } else {
                    prop_assert_eq!(pushed(number), "");
                }
            }
        }
    }

    #[test]
    fn powers_of_two_are_written_as_by_display() {
        for exponent in -1074..1024 {
            let number = 2f64.powi(exponent);
            assert_eq!(pushed(number), number.to_string());
        }
        assert_eq!(pushed(-0.0), "-0");
        // Halfway between two texts of 16 digits.
        assert_eq!(pushed(97_325.0 / 131_072.0), "0.7425308227539063");
    }

    #[test]
    fn fields_with_commas_are_quoted() {
        let series = |of: &str, time_s: &Arc<[f64]>| Series {
            of: of.to_owned(),
            quantity: "cwnd".to_owned(),
            unit: "packets".to_owned(),
            time_s: time_s.clone(),
            value: vec![1.5, f64::NAN],
        };
        let (early, late): (Arc<[f64]>, Arc<[f64]>) = ([0.5, 1.0].into(), [1e-7, 1e16].into());
        let runs = [RunResults {
            seed: 7,
            series: vec![
                series("a, b", &early),
                series("c", &early),
                series("d", &late),
            ],
            settings: vec![("x".to_owned(), "1, 2".to_owned())],
            ..RunResults::default()
        }];
        let axes = ["x".to_owned()];
        let mut text = Vec::new();
        Samples::new(&axes, &runs).write_csv(&mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "x,seed,of,quantity,unit,time_s,value\n\
             \"1, 2\",7,\"a, b\",cwnd,packets,0.5,1.5\n\
             \"1, 2\",7,\"a, b\",cwnd,packets,1,\n\
             \"1, 2\",7,c,cwnd,packets,0.5,1.5\n\
             \"1, 2\",7,c,cwnd,packets,1,\n\
             \"1, 2\",7,d,cwnd,packets,0.0000001,1.5\n\
             \"1, 2\",7,d,cwnd,packets,10000000000000000,\n"
        );
    }
}
