// SPDX-License-Identifier: MIT OR Apache-2.0
//! The verdicts as Markdown: `docs/papers.md`.

use std::fmt::Write;

use crate::{Effort, Outcome, Outcomes, Paper, Table, Verdict};

/// A page of all outcomes: a table of verdicts for each paper, then what was learned and chosen in each experiment.
pub fn markdown(outcomes: &Outcomes) -> String {
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = write_page(&mut page, outcomes);
    page
}

fn write_page(page: &mut String, outcomes: &Outcomes) -> std::fmt::Result {
    let command = outcomes.command.join(" ");
    writeln!(page, "# The papers, reproduced\n")?;
    writeln!(
        page,
        "Made by `{command}` with netnice {}, in {:.0} s with {} runs at a time. Ours are means with 95 % confidence\n\
         intervals. The rules of judgement are written down with each claim in `papers/src/experiments/`, before anything is\n\
         run: *reproduced* is within the tolerance; *same conclusion, other figure* is outside, but what the paper concludes\n\
         holds by a bound that is written down, too. A `?` says that the interval reaches over a bound.\n",
        outcomes.version, outcomes.wall_s, outcomes.jobs
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
        writeln!(
            page,
            "| id | what | paper | where | ours | verdict | why not |"
        )?;
        writeln!(page, "| --- | --- | --- | --- | --- | --- | --- |")?;
        for outcome in &of_paper {
            for value in &outcome.values {
                let doubt = if value.judgement.certain { "" } else { " ?" };
                writeln!(
                    page,
                    "| {} | {} | {} | {} | {} | {}{doubt} | {} |",
                    outcome.id,
                    cell(&value.claim.what),
                    cell(&value.reported()),
                    cell(&value.claim.place),
                    cell(&value.ours()),
                    value.judgement.verdict.words(),
                    cell(value.reason.as_deref().unwrap_or("")),
                )?;
            }
        }
        writeln!(page)?;
        for outcome in of_paper {
            write_outcome(page, outcome)?;
        }
    }
    Ok(())
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
    for note in &outcome.notes {
        writeln!(page, "{note}\n")?;
    }
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
    let effort = match outcome.effort {
        Effort::Quick => "--quick",
        Effort::Full => "--full",
    };
    writeln!(
        page,
        "`netnice reproduce {} {effort}`: {runs} runs.\n",
        outcome.id
    )
}

fn write_table(page: &mut String, table: &Table) -> std::fmt::Result {
    writeln!(page, "{}:\n", table.title)?;
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
