// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time series as a Parquet file, with a row for each sample.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

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
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
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

/// Writes pieces as a group of rows, column by column.
fn write_group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    axes: usize,
    pieces: &[Piece],
) -> Result<()> {
    let mut group = writer.next_row_group()?;
    for axis in 0..axes {
        write_texts(&mut group, pieces, |piece| {
            let setting = piece.run.settings.get(axis);
            setting.map_or("", |(_, value)| value)
        })?;
    }
    write_column::<Int64Type, _>(&mut group, |to| {
        pieces.iter().try_for_each(|piece| {
            let seeds = vec![piece.run.seed as i64; piece.samples.len()];
            to.write_batch(&seeds, None, None).map(|_| ())
        })
    })?;
    write_texts(&mut group, pieces, |piece| &piece.series.of)?;
    write_texts(&mut group, pieces, |piece| &piece.series.quantity)?;
    write_texts(&mut group, pieces, |piece| &piece.series.unit)?;
    write_column::<DoubleType, _>(&mut group, |to| {
        pieces.iter().try_for_each(|piece| {
            let times = &piece.series.time_s[piece.samples.clone()];
            to.write_batch(times, None, None).map(|_| ())
        })
    })?;
    write_column::<DoubleType, _>(&mut group, |to| {
        pieces.iter().try_for_each(|piece| {
            let values = piece.series.value[piece.samples.clone()].iter();
            let present: Vec<i16> = values.clone().map(|it| i16::from(it.is_finite())).collect();
            let finite: Vec<f64> = values.copied().filter(|it| it.is_finite()).collect();
            to.write_batch(&finite, Some(&present), None).map(|_| ())
        })
    })?;
    group.close()?;
    Ok(())
}

/// Writes a column whose field is the same for all samples of a piece.
fn write_texts<'a, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    pieces: &'a [Piece<'a>],
    field: impl Fn(&Piece<'a>) -> &'a str,
) -> Result<()> {
    write_column::<ByteArrayType, _>(group, |to| {
        pieces.iter().try_for_each(|piece| {
            let texts = vec![ByteArray::from(field(piece)); piece.samples.len()];
            to.write_batch(&texts, None, None).map(|_| ())
        })
    })
}

/// Writes the next column of a group.
fn write_column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    write: impl FnOnce(&mut ColumnWriterImpl<'_, T>) -> Result<()>,
) -> Result<()> {
    let next = group.next_column()?;
    let mut column = next.ok_or_else(|| broken("it has too few columns"))?;
    write(column.typed::<T>())?;
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
    fn times_of_any_number_read_back() {
        // Few enough for a dictionary, and more.
        for length in [255, 70_001, 300_000] {
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
