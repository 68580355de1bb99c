// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables as Parquet files, for tools that read columns.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use super::tables::{Cell, Rows};

/// Rows that are handed over at a time: a multiple of those that the library handles at a time, so that their number
/// changes nothing in a file.
const ROWS: usize = 16 * 1024;

/// Rows of a group: so many are kept as cells at a time, some tens of megabytes, and fewer would make a file larger.
const GROUP: usize = 4 * ROWS;

/// The fields of a column; each may be absent.
type Values<'a, T> = Box<dyn Iterator<Item = Option<T>> + 'a>;

/// The type of a column: of [`Cell::Whole`] while no cell needs more, and of numbers if no row has a cell.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Whole,
    Number,
    Text,
}

impl Kind {
    /// The type of a column with this cell and others that have the type `others`, if there are any.
    fn with(others: Option<Kind>, cell: &Cell) -> Option<Kind> {
        match cell {
            Cell::Text(_) => Some(Kind::Text),
            _ if others == Some(Kind::Text) => others,
            Cell::Number(number) if number.is_finite() => Some(Kind::Number),
            Cell::Number(_) => others,
            // Above it the type of whole numbers has no room.
            Cell::Whole(number) if i64::try_from(*number).is_err() => Some(Kind::Number),
            Cell::Whole(_) => others.or(Some(Kind::Whole)),
        }
    }

    fn field(self, name: &str) -> Result<Arc<Type>> {
        let (physical, logical) = match self {
            Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Whole => (PhysicalType::INT64, None),
            Kind::Number => (PhysicalType::DOUBLE, None),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(field))
    }

    /// Writes the cells of a column of this type.
    fn write<'a>(
        self,
        cells: impl Iterator<Item = &'a Cell> + 'a,
        mut to: SerializedColumnWriter<'_>,
    ) -> Result<()> {
        match self {
            Kind::Text => {
                let texts = cells.map(|cell| match cell {
                    Cell::Text(text) if !text.is_empty() => Some(ByteArray::from(text.as_str())),
                    _ => None,
                });
                write_values(Box::new(texts), to.typed::<ByteArrayType>())?;
            }
            Kind::Whole => {
                let numbers = cells.map(|cell| match cell {
                    Cell::Whole(number) => i64::try_from(*number).ok(),
                    _ => None,
                });
                write_values(Box::new(numbers), to.typed::<Int64Type>())?;
            }
            Kind::Number => {
                let numbers = cells.map(|cell| match cell {
                    Cell::Number(number) => number.is_finite().then_some(*number),
                    Cell::Whole(number) => Some(*number as f64),
                    Cell::Text(_) => None,
                });
                write_values(Box::new(numbers), to.typed::<DoubleType>())?;
            }
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

/// Writes a table, whose rows are made twice: `of_types` for the types of the columns, and `rows`. A group of them is kept at a time.
pub(super) fn write(of_types: Rows<'_>, rows: Rows<'_>, to: impl Write + Send) -> Result<()> {
    write_in_groups(of_types, rows, to, GROUP)
}

fn write_in_groups(
    of_types: Rows<'_>,
    mut rows: Rows<'_>,
    to: impl Write + Send,
    of_rows: usize,
) -> Result<()> {
    let mut kinds = vec![None; rows.columns.len()];
    for row in of_types {
        for (kind, cell) in kinds.iter_mut().zip(&row) {
            *kind = Kind::with(*kind, cell);
        }
    }
    let kinds = kinds.into_iter().map(|kind| kind.unwrap_or(Kind::Number));
    let kinds: Vec<Kind> = kinds.collect();
    let fields = rows.columns.iter().zip(&kinds);
    let fields = fields.map(|(name, kind)| kind.field(name));
    let schema = Type::group_type_builder("results")
        .with_fields(fields.collect::<Result<_>>()?)
        .build()?;
    let mut writer = SerializedFileWriter::new(to, Arc::new(schema), Default::default())?;
    let mut kept: Vec<Vec<Cell>> = Vec::new();
    loop {
        kept.clear();
        kept.extend(rows.by_ref().take(of_rows));
        if kept.is_empty() {
            break;
        }
        let mut group = writer.next_row_group()?;
        for (number, kind) in kinds.iter().enumerate() {
            if let Some(column) = group.next_column()? {
                kind.write(kept.iter().map(|row| &row[number]), column)?;
            }
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::super::tables::Table;
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
        write(table.rows(), table.rows(), &mut file).unwrap();
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

    #[test]
    fn a_column_without_a_value_is_of_numbers() {
        let table = Table {
            columns: ["seed", "completion_s"].map(str::to_owned).to_vec(),
            rows: vec![vec![1u64.into(), f64::NAN.into()]],
        };
        let mut file = tempfile::tempfile().unwrap();
        write(table.rows(), table.rows(), &mut file).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let columns = reader.metadata().file_metadata().schema_descr().columns();
        let types = columns.iter().map(|column| column.physical_type());
        assert_eq!(
            types.collect::<Vec<_>>(),
            [PhysicalType::INT64, PhysicalType::DOUBLE]
        );
    }

    #[test]
    fn types_are_those_of_all_groups() {
        // The first group alone would have columns of other types.
        let none = || Cell::from(f64::NAN);
        let table = Table {
            columns: ["text", "number", "large"].map(str::to_owned).to_vec(),
            rows: vec![
                vec![none(), 1u64.into(), 2u64.into()],
                vec![none(), 3u64.into(), none()],
                vec!["late".into(), 1.5.into(), u64::MAX.into()],
            ],
        };
        let mut file = tempfile::tempfile().unwrap();
        write_in_groups(table.rows(), table.rows(), &mut file, 2).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let rows = reader.get_row_iter(None).unwrap();
        let rows: Vec<String> = rows.map(|row| row.unwrap().to_string()).collect();
        assert_eq!(
            rows,
            [
                "{text: null, number: 1.0, large: 2.0}",
                "{text: null, number: 3.0, large: null}",
                "{text: \"late\", number: 1.5, large: 1.8446744073709552E19}",
            ]
        );
    }
}
