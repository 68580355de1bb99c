// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results are drawn.
#![cfg(feature = "plot")]

use std::fs;

use netnice_scenario::plot::{Axis, Curve, Plot, Point, svg, write_png};

fn point(x: f64, y: f64, half_width: f64) -> Point {
    Point { x, y, half_width }
}

fn sweep() -> Plot {
    let curve = |name: &str, factor: f64| Curve {
        name: name.to_owned(),
        points: [(0.05, 4.0), (0.4, 2.0), (51.2, 5.0)]
            .map(|(x, y)| point(x, y * factor, 0.3))
            .to_vec(),
    };
    Plot {
        name: "sweep".to_owned(),
        title: "square_wave: goodput".to_owned(),
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
        curves: vec![Curve {
            name: "goodput".to_owned(),
            points: vec![point(0.0, 3.0, 0.5), point(1.0, 1.0, 0.0)],
        }],
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
}

#[test]
fn names_along_are_bars() {
    let text = svg(&bars()).unwrap();
    assert!(text.contains("a &lt; b"));
    assert!(text.matches("<rect").count() >= 3);
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
