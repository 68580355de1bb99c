// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of an outcome.

use netnice_scenario::results::Estimate;
use serde::{Deserialize, Serialize};

use crate::outcome::{is_wide, written_with};

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

    /// Adds rows, each with a heading and values. If the interval of one value is wider than its mean, all have the range of their
    /// runs in its place, so that they can be compared.
    pub fn fill(&mut self, rows: Vec<(String, Vec<Option<Estimate>>)>) {
        let mut values = rows.iter().flat_map(|(_, values)| values).flatten();
        let range = values.any(is_wide);
        let cell = |value: &Option<Estimate>| match value {
            Some(value) => written_with(value, range),
            None => "-".to_owned(),
        };
        for (heading, values) in rows {
            let cells = values.iter().map(cell);
            self.rows.push([heading].into_iter().chain(cells).collect());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wide_interval_makes_ranges_of_all() {
        let filled = |values: &[&[f64]]| {
            let mut table = Table::new("", &["", "a", "b"]);
            let values = values.iter().map(|values| Estimate::of(values));
            table.fill(vec![("row".to_owned(), values.collect())]);
            table.rows.remove(0)
        };
        let narrow = [8.0, 9.0, 10.0];
        assert_eq!(filled(&[&narrow, &[]]), ["row", "9.00 ± 2.48", "-"]);
        assert_eq!(
            filled(&[&narrow, &[1.0, 0.0, 5.0]]),
            ["row", "9.00 (8.00 to 10.00)", "2.00 (0.00 to 5.00)"]
        );
        // A single run has neither.
        assert_eq!(filled(&[&[3.0], &[4.0]]), ["row", "3.00", "4.00"]);
    }
}
