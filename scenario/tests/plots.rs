// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results are drawn.
#![cfg(feature = "plot")]

use std::fs;

use netnice_scenario::plot::{
    Area, Axis, Curve, Panel, Plot, Point, Span, stacked_svg, svg, write_png,
};

fn point(x: f64, y: f64, half_width: f64) -> Point {
    Point { x, y, half_width }
}

fn sweep() -> Plot {
    let curve = |name: &str, factor: f64| {
        let points = [(0.05, 4.0), (0.4, 2.0), (51.2, 5.0)];
        let points = points.map(|(x, y)| point(x, y * factor, 0.3));
        Curve::new(name.to_owned(), points.to_vec())
    };
    Plot {
        name: "sweep".to_owned(),
        title: "square_wave: goodput".to_owned(),
        caption: "mean of 3 seeds".to_owned(),
        notes: Vec::new(),
        x: Axis::Quantity {
            label: "period".to_owned(),
            logarithmic: true,
        },
        y_label: "goodput (Mb/s)".to_owned(),
        y_logarithmic: false,
        curves: vec![curve("reno", 1.0), curve("tcplp", 0.5)],
    }
}

fn bars() -> Plot {
    Plot {
        x: Axis::Names {
            label: "control".to_owned(),
            names: vec!["reno".to_owned(), "a < b".to_owned()],
        },
        curves: vec![Curve::new(
            "goodput".to_owned(),
            vec![point(0.0, 3.0, 0.5), point(1.0, 1.0, 0.0)],
        )],
        ..sweep()
    }
}

#[test]
fn svg_has_the_words_and_the_lines() {
    let text = svg(&sweep()).unwrap();
    assert!(text.starts_with("<svg"));
    for word in [
        "square_wave: goodput",
        "period",
        "goodput (Mb/s)",
        "reno",
        "tcplp",
    ] {
        assert!(text.contains(word), "{word} is missing");
    }
    assert!(text.matches("<circle").count() >= 6);
    assert!(text.matches("<polyline").count() >= 2);
    // Ticks of a logarithmic axis are round.
    for tick in ["0.05", "0.1", "1", "10"] {
        assert!(text.contains(&format!("\n{tick}\n</text>")), "{tick}");
    }
}

#[test]
fn names_along_are_bars() {
    let text = svg(&bars()).unwrap();
    assert!(text.contains("a &lt; b"));
    assert!(text.matches("<rect").count() >= 3);
    // Each bar has its figure.
    assert!(text.contains("\n3\n</text>"));
}

#[test]
fn wide_intervals_leave_the_means_apart() {
    let mut plot = sweep();
    plot.curves[0].points[1].half_width = 1000.0;
    let text = svg(&plot).unwrap();
    // The largest mean is 5: the axis ends a quarter above, and the caption says what is missing.
    assert!(text.contains("\n6\n</text>") && !text.contains("\n8\n</text>"));
    assert!(text.contains("mean of 3 seeds, cut at the top"));
    assert!(!svg(&sweep()).unwrap().contains("cut"));
}

#[test]
fn a_single_curve_has_its_name() {
    for mut plot in [sweep(), bars()] {
        plot.curves.truncate(1);
        plot.curves[0].name = "alone".to_owned();
        assert!(svg(&plot).unwrap().contains("alone"));
    }
}

#[test]
fn labels_stand_beside_the_lines_not_upon_them() {
    let text = svg(&sweep()).unwrap();
    let right_of = |word: &str| -> f64 {
        let before = text[..text.find(&format!("\n{word}\n")).unwrap()].rfind("<text x=\"");
        let number = &text[before.unwrap() + 9..];
        number[..number.find('"').unwrap()].parse().unwrap()
    };
    let circles = text.split("<circle cx=\"").skip(1);
    let circles = circles.map(|rest| rest[..rest.find('"').unwrap()].parse::<f64>().unwrap());
    let rightmost = circles.fold(0.0, f64::max);
    for word in ["reno", "tcplp"] {
        assert!(right_of(word) > rightmost, "{word}");
    }
}

#[test]
fn edges_of_a_png_are_smooth() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sweep.png");
    write_png(&sweep(), &path).unwrap();
    let mut reader = png::Decoder::new(fs::File::open(&path).unwrap())
        .read_info()
        .unwrap();
    let mut pixels = vec![0; reader.output_buffer_size()];
    reader.next_frame(&mut pixels).unwrap();
    // Shades between the first curve's blue and white, of which lines without smoothing have none.
    let shades = pixels.chunks(3).filter(|pixel| {
        let part = (255.0 - f64::from(pixel[0])) / 255.0;
        let expected = [255.0, 141.0, 77.0].map(|depth| 255.0 - depth * part);
        let near = pixel
            .iter()
            .zip(expected)
            .all(|(&value, wanted)| (f64::from(value) - wanted).abs() < 2.0);
        near && (0.1..0.9).contains(&part)
    });
    assert!(shades.count() > 100);
}

#[test]
fn png_is_drawn_without_installed_fonts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sweep.png");
    write_png(&sweep(), &path).unwrap();
    let content = fs::read(&path).unwrap();
    assert!(content.starts_with(b"\x89PNG"));
    // A plot of nothing but background would be smaller.
    assert!(content.len() > 8000, "{} bytes", content.len());
}

#[test]
fn whatever_is_in_it_a_plot_is_drawn() {
    for points in [
        vec![],
        vec![point(1.0, 1.0, 0.0)],
        vec![point(0.0, 0.0, 0.0), point(f64::NAN, 1e300, 1.0)],
    ] {
        for logarithmic in [false, true] {
            let mut plot = sweep();
            plot.y_logarithmic = logarithmic;
            plot.curves[0].points = points.clone();
            plot.curves.truncate(1);
            assert!(svg(&plot).is_ok(), "{points:?}");
        }
    }
}

#[test]
fn panels_share_their_horizontal_axis_and_show_their_areas() {
    let panel = |x: [f64; 2], areas: Vec<Area>| {
        let mut plot = sweep();
        plot.title = format!("from {}", x[0]);
        plot.x = Axis::Quantity {
            label: "time (s)".to_owned(),
            logarithmic: false,
        };
        plot.curves.truncate(1);
        plot.curves[0].points = x
            .map(|x| Point {
                x,
                y: 1.0,
                half_width: 0.0,
            })
            .to_vec();
        Panel { plot, areas }
    };
    let area = Area {
        name: "an <area>".to_owned(),
        grey: true,
        spans: vec![
            Span {
                x: (2.0, 3.0),
                y: None,
            },
            Span {
                x: (4.0, 5.0),
                y: Some((0.0, 2.0)),
            },
        ],
    };
    let panels = [
        panel([0.0, 10.0], vec![area]),
        panel([4.0, 6.0], Vec::new()),
    ];
    let text = stacked_svg(&panels).unwrap();
    assert!(text.contains("an &lt;area&gt;") && !text.contains("<area>"));
    // Each tick of the axis stands below each panel.
    for tick in ["4", "8"] {
        let label = format!("\n{tick}\n</text>");
        assert_eq!(text.matches(&label).count(), 2, "{tick}");
    }
    assert!(stacked_svg(&[]).unwrap().contains("<svg"));
}
