// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of text, and as Markdown.

use netnice_results::Estimate;
use serde::{Deserialize, Serialize};

use crate::estimate::{is_wide, written_with};

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

/// The lines of a table of Markdown. The first column is aligned to the left, and so are the others unless they are `numbers`.
pub fn markdown_rows(columns: &[String], rows: &[Vec<String>], numbers: bool) -> String {
    // Bars and line breaks would end a cell.
    let cell = |text: &String| text.replace('|', "\\|").replace('\n', " ");
    let line = |cells: &Vec<String>| format!("| {} |\n", cells.join(" | "));
    let row = |cells: &[String]| line(&cells.iter().map(cell).collect());
    let aligned = |column| match numbers && column > 0 {
        true => "---:".to_owned(),
        false => "---".to_owned(),
    };
    let mut text = row(columns) + &line(&(0..columns.len()).map(aligned).collect());
    text.extend(rows.iter().map(|cells| row(cells)));
    text
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

    #[test]
    fn markdown_has_a_line_for_each_row() {
        let words = |words: [&str; 2]| words.map(str::to_owned).to_vec();
        let (columns, rows) = (words(["what", "ours"]), [words(["a|b", "1\n2"])]);
        assert_eq!(
            markdown_rows(&columns, &rows, false),
            "| what | ours |\n| --- | --- |\n| a\\|b | 1 2 |\n"
        );
        assert!(markdown_rows(&columns, &rows, true).contains("\n| --- | ---: |\n"));
    }
}
