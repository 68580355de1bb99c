// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of the report.

mod common;

use std::collections::BTreeSet;

use netnice_chart::scale::plain;
use netnice_papers::{Axis, FigureKind, Outcomes, Scaling};
use roxmltree::Document;

/// All passages between two texts.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> Vec<&'a str> {
    let parts = text.split(begin).skip(1);
    parts.filter_map(|part| part.split(end).next()).collect()
}

/// Text as HTML has it.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[test]
fn the_report_is_complete() {
    let outcomes = common::outcomes();
    let page = netnice_report::html(&outcomes);
    let has = |text: &str| assert!(page.contains(&escaped(text)), "{text}");
    for outcome in &outcomes.outcomes {
        has(outcome.paper.citation());
        for text in [&outcome.id, &outcome.title, &outcome.question] {
            has(text);
        }
        outcome.notes.iter().for_each(|note| has(note));
        for study in &outcome.studies {
            has(&study.command);
        }
        for choice in &outcome.choices {
            has(&choice.open);
            has(&choice.chosen);
        }
        for value in &outcome.values {
            has(&value.claim.what);
            has(&value.claim.place);
            has(&value.claim.reported.to_string());
            has(value.judgement.verdict.words());
            value.reason.iter().for_each(|reason| has(reason));
        }
        for table in &outcome.tables {
            has(&table.title);
            table.rows.iter().flatten().for_each(|cell| has(cell));
        }
        for figure in &outcome.figures {
            has(&format!("{}-{}", outcome.id, figure.name));
            has(&figure.caption);
            figure.curves.iter().for_each(|curve| has(&curve.name));
        }
    }
    assert!(page.contains("Of 7 values <b>2</b> are fitted"));
    // TCP at 0.05 s by hand: 0.5 + 0.1 sin(ln 0.05), and Student's t for three runs, 4.303, times 0.02 / sqrt(3).
    let lines = between(&page, "id=\"LP03-T1a-lines\"", "</figure>");
    assert!(lines[0].contains("0.4855<span class=\"interval\"> ± 0.04969"));
    assert_eq!(between(lines[0], "<tr>", "</tr>").len(), 12);
    // An interval wider than its value makes ranges of its whole curve, in the drawing, too: no value is below zero.
    let wide = between(&page, "-wide\"", "</figure>")[0];
    for value in [
        "50<span class=\"interval\"> (49 to 51)",
        "40<span class=\"interval\"> (10 to 70)",
    ] {
        assert!(wide.contains(value), "{wide}");
    }
    assert!(wide.contains("wider than values: share.</p>"));
    assert!(wide.contains("20<span class=\"interval\"> ± 2.484") && wide.contains("In brackets"));
    assert!(!wide.contains(">-"), "{wide}");
    for title in [": 50 (49 to 51)</title>", ": 40 (10 to 70)</title>"] {
        assert!(wide.contains(title), "{wide}");
    }
}

#[test]
fn no_text_becomes_markup() {
    let outcomes = common::outcomes();
    let page = netnice_report::html(&outcomes);
    assert!(!page.contains("<img"), "an image from a text");
    assert!(!page.contains(common::HOSTILE));
    assert!(!page.contains("<script"), "the page runs nothing");
}

/// The body, which has no element that is only HTML's, as XML.
fn body(page: &str) -> Document<'_> {
    let (from, to) = (page.find("<body").unwrap(), page.find("</html>").unwrap());
    Document::parse(&page[from..to]).unwrap()
}

/// Titles of the readings of a figure.
fn titles<'a>(document: &'a Document, id: &str) -> Vec<&'a str> {
    let mut all = document.descendants();
    let figure = all.find(|node| node.attribute("id") == Some(id)).unwrap();
    let readings = figure
        .descendants()
        .filter(|node| node.attribute("class") == Some("reading"));
    readings
        .map(|node| node.first_element_child().unwrap().text().unwrap())
        .collect()
}

#[test]
fn each_point_has_its_numbers_as_a_title() {
    let outcomes = common::outcomes();
    let page = netnice_report::html(&outcomes);
    let document = body(&page);
    for outcome in &outcomes.outcomes {
        for figure in &outcome.figures {
            let id = format!("{}-{}", outcome.id, figure.name);
            let titles = titles(&document, &id);
            if matches!(figure.kind, FigureKind::TimeSeries) {
                // Some of thousands.
                let curves = figure.curves.iter();
                let drawn = curves.filter(|curve| !curve.points.is_empty()).count();
                assert_eq!(titles.len(), 100 * drawn, "{id}");
                continue;
            }
            let fits = |value: f64, axis: &Axis| {
                value.is_finite() && (value > 0.0 || axis.scaling == Scaling::Linear)
            };
            let mut titles = titles.into_iter();
            for curve in &figure.curves {
                let points = curve.points.iter();
                for point in points.filter(|xy| fits(xy.x, &figure.x) && fits(xy.y, &figure.y)) {
                    let along = match &figure.kind {
                        FigureKind::Bars(names) => names[point.x as usize].clone(),
                        _ => plain(point.x),
                    };
                    let interval = match (point.half_width, point.range) {
                        (Some(_), Some([least, most])) if curve.shows_ranges() => {
                            format!(" ({} to {})", plain(least), plain(most))
                        }
                        (Some(half), _) => format!(" ± {}", plain(half)),
                        (None, _) => String::new(),
                    };
                    let expected = format!("{}, {along}: {}{interval}", curve.name, plain(point.y));
                    assert_eq!(titles.next(), Some(expected.as_str()), "{id}");
                }
            }
            assert_eq!(titles.next(), None, "{id}");
        }
    }
    assert_eq!(
        titles(&document, "LP03-T1a-lines")[0],
        "TCP, 0.05: 0.4855 ± 0.04969"
    );
}

/// The data of a figure, out of its link.
fn data(page: &str, id: &str) -> String {
    let document = body(page);
    let mut all = document.descendants();
    let figure = all.find(|node| node.attribute("id") == Some(id)).unwrap();
    let mut links = figure
        .descendants()
        .filter_map(|node| node.attribute("href"));
    let link = links.find_map(|href| href.strip_prefix("data:text/csv;charset=utf-8,"));
    let mut bytes = Vec::new();
    for (number, part) in link.unwrap().split('%').enumerate() {
        let (code, rest) = part.split_at(if number == 0 { 0 } else { 2 });
        bytes.extend(u8::from_str_radix(code, 16));
        bytes.extend(rest.bytes());
    }
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_data_of_a_figure_is_whole() {
    let page = netnice_report::html(&common::outcomes());
    let csv = data(&page, "LP03-T1a-lines");
    let lines: Vec<&str> = csv.lines().collect();
    // Five curves over eleven periods, a model of two points, three points of the paper, and the heading.
    assert_eq!(lines.len(), 5 * 11 + 2 + 3 + 1);
    assert_eq!(
        lines[0],
        "curve,period (s),throughput (of the excess),half_width_95"
    );
    assert!(lines[1].starts_with("TCP,0.05,0.4"), "{}", lines[1]);
    assert!(lines.contains(&"\"the paper, about\",0.2,0.5,"), "{csv}");
    let bars = data(&page, "LP03-T1a-bars");
    assert!(bars.contains("TCP,TCP beside TCP-LP,95,"), "{bars}");
    let wide = data(&page, "DS-T3-wide");
    assert!(
        wide.lines().next().unwrap().ends_with(",least,largest"),
        "{wide}"
    );
    assert!(wide.contains("share,2,40,,10,70\n"), "{wide}");
    let other = wide.lines().find(|line| line.starts_with("other,"));
    assert!(other.unwrap().ends_with(",,"), "{wide}");
    // Nothing of a name ends its field.
    let hostile = data(&page, "DS-T3-hostile\"/../<b>");
    let name = common::HOSTILE.replace('"', "\"\"");
    assert!(
        hostile.ends_with(&format!("\n\"{name}\",1,1,\n")),
        "{hostile}"
    );
}

#[test]
fn the_file_needs_nothing_else_and_its_links_lead_somewhere() {
    let page = netnice_report::html(&common::outcomes());
    let ids: Vec<&str> = between(&page, " id=\"", "\"");
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(unique.len(), ids.len(), "an id stands twice");
    for link in between(&page, " href=\"", "\"") {
        if link.starts_with("data:text/csv;") {
            continue;
        }
        let id = link
            .strip_prefix('#')
            .unwrap_or_else(|| panic!("{link} leads out"));
        assert!(unique.contains(id), "{link} leads nowhere");
    }
    for outside in [" src=\"", "@import", "url(http", "fetch(", "XMLHttpRequest"] {
        assert!(!page.contains(outside), "{outside}");
    }
    // 80,000 points over time, and all the rest.
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}

#[test]
fn nothing_to_report_is_a_page_all_the_same() {
    let page = netnice_report::html(&Outcomes::default());
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    assert!(!page.contains("NaN"));
}
