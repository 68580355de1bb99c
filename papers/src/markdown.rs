// SPDX-License-Identifier: MIT OR Apache-2.0
//! The verdicts as Markdown: `docs/papers.md`.

use std::fmt::Write;

use crate::{Effort, LabOutcome, Outcome, Outcomes, Paper, Table, Verdict};

/// Tables with more rows are folded.
const FOLDED: usize = 14;

/// A page of all outcomes: what is not reproduced, what was learned, then a table of verdicts for each paper, and tables and
/// choices of each experiment.
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
         confidence intervals, simulated unless the claim says otherwise. The rules of judgement are written down with each\n\
         claim in `papers/src/experiments/`, before anything is run: *reproduced* is within the tolerance; *same conclusion,\n\
         other figure* is outside, but what the paper concludes holds by a bound that is written down, too. A `?` says that\n\
         the interval reaches over a bound.\n",
        efforts(outcomes),
        outcomes.version
    )?;
    let count = |verdict| {
        let values = outcomes.outcomes.iter().flat_map(|outcome| &outcome.values);
        values
            .filter(|value| value.judgement.verdict == verdict)
            .count()
    };
    writeln!(
        page,
        "Of {} reported values {} are reproduced, {} have the same conclusion, {} are not reproduced.\n",
        outcomes
            .outcomes
            .iter()
            .map(|outcome| outcome.values.len())
            .sum::<usize>(),
        count(Verdict::Reproduced),
        count(Verdict::SameConclusion),
        count(Verdict::NotReproduced)
    )?;
    write_not_reproduced(page, outcomes)?;
    write_learned(page, outcomes)?;
    for paper in Paper::ALL {
        let of_paper: Vec<&Outcome> = outcomes
            .outcomes
            .iter()
            .filter(|outcome| outcome.paper == paper)
            .collect();
        if of_paper.is_empty() {
            continue;
        }
        writeln!(page, "## {}\n\n{}\n", paper.short_name(), paper.citation())?;
        let on_kernel = of_paper.iter().any(|outcome| outcome.lab.is_some());
        let mut columns = vec!["id", "what", "paper", "where", "ours", "verdict", "why not"];
        if on_kernel {
            columns.push("measured on a kernel");
        }
        let mut verdicts = Table::new("", &columns);
        for (outcome, value) in of_paper
            .iter()
            .flat_map(|outcome| outcome.values.iter().map(move |value| (outcome, value)))
        {
            let doubt = if value.judgement.certain { "" } else { " ?" };
            let mut row = vec![
                outcome.id.clone(),
                value.claim.what.clone(),
                value.reported(),
                value.claim.place.clone(),
                value.ours(),
                format!("{}{doubt}", value.judgement.verdict.words()),
                value.reason.clone().unwrap_or_default(),
            ];
            if on_kernel {
                row.push(value.on_kernel().unwrap_or_default());
            }
            verdicts.rows.push(row);
        }
        write_rows(page, &verdicts)?;
        for outcome in of_paper {
            write_outcome(page, outcome)?;
        }
    }
    Ok(())
}

/// What did not come out, and why.
fn write_not_reproduced(page: &mut String, outcomes: &Outcomes) -> std::fmt::Result {
    let mut table = Table::new("", &["id", "what", "paper", "ours", "why"]);
    for outcome in &outcomes.outcomes {
        for value in &outcome.values {
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
    }
    if table.rows.is_empty() {
        return Ok(());
    }
    writeln!(page, "## What is not reproduced\n")?;
    write_rows(page, &table)
}

/// What the experiments say of themselves.
fn write_learned(page: &mut String, outcomes: &Outcomes) -> std::fmt::Result {
    let notes: Vec<(&Outcome, &String)> = outcomes
        .outcomes
        .iter()
        .flat_map(|outcome| outcome.notes.iter().map(move |note| (outcome, note)))
        .collect();
    if notes.is_empty() {
        return Ok(());
    }
    writeln!(page, "## What was learned\n")?;
    for (outcome, note) in notes {
        writeln!(page, "- **{}** {note}", outcome.id)?;
    }
    writeln!(page)
}

/// How much was run, as arguments: `--quick`.
fn efforts(outcomes: &Outcomes) -> String {
    let has = |effort| {
        let mut all = outcomes.outcomes.iter();
        all.any(|outcome: &Outcome| outcome.effort == effort)
    };
    let efforts = [Effort::Quick, Effort::Full].into_iter();
    let arguments: Vec<&str> = efforts
        .filter(|&effort| has(effort))
        .map(argument)
        .collect();
    arguments.join(" and ")
}

/// An effort as an argument.
fn argument(effort: Effort) -> &'static str {
    match effort {
        Effort::Quick => "--quick",
        Effort::Full => "--full",
    }
}

/// Lines and bars would end a cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn write_outcome(page: &mut String, outcome: &Outcome) -> std::fmt::Result {
    writeln!(
        page,
        "### {}: {}\n\n{}\n",
        outcome.id, outcome.title, outcome.question
    )?;
    for table in &outcome.tables {
        write_table(page, table)?;
    }
    if !outcome.choices.is_empty() {
        writeln!(page, "| open in the paper | taken |\n| --- | --- |")?;
        for choice in &outcome.choices {
            writeln!(
                page,
                "| {} | {} |",
                cell(&choice.open),
                cell(&choice.chosen)
            )?;
        }
        writeln!(page)?;
    }
    let runs: usize = outcome
        .studies
        .iter()
        .map(|study| study.points * study.scale.seeds as usize)
        .sum();
    let effort = argument(outcome.effort);
    writeln!(
        page,
        "`netnice reproduce {} {effort}`: {runs} runs.\n",
        outcome.id
    )?;
    match &outcome.lab {
        Some(lab) if !lab.studies.is_empty() => write_lab(page, lab),
        _ => Ok(()),
    }
}

/// What was run on a kernel.
fn write_lab(page: &mut String, lab: &LabOutcome) -> std::fmt::Result {
    writeln!(page, "Measured on Linux {}:\n", lab.kernel)?;
    for study in &lab.studies {
        writeln!(page, "- {}: {}", study.name, study.effort())?;
    }
    for note in &lab.notes {
        writeln!(page, "- nearly so: {note}")?;
    }
    writeln!(page)
}

fn write_table(page: &mut String, table: &Table) -> std::fmt::Result {
    if table.rows.len() <= FOLDED {
        writeln!(page, "{}:\n", table.title)?;
        return write_rows(page, table);
    }
    writeln!(page, "<details><summary>{}</summary>\n", table.title)?;
    write_rows(page, table)?;
    writeln!(page, "</details>\n")
}

fn write_rows(page: &mut String, table: &Table) -> std::fmt::Result {
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|text| cell(text)).collect();
        format!("| {} |", cells.join(" | "))
    };
    writeln!(page, "{}", row(&table.columns))?;
    writeln!(page, "|{}", " --- |".repeat(table.columns.len()))?;
    for cells in &table.rows {
        writeln!(page, "{}", row(cells))?;
    }
    writeln!(page)
}
