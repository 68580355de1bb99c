// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables as Parquet files, for tools that read columns.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::tables::{Cell, Table};

/// The kind of a column; every field may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Whole,
    Number,
}

impl Kind {
    /// The type that all cells of the column fit into.
    fn of(table: &Table, column: usize) -> Kind {
        let mut kind = Kind::Whole;
        for row in &table.rows {
            match &row[column] {
                Cell::Text(_) => return Kind::Text,
                Cell::Number(number) if number.is_finite() => kind = Kind::Number,
                // Above it the type of the column has no room.
                Cell::Whole(number) if i64::try_from(*number).is_err() => kind = Kind::Number,
                Cell::Number(_) | Cell::Whole(_) => {}
            }
        }
        kind
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
}

/// Writes the table.
pub fn write(table: &Table, to: impl Write + Send) -> Result<()> {
    let kinds: Vec<Kind> = (0..table.columns.len())
        .map(|column| Kind::of(table, column))
        .collect();
    let fields = table.columns.iter().zip(&kinds);
    let fields = fields.map(|(name, kind)| kind.field(name));
    let schema = Type::group_type_builder("results")
        .with_fields(fields.collect::<Result<_>>()?)
        .build()?;
    let mut writer = SerializedFileWriter::new(to, Arc::new(schema), Default::default())?;
    let mut group = writer.next_row_group()?;
    for (index, kind) in kinds.into_iter().enumerate() {
        let Some(mut column) = group.next_column()? else {
            break;
        };
        let cells = || table.rows.iter().map(|row| &row[index]);
        match kind {
            Kind::Text => {
                let (values, present) = split(cells().map(|cell| match cell {
                    Cell::Text(text) if !text.is_empty() => Some(ByteArray::from(text.as_str())),
                    _ => None,
                }));
                let typed = column.typed::<ByteArrayType>();
                typed.write_batch(&values, Some(&present), None)?;
            }
            Kind::Whole => {
                let (values, present) = split(cells().map(|cell| match cell {
                    Cell::Whole(number) => i64::try_from(*number).ok(),
                    _ => None,
                }));
                let typed = column.typed::<Int64Type>();
                typed.write_batch(&values, Some(&present), None)?;
            }
            Kind::Number => {
                let (values, present) = split(cells().map(|cell| match cell {
                    Cell::Number(number) => number.is_finite().then_some(*number),
                    Cell::Whole(number) => Some(*number as f64),
                    Cell::Text(_) => None,
                }));
                let typed = column.typed::<DoubleType>();
                typed.write_batch(&values, Some(&present), None)?;
            }
        }
        column.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

/// The values that are there, and for each row 1 or 0 (definition levels).
fn split<T>(cells: impl Iterator<Item = Option<T>>) -> (Vec<T>, Vec<i16>) {
    let mut values = Vec::new();
    let mut present = Vec::new();
    for cell in cells {
        present.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    (values, present)
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
