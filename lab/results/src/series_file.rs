// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time series as a Parquet file, with a row for each sample.
//!
//! All columns but the values repeat themselves.

use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, DoubleType};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::encoded_column::{
    Chunk, GROUP, Levels, Places, begin_groups, place_bits, push_number, text,
};
use super::samples::{Samples, rows};
use crate::{RunResults, Series};

/// The most rows in a group.
const ROWS: usize = 1 << 20;

/// The columns that are read again, the last ones of a file.
const READ: [&str; 5] = ["of", "quantity", "unit", "time_s", "value"];

/// Samples of a series that follow each other.
struct Piece<'a> {
    run: &'a RunResults,
    series: &'a Series,
    samples: Range<usize>,
}

/// Writes a table of samples. Its columns are those of `series.csv`; only a value can be null.
pub(super) fn write(samples: &Samples, to: impl Write + Send) -> Result<()> {
    write_groups(samples, ROWS, to)
}

/// As [`write`], with groups of at most `most` rows.
fn write_groups(samples: &Samples, most: usize, to: impl Write + Send) -> Result<()> {
    let texts = samples.axes.len();
    let mut runs = samples.series().map(|(run, _)| run);
    let seeds = runs
        .any(|run| i64::try_from(run.seed).is_err())
        .then_some(LogicalType::Integer {
            bit_width: 64,
            is_signed: false,
        });
    let fields = samples.columns().enumerate().map(|(number, name)| {
        // Behind the texts of the sweep: the seed, three texts, a time, a value.
        let (physical, logical) = match number.checked_sub(texts) {
            Some(0) => (PhysicalType::INT64, seeds.clone()),
            Some(4 | 5) => (PhysicalType::DOUBLE, None),
            _ => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition = match number == texts + 5 {
            true => Repetition::OPTIONAL,
            false => Repetition::REQUIRED,
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .build();
        field.map(Arc::new)
    });
    let schema = Type::group_type_builder("series")
        .with_fields(fields.collect::<Result<_>>()?)
        .build()?;
    // For values of which most differ.
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .build();
    let mut writer = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))?;
    let mut group: Vec<Piece> = Vec::new();
    let mut filled = 0;
    for (run, series) in samples.series() {
        let mut next = 0;
        while next < rows(series) {
            let end = rows(series).min(next + most - filled);
            filled += end - next;
            group.push(Piece {
                run,
                series,
                samples: next..end,
            });
            next = end;
            if filled == most {
                write_group(&mut writer, texts, &group)?;
                group.clear();
                filled = 0;
            }
        }
    }
    if !group.is_empty() {
        write_group(&mut writer, texts, &group)?;
    }
    writer.close()?;
    Ok(())
}

fn write_group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    texts: usize,
    pieces: &[Piece],
) -> Result<()> {
    let columns = writer.schema_descr().columns().to_vec();
    let mut group = writer.next_row_group()?;
    for (axis, column) in columns.iter().enumerate().take(texts) {
        let setting = |piece: &Piece<'_>| {
            let setting = piece.run.settings.get(axis);
            setting.map_or(String::new(), |(_, value)| value.clone())
        };
        repeated(pieces, setting, text).append(&mut group, column)?;
    }
    let seed = |piece: &Piece<'_>| piece.run.seed;
    repeated(pieces, seed, |plain, seed| {
        plain.extend_from_slice(&seed.to_le_bytes());
    })
    .append(&mut group, &columns[texts])?;
    repeated(pieces, |piece| &*piece.series.of, text).append(&mut group, &columns[texts + 1])?;
    repeated(pieces, |piece| &*piece.series.quantity, text)
        .append(&mut group, &columns[texts + 2])?;
    repeated(pieces, |piece| &*piece.series.unit, text).append(&mut group, &columns[texts + 3])?;
    times(pieces).append(&mut group, &columns[texts + 4])?;
    match few_values(pieces) {
        Some(values) => values.append(&mut group, &columns[texts + 5])?,
        None => write_values(pieces, &mut group)?,
    }
    group.close()?;
    Ok(())
}

/// A column whose field is the same for all samples of a piece: a dictionary, and runs of places in it (the hybrid of run length and
/// bit packing of the Parquet format, here without bit packing).
fn repeated<'a, K: Hash + Eq + Clone>(
    pieces: &'a [Piece<'a>],
    field: impl Fn(&'a Piece<'a>) -> K,
    encode: impl Fn(&mut Vec<u8>, &K),
) -> Chunk {
    let mut places: FxHashMap<K, usize> = FxHashMap::default();
    let mut plain = Vec::new();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut rows = 0;
    for piece in pieces {
        let field = field(piece);
        let new = places.len();
        let place = *places.entry(field).or_insert_with_key(|field| {
            encode(&mut plain, field);
            new
        });
        let samples = piece.samples.len();
        rows += samples;
        match runs.last_mut() {
            Some((last, length)) if *last == place => *length += samples,
            _ => runs.push((place, samples)),
        }
    }
    let bits = place_bits(places.len());
    let mut data = vec![bits as u8];
    for (place, length) in runs {
        push_number(&mut data, length << 1);
        data.extend_from_slice(&place.to_le_bytes()[..bits.div_ceil(8) as usize]);
    }
    Chunk {
        rows,
        dictionary: Some((plain, places.len())),
        data,
        repeats: false,
    }
}

/// The column of times: places in a dictionary, of a byte or two each, and with more different times these themselves.
fn times(pieces: &[Piece]) -> Chunk {
    let rows = pieces.iter().map(|piece| piece.samples.len()).sum();
    let mut places: FxHashMap<u64, u16> = FxHashMap::default();
    let mut plain = Vec::new();
    // Of times that several series share, once.
    let mut of_times: Vec<(&Arc<[f64]>, Vec<u16>)> = Vec::new();
    for piece in pieces {
        let times = &piece.series.time_s;
        if of_times
            .last()
            .is_some_and(|last| Arc::ptr_eq(last.0, times))
        {
            continue;
        }
        let mut of_these = Vec::with_capacity(times.len());
        for time in &times[..] {
            let new = places.len();
            let place = *places.entry(time.to_bits()).or_insert_with(|| {
                plain.extend_from_slice(&time.to_le_bytes());
                new as u16
            });
            if new > usize::from(u16::MAX) {
                return plain_times(pieces, rows);
            }
            of_these.push(place);
        }
        of_times.push((times, of_these));
    }
    let mut data = Vec::with_capacity(16 + 2 * rows);
    // Whole bytes, so that series that share their times copy them.
    let bytes = place_bits(places.len()).div_ceil(8) as usize;
    data.push(8 * bytes as u8);
    let groups = begin_groups(&mut data, rows);
    let padded = data.len() + groups * GROUP * bytes;
    let mut of_times = of_times.into_iter().peekable();
    let mut encoded: Vec<u8> = Vec::new();
    for piece in pieces {
        let times = &piece.series.time_s;
        if let Some((_, places)) = of_times.next_if(|next| Arc::ptr_eq(next.0, times)) {
            encoded.clear();
            for place in places {
                encoded.extend_from_slice(&place.to_le_bytes()[..bytes]);
            }
        }
        let Range { start, end } = piece.samples;
        data.extend_from_slice(&encoded[start * bytes..end * bytes]);
    }
    data.resize(padded, 0);
    Chunk {
        rows,
        dictionary: Some((plain, places.len())),
        data,
        // Most series have the same times.
        repeats: true,
    }
}

fn plain_times(pieces: &[Piece], rows: usize) -> Chunk {
    let mut data = Vec::with_capacity(8 * rows);
    for piece in pieces {
        let times = &piece.series.time_s[piece.samples.clone()];
        data.extend(times.iter().flat_map(|time| time.to_le_bytes()));
    }
    Chunk {
        rows,
        dictionary: None,
        data,
        repeats: false,
    }
}

/// The column of values as places in a dictionary, which suits queues that mostly are empty; `None` where that saves little.
fn few_values(pieces: &[Piece]) -> Option<Chunk> {
    /// Values are looked at so many at a time.
    const AT_A_TIME: usize = 16;
    let rows = pieces.iter().map(|piece| piece.samples.len()).sum();
    let mut dictionary = Dictionary::for_rows(rows);
    let mut places = Places::default();
    let mut levels = Levels::default();
    for piece in pieces {
        let values = &piece.series.value[piece.samples.clone()];
        for some in values.chunks(AT_A_TIME) {
            // Both without a branch for each value.
            let first = some[0].to_bits();
            let differences = some.iter().fold(0, |differences, value| {
                differences | (value.to_bits() ^ first)
            });
            let all_present = some.iter().fold(true, |all, value| all & value.is_finite());
            if all_present && differences == 0 {
                places.push(dictionary.place(first, places.rows)?, some.len());
            } else if all_present {
                for value in some {
                    places.push_single(dictionary.place(value.to_bits(), places.rows)?);
                }
            } else {
                for value in some {
                    levels.push(value.is_finite(), 1);
                    if value.is_finite() {
                        places.push_single(dictionary.place(value.to_bits(), places.rows)?);
                    }
                }
                continue;
            }
            levels.push(true, some.len());
        }
    }
    if places.rows == 0 {
        return None;
    }
    Some(places.into_chunk(Some(levels), dictionary.plain, dictionary.places.len()))
}

/// A dictionary of values as it grows.
struct Dictionary {
    /// The values, encoded.
    plain: Vec<u8>,
    /// Place of each value, by its bits.
    places: FxHashMap<u64, u16>,
    /// Values looked up last and their places, by the hash of the value: most are among them, and they stay in the cache of the processor.
    recent: Vec<(u64, u16)>,
}

impl Dictionary {
    /// An empty dictionary for a column of so many rows.
    fn for_rows(rows: usize) -> Dictionary {
        // It moves several times as it grows.
        let entries = (rows / 32).min(usize::from(u16::MAX));
        Dictionary {
            plain: Vec::with_capacity(8 * entries),
            places: FxHashMap::with_capacity_and_hasher(entries, FxBuildHasher),
            // No value that is looked up is NaN.
            recent: vec![(f64::NAN.to_bits(), 0); 1 << Dictionary::RECENT_BITS],
        }
    }

    /// Binary logarithm of the number of values looked up last: 16 kB of them.
    const RECENT_BITS: u32 = 10;

    /// The place of a value in a column of so many rows before it; `None` if there are too many values.
    #[inline]
    fn place(&mut self, value: u64, rows: usize) -> Option<u16> {
        // Fibonacci hashing: the multiplier is 2⁶⁴ divided by the golden ratio.
        let hash = value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - Self::RECENT_BITS);
        let (recent, place) = self.recent[hash as usize];
        if recent == value {
            return Some(place);
        }
        let place = self.look_up(value, rows)?;
        self.recent[hash as usize] = (value, place);
        Some(place)
    }

    #[inline(never)]
    fn look_up(&mut self, value: u64, rows: usize) -> Option<u16> {
        let entries = self.places.len();
        match self.places.entry(value) {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(_) if entries > 1024 + rows / 4 => None,
            Entry::Vacant(entry) => {
                let place = u16::try_from(entries).ok()?;
                self.plain.extend_from_slice(&value.to_le_bytes());
                Some(*entry.insert(place))
            }
        }
    }
}

/// Writes the column of values.
fn write_values<W: Write + Send>(
    pieces: &[Piece],
    group: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<()> {
    let Some(mut column) = group.next_column()? else {
        return Ok(());
    };
    let to = column.typed::<DoubleType>();
    // Definition levels: 1 where there is a value.
    let (mut present, mut finite) = (Vec::new(), Vec::new());
    for piece in pieces {
        let values = &piece.series.value[piece.samples.clone()];
        present.clear();
        present.extend(values.iter().map(|value| i16::from(value.is_finite())));
        if present.contains(&0) {
            finite.clear();
            finite.extend(values.iter().filter(|value| value.is_finite()));
            to.write_batch(&finite, Some(&present), None)?;
        } else {
            to.write_batch(values, Some(&present), None)?;
        }
    }
    column.close()
}

fn broken(message: &str) -> ParquetError {
    ParquetError::General(format!("it is no file of time series: {message}"))
}

/// Reads the series of a run from the contents of a file.
pub(super) fn read(file: Vec<u8>) -> Result<Vec<Series>> {
    let reader = SerializedFileReader::new(Bytes::from(file))?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let names: Vec<&str> = schema
        .columns()
        .iter()
        .map(|column| column.name())
        .collect();
    let Some(first) = names.len().checked_sub(READ.len()) else {
        return Err(broken("columns are missing"));
    };
    if names[first..] != READ {
        return Err(broken("its last columns have other names"));
    }
    let mut all = Reading::default();
    for group in 0..reader.num_row_groups() {
        all.read_group(&*reader.get_row_group(group)?, first)?;
    }
    all.end_series();
    Ok(all.series)
}

/// Series that are complete, and the one that is being read.
#[derive(Default)]
struct Reading {
    series: Vec<Series>,
    names: [ByteArray; 3],
    times: Vec<f64>,
    values: Vec<f64>,
}

impl Reading {
    fn read_group(&mut self, group: &dyn RowGroupReader, first: usize) -> Result<()> {
        const AT_A_TIME: usize = 1 << 14;
        let texts = |number| match group.get_column_reader(first + number)? {
            ColumnReader::ByteArrayColumnReader(reader) => Ok(reader),
            _ => Err(broken("a column of names has another type")),
        };
        let numbers = |number| match group.get_column_reader(first + number)? {
            ColumnReader::DoubleColumnReader(reader) => Ok(reader),
            _ => Err(broken("a column of numbers has another type")),
        };
        let mut names = [texts(0)?, texts(1)?, texts(2)?];
        let (mut times, mut values) = (numbers(3)?, numbers(4)?);
        loop {
            let names = names.each_mut().map(|reader| fields(reader, AT_A_TIME));
            let [of, quantities, units] = names;
            let (of, quantities, units) = (of?, quantities?, units?);
            let times = fields(&mut times, AT_A_TIME)?;
            let values = fields(&mut values, AT_A_TIME)?;
            let rows = times.len();
            if [of.len(), quantities.len(), units.len(), values.len()] != [rows; 4] {
                return Err(broken("its columns are of different lengths"));
            }
            if rows == 0 {
                return Ok(());
            }
            let names = of.into_iter().zip(quantities).zip(units);
            let numbers = times.into_iter().zip(values);
            for (((of, quantity), unit), (time, value)) in names.zip(numbers) {
                let (Some(of), Some(quantity), Some(unit), Some(time)) = (of, quantity, unit, time)
                else {
                    return Err(broken("a name or a time is missing"));
                };
                let names = [of, quantity, unit];
                if names != self.names {
                    self.end_series();
                    self.begin_series(names)?;
                }
                self.times.push(time);
                self.values.push(value.unwrap_or(f64::NAN));
            }
        }
    }

    fn begin_series(&mut self, names: [ByteArray; 3]) -> Result<()> {
        let [of, quantity, unit] = &names;
        self.series.push(Series {
            of: of.as_utf8()?.to_owned(),
            quantity: quantity.as_utf8()?.to_owned(),
            unit: unit.as_utf8()?.to_owned(),
            ..Series::default()
        });
        self.names = names;
        Ok(())
    }

    /// Gives the newest series its samples. Its times are shared with the one before if they are equal.
    fn end_series(&mut self) {
        let before = self.series.iter().rev().nth(1);
        let time_s = match before {
            Some(before) if *before.time_s == *self.times => before.time_s.clone(),
            _ => Arc::from(&*self.times),
        };
        self.times.clear();
        if let Some(series) = self.series.last_mut() {
            series.time_s = time_s;
            series.value = Arc::new(std::mem::take(&mut self.values));
        }
    }
}

/// Up to `most` fields of a column.
fn fields<T: DataType>(reader: &mut ColumnReaderImpl<T>, most: usize) -> Result<Vec<Option<T::T>>> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let (rows, present, _) = reader.read_records(most, Some(&mut levels), None, &mut values)?;
    if present == rows {
        return Ok(values.into_iter().map(Some).collect());
    }
    let mut values = values.into_iter();
    let fields = levels.iter().map(|&level| match level {
        0 => None,
        _ => values.next(),
    });
    Ok(fields.collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn series(of: &str, quantity: &str, time_s: &Arc<[f64]>, value: Vec<f64>) -> Series {
        Series {
            of: of.to_owned(),
            quantity: quantity.to_owned(),
            unit: "s".to_owned(),
            time_s: time_s.clone(),
            value: value.into(),
        }
    }

    fn written(runs: &[RunResults], axes: &[String], most: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_groups(&Samples::new(axes, runs), most, &mut bytes).unwrap();
        bytes
    }

    fn bits(values: &[f64]) -> Vec<u64> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    /// Each row as the library's own reader prints it.
    fn rows_of(file: Vec<u8>) -> Vec<String> {
        let reader = SerializedFileReader::new(Bytes::from(file)).unwrap();
        let rows = reader.get_row_iter(None).unwrap();
        rows.map(|row| row.unwrap().to_string()).collect()
    }

    #[test]
    fn each_sample_is_a_row() {
        let times: Arc<[f64]> = [0.5, 1.0].into();
        let run = |seed, setting: &str| RunResults {
            seed,
            settings: vec![("rate".to_owned(), setting.to_owned())],
            series: vec![
                series("ftp", "smoothed_rtt", &times, vec![f64::NAN, 0.25]),
                series("ü", "queue_delay", &times, vec![2.5, f64::INFINITY]),
            ],
            ..RunResults::default()
        };
        let runs = [run(1, "1mbit"), run(2, "2mbit")];
        let rows = rows_of(written(&runs, &["rate".to_owned()], ROWS));
        let expected = [("1mbit", 1), ("2mbit", 2)].map(|(rate, seed)| {
            [
                ("ftp", "smoothed_rtt", "0.5", "null"),
                ("ftp", "smoothed_rtt", "1.0", "0.25"),
                ("ü", "queue_delay", "0.5", "2.5"),
                ("ü", "queue_delay", "1.0", "null"),
            ]
            .map(|(of, quantity, time, value)| {
                format!(
                    "{{rate: \"{rate}\", seed: {seed}, of: \"{of}\", quantity: \"{quantity}\", unit: \"s\", \
                     time_s: {time}, value: {value}}}"
                )
            })
        });
        assert_eq!(rows, expected.concat());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn series_read_back_bit_by_bit(
            // Values stay what they are for up to a hundred samples.
            lengths in prop::collection::vec((0usize..700, any::<bool>(), any::<u32>(), 1usize..100), 0..20),
            most in 1usize..2000,
        ) {
            let mut times: Arc<[f64]> = Arc::from([]);
            let mut all = Vec::new();
            for (number, &(length, same, draw, stays)) in lengths.iter().enumerate() {
                if !same {
                    times = (0..length).map(|place| (place as f64 + f64::from(draw)) * 0.1).collect();
                }
                let value = |place: usize| match (draw as usize + place / stays) % 7 {
                    0 => f64::NAN,
                    draw => f64::from(draw as u32) / (1 + place / stays) as f64,
                };
                let values = (0..times.len()).map(value).collect();
                // A series without samples has no row.
                if !times.is_empty() {
                    all.push(series(&format!("flow[{number}]"), "cwnd", &times, values));
                }
            }
            let runs = [RunResults { series: all, ..RunResults::default() }];
            let found = read(written(&runs, &[], most)).unwrap();
            prop_assert_eq!(found.len(), runs[0].series.len());
            for (found, series) in found.iter().zip(&runs[0].series) {
                prop_assert_eq!(&found.of, &series.of);
                prop_assert_eq!(bits(&found.time_s), bits(&series.time_s));
                prop_assert_eq!(bits(&found.value), bits(&series.value));
            }
        }
    }

    #[test]
    fn a_dictionary_has_values_of_two_bytes_at_most() {
        let times: Arc<[f64]> = (0..1000).map(f64::from).collect();
        // Places of 8 bits, of 9, of 16, and no dictionary. Every third value is missing, and six follow each other that are equal.
        for (different, dictionary) in [(256, true), (257, true), (65_536, true), (65_537, false)] {
            let value = |place: usize| match place % 3 {
                0 => f64::NAN,
                _ => (place / 9 % different) as f64 * 0.1,
            };
            let of_series =
                |number: usize| (1000 * number..1000 * (number + 1)).map(value).collect();
            let all = (0..600).map(|number| {
                series(
                    &format!("link[{number}]"),
                    "queue_packets",
                    &times,
                    of_series(number),
                )
            });
            let runs = [RunResults {
                series: all.collect(),
                ..RunResults::default()
            }];
            let pieces = runs[0].series.iter().map(|series| Piece {
                run: &runs[0],
                series,
                samples: 0..1000,
            });
            let values = few_values(&pieces.collect::<Vec<_>>());
            let entries = values.and_then(|chunk| Some(chunk.dictionary?.1));
            assert_eq!(entries, dictionary.then_some(different));
            if different == 65_536 {
                let found = read(written(&runs, &[], ROWS)).unwrap();
                for (found, series) in found.iter().zip(&runs[0].series) {
                    assert_eq!(bits(&found.value), bits(&series.value));
                }
            }
        }
    }

    #[test]
    fn times_of_any_number_read_back() {
        // Places of one byte, of two, and no dictionary.
        for length in [255, 256, 257, 65_535, 65_536, 65_537, 70_001] {
            let times: Arc<[f64]> = (0..length).map(|place| f64::from(place) * 1e-3).collect();
            let value: Vec<f64> = times.iter().map(|time| -time).collect();
            let both = ["a", "b"].map(|of| series(of, "goodput", &times, value.clone()));
            let runs = [RunResults {
                series: both.into(),
                ..RunResults::default()
            }];
            let found = read(written(&runs, &[], ROWS)).unwrap();
            assert!(found == runs[0].series, "{length}");
            assert!(Arc::ptr_eq(&found[0].time_s, &found[1].time_s));
        }
    }

    #[test]
    fn anything_else_is_an_error() {
        assert!(read(Vec::new()).is_err());
        assert!(read(b"PAR1, not quite PAR1".to_vec()).is_err());
        let times: Arc<[f64]> = [0.5].into();
        let runs = [RunResults {
            series: vec![series("ftp", "cwnd", &times, vec![1.0])],
            ..RunResults::default()
        }];
        let mut file = written(&runs, &[], ROWS);
        let table = super::super::tables::Table {
            columns: vec!["name".to_owned()],
            rows: vec![vec!["reno".into()]],
        };
        let mut other = Vec::new();
        super::super::parquet_file::write(table.rows(), table.rows(), &mut other).unwrap();
        assert!(read(other).is_err());
        file.truncate(file.len() - 1);
        assert!(read(file).is_err());
    }
}
