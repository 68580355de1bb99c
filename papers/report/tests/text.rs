// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of the report.

mod common;

use std::collections::BTreeSet;

use netnice_papers::{FigureKind, Outcomes};

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
            let name = escaped(&figure.name);
            assert!(page.contains(&format!("data-name=\"{name}\"")), "{name}");
            has(&figure.caption);
            figure.curves.iter().for_each(|curve| has(&curve.name));
        }
    }
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

#[test]
fn each_point_has_its_numbers_as_a_title() {
    let outcomes = common::outcomes();
    let page = netnice_report::html(&outcomes);
    for outcome in &outcomes.outcomes {
        for figure in &outcome.figures {
            let id = format!("id=\"{}-{}\"", outcome.id, escaped(&figure.name));
            let drawn = between(&page, &id, "</figure>")[0];
            let points: usize = figure.curves.iter().map(|curve| curve.points.len()).sum();
            if points == 0 {
                continue;
            }
            let readings = drawn.matches("<circle class=\"reading\"").count();
            match figure.kind {
                // A point is left out where a logarithmic axis has no place for it.
                FigureKind::Lines | FigureKind::Bars(_) => {
                    assert!(
                        readings > 0 && readings <= points,
                        "{id}: {readings} of {points}"
                    );
                }
                FigureKind::TimeSeries => assert_eq!(readings, 0, "{id}"),
            }
            assert!(
                drawn.contains("href=\"data:text/csv,curve,x,y,half_width_95%0A"),
                "{id}"
            );
        }
    }
    let lines = between(&page, "id=\"LP03-T1a-lines\"", "</figure>")[0];
    assert!(
        lines.contains(", 0.05: 0.4855 ± 0.04969</title>"),
        "{lines}"
    );
}

#[test]
fn the_file_needs_nothing_else_and_its_links_lead_somewhere() {
    let page = netnice_report::html(&common::outcomes());
    let ids: Vec<&str> = between(&page, " id=\"", "\"");
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(unique.len(), ids.len(), "an id stands twice");
    for link in between(&page, " href=\"", "\"") {
        if link.starts_with("data:text/csv,") {
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
