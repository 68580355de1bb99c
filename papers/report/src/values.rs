// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reported values beside ours, and their verdicts.

use maud::{Markup, html};
use netnice_papers::{Counts, Outcome, ReportedValue, Verdict};

use crate::strip;

/// Class of a verdict's colour.
fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "good",
        Verdict::SameConclusion => "near",
        Verdict::NotReproduced => "bad",
    }
}

/// A sign that is read without its colour.
fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "✓",
        Verdict::SameConclusion => "≈",
        Verdict::NotReproduced => "✗",
    }
}

/// A verdict in words, with its sign.
pub fn badge(verdict: Verdict, certain: bool) -> Markup {
    html! {
        span class={"badge " (class(verdict))} {
            span.sign aria-hidden="true" { (sign(verdict)) }
            " " (verdict.words())
            @if !certain {
                abbr title="The 95 % interval reaches over a bound: more runs may change the verdict." { " ?" }
            }
        }
    }
}

/// How many of an experiment's values are reproduced, with a sign for all of them.
pub fn of_all(counts: &Counts) -> Markup {
    let all = counts.all();
    let verdict = if counts.reproduced == all {
        Verdict::Reproduced
    } else if counts.reproduced + counts.same_conclusion > 0 {
        Verdict::SameConclusion
    } else {
        Verdict::NotReproduced
    };
    html! {
        span class={"badge " (class(verdict))} title=(summary(counts)) {
            span.sign aria-hidden="true" { (sign(verdict)) }
            " " (counts.reproduced) " of " (all)
        }
    }
}

/// `3 of 4 values reproduced, 1 with the same conclusion`.
pub fn summary(counts: &Counts) -> String {
    let mut text = format!(
        "{} of {} {} reproduced",
        counts.reproduced,
        counts.all(),
        if counts.all() == 1 { "value" } else { "values" }
    );
    if counts.same_conclusion > 0 {
        text.push_str(&format!(
            ", {} with the same conclusion",
            counts.same_conclusion
        ));
    }
    text
}

/// More signs than this are counted.
const SIGNS: usize = 8;

/// A sign for each value of an experiment, or how many there are of each.
pub fn glyphs(outcome: &Outcome) -> Markup {
    let counts = Counts::of([outcome]);
    let text = summary(&counts);
    html! {
        span.glyphs role="img" aria-label=(text) title=(text) {
            @if counts.all() > SIGNS {
                @for (verdict, count) in counts.each() {
                    @if count > 0 {
                        span.counted { span class={"sign " (class(verdict))} { (sign(verdict)) } (count) }
                    }
                }
            } @else {
                @for value in &outcome.values {
                    @let verdict = value.judgement.verdict;
                    span class={"sign " (class(verdict))} { (sign(verdict)) }
                }
            }
        }
    }
}

/// A bar of all values, parted by their verdicts.
pub fn bar(counts: &Counts) -> Markup {
    if counts.all() == 0 {
        return html! {};
    }
    html! {
        div.tally {
            div.bar aria-hidden="true" {
                @for (verdict, count) in counts.each() {
                    @if count > 0 {
                        span class=(class(verdict)) style={"flex-grow:" (count)} {}
                    }
                }
            }
            ul {
                @for (verdict, count) in counts.each() {
                    li {
                        span class={"sign " (class(verdict))} aria-hidden="true" { (sign(verdict)) }
                        " " b { (count) } " " (verdict.words())
                    }
                }
            }
        }
    }
}

/// The table of reported values beside ours.
pub fn table(outcome: &Outcome) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label={"Reported values of " (outcome.id)} {
            table.values {
                caption { "Reported values, and ours" }
                thead {
                    tr {
                        th scope="col" { "Value" }
                        th scope="col" { "Paper" }
                        th scope="col" { "Ours" }
                        th scope="col" { "Side by side" }
                        th scope="col" { "Verdict" }
                    }
                }
                @for value in &outcome.values { (rows(value)) }
            }
        }
        p.key { (strip::key()) }
    }
}

/// Ours with its interval, without its unit.
fn ours(value: &ReportedValue) -> String {
    let text = value.ours();
    let number = text.strip_suffix(value.claim.unit.as_str());
    number.unwrap_or(&text).trim_end().to_owned()
}

/// A group of rows: the value, and why it is not reproduced.
fn rows(value: &ReportedValue) -> Markup {
    let claim = &value.claim;
    // A sign such as % stands beside its number, words stand below.
    let class = if claim.unit.chars().count() < 4 {
        "unit"
    } else {
        "unit below"
    };
    let unit = html! { @if !claim.unit.is_empty() { " " span class=(class) { (claim.unit) } } };
    html! {
        tbody {
            tr {
                th scope="row" {
                    (claim.what)
                    span.place { (claim.place) }
                }
                td data-label="Paper" {
                    @if claim.reported.number().is_some() {
                        span.number { (claim.reported) (unit) }
                    } @else {
                        (claim.reported)
                    }
                }
                td data-label="Ours" { span.number { (ours(value)) (unit) } }
                td.side data-label="Side by side" { (strip::strip(value)) }
                td.outcome data-label="Verdict" {
                    (badge(value.judgement.verdict, value.judgement.certain))
                    @if claim.fitted {
                        " " abbr title="A setting that the paper leaves open was chosen by this value: it is counted apart." { "fitted" }
                    }
                }
            }
            @if let Some(reason) = &value.reason {
                tr.why { td colspan="5" { (reason) } }
            }
            @if let Some(kernel) = value.on_kernel() {
                tr.why { td colspan="5" { b { "On a kernel: " } (kernel) } }
            }
        }
    }
}
