// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of all samples of time series: often millions of rows, so none of them is kept.

use std::io::{self, Write};
use std::sync::Arc;

use crate::output::{self, WriteBehind};
use crate::{RunResults, Series};

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
        self.write_lines(|buffer, used| to.write_all(&buffer[..used]))
    }

    /// As [`Samples::write_csv`], and the next lines are made while a thread writes.
    pub(super) fn write_csv_behind<W: Write + Send + 'static>(
        &self,
        to: &mut WriteBehind<W>,
    ) -> io::Result<()> {
        self.write_lines(|buffer, used| to.write_buffer(buffer, used))
    }

    fn write_lines(&self, write: impl WriteBuffer) -> io::Result<()> {
        let mut records = Records::default();
        let mut lines = Lines::new(write);
        lines.add(&[records.fields(self.columns())?, b"\n"])?;
        let mut times = Times::default();
        let mut same = Piece::default();
        let mut last = (0f64.to_bits(), Piece::of(b"0\n"));
        for (run, series) in self.series() {
            let seed = run.seed.to_string();
            let settings = run.settings.iter().map(|(_, value)| value.as_str());
            let of_series = [&*seed, &*series.of, &*series.quantity, &*series.unit];
            same.set(|text| {
                text.extend_from_slice(records.fields(settings.chain(of_series))?);
                text.push(b',');
                Ok(())
            })?;
            times.set(&series.time_s);
            for (time, &value) in times.texts.iter().zip(series.value.iter()) {
                // Most links are idle, and many values stay what they were.
                if value.to_bits() != last.0 {
                    last.0 = value.to_bits();
                    last.1.set(|text| {
                        push_number(text, value);
                        text.push(b'\n');
                        Ok(())
                    })?;
                }
                lines.add_line(&same, time, &last.1)?;
            }
        }
        lines.finish()
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

/// A part of a line, with its first bytes in an array, since copies of a fixed length take two or four instructions.
struct Piece {
    text: Vec<u8>,
    first: [u8; Piece::FIRST],
}

impl Default for Piece {
    fn default() -> Piece {
        Piece {
            text: Vec::new(),
            first: [0; Piece::FIRST],
        }
    }
}

impl Piece {
    /// Bytes of the array.
    const FIRST: usize = 64;
    /// The longest time or value that is copied with a fixed length.
    const SHORT: usize = 32;

    fn of(text: &[u8]) -> Piece {
        let mut piece = Piece {
            text: text.to_vec(),
            ..Piece::default()
        };
        piece.fill();
        piece
    }

    /// Has `write` write the text into an empty vector.
    fn set(&mut self, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        self.text.clear();
        write(&mut self.text)?;
        self.fill();
        Ok(())
    }

    fn fill(&mut self) {
        let length = self.text.len().min(Piece::FIRST);
        self.first[..length].copy_from_slice(&self.text[..length]);
    }

    /// The first bytes, of which those behind the text mean nothing.
    fn short(&self) -> [u8; Piece::SHORT] {
        let (short, _) = self.first.split_at(Piece::SHORT);
        short.try_into().expect("it has this length")
    }
}

/// Writes the first bytes of a buffer, so many, and may leave another one of its length in its place.
trait WriteBuffer: FnMut(&mut Vec<u8>, usize) -> io::Result<()> {}

impl<W: FnMut(&mut Vec<u8>, usize) -> io::Result<()>> WriteBuffer for W {}

/// Lines, which are written many at a time.
struct Lines<W> {
    write: W,
    /// The first `used` bytes are lines.
    buffer: Vec<u8>,
    used: usize,
}

impl<W: WriteBuffer> Lines<W> {
    /// Bytes written at a time.
    const ENOUGH: usize = output::AT_A_TIME;
    /// Room for a line of pieces with fixed lengths.
    const LINE: usize = Piece::FIRST + 2 * Piece::SHORT;

    fn new(write: W) -> Lines<W> {
        Lines {
            write,
            buffer: vec![0; Self::ENOUGH + Self::LINE],
            used: 0,
        }
    }

    fn add(&mut self, texts: &[&[u8]]) -> io::Result<()> {
        for text in texts {
            let end = self.used + text.len();
            if end > self.buffer.len() {
                self.buffer.resize(end + Self::LINE, 0);
            }
            self.buffer[self.used..end].copy_from_slice(text);
            self.used = end;
        }
        self.write_enough()
    }

    /// Adds a line of what is the same in a series, a time and a value.
    #[inline]
    fn add_line(&mut self, same: &Piece, time: &Piece, value: &Piece) -> io::Result<()> {
        let (first, second, third) = (same.text.len(), time.text.len(), value.text.len());
        if first > Piece::FIRST || second > Piece::SHORT || third > Piece::SHORT {
            return self.add(&[&same.text, &time.text, &value.text]);
        }
        // Each copy writes more than its piece, and the next one writes over what is too much.
        let line = &mut self.buffer[self.used..self.used + Self::LINE];
        line[..Piece::FIRST].copy_from_slice(&same.first);
        line[first..first + Piece::SHORT].copy_from_slice(&time.short());
        let before = first + second;
        line[before..before + Piece::SHORT].copy_from_slice(&value.short());
        self.used += before + third;
        self.write_enough()
    }

    #[inline]
    fn write_enough(&mut self) -> io::Result<()> {
        if self.used < Self::ENOUGH {
            return Ok(());
        }
        self.write()
    }

    #[cold]
    fn write(&mut self) -> io::Result<()> {
        let used = std::mem::take(&mut self.used);
        (self.write)(&mut self.buffer, used)
    }

    fn finish(mut self) -> io::Result<()> {
        self.write()
    }
}

/// The times of a series as texts with a comma behind each, which many series share.
#[derive(Default)]
struct Times {
    of: Option<Arc<[f64]>>,
    texts: Vec<Piece>,
}

impl Times {
    fn set(&mut self, times: &Arc<[f64]>) {
        // Series that were read from a file have times of their own.
        let same = |of: &Arc<[f64]>| Arc::ptr_eq(of, times) || of == times;
        if self.of.as_ref().is_some_and(same) {
            return;
        }
        let text = |&time: &f64| {
            let mut text = Vec::new();
            push_number(&mut text, time);
            text.push(b',');
            Piece::of(&text)
        };
        self.texts = times.iter().map(text).collect();
        self.of = Some(times.clone());
    }
}

/// Adds a number as [`f64`]'s `Display` writes it; nothing where there is none.
fn push_number(to: &mut Vec<u8>, number: f64) {
    if !number.is_finite() {
        return;
    }
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(number);
    if text.contains('e') || may_be_between(number, text) {
        // Writing to a vector does not fail.
        let _ = write!(to, "{number}");
    } else {
        // `Display` does not write the fraction of a whole number.
        to.extend_from_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
    }
}

/// Returns false if no two of the shortest texts for a number are equally near to it. Where two are, `Display` takes another one than
/// `zmij`. Those of n decimals are so far from each other that a number halfway between two is a multiple of 10^-n / 2, so that
/// it times 2^(n + 1) is whole.
fn may_be_between(number: f64, text: &str) -> bool {
    const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    // Of so few digits there is one text alone.
    const ALL_DISTINCT: usize = 16;
    if text.len() <= ALL_DISTINCT {
        return false;
    }
    let Some(point) = text.find('.') else {
        return true;
    };
    let decimals = (text.len() - point - 1) as i32;
    let bits = number.to_bits();
    let biased = (bits >> FRACTION_BITS) as i32 & 0x7ff;
    // The number is its significand times 2 to this; the bit that is not written changes nothing, unless the others are zero.
    let significand = bits & ((1 << FRACTION_BITS) - 1) | 1 << FRACTION_BITS;
    let exponent = biased - 1075 + significand.trailing_zeros() as i32;
    biased == 0 || -exponent <= decimals + 1
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
            let whole = f64::from(thousandths);
            // With so few binary digits after the point it may be halfway between two texts.
            let binary = whole * 1e5 + 0.5 / f64::from(1 << (bits % 30));
            let sum = whole + any.fract();
            for number in [any, whole / 1e3, whole, any.fract(), binary, sum] {
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
    fn long_lines_and_many_are_written_whole() {
        let time_s: Arc<[f64]> = (0..20_000).map(|number| f64::from(number) / 8.0).collect();
        let series = |of: String| Series {
            of,
            quantity: "goodput".to_owned(),
            unit: "bit/s".to_owned(),
            time_s: time_s.clone(),
            value: Arc::new(time_s.iter().map(|time| time * 1e200).collect()),
        };
        let series: Vec<Series> = [1, 50, 100].map(|length| series("x".repeat(length))).into();
        let mut expected = "seed,of,quantity,unit,time_s,value\n".to_owned();
        for Series { of, value, .. } in &series {
            for (time, value) in time_s.iter().zip(value.iter()) {
                expected += &format!("0,{of},goodput,bit/s,{time},{value}\n");
            }
        }
        let runs = [RunResults {
            series,
            ..RunResults::default()
        }];
        let samples = Samples::new(&[], &runs);
        let mut text = Vec::new();
        samples.write_csv(&mut text).unwrap();
        assert!(text == expected.as_bytes());
        let mut behind = WriteBehind::new(Vec::new());
        samples.write_csv_behind(&mut behind).unwrap();
        assert!(behind.finish().unwrap() == text);
    }

    #[test]
    fn fields_with_commas_are_quoted() {
        let series = |of: &str, time_s: &Arc<[f64]>| Series {
            of: of.to_owned(),
            quantity: "cwnd".to_owned(),
            unit: "packets".to_owned(),
            time_s: time_s.clone(),
            value: vec![1.5, f64::NAN].into(),
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
