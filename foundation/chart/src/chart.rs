// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a chart shows, and the spans of its axes.

use crate::palette::Marker;
use crate::scale::plain;

/// The contents of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// How it is drawn.
    pub kind: Kind,
    /// The categories of bars, or the columns of a heat map.
    pub names: Vec<String>,
    /// The axis along; of bars it counts the categories from 0.
    pub x: AxisData,
    /// The axis up.
    pub y: AxisData,
    /// The curves, or the bars that each category has.
    pub curves: Vec<Curve>,
}

/// How a chart is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Lines with a marker and an interval at each point.
    Lines,
    /// Lines through many points, such as those over time.
    TimeSeries,
    /// Bars side by side.
    Bars,
    /// Cells in rows and columns, each with its value, and the darker the larger that is. A curve is a row, whose points count the
    /// columns from 0.
    HeatMap,
}

impl Kind {
    /// The name in data and attributes.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Lines => "lines",
            Kind::TimeSeries => "time_series",
            Kind::Bars => "bars",
            Kind::HeatMap => "heat_map",
        }
    }
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisData {
    /// With the unit.
    pub label: String,
    /// By logarithms.
    pub logarithmic: bool,
}

impl AxisData {
    /// An axis with values at even distances.
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            logarithmic: false,
        }
    }
}

/// A curve, or bars of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Name for the legend, which has none of a curve without a name.
    pub name: String,
    /// Marker of its points.
    pub marker: Marker,
    /// Its look in a plot, where it has not that of its place among the curves.
    pub look: Option<usize>,
    /// The points, in the order of x.
    pub points: Vec<Point>,
    /// `(x, y)` of single runs, drawn as thin lines behind the curve.
    pub seeds: Vec<Vec<(f64, f64)>>,
    /// The least and the largest value of each point, drawn in place of intervals; empty for intervals.
    pub ranges: Vec<[f64; 2]>,
}

impl Curve {
    /// A curve through these points, without single runs.
    pub fn new(name: impl Into<String>, points: Vec<Point>) -> Self {
        Self {
            name: name.into(),
            marker: Marker::None,
            look: None,
            points,
            seeds: Vec::new(),
            ranges: Vec::new(),
        }
    }

    /// The ends of the interval, or of the range, that is drawn at a point.
    pub fn ends(&self, number: usize) -> Option<(f64, f64)> {
        let point = &self.points[number];
        match self.ranges.get(number) {
            Some(&[least, largest]) => Some((least, largest)),
            None => point.half.map(|half| (point.y - half, point.y + half)),
        }
    }
}

/// A point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Along.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Half of the 95 % confidence interval, where there is one.
    pub half: Option<f64>,
}

impl Chart {
    /// Nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.curves.iter().all(|curve| curve.points.is_empty())
    }

    /// A place along in words: of bars the category, of a heat map the column, else the number.
    pub fn along(&self, x: f64) -> String {
        match self.kind {
            Kind::Bars | Kind::HeatMap => self.names.get(x as usize).cloned().unwrap_or_default(),
            Kind::Lines | Kind::TimeSeries => plain(x),
        }
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.curves.iter().flat_map(|curve| &curve.points)
    }

    /// The span of the horizontal axis: all points, and a little room where they have markers.
    pub fn x_domain(&self) -> [f64; 2] {
        if self.kind == Kind::Bars {
            return [-0.5, self.names.len().max(1) as f64 - 0.5];
        }
        let room = if self.kind == Kind::Lines { 0.03 } else { 0.0 };
        let span = self
            .points()
            .fold(NOTHING, |span, point| with(span, point.x));
        widened(span, self.x.logarithmic, [room, room])
    }

    /// The span of the vertical axis: all points with their intervals, and zero where that is not far.
    pub fn y_domain(&self) -> [f64; 2] {
        let points = self.curves.iter().flat_map(|curve| {
            let points = curve.points.iter().enumerate();
            points.map(|(number, point)| (point, curve.ends(number)))
        });
        let ends = points.flat_map(|(point, ends)| {
            let (low, high) = ends.unwrap_or((point.y, point.y));
            // An interval may reach below what a logarithmic axis can show.
            let low = if self.y.logarithmic && low <= 0.0 {
                point.y
            } else {
                low
            };
            [low, high]
        });
        self.y_around(ends)
    }

    /// As [`Chart::y_domain`], but intervals widen it by at most a quarter of the largest value, so that values stay apart
    /// where intervals are many times as wide; `more` are values that it spans, too.
    pub fn y_domain_of_values(&self, more: impl Iterator<Item = f64>) -> [f64; 2] {
        let largest = self.points().map(|point| point.y.abs()).fold(0.0, f64::max);
        let ends = self.points().flat_map(|point| {
            let (low, high) = interval(point);
            match self.y.logarithmic {
                true => [low.max(point.y / 2.0), high.min(point.y * 2.0)],
                false => {
                    let room = MOST_INTERVAL * largest;
                    [
                        low.max(point.y - room),
                        high.min(point.y.max(largest + room)),
                    ]
                }
            }
        });
        let seeds = self.curves.iter().flat_map(|curve| &curve.seeds).flatten();
        let seeds = seeds.map(|(_, y)| *y);
        let fits = |y: &f64| y.is_finite() && (*y > 0.0 || !self.y.logarithmic);
        let ends: Vec<f64> = ends.chain(seeds).chain(more).filter(fits).collect();
        self.y_around(ends.into_iter())
    }

    fn y_around(&self, values: impl Iterator<Item = f64>) -> [f64; 2] {
        let span = values.fold(NOTHING, with);
        let [least, largest] = span;
        if self.y.logarithmic {
            return widened(span, true, [0.04, 0.04]);
        }
        if self.kind == Kind::Bars || (least >= 0.0 && least <= 0.75 * largest) {
            let span = with(span, 0.0);
            let room = |negative: bool| if negative { 0.05 } else { 0.0 };
            return widened(span, false, [room(span[0] < 0.0), room(span[1] > 0.0)]);
        }
        widened(span, false, [0.05, 0.05])
    }
}

/// Part of the largest value by which intervals widen the axis of a plot at most.
const MOST_INTERVAL: f64 = 0.25;

/// The ends of a point's interval, which stays positive where the value is: rates, delays and counts are never negative.
pub fn interval(point: &Point) -> (f64, f64) {
    let half = point.half.unwrap_or(0.0);
    let low = match point.y >= 0.0 {
        true => (point.y - half).max(0.0),
        false => point.y - half,
    };
    (low, point.y + half)
}

const NOTHING: [f64; 2] = [f64::INFINITY, f64::NEG_INFINITY];

fn with([least, largest]: [f64; 2], value: f64) -> [f64; 2] {
    [least.min(value), largest.max(value)]
}

/// A span with room at its ends, in parts of it; never empty.
fn widened([least, largest]: [f64; 2], logarithmic: bool, [below, above]: [f64; 2]) -> [f64; 2] {
    if least > largest {
        return if logarithmic { [1.0, 10.0] } else { [0.0, 1.0] };
    }
    if logarithmic {
        if least == largest {
            return [least / 2.0, largest * 2.0];
        }
        let ratio = largest / least;
        return [least / ratio.powf(below), largest * ratio.powf(above)];
    }
    if least == largest {
        let room = if least == 0.0 { 1.0 } else { least.abs() / 2.0 };
        return [least - room, largest + room];
    }
    let span = largest - least;
    [least - below * span, largest + above * span]
}

/// Of the points that share a column the first, the least, the largest and the last: a line through them looks as one
/// through all.
pub fn thinned(points: &[Point], column: impl Fn(&Point) -> i64) -> Vec<Point> {
    let mut kept = Vec::new();
    let mut begin = 0;
    while begin < points.len() {
        let same = |point: &&Point| column(point) == column(&points[begin]);
        let count = points[begin..].iter().take_while(same).count();
        let end = begin + count - 1;
        let (mut least, mut largest) = (begin, begin);
        for at in begin..=end {
            if points[at].y < points[least].y {
                least = at;
            }
            if points[at].y > points[largest].y {
                largest = at;
            }
        }
        let mut places = [begin, least.min(largest), least.max(largest), end].to_vec();
        places.dedup();
        kept.extend(places.into_iter().map(|at| points[at]));
        begin = end + 1;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_ends_and_the_extremes() {
        let values = [1.0, 5.0, 0.0, 3.0, 2.0, 7.0];
        let points: Vec<Point> = values
            .iter()
            .enumerate()
            .map(|(at, &y)| Point {
                x: at as f64,
                y,
                half: None,
            })
            .collect();
        let of = |width: f64| -> Vec<f64> {
            let kept = thinned(&points, |point| (point.x / width).floor() as i64);
            kept.iter().map(|point| point.y).collect()
        };
        assert_eq!(of(1.0), values);
        assert_eq!(of(4.0), [1.0, 5.0, 0.0, 3.0, 2.0, 7.0]);
        assert_eq!(of(6.0), [1.0, 0.0, 7.0]);
        assert!(thinned(&[], |_| 0).is_empty());
    }

    fn data(kind: Kind, logarithmic: bool, points: &[(f64, f64, Option<f64>)]) -> Chart {
        let axis = |logarithmic| AxisData {
            label: String::new(),
            logarithmic,
        };
        Chart {
            kind,
            names: vec!["a".to_owned(), "b".to_owned()],
            x: axis(false),
            y: axis(logarithmic),
            curves: vec![Curve {
                name: String::new(),
                marker: Marker::None,
                look: None,
                points: points
                    .iter()
                    .map(|&(x, y, half)| Point { x, y, half })
                    .collect(),
                seeds: Vec::new(),
                ranges: Vec::new(),
            }],
        }
    }

    #[test]
    fn axes_span_the_points_and_their_intervals_by_hand() {
        let lines = data(
            Kind::Lines,
            false,
            &[(0.0, 1.0, Some(0.5)), (100.0, 9.0, Some(1.0))],
        );
        assert_eq!(lines.x_domain(), [-3.0, 103.0]);
        assert_eq!(lines.y_domain(), [0.0, 10.5]);
        // Far from zero: without it.
        let high = data(Kind::Lines, false, &[(0.0, 90.0, None), (1.0, 100.0, None)]);
        assert_eq!(high.y_domain(), [89.5, 100.5]);
        assert_eq!(
            data(Kind::Bars, false, &[(0.0, 90.0, None)]).x_domain(),
            [-0.5, 1.5]
        );
        let negative = data(Kind::Bars, false, &[(0.0, -10.0, None)]);
        assert_eq!(negative.y_domain(), [-10.5, 0.0]);
        let logarithmic = data(
            Kind::Lines,
            true,
            &[(0.0, 1.0, Some(2.0)), (0.0, 100.0, None)],
        );
        let [least, largest] = logarithmic.y_domain();
        assert!(least > 0.8 && least < 1.0 && largest > 100.0);
    }

    #[test]
    fn ranges_take_the_place_of_intervals() {
        let mut wide = data(
            Kind::Lines,
            false,
            &[(0.0, 20.0, Some(60.0)), (1.0, 40.0, None)],
        );
        assert_eq!(wide.y_domain(), [-46.0, 86.0]);
        wide.curves[0].ranges = vec![[5.0, 50.0], [40.0, 40.0]];
        // From 0 to 50, and 5 % of it above.
        assert_eq!(wide.y_domain(), [0.0, 52.5]);
    }

    #[test]
    fn no_span_is_empty() {
        for logarithmic in [false, true] {
            for points in [
                &[][..],
                &[(1.0, 3.0, None)],
                &[(1.0, 3.0, None), (1.0, 3.0, None)],
            ] {
                for kind in [Kind::Lines, Kind::TimeSeries, Kind::Bars, Kind::HeatMap] {
                    let data = data(kind, logarithmic, points);
                    let spans = [
                        data.x_domain(),
                        data.y_domain(),
                        data.y_domain_of_values(std::iter::empty()),
                    ];
                    for [least, largest] in spans {
                        assert!(least < largest && (largest - least).is_finite());
                    }
                }
            }
        }
    }
}
