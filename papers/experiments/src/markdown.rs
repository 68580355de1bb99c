// SPDX-License-Identifier: MIT OR Apache-2.0
//! The verdicts as Markdown: `docs/papers.md`.

use std::fmt::Write;

use netnice_study::Effort;

use crate::claim::Verdict;
use crate::counts::Counts;
use crate::definition::Paper;
use crate::lab_summary::LabSummary;
use crate::outcome::{Outcome, Outcomes, ReportedValue};
use netnice_study::{Table, markdown_rows};

/// Summarises all outcomes on a page: the verdicts counted by paper, the values that TCP-LP's paper rests on, the summary
/// of the kernel's values, the experiments' notes, and the values that are not reproduced with the reasons. All other
/// values, tables and choices are in the HTML report.
pub fn markdown(outcomes: &Outcomes) -> String {
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = write_page(&mut page, outcomes);
    page
}

fn write_page(page: &mut String, outcomes: &Outcomes) -> std::fmt::Result {
    writeln!(page, "# The papers, reproduced\n")?;
    writeln!(
        page,
        "Made by `netnice reproduce {} --markdown FILE` with netnice {}; not written by hand. Ours are means with 95 %\n\
         confidence intervals, simulated unless the claim says otherwise. The rules of judgement were written down before\n\
         anything was run: *reproduced* is within a tolerance; *same conclusion* is another figure, from which follows what\n\
         the paper concludes. *Fitted* values are those by which a setting that the paper leaves open was chosen: that they\n\
         agree says little. A `?` says that the interval reaches over a bound. `report.html`, which the same command\n\
         writes, has all values, figures, tables and choices; [reproduce.md](reproduce.md) says how to make it, and how to\n\
         read the verdicts.\n",
        efforts(outcomes),
        outcomes.version
    )?;
    write_counts(page, outcomes)?;
    write_central(page, outcomes)?;
    write_kernel(page, outcomes)?;
    write_learned(page, outcomes)?;
    write_not_reproduced(page, outcomes)
}

/// Counts the verdicts of each paper, in parentheses those of fitted values.
fn write_counts(page: &mut String, outcomes: &Outcomes) -> std::fmt::Result {
    let columns = [
        "paper",
        "values (fitted)",
        "reproduced (fitted)",
        "same conclusion (fitted)",
        "not reproduced (fitted)",
    ];
    let mut table = Table::new("", &columns);
    let mut row = |name: &str, paper: Option<Paper>| {
        let of_paper = |outcome: &&Outcome| paper.is_none_or(|paper| outcome.paper == paper);
        let counts = Counts::of(outcomes.outcomes.iter().filter(of_paper));
        let fitted = Counts::fitted(outcomes.outcomes.iter().filter(of_paper));
        if counts.all() > 0 {
            let cell = |count: usize, fitted: usize| match fitted {
                0 => count.to_string(),
                fitted => format!("{count} ({fitted})"),
            };
            let mut cells = vec![name.to_owned(), cell(counts.all(), fitted.all())];
            let pairs = counts.each().into_iter().zip(fitted.each());
            cells.extend(pairs.map(|((_, count), (_, fitted))| cell(count, fitted)));
            table.rows.push(cells);
        }
    };
    for paper in Paper::ALL {
        let name = format!("**{}** {}", paper.short_name(), paper.citation());
        row(&name, Some(paper));
    }
    row("all", None);
    write_rows(page, &table)
}

/// Lists the central values, on which the papers' arguments rest.
fn write_central(page: &mut String, outcomes: &Outcomes) -> std::fmt::Result {
    let mut all = outcomes.outcomes.iter();
    let on_kernel = all.any(|outcome| outcome.lab.is_some());
    let mut columns = vec!["id", "what", "paper", "ours", "verdict"];
    if on_kernel {
        columns.push("measured on a kernel");
    }
    let mut table = Table::new("", &columns);
    for (outcome, value) in values(&outcomes.outcomes) {
        if value.claim.central {
            let mut row = vec![
                outcome.id.clone(),
                value.claim.what.clone(),
                value.reported(),
                value.ours(),
                value.verdict(),
            ];
            if on_kernel {
                row.push(value.on_kernel().unwrap_or_default());
            }
            table.rows.push(row);
        }
    }
    if table.rows.is_empty() {
        return Ok(());
    }
    writeln!(page, "## Values that TCP-LP's paper rests on\n")?;
    write_rows(page, &table)
}

/// Summarises the values that were measured on a kernel.
fn write_kernel(page: &mut String, outcomes: &Outcomes) -> std::fmt::Result {
    match LabSummary::of(&outcomes.outcomes) {
        Some(summary) => writeln!(page, "## On a kernel\n\n{}\n", summary.words()),
        None => Ok(()),
    }
}

/// Pairs each value with its experiment.
fn values<'a>(
    outcomes: impl IntoIterator<Item = &'a Outcome>,
) -> impl Iterator<Item = (&'a Outcome, &'a ReportedValue)> {
    let outcomes = outcomes.into_iter();
    outcomes.flat_map(|outcome| outcome.values.iter().map(move |value| (outcome, value)))
}

/// Lists the values that are not reproduced, with the reasons.
fn write_not_reproduced(page: &mut String, outcomes: &Outcomes) -> std::fmt::Result {
    let mut table = Table::new("", &["id", "what", "paper", "ours", "why"]);
    for (outcome, value) in values(&outcomes.outcomes) {
        if value.judgement.verdict == Verdict::NotReproduced {
            table.rows.push(vec![
                outcome.id.clone(),
                value.claim.what.clone(),
                value.reported(),
                value.ours(),
                value.reason.clone().unwrap_or_default(),
            ]);
        }
    }
    if table.rows.is_empty() {
        return Ok(());
    }
    writeln!(page, "## Values that are not reproduced\n")?;
    write_rows(page, &table)
}

/// Lists the notes of the experiments.
fn write_learned(page: &mut String, outcomes: &Outcomes) -> std::fmt::Result {
    let notes: Vec<(&Outcome, &String)> = outcomes
        .outcomes
        .iter()
        .flat_map(|outcome| outcome.notes.iter().map(move |note| (outcome, note)))
        .collect();
    if notes.is_empty() {
        return Ok(());
    }
    writeln!(page, "## Findings\n")?;
    for (outcome, note) in notes {
        writeln!(page, "- **{}** {note}", outcome.id)?;
    }
    writeln!(page)
}

/// Names the efforts of the experiments as arguments: `--quick`.
fn efforts(outcomes: &Outcomes) -> String {
    let has = |effort| {
        let mut all = outcomes.outcomes.iter();
        all.any(|outcome: &Outcome| outcome.effort == effort)
    };
    let efforts = [Effort::Quick, Effort::Full].into_iter();
    let arguments: Vec<&str> = efforts
        .filter(|&effort| has(effort))
        .map(Effort::argument)
        .collect();
    arguments.join(" and ")
}

fn write_rows(page: &mut String, table: &Table) -> std::fmt::Result {
    writeln!(
        page,
        "{}",
        markdown_rows(&table.columns, &table.rows, false)
    )
}
