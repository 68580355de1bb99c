// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plots are drawn.

use netnice_chart::{
    Area, AxisData, Chart, Curve, Kind, Panel, Plot, Point, Span, stacked_svg, svg,
};
use roxmltree::{Document, Node};

fn point(x: f64, y: f64, half: f64) -> Point {
    Point {
        x,
        y,
        half: (half > 0.0).then_some(half),
    }
}

fn sweep() -> Plot {
    let curve = |name: &str, factor: f64| {
        let points = [(0.05, 4.0), (0.4, 2.0), (51.2, 5.0)];
        let points = points.map(|(x, y)| point(x, y * factor, 0.3));
        Curve::new(name, points.to_vec())
    };
    Plot {
        name: "sweep".to_owned(),
        title: "square_wave: goodput".to_owned(),
        caption: "mean of 3 seeds".to_owned(),
        notes: Vec::new(),
        y_most: None,
        chart: Chart {
            kind: Kind::Lines,
            names: Vec::new(),
            x: AxisData {
                label: "period".to_owned(),
                logarithmic: true,
            },
            y: AxisData::linear("goodput (Mb/s)"),
            curves: vec![curve("reno", 1.0), curve("tcplp", 0.5)],
        },
    }
}

fn bars() -> Plot {
    let mut plot = sweep();
    plot.chart.kind = Kind::Bars;
    plot.chart.x = AxisData::linear("control");
    plot.chart.names = vec!["reno".to_owned(), "a < b".to_owned()];
    let points = vec![point(0.0, 3.0, 0.5), point(1.0, 1.0, 0.0)];
    plot.chart.curves = vec![Curve::new("goodput", points)];
    plot
}

/// A plot over time of so many curves.
fn over_time(curves: usize) -> Plot {
    let mut plot = sweep();
    plot.chart.kind = Kind::TimeSeries;
    plot.chart.x = AxisData::linear("time (s)");
    let curve = |number: usize| {
        let points = (0..100).map(|at| point(at as f64, (number + at % 7) as f64, 0.0));
        Curve::new(format!("flow {number}"), points.collect())
    };
    plot.chart.curves = (0..curves).map(curve).collect();
    plot
}

/// Elements of a class, in order.
fn of_class<'a>(document: &'a Document<'a>, class: &str) -> Vec<Node<'a, 'a>> {
    let all = document.descendants();
    all.filter(|node| {
        let classes = node.attribute("class").unwrap_or("");
        classes.split(' ').any(|one| one == class)
    })
    .collect()
}

fn texts<'a>(document: &'a Document<'a>, class: &str) -> Vec<&'a str> {
    let elements = of_class(document, class).into_iter();
    elements.filter_map(|element| element.text()).collect()
}

/// Numbers of a path or an attribute.
fn numbers(text: &str) -> Vec<f64> {
    let parts =
        text.split(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != '-');
    parts.filter_map(|part| part.parse().ok()).collect()
}

#[test]
fn svg_has_the_words_and_the_lines() {
    let text = svg(&sweep());
    let document = Document::parse(&text).unwrap();
    assert_eq!(texts(&document, "title"), ["square_wave: goodput"]);
    assert_eq!(texts(&document, "caption"), ["mean of 3 seeds"]);
    assert_eq!(texts(&document, "label"), ["period", "goodput (Mb/s)"]);
    assert_eq!(texts(&document, "name"), ["reno", "tcplp"]);
    // Ticks of a logarithmic axis are round.
    let ticks = texts(&document, "tick");
    for tick in ["0.05", "0.1", "1", "10"] {
        assert!(ticks.contains(&tick), "{tick}");
    }
    // Three points each: a marker and an interval at each point.
    let curves = of_class(&document, "curve");
    assert_eq!(curves.len(), 2);
    for curve in curves {
        let path = |class: &str| {
            let found = curve
                .children()
                .find(|node| node.attribute("class") == Some(class));
            found.unwrap().attribute("d").unwrap()
        };
        assert_eq!(path("line").matches('L').count(), 2);
        assert_eq!(path("markers").matches('M').count(), 3);
        assert_eq!(path("intervals").matches('V').count(), 3);
    }
    // Seeds that agree have an interval of no width, which is not drawn.
    let mut plot = sweep();
    plot.chart.curves[0].points[0].half = Some(0.0);
    let text = svg(&plot);
    let document = Document::parse(&text).unwrap();
    let intervals = of_class(&document, "intervals")[0].attribute("d").unwrap();
    assert_eq!(intervals.matches('V').count(), 2);
}

#[test]
fn names_along_are_bars_with_figures() {
    let text = svg(&bars());
    let document = Document::parse(&text).unwrap();
    assert!(texts(&document, "tick").contains(&"a < b"));
    assert_eq!(texts(&document, "figure"), ["3", "1"]);
    let bars = of_class(&document, "bar")[0].attribute("d").unwrap();
    assert_eq!(bars.matches('Z').count(), 2);
}

#[test]
fn a_heat_map_has_a_cell_for_each_value() {
    let mut plot = bars();
    plot.chart.kind = Kind::HeatMap;
    plot.y_most = Some(50.0);
    let row = |name: &str, values: [f64; 2]| {
        let points = [point(0.0, values[0], 0.0), point(1.0, values[1], 0.0)];
        Curve::new(name, points.to_vec())
    };
    let mut incomplete = row("third", [1.0, f64::NAN]);
    // A column without a name has no place.
    incomplete.points.push(point(2.0, 1.0, 0.0));
    plot.chart.curves = vec![
        row("first", [0.0, 25.0]),
        row("second", [-3.0, 80.0]),
        incomplete,
    ];
    for text in [
        svg(&plot),
        stacked_svg(&[Panel {
            plot,
            areas: Vec::new(),
        }]),
    ] {
        let document = Document::parse(&text).unwrap();
        assert_eq!(texts(&document, "tick"), ["reno", "a < b"]);
        let labels = texts(&document, "label");
        assert_eq!(
            labels,
            ["first", "0", "25", "second", "−3", "80", "third", "1"]
        );
        let cells = of_class(&document, "cell");
        let strength: Vec<f64> = cells
            .iter()
            .map(|cell| cell.attribute("fill-opacity").unwrap().parse().unwrap())
            .collect();
        // Half of the strongest, and no more than that beyond 50.
        assert_eq!(strength, [0.0, 0.42, 0.0, 0.85, 0.02]);
        // All is within the picture.
        let height = numbers(document.root_element().attribute("height").unwrap())[0];
        let last = cells[4];
        let end = |name: &str| numbers(last.attribute(name).unwrap())[0];
        assert!(end("y") + end("height") < height, "{height}");
    }
}

#[test]
fn a_picture_is_for_light_and_dark_pages() {
    let text = svg(&sweep());
    let (light, dark) = text
        .split_once("@media (prefers-color-scheme: dark)")
        .unwrap();
    let dark = dark.split_once("</style>").unwrap().0;
    for (class, in_light, in_dark) in [
        (".paper", "#ffffff", "#15181c"),
        (".title", "#1b1f24", "#e8eaed"),
        (".look-1 {", "#d1570a", "#ff9d5c"),
    ] {
        let colour = |sheet: &str| {
            let rule = sheet.lines().find(|line| line.starts_with(class)).unwrap();
            rule.split_once('#').unwrap().1[..6].to_owned()
        };
        assert_eq!(colour(light), in_light[1..], "{class}");
        assert_eq!(colour(dark), in_dark[1..], "{class}");
    }
    let document = Document::parse(&text).unwrap();
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    assert_eq!(root.attribute("aria-label"), Some("square_wave: goodput"));
}

#[test]
fn values_of_narrow_bars_are_upright() {
    let mut plot = bars();
    plot.chart.names = (0..6).map(|name| name.to_string()).collect();
    let curve = |name: &str, y: f64| {
        let points = (0..6).map(|at| point(f64::from(at), y, 0.0));
        Curve::new(name, points.collect())
    };
    let values = [("a", 9.0), ("b", 0.06877), ("c", 0.0688), ("d", 2.0)];
    plot.chart.curves = values.map(|(name, y)| curve(name, y)).to_vec();
    let text = svg(&plot);
    let document = Document::parse(&text).unwrap();
    let figures = of_class(&document, "figure");
    assert_eq!(figures.len(), 24);
    let mut places: Vec<f64> = figures
        .iter()
        .map(|figure| {
            let transform = figure.attribute("transform").unwrap();
            assert!(transform.ends_with("rotate(-90)"), "{transform}");
            numbers(transform)[0]
        })
        .collect();
    places.sort_by(f64::total_cmp);
    // Letters are 12 pixels high.
    assert!(places.windows(2).all(|pair| pair[1] - pair[0] > 13.0));
    // Below the caption, which ends at 49, also where an interval is cut at the top.
    plot.chart.curves[0].points[1].half = Some(1000.0);
    let text = svg(&plot);
    let document = Document::parse(&text).unwrap();
    for figure in of_class(&document, "figure") {
        let begin = numbers(figure.attribute("transform").unwrap())[1];
        let length = 7.0 * figure.text().unwrap().chars().count() as f64;
        assert!(begin - length > 51.0, "{figure:?}");
    }
    // Those that have room lie.
    let text = svg(&bars());
    let document = Document::parse(&text).unwrap();
    let figures = of_class(&document, "figure");
    assert!(figures.iter().all(|it| it.attribute("transform").is_none()));
}

#[test]
fn an_axis_ends_where_it_is_told() {
    let mut plot = over_time(1);
    plot.chart.curves[0].points[50].y = 44.0;
    let last = |plot: &Plot| {
        let text = svg(plot);
        let document = Document::parse(&text).unwrap();
        let ticks = texts(&document, "tick");
        let ticks = ticks.iter().filter_map(|tick| tick.parse::<f64>().ok());
        // Ticks up come first, from the bottom.
        let ticks: Vec<f64> = ticks.collect();
        let up = ticks.windows(2).take_while(|pair| pair[0] < pair[1]);
        up.last().map(|pair| pair[1])
    };
    assert_eq!(last(&plot), Some(45.0));
    plot.y_most = Some(7.5);
    assert_eq!(last(&plot), Some(7.0));
}

#[test]
fn curves_may_choose_their_looks() {
    let mut plot = over_time(2);
    plot.chart.curves[1].look = Some(7);
    let text = svg(&plot);
    let document = Document::parse(&text).unwrap();
    assert_eq!(of_class(&document, "look-0").len(), 2);
    // The curve and its label.
    assert_eq!(of_class(&document, "look-7").len(), 2);
    assert!(of_class(&document, "look-1").is_empty());
}

#[test]
fn long_labels_keep_what_tells_them_apart() {
    let long = "a name of a flow that is as long as names should never be";
    let labels = |names: [String; 2]| {
        let mut plot = over_time(2);
        for (curve, name) in plot.chart.curves.iter_mut().zip(names) {
            curve.name = name;
        }
        let text = svg(&plot);
        let document = Document::parse(&text).unwrap();
        let labels = texts(&document, "name").into_iter();
        labels.map(str::to_owned).collect::<Vec<_>>()
    };
    // At the end: the middle is left out.
    assert_eq!(
        labels([format!("{long}, cake"), format!("{long}, red")]),
        [
            "a name of a flow t…ld never be, cake",
            "a name of a flow t…uld never be, red"
        ]
    );
    // In the middle: what both begin with is.
    let middle = |word: &str| format!("{long}, {word}, {long}");
    assert_eq!(
        labels([middle("cake"), middle("red")]),
        [
            "…e, cake, a name of a flow that is a",
            "…e, red, a name of a flow that is as"
        ]
    );
}

#[test]
fn wide_intervals_leave_the_means_apart() {
    let mut plot = sweep();
    plot.chart.curves[0].points[1].half = Some(1000.0);
    let text = svg(&plot);
    let document = Document::parse(&text).unwrap();
    // The largest mean is 5: the axis ends a quarter above, and the caption says what is missing.
    let ticks = texts(&document, "tick");
    assert!(ticks.contains(&"6") && !ticks.contains(&"8"), "{ticks:?}");
    assert_eq!(
        texts(&document, "caption"),
        ["mean of 3 seeds, cut at the top"]
    );
    assert!(!svg(&sweep()).contains("cut at"));
}

#[test]
fn intervals_that_reach_zero_have_no_place_by_logarithms() {
    let mut plot = sweep();
    plot.chart.y.logarithmic = true;
    let intervals = |plot: &Plot| {
        let text = svg(plot);
        let document = Document::parse(&text).unwrap();
        let caption = texts(&document, "caption")[0].to_owned();
        let drawn = of_class(&document, "intervals")[0].attribute("d").unwrap();
        (caption, drawn.matches('V').count())
    };
    assert_eq!(intervals(&plot), ("mean of 3 seeds".to_owned(), 3));
    plot.chart.curves[0].points[1].half = Some(2.0);
    let caption = "mean of 3 seeds, where that does not reach zero";
    assert_eq!(intervals(&plot), (caption.to_owned(), 2));
}

#[test]
fn a_single_curve_has_its_name() {
    for mut plot in [sweep(), bars(), over_time(1)] {
        plot.chart.curves.truncate(1);
        plot.chart.curves[0].name = "alone".to_owned();
        let text = svg(&plot);
        assert_eq!(texts(&Document::parse(&text).unwrap(), "name"), ["alone"]);
    }
}

#[test]
fn labels_stand_beside_the_data_not_upon_it() {
    for plot in [sweep(), bars(), over_time(12), over_time(24)] {
        let text = svg(&plot);
        let document = Document::parse(&text).unwrap();
        let clip = of_class(&document, "curves")[0]
            .attribute("clip-path")
            .unwrap();
        let id = &clip[5..clip.len() - 1];
        let clip = document
            .descendants()
            .find(|node| node.attribute("id") == Some(id));
        let rect = clip.unwrap().first_element_child().unwrap();
        let side = |name: &str| numbers(rect.attribute(name).unwrap())[0];
        let right = side("x") + side("width");
        let mut rows = Vec::new();
        for name in of_class(&document, "name") {
            assert!(numbers(name.attribute("x").unwrap())[0] > right);
            rows.push(numbers(name.attribute("y").unwrap())[0]);
        }
        assert_eq!(rows.len(), plot.chart.curves.len());
        rows.sort_by(f64::total_cmp);
        assert!(
            rows.windows(2).all(|pair| pair[1] - pair[0] > 16.9),
            "{rows:?}"
        );
        assert!(rows[rows.len() - 1] < 600.0);
    }
}

#[test]
fn seeds_and_bands_stand_behind_the_line() {
    let mut plot = over_time(1);
    plot.chart.curves[0].seeds = vec![vec![(0.0, 1.0), (99.0, 20.0)]; 3];
    let text = svg(&plot);
    let document = Document::parse(&text).unwrap();
    assert_eq!(of_class(&document, "seed").len(), 3);
    let order: Vec<&str> = of_class(&document, "curve")[0]
        .children()
        .filter_map(|node| node.attribute("class"))
        .collect();
    assert_eq!(order[..5], ["seed", "seed", "seed", "band", "line"]);
    // A single run is within the axis: 20, where the means end at 6.
    assert!(texts(&document, "tick").contains(&"20"));

    for point in &mut plot.chart.curves[0].points {
        point.half = Some(1.0);
    }
    let text = svg(&plot);
    let document = Document::parse(&text).unwrap();
    let band = of_class(&document, "band")[0].attribute("d").unwrap();
    // Two corners for each of 100 points.
    assert_eq!(band.matches('L').count() + 1, 200);
}

#[test]
fn whatever_is_in_it_a_plot_is_drawn() {
    for points in [
        vec![],
        vec![point(1.0, 1.0, 0.0)],
        vec![point(0.0, 0.0, 0.0), point(f64::NAN, 1e300, 1.0)],
        vec![point(0.0, f64::INFINITY, f64::NAN)],
    ] {
        for kind in [Kind::Lines, Kind::TimeSeries, Kind::Bars, Kind::HeatMap] {
            for logarithmic in [false, true] {
                let mut plot = bars();
                plot.chart.kind = kind;
                plot.chart.y.logarithmic = logarithmic;
                plot.chart.curves[0].points = points.clone();
                let text = svg(&plot);
                let document = Document::parse(&text).unwrap();
                for path in document
                    .descendants()
                    .filter_map(|node| node.attribute("d"))
                {
                    assert!(
                        !path.contains("NaN") && !path.contains("inf"),
                        "{points:?} {path}"
                    );
                }
            }
        }
    }
}

#[test]
fn panels_share_their_horizontal_axis_and_show_their_areas() {
    let panel = |x: [f64; 2], areas: Vec<Area>| {
        let mut plot = over_time(1);
        plot.title = format!("from {}", x[0]);
        plot.chart.curves[0].points = x.map(|x| point(x, 1.0, 0.0)).to_vec();
        Panel { plot, areas }
    };
    let span = |x, y| Span { x, y };
    let area = Area {
        name: "an <area>".to_owned(),
        grey: true,
        spans: vec![span((2.0, 3.0), None), span((4.0, 5.0), Some((0.0, 2.0)))],
    };
    let panels = [
        panel([0.0, 10.0], vec![area]),
        panel([4.0, 6.0], Vec::new()),
    ];
    let text = stacked_svg(&panels);
    let document = Document::parse(&text).unwrap();
    assert_eq!(texts(&document, "name"), ["an <area>", "flow 0", "flow 0"]);
    // Each tick of the axis stands below each panel.
    let ticks = texts(&document, "tick");
    for tick in ["4", "8"] {
        assert_eq!(
            ticks.iter().filter(|one| **one == tick).count(),
            2,
            "{tick}"
        );
    }
    let area = of_class(&document, "area")[0].attribute("d").unwrap();
    assert_eq!(area.matches('Z').count(), 2);
    assert!(Document::parse(&stacked_svg(&[])).is_ok());
}

#[cfg(feature = "png")]
mod as_png {
    use super::*;
    use netnice_chart::png::png;

    /// Width, and red, green and blue of each pixel.
    fn pixels(plot: &Plot) -> (usize, Vec<[u8; 3]>) {
        let file = png(&svg(plot)).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file))
            .read_info()
            .unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!((info.width, info.height), (1920, 1200));
        let pixels = bytes.chunks(4).map(|pixel| [pixel[0], pixel[1], pixel[2]]);
        (info.width as usize, pixels.collect())
    }

    #[test]
    fn it_has_the_curves_colours_with_smooth_edges() {
        let (_, pixels) = pixels(&sweep());
        // #08548a and #d1570a.
        for colour in [[8, 84, 138], [209, 87, 10]] {
            let exact = pixels.iter().filter(|pixel| **pixel == colour).count();
            assert!(exact > 500, "{colour:?}: {exact}");
            // Shades between it and white, of which lines without smoothing have none.
            let shades = pixels.iter().filter(|pixel| {
                let part = (255.0 - f64::from(pixel[0])) / (255.0 - f64::from(colour[0]));
                let near = (0..3).all(|channel| {
                    let wanted = 255.0 - part * (255.0 - f64::from(colour[channel]));
                    (f64::from(pixel[channel]) - wanted).abs() < 2.0
                });
                near && (0.1..0.9).contains(&part)
            });
            assert!(shades.count() > 100, "{colour:?}");
        }
    }

    #[test]
    fn it_has_words_without_installed_fonts() {
        let (width, pixels) = pixels(&sweep());
        // The title stands in the first 30 rows of the SVG, where nothing else is.
        let dark = |row: usize| {
            let row = &pixels[row * width..(row + 1) * width];
            row.iter().filter(|pixel| pixel[0] < 100).count()
        };
        assert!((0..60).map(dark).sum::<usize>() > 300);
        let mut nameless = sweep();
        nameless.title.clear();
        let (_, without) = super::as_png::pixels(&nameless);
        assert!(without[..60 * width].iter().all(|pixel| *pixel == [255; 3]));
    }

    #[test]
    fn what_is_no_svg_is_an_error() {
        assert!(
            png("<svg")
                .unwrap_err()
                .to_string()
                .starts_with("reading the SVG")
        );
    }
}
