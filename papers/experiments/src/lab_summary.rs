// SPDX-License-Identifier: MIT OR Apache-2.0
//! The verdicts on all values that were measured on a kernel.

use std::collections::BTreeSet;

use crate::counts::Counts;
use crate::outcome::{LabValue, Outcome};

/// The verdicts on the values that were measured on a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabSummary {
    /// Releases of the kernels.
    pub kernels: BTreeSet<String>,
    /// Their verdicts there.
    pub counts: Counts,
    /// The number with the simulation's verdict.
    pub as_simulated: usize,
    /// The number that come from runs that cannot be trusted.
    pub distrusted: usize,
}

impl LabSummary {
    /// Of all values of these outcomes; `None` where none was measured.
    pub fn of<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Option<LabSummary> {
        let mut summary = LabSummary::default();
        let mut verdicts = Vec::new();
        for outcome in outcomes {
            for value in &outcome.values {
                if let Some(LabValue::Measured {
                    judgement,
                    distrust,
                    ..
                }) = &value.lab
                {
                    verdicts.push(judgement.verdict);
                    let as_simulated = judgement.verdict == value.judgement.verdict;
                    summary.as_simulated += usize::from(as_simulated);
                    summary.distrusted += usize::from(distrust.is_some());
                }
            }
            let releases = outcome.lab.iter().map(|lab| lab.kernel.clone());
            summary
                .kernels
                .extend(releases.filter(|release| !release.is_empty()));
        }
        summary.counts = verdicts.into_iter().collect();
        (summary.counts.all() > 0).then_some(summary)
    }

    /// Writes the summary in a few sentences.
    pub fn words(&self) -> String {
        let kernels: Vec<&str> = self.kernels.iter().map(String::as_str).collect();
        let mut words = format!(
            "{} values were measured on a running kernel as well (Linux {}): {} are reproduced there, {} give another figure \
             but the same conclusion, {} are not reproduced. {} have the verdict of the simulation.",
            self.counts.all(),
            kernels.join(", "),
            self.counts.reproduced,
            self.counts.same_conclusion,
            self.counts.not_reproduced,
            self.as_simulated
        );
        if self.distrusted > 0 {
            words.push_str(&format!(
                " {} come in part from runs in which the machine was late, and say NOT TRUSTWORTHY.",
                self.distrusted
            ));
        }
        words
    }
}
