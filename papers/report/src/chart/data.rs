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

/// The points as comma-separated values in a link: curve, x, y, and half of the 95 % confidence interval where there is one.
pub fn link(chart: &Chart) -> String {
    let mut link = "data:text/csv,curve,x,y,half_width_95".to_owned();
    for curve in &chart.curves {
        // A quote within a quoted field is written twice (RFC 4180); what is not plain is escaped for the link.
        let name: String = curve.name.replace('"', "\"\"");
        let name: String = name.bytes().map(escaped).collect();
        for point in &curve.points {
            let half = point.half.map_or(String::new(), |half| half.to_string());
            link += &format!("%0A%22{name}%22,{},{},{half}", point.x, point.y);
        }
    }
    link
}

/// A byte of a link: letters and digits as they are, others as `%20`.
fn escaped(byte: u8) -> String {
    match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
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
    fn bytes_of_a_link_are_plain() {
        let name: String = "a \"<é,".bytes().map(escaped).collect();
        assert_eq!(name, "a%20%22%3C%C3%A9%2C");
    }
}
