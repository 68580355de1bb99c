// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page: head, navigation, the overview, and a section for each paper.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use netnice_chart::palette;
use netnice_papers::{Outcome, Outcomes, Paper};

use crate::{overview, paper};

const STYLES: &[&str] = &[
    include_str!("../assets/page.css"),
    include_str!("../assets/experiment.css"),
    include_str!("../assets/chart.css"),
    include_str!("../assets/print.css"),
];

/// Nothing is fetched: everything is in the file.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The outcomes of a paper, in order.
pub fn of_paper(outcomes: &Outcomes, paper: Paper) -> Vec<&Outcome> {
    let all = outcomes.outcomes.iter();
    all.filter(|outcome| outcome.paper == paper).collect()
}

/// The whole page.
pub fn page(outcomes: &Outcomes) -> Markup {
    let papers: Vec<(Paper, Vec<&Outcome>)> = Paper::ALL
        .iter()
        .map(|&paper| (paper, of_paper(outcomes, paper)))
        .filter(|(_, outcomes)| !outcomes.is_empty())
        .collect();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={"netnice " (outcomes.version)};
                title { "TCP-LP and its relatives, reproduced" }
                style { (PreEscaped(palette::style_sheet())) }
                @for style in STYLES { style { (PreEscaped(*style)) } }
            }
            body {
                a.skip href="#content" { "To the content" }
                header.top {
                    div.inner {
                        a.brand href="#overview" { "netnice" span { " reproduces" } }
                        nav aria-label="Papers" {
                            ul {
                                li { a href="#overview" { "Overview" } }
                                @for (paper, _) in &papers {
                                    li { a href={"#" (paper.short_name())} title=(paper.citation()) { (paper.subject()) } }
                                }
                            }
                        }
                    }
                }
                main #content tabindex="-1" {
                    (overview::section(outcomes, &papers))
                    @for (paper, outcomes) in &papers {
                        (paper::section(*paper, outcomes))
                    }
                }
                footer {
                    p {
                        "Made "
                        @if !outcomes.command.is_empty() { "by " code { (outcomes.command.join(" ")) } " " }
                        "with netnice " (outcomes.version) "; the last command took "
                        (duration(outcomes.wall_s)) " with " (outcomes.jobs) " runs at a time."
                    }
                }
            }
        }
    }
}

/// Seconds in words: `4 min 5 s`.
fn duration(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_in_words() {
        assert_eq!(duration(4.4), "4 s");
        assert_eq!(duration(245.0), "4 min 5 s");
        assert_eq!(duration(7265.0), "2 h 1 min");
    }

    #[test]
    fn no_asset_ends_its_element() {
        for asset in STYLES {
            let asset = asset.to_ascii_lowercase();
            assert!(!asset.contains("</s"));
            assert!(!asset.contains("<!--"));
        }
    }
}
