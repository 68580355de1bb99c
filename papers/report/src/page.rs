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

/// One module: what is declared in one file is known in all.
const SCRIPTS: &[&str] = &[
    include_str!("../assets/scale.js"),
    include_str!("../assets/chart.js"),
    include_str!("../assets/zoom.js"),
    include_str!("../assets/readout.js"),
    include_str!("../assets/download.js"),
    include_str!("../assets/page.js"),
];

/// Before anything is drawn: that there are scripts, and the theme that was chosen last.
const FIRST: &str = include_str!("../assets/first.js");

/// Nothing is fetched: everything is in the file.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:";

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
                script { (PreEscaped(FIRST)) }
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
                        button.theme.needs-script type="button" aria-label="Dark theme" aria-pressed="false" {
                            svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" {
                                circle cx="10" cy="10" r="7.2" {}
                                path d="M10 2.8a7.2 7.2 0 0 1 0 14.4z" {}
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
                p.visually-hidden #said aria-live="polite" {}
                p #zoom-help hidden {
                    "Plus and minus zoom, 0 shows all, arrows move what is seen. With a pointer: drag over what is to be seen, or turn \
                     the wheel with Ctrl."
                }
                script type="module" {
                    @for script in SCRIPTS { (PreEscaped(*script)) }
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
        for asset in STYLES.iter().chain(SCRIPTS).chain([&FIRST]) {
            let asset = asset.to_ascii_lowercase();
            assert!(!asset.contains("</s"));
            assert!(!asset.contains("<!--"));
        }
    }
}
