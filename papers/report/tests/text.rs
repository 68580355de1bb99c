// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of the report.

mod common;

use std::collections::BTreeSet;

use netnice_papers::Outcomes;

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
fn the_report_is_complete_without_scripts() {
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
    assert!(
        wide.contains("\"ranges\":[[49.0,51.0],[10.0,70.0]]") && !wide.contains(">-"),
        "{wide}"
    );
}

#[test]
fn no_text_becomes_markup() {
    let outcomes = common::outcomes();
    let page = netnice_report::html(&outcomes);
    assert!(!page.contains("<img"), "an image from a text");
    assert!(!page.contains(common::HOSTILE));
    // The first script, the module, and the data of each figure; the overview has one figure more.
    let figures: usize = outcomes
        .outcomes
        .iter()
        .map(|outcome| outcome.figures.len())
        .sum();
    assert_eq!(page.matches("<script").count(), 2 + figures + 1);
    assert_eq!(page.matches("</script").count(), 2 + figures + 1);
    for data in between(&page, "type=\"application/json\">", "</script>") {
        serde_json::from_str::<serde_json::Value>(data).unwrap();
    }
}

#[test]
fn the_file_needs_nothing_else_and_its_links_lead_somewhere() {
    let page = netnice_report::html(&common::outcomes());
    let ids: Vec<&str> = between(&page, " id=\"", "\"");
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(unique.len(), ids.len(), "an id stands twice");
    for link in between(&page, " href=\"", "\"") {
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
