// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of all samples of time series: often millions of rows, so none of them is kept.

use std::io::{self, Write};

use crate::{RunResults, Series};

/// All samples of all runs: the values of a sweep, and then the columns of [`COLUMNS`].
#[derive(Debug, Clone, Copy)]
pub struct Samples<'a> {
    pub(super) axes: &'a [String],
    runs: &'a [RunResults],
}

/// The columns behind those of the sweep.
const COLUMNS: [&str; 6] = ["seed", "of", "quantity", "unit", "time_s", "value"];

impl<'a> Samples<'a> {
    pub(super) fn new(axes: &'a [String], runs: &'a [RunResults]) -> Samples<'a> {
        Samples { axes, runs }
    }

    /// The names of the columns.
    pub(super) fn columns(&self) -> impl Iterator<Item = &'a str> {
        self.axes.iter().map(String::as_str).chain(COLUMNS)
    }

    /// Each series with its run.
    pub(super) fn series(&self) -> impl Iterator<Item = (&'a RunResults, &'a Series)> {
        let runs = self.runs.iter();
        runs.flat_map(|run| run.series.iter().map(move |series| (run, series)))
    }

    /// Returns true if there is no sample.
    pub fn is_empty(&self) -> bool {
        self.series().all(|(_, series)| rows(series) == 0)
    }

    /// Writes comma-separated values (RFC 4180) with a heading.
    pub fn write_csv(&self, to: &mut impl Write) -> io::Result<()> {
        let mut csv = csv::Writer::from_writer(to);
        csv.write_record(self.columns())?;
        for (run, series) in self.series() {
            let seed = run.seed.to_string();
            let settings = run.settings.iter().map(|(_, value)| value.as_str());
            let of_series = [&*seed, &*series.of, &*series.quantity, &*series.unit];
            let same: Vec<&str> = settings.chain(of_series).collect();
            for (time, value) in series.time_s.iter().zip(series.value.iter()) {
                let value = value.is_finite().then(|| value.to_string());
                let sample = [time.to_string(), value.unwrap_or_default()];
                csv.write_record(
                    same.iter()
                        .copied()
                        .chain(sample.iter().map(String::as_str)),
                )?;
            }
        }
        csv.flush()
    }
}

/// Samples of a series.
pub(super) fn rows(series: &Series) -> usize {
    series.time_s.len().min(series.value.len())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn fields_with_commas_are_quoted() {
        let series = |of: &str, time_s: &Arc<[f64]>| Series {
            of: of.to_owned(),
            quantity: "cwnd".to_owned(),
            unit: "packets".to_owned(),
            time_s: time_s.clone(),
            value: vec![1.5, f64::NAN].into(),
        };
        let (early, late): (Arc<[f64]>, Arc<[f64]>) = ([0.5, 1.0].into(), [1e-7, 1e16].into());
        let runs = [RunResults {
            seed: 7,
            series: vec![
                series("a, b", &early),
                series("c", &early),
                series("d", &late),
            ],
            settings: vec![("x".to_owned(), "1, 2".to_owned())],
            ..RunResults::default()
        }];
        let axes = ["x".to_owned()];
        let mut text = Vec::new();
        Samples::new(&axes, &runs).write_csv(&mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "x,seed,of,quantity,unit,time_s,value\n\
             \"1, 2\",7,\"a, b\",cwnd,packets,0.5,1.5\n\
             \"1, 2\",7,\"a, b\",cwnd,packets,1,\n\
             \"1, 2\",7,c,cwnd,packets,0.5,1.5\n\
             \"1, 2\",7,c,cwnd,packets,1,\n\
             \"1, 2\",7,d,cwnd,packets,0.0000001,1.5\n\
             \"1, 2\",7,d,cwnd,packets,10000000000000000,\n"
        );
    }
}
