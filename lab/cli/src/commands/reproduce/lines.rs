// SPDX-License-Identifier: MIT OR Apache-2.0
//! The output of `netnice reproduce`.

use std::fmt::Write;

use netnice_papers::{Counts, Experiment, Outcomes, Paper, ReportedValue, Verdict};

use netnice_terminal::{style, text};

/// Lists ids and titles, by paper.
pub fn list(experiments: &[Experiment]) -> String {
    let mut list = String::new();
    for paper in Paper::ALL {
        let of_paper = experiments
            .iter()
            .filter(|experiment| experiment.paper == paper);
        let rows: Vec<Vec<String>> = of_paper
            .map(|experiment| vec![format!("  {}", experiment.id), experiment.title.to_owned()])
            .collect();
        if !rows.is_empty() {
            // Writing to a String cannot fail.
            let _ = writeln!(list, "{}", style::heading(paper.citation()));
            for line in text::table(&rows, &[0, 1]) {
                let _ = writeln!(list, "{line}");
            }
        }
    }
    list
}

/// Writes a line for each reported value, the reasons below, and the sums.
pub fn verdicts(outcomes: &Outcomes) -> String {
    let mut rows = vec![
        ["id", "what", "paper", "ours", "verdict"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let mut values: Vec<&ReportedValue> = Vec::new();
    for outcome in &outcomes.outcomes {
        for value in &outcome.values {
            rows.push(vec![
                outcome.id.clone(),
                value.claim.what.clone(),
                value.reported(),
                value.ours(),
                value.verdict(),
            ]);
            values.push(value);
        }
    }
    let mut lines = text::table(&rows, &[0, 1, 2, 3, 4]).into_iter();
    let mut report = style::heading(lines.next().unwrap_or_default());
    report.push('\n');
    for (line, value) in lines.zip(&values) {
        let line = match value.judgement.verdict {
            Verdict::Reproduced => style::good(line),
            Verdict::SameConclusion => style::attention(line),
            Verdict::NotReproduced => style::bad(line),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(report, "{line}");
        if let Some(reason) = &value.reason {
            let _ = writeln!(report, "    {reason}");
        }
        if let Some(kernel) = value.on_kernel() {
            let _ = writeln!(report, "    on this kernel: {kernel}");
        }
    }
    let counts = Counts::of(&outcomes.outcomes);
    let _ = writeln!(
        report,
        "\n{}: {}",
        text::count(counts.all() as u64, "value"),
        counts.words()
    );
    let fitted = Counts::fitted(&outcomes.outcomes);
    if fitted.all() > 0 {
        let _ = writeln!(
            report,
            "of these {} fitted, as a setting that the paper leaves open was chosen by them: {}",
            fitted.all(),
            fitted.words()
        );
    }
    report
}
