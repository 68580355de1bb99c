// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of an outcome.

use serde::{Deserialize, Serialize};

/// A table with a heading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Title.
    pub title: String,
    /// Headings.
    pub columns: Vec<String>,
    /// Rows, as long as `columns`.
    pub rows: Vec<Vec<String>>,
    /// A search over what the paper leaves open, which a report folds.
    #[serde(default)]
    pub search: bool,
}

impl Table {
    /// An empty table.
    pub fn new(title: &str, columns: &[&str]) -> Table {
        Table {
            title: title.to_owned(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            rows: Vec::new(),
            search: false,
        }
    }

    /// An empty table of a search.
    pub fn search(title: &str, columns: &[&str]) -> Table {
        Table {
            search: true,
            ..Table::new(title, columns)
        }
    }
}
