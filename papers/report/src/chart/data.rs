// SPDX-License-Identifier: MIT OR Apache-2.0
//! A figure of the outcomes as a chart, and its numbers as a file.

use netnice_chart::chart::thinned;
use netnice_chart::{AxisData, Chart, Curve, Kind, Point};
use netnice_papers::{Figure, FigureKind, Scaling, XY};

use super::looks::Looks;

/// Of a curve over time at most so many steps of time are kept, with at most four points each.
const STEPS: usize = 5000;

/// The points of a figure that can be drawn: finite numbers, positive on logarithmic axes.
pub fn of(figure: &Figure, looks: &[Looks]) -> Chart {
    let fits = |value: f64, axis: &netnice_papers::Axis| {
        value.is_finite() && (value > 0.0 || !is_logarithmic(axis.scaling))
    };
    let point = |point: &XY, interval: bool| Point {
        x: rounded(point.x),
        y: rounded(point.y),
        half: point
            .half_width
            .filter(|half| interval && half.is_finite())
            .map(rounded),
    };
    let time_series = matches!(figure.kind, FigureKind::TimeSeries);
    let curves = figure.curves.iter().zip(looks).map(|(curve, looks)| {
        let drawn = curve.points.iter();
        let drawn = drawn.filter(|point| fits(point.x, &figure.x) && fits(point.y, &figure.y));
        let shows_ranges = curve.shows_ranges();
        let range = |point: &XY| point.range.unwrap_or([point.y; 2]).map(rounded);
        let ranges = match shows_ranges {
            true => drawn.clone().map(range).collect(),
            false => Vec::new(),
        };
        let mut points: Vec<Point> = drawn.map(|xy| point(xy, !shows_ranges)).collect();
        if time_series && points.len() > 4 * STEPS {
            let (first, last) = (points[0].x, points[points.len() - 1].x);
            let step = (last - first) / STEPS as f64;
            points = thinned(&points, |point| ((point.x - first) / step).floor() as i64);
        }
        Curve {
            name: curve.name.clone(),
            marker: looks.marker,
            look: None,
            points,
            seeds: Vec::new(),
            ranges,
        }
    });
    let axis = |axis: &netnice_papers::Axis| AxisData {
        label: label(&axis.label, &axis.unit),
        logarithmic: is_logarithmic(axis.scaling),
    };
    Chart {
        kind: match figure.kind {
            FigureKind::Lines => Kind::Lines,
            FigureKind::TimeSeries => Kind::TimeSeries,
            FigureKind::Bars(_) => Kind::Bars,
        },
        names: match &figure.kind {
            FigureKind::Bars(names) => names.clone(),
            _ => Vec::new(),
        },
        x: axis(&figure.x),
        y: axis(&figure.y),
        curves: curves.collect(),
    }
}

/// The points as a link to a file of comma-separated values: curve, x, y, half of the 95 % confidence interval where there is one,
/// and the least and the largest of the runs where the figure shows those.
pub fn link(chart: &Chart) -> String {
    let ranges = chart.curves.iter().any(|curve| !curve.ranges.is_empty());
    let (heading, empty) = match ranges {
        true => (",least,largest", ",,"),
        false => ("", ""),
    };
    let [x, y] = [&chart.x, &chart.y].map(|axis| field(&axis.label));
    let mut csv = format!("curve,{x},{y},half_width_95{heading}\n");
    for curve in &chart.curves {
        let name = field(&curve.name);
        for (number, point) in curve.points.iter().enumerate() {
            let x = match chart.kind {
                Kind::Bars | Kind::HeatMap => field(&chart.along(point.x)),
                Kind::Lines | Kind::TimeSeries => point.x.to_string(),
            };
            let half = point.half.map_or(String::new(), |half| half.to_string());
            let range = curve.ranges.get(number);
            let range = range.map_or(empty.to_owned(), |[least, most]| format!(",{least},{most}"));
            csv += &format!("{name},{x},{},{half}{range}\n", point.y);
        }
    }
    let mut link = "data:text/csv;charset=utf-8,".to_owned();
    for byte in csv.bytes() {
        match byte.is_ascii_alphanumeric() || b",.-_".contains(&byte) {
            true => link.push(char::from(byte)),
            false => link += &format!("%{byte:02X}"),
        }
    }
    link
}

/// A text as a field, quoted where it must be (RFC 4180). An apostrophe before what begins as a formula does keeps a spreadsheet from
/// computing it.
fn field(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if is_formula {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

/// A number with six significant digits, which is more than any figure shows.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// A label with its unit.
pub fn label(label: &str, unit: &str) -> String {
    match unit {
        "" => label.to_owned(),
        unit => format!("{label} ({unit})"),
    }
}

fn is_logarithmic(scaling: Scaling) -> bool {
    scaling == Scaling::Logarithmic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_are_kept() {
        assert_eq!(rounded(123.456_789), 123.457);
        assert_eq!(rounded(-0.000_012_345_678), -0.000_012_345_7);
        assert_eq!(rounded(0.0), 0.0);
        assert!(rounded(f64::INFINITY).is_infinite());
    }

    #[test]
    fn a_field_stays_one_and_is_no_formula() {
        assert_eq!(field("TCP"), "TCP");
        assert_eq!(field("a \"b\", c"), r#""a ""b"", c""#);
        assert_eq!(field("=1+1"), "'=1+1");
    }
}
