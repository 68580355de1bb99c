// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of Python as TOML.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

/// A whole scenario as the text of a file; keys whose value is `None` are left out.
pub(crate) fn document(fields: &Bound<'_, PyDict>) -> PyResult<String> {
    let mut document = DocumentMut::new();
    for (key, value) in fields {
        let key = text_key(&key)?;
        if !value.is_none() {
            document.insert(&key, item(&key, &value)?);
        }
    }
    Ok(document.to_string())
}

/// `text` with other values of its sweep. The rest of the text, comments included, stays as it is.
pub(crate) fn with_sweep(text: &str, axes: &Bound<'_, PyDict>) -> PyResult<String> {
    let error = |error: toml_edit::TomlError| PyValueError::new_err(error.to_string());
    let mut document: DocumentMut = text.parse().map_err(error)?;
    let sweep = document
        .entry("sweep")
        .or_insert_with(|| Item::Table(Table::new()));
    let Some(sweep) = sweep.as_table_like_mut() else {
        return Err(PyValueError::new_err("`sweep` must be a table of lists"));
    };
    for (key, values) in axes {
        let key = text_key(&key)?;
        remove_dotted(sweep, &key);
        sweep.insert(&key, Item::Value(value(&key, &values)?));
    }
    Ok(document.to_string())
}

/// Removes the axis `links.bottleneck.rate` where the file has it as tables within tables.
fn remove_dotted(table: &mut dyn toml_edit::TableLike, key: &str) {
    if let Some((first, rest)) = key.split_once('.') {
        if let Some(inner) = table.get_mut(first).and_then(Item::as_table_like_mut) {
            remove_dotted(inner, rest);
            inner.remove(rest);
            if inner.is_empty() {
                table.remove(first);
            }
        }
    }
}

/// A value as it stands after `=`, for settings.
pub(crate) fn setting(key: &str, given: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(value(key, given)?.to_string())
}

/// Lists of dictionaries and dictionaries become tables with headings, which people read best.
fn item(key: &str, given: &Bound<'_, PyAny>) -> PyResult<Item> {
    if let Ok(table) = given.cast::<PyDict>() {
        let mut result = Table::new();
        for (name, inner) in table {
            let name = text_key(&name)?;
            if !inner.is_none() {
                result.insert(&name, Item::Value(value(&format!("{key}.{name}"), &inner)?));
            }
        }
        return Ok(Item::Table(result));
    }
    Ok(Item::Value(value(key, given)?))
}

fn value(key: &str, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    // A bool is an int to Python.
    if given.is_instance_of::<PyBool>() {
        return Ok(given.extract::<bool>()?.into());
    }
    if given.is_instance_of::<PyInt>() {
        return Ok(given.extract::<i64>()?.into());
    }
    if given.is_instance_of::<PyFloat>() {
        return Ok(given.extract::<f64>()?.into());
    }
    if given.is_instance_of::<PyString>() {
        return Ok(given.extract::<String>()?.into());
    }
    if let Ok(table) = given.cast::<PyDict>() {
        let mut result = InlineTable::new();
        for (name, inner) in table {
            let name = text_key(&name)?;
            if !inner.is_none() {
                result.insert(&name, value(&format!("{key}.{name}"), &inner)?);
            }
        }
        return Ok(result.into());
    }
    // NumPy's numbers.
    if let Ok(scalar) = given.call_method0("item") {
        return value(key, &scalar);
    }
    // Lists, tuples, ranges, arrays.
    if let Ok(iterator) = given.try_iter() {
        let mut result = Array::new();
        for inner in iterator {
            result.push(value(key, &inner?)?);
        }
        return Ok(result.into());
    }
    Err(PyTypeError::new_err(format!(
        "`{key}`: {} is no value of a scenario; use str, int, float, bool, a list or a dict",
        given.get_type().name()?
    )))
}

fn text_key(key: &Bound<'_, PyAny>) -> PyResult<String> {
    key.extract().map_err(|_| {
        PyTypeError::new_err(format!("{key:?} is no key of a scenario: keys are strings"))
    })
}
