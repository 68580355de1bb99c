// SPDX-License-Identifier: MIT OR Apache-2.0
//! The verdicts as Markdown: `docs/papers.md`.

use std::fmt::Write;

use crate::{
    Counts, Effort, LabOutcome, LabSummary, LabValue, Outcome, Outcomes, Paper, ReportedValue,
    StudyRecord, Table, Verdict,
};

/// Tables with more rows are folded.
const FOLDED: usize = 14;

/// A page of all outcomes: how many values are reproduced, those that TCP-LP's paper rests on, where a kernel gives another
/// verdict, what was learned, what is not reproduced and why; then a table of verdicts for each paper, and tables and
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
         confidence intervals, simulated unless the claim says otherwise. The rules of judgement were written down before\n\
         anything was run: *reproduced* is within a tolerance; *same conclusion* is another figure, from which follows what\n\
         the paper concludes. A `?` says that the interval reaches over a bound. [reproduce.md](reproduce.md) says how it is run.\n",
        efforts(outcomes),
        outcomes.version
    )?;
    write_counts(page, outcomes)?;
    write_central(page, outcomes)?;
    write_kernel(page, outcomes)?;
    write_learned(page, outcomes)?;
    write_not_reproduced(page, outcomes)?;
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
        for (outcome, value) in values(of_paper.iter().copied()) {
            let mut row = vec![
                outcome.id.clone(),
                value.claim.what.clone(),
                value.reported(),
                value.claim.place.clone(),
                value.ours(),
                value.judgement.words(),
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

/// How many values of each paper have which verdict.
fn write_counts(page: &mut String, outcomes: &Outcomes) -> std::fmt::Result {
    let columns = [
        "",
        "values",
        "reproduced",
        "same conclusion",
        "not reproduced",
    ];
    let mut table = Table::new("", &columns);
    let mut row = |name: &str, paper: Option<Paper>| {
        let of_paper = |outcome: &&Outcome| paper.is_none_or(|paper| outcome.paper == paper);
        let counts = Counts::of(outcomes.outcomes.iter().filter(of_paper));
        if counts.all() > 0 {
            let mut cells = vec![name.to_owned(), counts.all().to_string()];
            cells.extend(counts.each().map(|(_, count)| count.to_string()));
            table.rows.push(cells);
        }
    };
    for paper in Paper::ALL {
        let name = paper.short_name();
        row(&format!("[{name}](#{})", name.to_lowercase()), Some(paper));
    }
    row("all", None);
    write_rows(page, &table)
}

/// The values that the papers' arguments rest on.
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
            let mut row = judged(outcome, value);
            if on_kernel {
                row.push(value.on_kernel().unwrap_or_default());
            }
            table.rows.push(row);
        }
    }
    if table.rows.is_empty() {
        return Ok(());
    }
    writeln!(page, "## What TCP-LP's paper rests on\n")?;
    write_rows(page, &table)
}

/// Cells for an experiment, a value of it, the paper's, ours and the verdict.
fn judged(outcome: &Outcome, value: &ReportedValue) -> Vec<String> {
    vec![
        outcome.id.clone(),
        value.claim.what.clone(),
        value.reported(),
        value.ours(),
        value.judgement.words(),
    ]
}

/// How many values were measured on a kernel, and those that have another verdict there.
fn write_kernel(page: &mut String, outcomes: &Outcomes) -> std::fmt::Result {
    let Some(summary) = LabSummary::of(&outcomes.outcomes) else {
        return Ok(());
    };
    writeln!(page, "## On a kernel\n\n{}\n", summary.words())?;
    let columns = ["id", "what", "paper", "simulated", "verdict", "on a kernel"];
    let mut table = Table::new("", &columns);
    for (outcome, value) in values(&outcomes.outcomes) {
        let Some(LabValue::Measured { judgement, .. }) = &value.lab else {
            continue;
        };
        if judgement.verdict != value.judgement.verdict {
            let mut row = judged(outcome, value);
            row.push(value.on_kernel().unwrap_or_default());
            table.rows.push(row);
        }
    }
    if table.rows.is_empty() {
        return Ok(());
    }
    writeln!(page, "Another verdict there:\n")?;
    write_rows(page, &table)
}

/// All values with the experiments that they are of.
fn values<'a>(
    outcomes: impl IntoIterator<Item = &'a Outcome>,
) -> impl Iterator<Item = (&'a Outcome, &'a ReportedValue)> {
    let outcomes = outcomes.into_iter();
    outcomes.flat_map(|outcome| outcome.values.iter().map(move |value| (outcome, value)))
}

/// What did not come out, and why.
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
        .map(Effort::argument)
        .collect();
    arguments.join(" and ")
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
    let runs: usize = outcome.studies.iter().map(StudyRecord::runs).sum();
    let effort = outcome.effort.argument();
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
