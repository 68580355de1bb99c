// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first page: TCP-LP's purpose, its main results, and the verdicts by paper.

use maud::{Markup, html};
use netnice_papers::{
    Counts, CurveKind, Effort, Figure, LabSummary, Outcome, Outcomes, Paper, ReportedValue,
};

use crate::chart;
use crate::values::{bar, glyphs, of_all};

/// Experiments whose first figure shows best the purpose of TCP-LP; the page uses the first that is present.
pub const ILLUSTRATIONS: &[&str] = &["LP03-F15", "LP03-F10", "LP03-F11"];

/// A sentence on TCP-LP around a value of ours.
pub struct Fact {
    /// Experiment and key of the claim.
    pub of: (&'static str, &'static str),
    /// The meaning of the value for a reader who has not read the paper.
    pub means: &'static str,
}

/// The values that tell most.
pub const FACTS: &[Fact] = &[
    Fact {
        of: ("LP03-T1a", "tcplp"),
        means: "is all that TCP-LP takes of a line that a greedy transfer wants for itself. Ordinary TCP takes half.",
    },
    Fact {
        of: ("LP03-F15", "shorter"),
        means: "shorter are the response times of web pages when the transfer beside them runs over TCP-LP instead of TCP.",
    },
    Fact {
        of: ("LP03-F15", "low"),
        means: "of the link is what TCP-LP still gets there: it lives on what the pages leave.",
    },
];

/// The section.
pub fn section(outcomes: &Outcomes, papers: &[(Paper, Vec<&Outcome>)]) -> Markup {
    let counts = Counts::of(&outcomes.outcomes);
    let fitted = Counts::fitted(&outcomes.outcomes);
    let facts: Vec<(&Fact, &Outcome, &ReportedValue)> = FACTS
        .iter()
        .filter_map(|fact| found(fact, outcomes))
        .collect();
    html! {
        section.page #overview aria-labelledby="overview-title" {
            h1 #overview-title { "Low priority for transfers, measured again" }
            p.lead {
                "Backups, updates and big copies can wait; pages and calls cannot. "
                b { "TCP-LP" }
                " is a congestion control for what can wait. It fills a line that nobody else uses, and leaves it to others as \
                 soon as they want it. It needs nothing from the network: the sender sees in the delay of its own packets that \
                 a queue grows, before any packet is lost, and gives way."
            }
            p {
                "Five papers describe TCP-LP and its relatives. Here each of their tables and figures is measured again, with \
                 netnice's simulator, which runs the same source of TCP-LP that netnice loads into the Linux kernel. Of "
                b { (counts.all()) } " values that the papers report, " b { (counts.reproduced) }
                " are reproduced and " b { (counts.same_conclusion) } " give another figure but the same conclusion."
            }
            @if !facts.is_empty() {
                ul.facts {
                    @for (fact, outcome, value) in &facts {
                        li {
                            p.figure-of { (value.ours.map_or(String::new(), |ours| short(ours.mean, &value.claim.unit))) }
                            p { (fact.means) }
                            p.against {
                                "The paper: " (in_words(value)) " · "
                                a href={"#" (outcome.id)} { (outcome.id) }
                            }
                        }
                    }
                }
            }
            @if let Some((outcome, figure)) = illustration(outcomes) {
                div.telling {
                    (chart::figure("telling", &figure))
                    p.more { a href={"#" (outcome.id)} { "More of " (outcome.id) } }
                }
            }
            h2 { "Against the papers" }
            p {
                "The rules of judgement for each value were written down before anything was run. The same conclusion means that \
                 the figure is another one, but what the paper concludes from it holds. "
                b { (counts.not_reproduced) } " of " (counts.all())
                " values are not reproduced; the reason stands beside each."
                @if fitted.all() > 0 {
                    " Of " (counts.all()) " values " b { (fitted.all()) } " are fitted: a setting that the paper leaves open was \
                     chosen by them, so that it says little that they agree. Of these " (fitted.reproduced) " are reproduced, "
                    (fitted.same_conclusion) " give the same conclusion and " (fitted.not_reproduced) " are not reproduced."
                }
                @if outcomes.outcomes.iter().any(|outcome| outcome.effort == Effort::Quick) {
                    " Runs are fewer and shorter than the papers' where an experiment was run with "
                    code { "--quick" } "; intervals say how much that leaves open."
                }
            }
            (bar(&counts))
            @if let Some(on_kernel) = LabSummary::of(&outcomes.outcomes) {
                p.on-kernel { (on_kernel.words()) }
            }
            @for (paper, outcomes) in papers {
                (of_paper(*paper, outcomes))
            }
        }
    }
}

/// A fact's value, where it was measured.
fn found<'a>(
    fact: &'a Fact,
    outcomes: &'a Outcomes,
) -> Option<(&'a Fact, &'a Outcome, &'a ReportedValue)> {
    let (id, key) = fact.of;
    let outcome = outcomes.outcomes.iter().find(|outcome| outcome.id == id)?;
    let value = outcome.values.iter().find(|value| value.claim.key == key)?;
    value.ours.as_ref()?;
    Some((fact, outcome, value))
}

/// The reported value in words: a statement has no unit.
fn in_words(value: &ReportedValue) -> String {
    match value.claim.reported.number() {
        Some(_) => value.reported(),
        None => value.claim.reported.to_string(),
    }
}

/// A value that is read at a glance: two digits.
fn short(value: f64, unit: &str) -> String {
    let digits = match value.abs() {
        9.95.. => 0,
        0.995.. => 1,
        _ => 2,
    };
    let unit = match unit.split_whitespace().next() {
        Some("%") => " %",
        Some("times") => " times",
        Some(unit) => &format!(" {unit}"),
        None => "",
    };
    format!("{value:.digits$}{unit}")
}

/// The figure as the paper has it: without our other settings.
fn illustration(outcomes: &Outcomes) -> Option<(&Outcome, Figure)> {
    let wanted = ILLUSTRATIONS.iter().filter_map(|id| {
        let mut all = outcomes.outcomes.iter();
        all.find(|outcome| outcome.id == *id)
    });
    let mut all = wanted.chain(&outcomes.outcomes);
    let (outcome, figure) = all.find_map(|outcome| Some((outcome, outcome.figures.first()?)))?;
    let mut figure = figure.clone();
    figure
        .curves
        .retain(|curve| curve.kind != CurveKind::Variant);
    Some((outcome, figure))
}

/// A line for each experiment of a paper.
fn of_paper(paper: Paper, outcomes: &[&Outcome]) -> Markup {
    let counts = Counts::of(outcomes.iter().copied());
    let id = paper.short_name();
    html! {
        section.verdicts aria-labelledby={"overview-" (id)} {
            h3 id={"overview-" (id)} {
                a href={"#" (id)} { (id) }
                span.count { (counts.reproduced) " of " (counts.all()) " reproduced" }
            }
            p.citation { (paper.citation()) }
            table {
                thead.visually-hidden {
                    tr { th scope="col" { "Experiment" } th scope="col" { "Title" } th scope="col" { "Values" } th scope="col" { "Verdict" } }
                }
                tbody {
                    @for outcome in outcomes {
                        tr {
                            th scope="row" { a href={"#" (outcome.id)} { (outcome.id) } }
                            td.title { (outcome.title) }
                            td { (glyphs(outcome)) }
                            td.outcome { (of_all(&Counts::of([*outcome]))) }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netnice_papers::experiments;

    #[test]
    fn facts_and_figures_are_of_experiments_that_there_are() {
        let all = experiments::all();
        for fact in FACTS {
            let (id, key) = fact.of;
            let experiment = all.iter().find(|experiment| experiment.id == id).unwrap();
            let mut claims = experiment.claims.iter();
            assert!(claims.any(|claim| claim.key == key), "{id} {key}");
        }
    }

    #[test]
    fn values_at_a_glance() {
        assert_eq!(short(2.71, "% of the link"), "2.7 %");
        assert_eq!(short(97.3, "%"), "97 %");
        assert_eq!(short(1.04, "times TCP's"), "1.0 times");
        assert_eq!(short(0.49, "s"), "0.49 s");
        assert_eq!(short(1.0, ""), "1.0");
    }
}
