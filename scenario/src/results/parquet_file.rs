// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables as Parquet files, for tools that read columns.

use std::io::Write;
use std::iter::repeat_n;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use super::tables::{Cell, Table};

/// Rows that are handed over at a time: a multiple of those that the library handles at a time, so that their number
/// changes nothing in a file.
const ROWS: usize = 16 * 1024;

/// A column; every field may be absent.
enum Column<'a> {
    Text(Values<'a, ByteArray>),
    Whole(Values<'a, i64>),
    Number(Values<'a, f64>),
}

/// The fields of a column.
type Values<'a, T> = Box<dyn Iterator<Item = Option<T>> + 'a>;

impl<'a> Column<'a> {
    /// A column with the same text in the rows of each of these pieces, made once for each.
    fn of_texts(pieces: impl Iterator<Item = (&'a str, usize)> + 'a) -> Column<'a> {
        let texts = pieces.flat_map(|(text, rows)| {
            let text = (!text.is_empty()).then(|| ByteArray::from(text));
            repeat_n(text, rows)
        });
        Column::Text(Box::new(texts))
    }

    fn field(&self, name: &str) -> Result<Arc<Type>> {
        let (physical, logical) = match self {
            Column::Text(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Column::Whole(_) => (PhysicalType::INT64, None),
            Column::Number(_) => (PhysicalType::DOUBLE, None),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(field))
    }

    fn write(self, mut to: SerializedColumnWriter<'_>) -> Result<()> {
        match self {
            Column::Text(values) => write_values(values, to.typed::<ByteArrayType>())?,
            Column::Whole(values) => write_values(values, to.typed::<Int64Type>())?,
            Column::Number(values) => write_values(values, to.typed::<DoubleType>())?,
        }
        to.close()
    }
}

/// Writes the values that are there, and for each row 1 or 0 (definition levels).
pub(super) fn write_values<T: DataType>(
    mut fields: Values<'_, T::T>,
    to: &mut ColumnWriterImpl<'_, T>,
) -> Result<()> {
    let (mut values, mut present) = (Vec::new(), Vec::new());
    loop {
        values.clear();
        present.clear();
        for field in fields.by_ref().take(ROWS) {
            present.push(i16::from(field.is_some()));
            values.extend(field);
        }
        if present.is_empty() {
            return Ok(());
        }
        to.write_batch(&values, Some(&present), None)?;
    }
}

impl Table {
    /// The fields of the column with this number.
    fn parquet_column(&self, number: usize) -> Column<'_> {
        let cells = self.rows.iter().map(move |row| &row[number]);
        if cells.clone().any(|cell| matches!(cell, Cell::Text(_))) {
            return Column::of_texts(cells.map(|cell| match cell {
                Cell::Text(text) => (text.as_str(), 1),
                _ => ("", 1),
            }));
        }
        let is_number = |cell: &Cell| match cell {
            Cell::Number(number) => number.is_finite(),
            // Above it the type of whole numbers has no room.
            Cell::Whole(number) => i64::try_from(*number).is_err(),
            Cell::Text(_) => false,
        };
        match cells.clone().any(is_number) {
            true => Column::Number(Box::new(cells.map(|cell| match cell {
                Cell::Number(number) => number.is_finite().then_some(*number),
                Cell::Whole(number) => Some(*number as f64),
                Cell::Text(_) => None,
            }))),
            false => Column::Whole(Box::new(cells.map(|cell| match cell {
                Cell::Whole(number) => i64::try_from(*number).ok(),
                _ => None,
            }))),
        }
    }
}

/// Writes the table.
pub(super) fn write(table: &Table, to: impl Write + Send) -> Result<()> {
    let fields = table.columns.iter().enumerate();
    let fields = fields.map(|(number, name)| table.parquet_column(number).field(name));
    let schema = Type::group_type_builder("results")
        .with_fields(fields.collect::<Result<_>>()?)
        .build()?;
    let mut writer = SerializedFileWriter::new(to, Arc::new(schema), Default::default())?;
    let mut group = writer.next_row_group()?;
    for number in 0..table.columns.len() {
        let Some(column) = group.next_column()? else {
            break;
        };
        table.parquet_column(number).write(column)?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;

    #[test]
    fn a_table_reads_back() {
        let table = Table {
            columns: vec!["name".to_owned(), "count".to_owned(), "mean".to_owned()],
            rows: vec![
                vec!["reno".into(), 3u64.into(), 1.5.into()],
                vec!["".into(), f64::NAN.into(), f64::NAN.into()],
            ],
        };
        let mut file = tempfile::tempfile().unwrap();
        write(&table, &mut file).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let rows = reader.get_row_iter(None).unwrap();
        let fields: Vec<Vec<Field>> = rows
            .map(|row| {
                let row = row.unwrap();
                row.get_column_iter()
                    .map(|(_, field)| field.clone())
                    .collect()
            })
            .collect();
        assert_eq!(
            fields,
            [
                [
                    Field::Str("reno".to_owned()),
                    Field::Long(3),
                    Field::Double(1.5)
                ],
                [Field::Null, Field::Null, Field::Null],
            ]
        );
    }
}
