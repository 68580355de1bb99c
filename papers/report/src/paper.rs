// SPDX-License-Identifier: MIT OR Apache-2.0
//! A paper's section.

use maud::{Markup, html};
use netnice_papers::{Counts, Outcome, Paper};

use crate::experiment;
use crate::values::{bar, glyphs};

/// The subject of a paper, in a sentence or two.
fn about(paper: Paper) -> &'static str {
    match paper {
        Paper::Lp03 => {
            "Introduces TCP-LP and measures it in ns-2: beside greedy transfers, beside bandwidth that comes and goes, and \
             beside web pages, over one bottleneck and over several."
        }
        Paper::Ff => {
            "Puts TCP-LP beside TCP Reno and TCP Vegas on one narrow line in ns-2.35: what each delivers, and how evenly \
             many of them share."
        }
        Paper::Tb => {
            "Takes TCP-LP into the Linux kernel: many flows at once on a testbed, bandwidth that comes and goes, and paths \
             over the Internet."
        }
        Paper::Hs => {
            "Joins HighSpeed TCP's growth with TCP-LP's early indication of congestion, for paths of high rate and long \
             round-trip time."
        }
        Paper::Ds => {
            "Changes how TCP opens its window and reacts to congestion, so that a transfer gets the rate it was promised in \
             a network with differentiated services."
        }
    }
}

/// The section: the paper, its verdicts, and its experiments.
pub fn section(paper: Paper, outcomes: &[&Outcome]) -> Markup {
    let counts = Counts::of(outcomes.iter().copied());
    let id = paper.short_name();
    html! {
        section.page id=(id) aria-labelledby={(id) "-title"} {
            h2 id={(id) "-title"} { (paper.subject()) " (" (id) ")" }
            p.citation { (paper.citation()) }
            p.lead { (about(paper)) }
            (bar(&counts))
            nav.contents aria-label={"Experiments of " (id)} {
                ul {
                    @for outcome in outcomes {
                        li {
                            a href={"#" (outcome.id)} { span.id { (outcome.id) } " " (outcome.title) }
                            (glyphs(outcome))
                        }
                    }
                }
            }
            @for outcome in outcomes {
                (experiment::article(outcome))
            }
        }
    }
}
