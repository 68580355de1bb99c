// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events at links as a Parquet file.

use std::io::Write;
use std::sync::Arc;

use netnice_queue::DropCause;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};

use super::events::{EventKind, LinkEvent};
use super::parquet_file::write_values;

/// The columns: name, type, logical type, and whether a field may be absent.
const COLUMNS: [(&str, PhysicalType, bool, Repetition); 9] = [
    ("time_ns", PhysicalType::INT64, false, Repetition::REQUIRED),
    ("link", PhysicalType::BYTE_ARRAY, true, Repetition::REQUIRED),
    ("flow", PhysicalType::BYTE_ARRAY, true, Repetition::REQUIRED),
    (
        "event",
        PhysicalType::BYTE_ARRAY,
        true,
        Repetition::REQUIRED,
    ),
    (
        "cause",
        PhysicalType::BYTE_ARRAY,
        true,
        Repetition::OPTIONAL,
    ),
    (
        "to_sender",
        PhysicalType::BOOLEAN,
        false,
        Repetition::REQUIRED,
    ),
    ("sequence", PhysicalType::INT64, false, Repetition::OPTIONAL),
    ("bytes", PhysicalType::INT64, false, Repetition::REQUIRED),
    (
        "waited_ns",
        PhysicalType::INT64,
        false,
        Repetition::OPTIONAL,
    ),
];

/// A Parquet file of events being written.
pub struct EventFile<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    links: Vec<ByteArray>,
    flows: Vec<ByteArray>,
    kinds: [ByteArray; EventKind::ALL.len()],
    causes: [ByteArray; DropCause::ALL.len()],
}

impl<W: Write + Send> EventFile<W> {
    /// A file without events of links and flows with these names, by number.
    pub fn new<'a>(
        to: W,
        links: impl Iterator<Item = &'a str>,
        flows: impl Iterator<Item = &'a str>,
    ) -> Result<EventFile<W>> {
        let fields = COLUMNS.map(|(name, physical, is_text, repetition)| {
            let field = Type::primitive_type_builder(name, physical)
                .with_repetition(repetition)
                .with_logical_type(is_text.then_some(LogicalType::String));
            field.build().map(Arc::new)
        });
        let schema = Type::group_type_builder("events")
            .with_fields(fields.into_iter().collect::<Result<_>>()?)
            .build()?;
        let time = ColumnPath::from("time_ns");
        let sequence = ColumnPath::from("sequence");
        let waited = ColumnPath::from("waited_ns");
        // Times grow by little, and few of them occur twice. A reader that wants some of the rows finds them by time; the smallest and the
        // largest value of other columns tell nothing, as each group has most values. Waits of packets in one queue differ by little, too.
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true)
            .set_column_statistics_enabled(time.clone(), EnabledStatistics::Chunk)
            .set_column_dictionary_enabled(time.clone(), false)
            .set_column_encoding(time, Encoding::DELTA_BINARY_PACKED)
            .set_column_dictionary_enabled(sequence.clone(), false)
            .set_column_encoding(sequence, Encoding::DELTA_BINARY_PACKED)
            .set_column_dictionary_enabled(waited.clone(), false)
            .set_column_encoding(waited, Encoding::DELTA_BINARY_PACKED);
        let properties = Arc::new(properties.build());
        Ok(EventFile {
            writer: SerializedFileWriter::new(to, Arc::new(schema), properties)?,
            links: links.map(ByteArray::from).collect(),
            flows: flows.map(ByteArray::from).collect(),
            kinds: EventKind::ALL.map(|kind| kind.name().into()),
            causes: DropCause::ALL.map(|cause| cause.name().into()),
        })
    }

    /// Writes events, which follow on those before, as a group of rows: thousands at a time, or the file becomes large.
    pub fn write(&mut self, events: &[LinkEvent]) -> Result<()> {
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let mut group = self.writer.next_row_group()?;
        for number in 0..COLUMNS.len() {
            let Some(mut column) = group.next_column()? else {
                break;
            };
            /// Writes a column of fields that are all there.
            macro_rules! all {
                ($kind:ty, $field:expr) => {{
                    let fields: Vec<_> = events.iter().map($field).collect();
                    column.typed::<$kind>().write_batch(&fields, None, None)?;
                }};
            }
            /// Writes a column of fields that may be absent.
            macro_rules! some {
                ($kind:ty, $field:expr) => {
                    write_values(Box::new(events.iter().map($field)), column.typed::<$kind>())?
                };
            }
            match number {
                0 => all!(Int64Type, |event| whole(event.time_ns)),
                1 => all!(ByteArrayType, |event| self.links[event.link as usize]
                    .clone()),
                2 => all!(ByteArrayType, |event| self.flows[event.flow as usize]
                    .clone()),
                3 => all!(ByteArrayType, |event| self.kinds[event.kind as usize]
                    .clone()),
                4 => some!(ByteArrayType, |event| {
                    let cause = event.cause?;
                    Some(self.causes[cause as usize].clone())
                }),
                5 => all!(BoolType, |event| event.to_sender),
                6 => some!(Int64Type, |event| event.sequence.map(whole)),
                7 => all!(Int64Type, |event| i64::from(event.bytes)),
                _ => some!(Int64Type, |event| event.waited_ns.map(whole)),
            }
            column.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes the end of the file.
    pub fn finish(self) -> Result<W> {
        self.writer.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    #[test]
    fn events_read_back() {
        let arrived = LinkEvent {
            time_ns: 5_000_000_000,
            link: 1,
            flow: 0,
            kind: EventKind::Arrived,
            cause: None,
            to_sender: false,
            sequence: Some(1448),
            bytes: 1500,
            waited_ns: None,
        };
        let dropped = LinkEvent {
            kind: EventKind::Dropped,
            cause: Some(DropCause::QueueFull),
            ..arrived
        };
        let delivered = LinkEvent {
            time_ns: 5_000_000_700,
            kind: EventKind::Delivered,
            to_sender: true,
            sequence: None,
            waited_ns: Some(300),
            ..arrived
        };
        let mut bytes = Vec::new();
        let names = ["left", "right"].into_iter();
        let mut file = EventFile::new(&mut bytes, names, ["ftp"].into_iter()).unwrap();
        file.write(&[arrived, dropped]).unwrap();
        file.write(&[delivered]).unwrap();
        file.finish().unwrap();
        let mut copy = tempfile::tempfile().unwrap();
        copy.write_all(&bytes).unwrap();
        let reader = SerializedFileReader::new(copy).unwrap();
        let rows = reader.get_row_iter(None).unwrap();
        let rows: Vec<String> = rows.map(|row| row.unwrap().to_string()).collect();
        let of_group = |column: usize| reader.metadata().row_group(0).column(column).statistics();
        let times = of_group(0).unwrap();
        assert_eq!(
            (times.min_bytes_opt(), times.max_bytes_opt()),
            (
                Some(&5_000_000_000u64.to_le_bytes()[..]),
                Some(&5_000_000_000u64.to_le_bytes()[..])
            )
        );
        assert!(of_group(2).is_none());
        assert_eq!(
            rows,
            [
                r#"{time_ns: 5000000000, link: "right", flow: "ftp", event: "arrived", cause: null, to_sender: false, sequence: 1448, bytes: 1500, waited_ns: null}"#,
                r#"{time_ns: 5000000000, link: "right", flow: "ftp", event: "dropped", cause: "queue_full", to_sender: false, sequence: 1448, bytes: 1500, waited_ns: null}"#,
                r#"{time_ns: 5000000700, link: "right", flow: "ftp", event: "delivered", cause: null, to_sender: true, sequence: null, bytes: 1500, waited_ns: 300}"#,
            ]
        );
    }
}
