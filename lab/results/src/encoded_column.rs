// SPDX-License-Identifier: MIT OR Apache-2.0
//! Columns of Parquet files that are encoded here: a general writer looks each field of each row up in a dictionary, which takes longer than a
//! simulation, where the caller knows most places in it.

use std::io::Write;
use std::mem;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use snap::raw::Encoder;

/// An encoded column.
pub(super) struct Chunk {
    pub rows: usize,
    /// The dictionary's bytes and its entries, if there is one.
    pub dictionary: Option<(Vec<u8>, usize)>,
    /// Places in the dictionary, or the fields themselves; before them the definition levels, if the column may have nulls.
    pub data: Vec<u8>,
    /// The data repeat themselves: they are compressed.
    pub repeats: bool,
}

impl Chunk {
    /// Adds the column to a group of rows.
    pub fn append<W: Write + Send>(
        self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        column: &ColumnDescPtr,
    ) -> Result<()> {
        let rows = self.rows as u64;
        // Room for the pages with their headers: a column of megabytes moves several times as it grows.
        let dictionary = self.dictionary.as_ref().map_or(0, |(plain, _)| plain.len());
        let uncompressed = self.data.len() + dictionary;
        let compression = match self.repeats {
            true => Compression::SNAPPY,
            false => Compression::UNCOMPRESSED,
        };
        let compress = |page: Vec<u8>| match self.repeats {
            true => Encoder::new().compress_vec(&page),
            false => Ok(page),
        };
        let compress = |page| compress(page).map_err(|error| ParquetError::External(error.into()));
        let room = uncompressed + 256;
        let mut sink = TrackedWrite::new(Vec::with_capacity(room));
        let mut pages = SerializedPageWriter::new(&mut sink);
        let mut encodings = vec![Encoding::PLAIN];
        let mut encoding = Encoding::PLAIN;
        let mut dictionary_offset = None;
        // Bytes of the headers of pages.
        let mut headers = 0;
        if let Some((plain, entries)) = self.dictionary {
            encoding = Encoding::RLE_DICTIONARY;
            encodings.push(encoding);
            let length = plain.len();
            let page = Page::DictionaryPage {
                buf: compress(plain)?.into(),
                num_values: entries as u32,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            let written = pages.write_page(CompressedPage::new(page, length))?;
            headers += written.uncompressed_size - length;
            dictionary_offset = Some(written.offset as i64);
        }
        let length = self.data.len();
        let page = Page::DataPage {
            buf: compress(self.data)?.into(),
            num_values: self.rows as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let written = pages.write_page(CompressedPage::new(page, length))?;
        headers += written.uncompressed_size - length;
        let bytes = Bytes::from(sink.into_inner()?);
        let metadata = ColumnChunkMetaData::builder(column.clone())
            .set_encodings(encodings)
            .set_compression(compression)
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size((uncompressed + headers) as i64)
            .set_num_values(rows as i64)
            .set_data_page_offset(written.offset as i64)
            .set_dictionary_page_offset(dictionary_offset)
            .build()?;
        let closed = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&bytes, closed)
    }
}

/// Adds a number in base 128, least significant digit first (ULEB128).
pub(super) fn push_number(to: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// A text as a dictionary has it.
pub(super) fn text(plain: &mut Vec<u8>, text: &(impl AsRef<str> + ?Sized)) {
    let text = text.as_ref();
    plain.extend_from_slice(&(text.len() as u32).to_le_bytes());
    plain.extend_from_slice(text.as_bytes());
}

/// Definition levels: runs of rows with a value, and of rows without.
#[derive(Default)]
pub(super) struct Levels(Vec<(bool, usize)>);

impl Levels {
    /// Adds so many rows.
    pub fn push(&mut self, present: bool, rows: usize) {
        match self.0.last_mut() {
            Some((before, length)) if *before == present => *length += rows,
            _ => self.0.push((present, rows)),
        }
    }

    fn rows(&self) -> usize {
        self.0.iter().map(|&(_, length)| length).sum()
    }

    /// Adds them to `data`.
    fn encode(&self, data: &mut Vec<u8>) {
        let mut runs = Vec::new();
        for &(present, length) in &self.0 {
            push_number(&mut runs, length << 1);
            runs.push(u8::from(present));
        }
        data.extend_from_slice(&(runs.len() as u32).to_le_bytes());
        data.extend_from_slice(&runs);
    }
}

/// Places in a dictionary, to be encoded as runs of one place where that is shorter, and otherwise one by one (the hybrid of the Parquet
/// format).
#[derive(Default)]
pub(super) struct Places {
    pub rows: usize,
    /// Those that are encoded one by one.
    single: Vec<u16>,
    /// Runs: how many of `single` come before it, its place, and its length.
    runs: Vec<(usize, u16, usize)>,
    /// The place that was added last so many times, which are in neither yet.
    last: (u16, usize),
}

/// Places that are encoded one by one come in groups of so many.
pub(super) const GROUP: usize = 8;

/// Bits of a place in a dictionary of so many entries.
pub(super) fn place_bits(entries: usize) -> u32 {
    (usize::BITS - entries.saturating_sub(1).leading_zeros()).max(1)
}

/// Begins so many places one by one. Returns the number of their groups.
pub(super) fn begin_groups(data: &mut Vec<u8>, places: usize) -> usize {
    let groups = places.div_ceil(GROUP);
    push_number(data, groups << 1 | 1);
    groups
}

impl Places {
    /// Adds the same place so many times.
    pub fn push(&mut self, place: u16, times: usize) {
        self.rows += times;
        if self.last.0 != place {
            self.end_last();
            self.last.0 = place;
        }
        self.last.1 += times;
    }

    /// Adds a place that is encoded by itself.
    #[inline]
    pub fn push_single(&mut self, place: u16) {
        if self.last.1 > 0 {
            self.end_last();
        }
        self.rows += 1;
        self.single.push(place);
    }

    fn end_last(&mut self) {
        /// A shorter run would save little.
        const WORTH: usize = 4 * GROUP;
        let (place, times) = (self.last.0, mem::take(&mut self.last.1));
        // A run begins behind a whole group.
        let missing = self.single.len().next_multiple_of(GROUP) - self.single.len();
        if times >= missing + WORTH {
            self.single.resize(self.single.len() + missing, place);
            self.push_run(place, times - missing);
        } else {
            self.single.resize(self.single.len() + times, place);
        }
    }

    fn push_run(&mut self, place: u16, length: usize) {
        match self.runs.last_mut() {
            Some((before, last, so_far)) if *before == self.single.len() && *last == place => {
                *so_far += length;
            }
            _ => self.runs.push((self.single.len(), place, length)),
        }
    }

    /// A column of the fields in a dictionary, `plain`, of so many entries. It may have nulls where there are `levels`.
    pub fn into_chunk(self, levels: Option<Levels>, plain: Vec<u8>, entries: usize) -> Chunk {
        let mut data = Vec::new();
        if let Some(levels) = &levels {
            levels.encode(&mut data);
        }
        let rows = levels.map_or(self.rows, |levels| levels.rows());
        self.encode(entries, &mut data);
        Chunk {
            rows,
            dictionary: Some((plain, entries)),
            data,
            repeats: false,
        }
    }

    /// Adds them to `data`, for a dictionary of so many entries.
    fn encode(mut self, entries: usize, data: &mut Vec<u8>) {
        self.end_last();
        let bits = place_bits(entries);
        let bytes = bits.div_ceil(8) as usize;
        data.reserve(16 + self.single.len() * bits as usize / 8 + 8 * self.runs.len());
        data.push(bits as u8);
        let mut next = 0;
        for &(before, place, length) in &self.runs {
            push_groups(data, &self.single[next..before], bits);
            next = before;
            push_number(data, length << 1);
            data.extend_from_slice(&place.to_le_bytes()[..bytes]);
        }
        push_groups(data, &self.single[next..], bits);
    }
}

/// Adds places one by one, of so many bits each, the last group filled up with zeros.
fn push_groups(data: &mut Vec<u8>, places: &[u16], bits: u32) {
    if places.is_empty() {
        return;
    }
    begin_groups(data, places.len());
    for group in places.chunks(GROUP) {
        let packed = group
            .iter()
            .rev()
            .fold(0, |packed: u128, &place| packed << bits | u128::from(place));
        // Eight places of so many bits take as many bytes.
        data.extend_from_slice(&packed.to_le_bytes()[..bits as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_place_are_not_written_one_by_one() {
        let mut places = Places::default();
        places.push(1, 3);
        // Five fill up the group, and 95 are a run, with 40 more.
        places.push(0, 100);
        places.push(0, 40);
        places.push(2, 2);
        let mut data = Vec::new();
        places.encode(3, &mut data);
        // Two bits for each place, the first in the lowest: 1, 1, 1, 0; 0, 0, 0, 0.
        let run = [0x8e, 0x02, 0]; // 135, shifted by one bit, in base 128
        let expected = [&[2][..], &[3, 0b0001_0101, 0], &run, &[3, 0b0000_1010, 0]];
        assert_eq!(data, expected.concat());
    }
}
