// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of results in Arrow's memory format, handed over by its C stream interface without a copy.

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch,
    RecordBatchIterator, StringArray, UInt64Array,
};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use netnice_results::RunResults;
use netnice_results::tables::{self, Cell};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error;

#[pyclass(frozen, module = "netnice._native")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Table {
    #[getter]
    fn columns(&self) -> Vec<&str> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().as_str()).collect()
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The Arrow PyCapsule interface. A consumer that wants another schema converts by itself, as the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

impl Table {
    /// A table of cells, in one batch. Columns of swept values are numbers where all are.
    pub(crate) fn of(axes: &[String], table: &tables::Table) -> PyResult<Table> {
        let columns: Vec<ArrayRef> = (0..table.columns.len())
            .map(|index| {
                let cells = || table.rows.iter().map(move |row| &row[index]);
                if index < axes.len() {
                    let texts: Vec<&str> = cells().map(text).collect();
                    return axis(&texts);
                }
                column(cells)
            })
            .collect();
        let names = table.columns.iter().zip(&columns);
        let fields = names.map(|(name, column)| Field::new(name, column.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let batch = RecordBatch::try_new(schema.clone(), columns).map_err(error::of_run)?;
        Ok(Table {
            schema,
            batches: vec![batch],
        })
    }

    /// All samples, with a batch for each time series whose times and values are the simulator's own memory.
    pub(crate) fn of_series(axes: &[String], runs: &Arc<Vec<RunResults>>) -> PyResult<Table> {
        let mut constants = Constants::new(axes, runs);
        let schema = constants.schema(axes);
        let mut batches = Vec::new();
        for (number, run) in runs.iter().enumerate() {
            for series in &run.series {
                let rows = series.value.len();
                let mut columns: Vec<ArrayRef> = (0..axes.len())
                    .map(|axis| constants.axis(axis, number, rows))
                    .collect();
                columns.push(constants.seed(run.seed, rows));
                for (place, word) in [&series.of, &series.quantity, &series.unit]
                    .into_iter()
                    .enumerate()
                {
                    columns.push(constants.word(place, word, rows));
                }
                columns.push(Arc::new(shared(runs, &series.time_s)));
                columns.push(Arc::new(shared(runs, &series.value)));
                let batch = RecordBatch::try_new(schema.clone(), columns);
                batches.push(batch.map_err(error::of_run)?);
            }
        }
        Ok(Table { schema, batches })
    }
}

/// `values` as an array that keeps `runs`, of which they are a part, in memory.
fn shared(runs: &Arc<Vec<RunResults>>, values: &[f64]) -> Float64Array {
    let bytes = std::mem::size_of_val(values);
    let start = NonNull::from(values).cast::<u8>();
    // SAFETY: `values` lie within `runs`, which nothing changes and which the buffer keeps alive.
    let buffer = unsafe { Buffer::from_custom_allocation(start, bytes, runs.clone()) };
    Float64Array::new(ScalarBuffer::new(buffer, 0, values.len()), None)
}

fn text(cell: &Cell) -> &str {
    match cell {
        Cell::Text(text) => text,
        _ => "",
    }
}

/// Values of a sweep: whole numbers, numbers, or texts.
fn axis(texts: &[&str]) -> ArrayRef {
    fn all<T: std::str::FromStr>(texts: &[&str]) -> Option<Vec<T>> {
        texts.iter().map(|text| text.parse().ok()).collect()
    }
    if let Some(numbers) = all::<i64>(texts) {
        return Arc::new(Int64Array::from(numbers));
    }
    if let Some(numbers) = all::<f64>(texts) {
        return Arc::new(Float64Array::from(numbers));
    }
    Arc::new(StringArray::from(texts.to_vec()))
}

/// The cells of a column in the type that fits all; a number that is not there is null.
fn column<'a, I: Iterator<Item = &'a Cell>>(cells: impl Fn() -> I) -> ArrayRef {
    if cells().any(|cell| matches!(cell, Cell::Text(_))) {
        return Arc::new(StringArray::from_iter_values(cells().map(text)));
    }
    let is_number = |cell: &Cell| matches!(cell, Cell::Number(number) if number.is_finite());
    let wholes = || {
        cells().map(|cell| match cell {
            Cell::Whole(whole) => Some(*whole),
            _ => None,
        })
    };
    if cells().any(is_number) || wholes().flatten().next().is_none() {
        let numbers = cells().map(|cell| match cell {
            Cell::Number(number) => number.is_finite().then_some(*number),
            Cell::Whole(whole) => Some(*whole as f64),
            Cell::Text(_) => None,
        });
        return Arc::new(Float64Array::from_iter(numbers));
    }
    match wholes().flatten().all(|whole| i64::try_from(whole).is_ok()) {
        true => Arc::new(Int64Array::from_iter(
            wholes().map(|whole| whole.map(|whole| whole as i64)),
        )),
        false => Arc::new(UInt64Array::from_iter(wholes())),
    }
}

/// Columns that are constant within a time series: each constant is in memory once, as long as the longest series.
struct Constants {
    rows: usize,
    axes: Vec<AxisColumn>,
    /// The texts of a column, such as the names of flows, and their places.
    words: [(ArrayRef, HashMap<String, i32>); 3],
    made: HashMap<Constant, ArrayRef>,
    seeds_are_signed: bool,
}

/// The column of an axis.
enum AxisColumn {
    /// Numbers, by run.
    Numbers(ArrayRef),
    /// Texts, and the place of each run's.
    Texts(ArrayRef, Vec<i32>),
}

#[derive(PartialEq, Eq, Hash)]
enum Constant {
    Index(i32),
    Seed(u64),
    Number(u64),
    Whole(i64),
}

impl Constants {
    fn new(axes: &[String], runs: &[RunResults]) -> Constants {
        let all = || runs.iter().flat_map(|run| &run.series);
        let axes = axes.iter().enumerate().map(|(place, _)| {
            let texts = runs.iter().map(|run| run.settings[place].1.as_str());
            let texts: Vec<&str> = texts.collect();
            let column = axis(&texts);
            match column.data_type() {
                DataType::Utf8 => {
                    let (words, places) = dictionary(texts.iter().copied());
                    let indices = texts.iter().map(|text| places[*text]).collect();
                    AxisColumn::Texts(words, indices)
                }
                _ => AxisColumn::Numbers(column),
            }
        });
        Constants {
            rows: all().map(|series| series.value.len()).max().unwrap_or(0),
            axes: axes.collect(),
            words: [
                dictionary(all().map(|series| series.of.as_str())),
                dictionary(all().map(|series| series.quantity.as_str())),
                dictionary(all().map(|series| series.unit.as_str())),
            ],
            made: HashMap::new(),
            seeds_are_signed: runs.iter().all(|run| i64::try_from(run.seed).is_ok()),
        }
    }

    fn schema(&self, axes: &[String]) -> SchemaRef {
        let dictionary =
            || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let axes = axes.iter().zip(&self.axes).map(|(name, column)| {
            let kind = match column {
                AxisColumn::Numbers(numbers) => numbers.data_type().clone(),
                AxisColumn::Texts(..) => dictionary(),
            };
            Field::new(name, kind, false)
        });
        let seed = match self.seeds_are_signed {
            true => DataType::Int64,
            false => DataType::UInt64,
        };
        let fields = axes.chain([
            Field::new("seed", seed, false),
            Field::new("of", dictionary(), false),
            Field::new("quantity", dictionary(), false),
            Field::new("unit", dictionary(), false),
            Field::new("time_s", DataType::Float64, false),
            Field::new("value", DataType::Float64, false),
        ]);
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// `rows` times the constant, made by `make` as often as the longest series needs it.
    fn constant(
        &mut self,
        constant: Constant,
        rows: usize,
        make: impl FnOnce(usize) -> ArrayRef,
    ) -> ArrayRef {
        let most = self.rows;
        let array = self.made.entry(constant).or_insert_with(|| make(most));
        array.slice(0, rows)
    }

    fn axis(&mut self, axis: usize, run: usize, rows: usize) -> ArrayRef {
        match &self.axes[axis] {
            AxisColumn::Texts(words, indices) => {
                let (words, index) = (words.clone(), indices[run]);
                self.of_dictionary(words, index, rows)
            }
            AxisColumn::Numbers(numbers) => match numbers.data_type() {
                DataType::Int64 => {
                    let numbers = numbers.as_any().downcast_ref::<Int64Array>();
                    let number = numbers.map_or(0, |numbers| numbers.value(run));
                    self.constant(Constant::Whole(number), rows, |rows| {
                        Arc::new(Int64Array::from(vec![number; rows]))
                    })
                }
                _ => {
                    let numbers = numbers.as_any().downcast_ref::<Float64Array>();
                    let number = numbers.map_or(f64::NAN, |numbers| numbers.value(run));
                    self.constant(Constant::Number(number.to_bits()), rows, |rows| {
                        Arc::new(Float64Array::from(vec![number; rows]))
                    })
                }
            },
        }
    }

    fn seed(&mut self, seed: u64, rows: usize) -> ArrayRef {
        let signed = self.seeds_are_signed;
        self.constant(Constant::Seed(seed), rows, |rows| match signed {
            true => Arc::new(Int64Array::from(vec![seed as i64; rows])),
            false => Arc::new(UInt64Array::from(vec![seed; rows])),
        })
    }

    fn word(&mut self, place: usize, word: &str, rows: usize) -> ArrayRef {
        let (words, places) = &self.words[place];
        let (words, index) = (words.clone(), places[word]);
        self.of_dictionary(words, index, rows)
    }

    fn of_dictionary(&mut self, words: ArrayRef, index: i32, rows: usize) -> ArrayRef {
        let indices = self.constant(Constant::Index(index), rows, |rows| {
            Arc::new(Int32Array::from(vec![index; rows]))
        });
        let indices = indices.as_any().downcast_ref::<Int32Array>();
        let indices = indices.expect("it was made as such").clone();
        Arc::new(DictionaryArray::<Int32Type>::new(indices, words))
    }
}

/// The distinct texts in the order of their first appearance, and the place of each.
fn dictionary<'a>(texts: impl Iterator<Item = &'a str>) -> (ArrayRef, HashMap<String, i32>) {
    let mut places = HashMap::new();
    let mut distinct = Vec::new();
    for text in texts {
        if !places.contains_key(text) {
            places.insert(text.to_owned(), distinct.len() as i32);
            distinct.push(text);
        }
    }
    (Arc::new(StringArray::from(distinct)), places)
}
