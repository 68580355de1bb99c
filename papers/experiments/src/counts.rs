// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of values by their verdict.

use crate::claim::{Claim, Verdict};
use crate::outcome::Outcome;

/// Numbers of values by their verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Ours is the reported value.
    pub reproduced: usize,
    /// The figure is another one, the conclusion holds.
    pub same_conclusion: usize,
    /// Neither.
    pub not_reproduced: usize,
}

impl Counts {
    /// Of all values of these outcomes, as they are simulated.
    pub fn of<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Counts {
        Counts::where_claim(outcomes, |_| true)
    }

    /// Of those values by which a setting that the paper leaves open was chosen.
    pub fn fitted<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Counts {
        Counts::where_claim(outcomes, |claim| claim.fitted)
    }

    fn where_claim<'a>(
        outcomes: impl IntoIterator<Item = &'a Outcome>,
        wanted: impl Fn(&Claim) -> bool,
    ) -> Counts {
        let values = outcomes.into_iter().flat_map(|outcome| &outcome.values);
        let values = values.filter(|value| wanted(&value.claim));
        values.map(|value| value.judgement.verdict).collect()
    }

    /// All of them.
    pub fn all(&self) -> usize {
        self.reproduced + self.same_conclusion + self.not_reproduced
    }

    /// In words: `4 reproduced, 2 same conclusion, 1 not reproduced`.
    pub fn words(&self) -> String {
        format!(
            "{} reproduced, {} same conclusion, {} not reproduced",
            self.reproduced, self.same_conclusion, self.not_reproduced
        )
    }

    /// With their verdicts, the best first.
    pub fn each(&self) -> [(Verdict, usize); 3] {
        [
            (Verdict::Reproduced, self.reproduced),
            (Verdict::SameConclusion, self.same_conclusion),
            (Verdict::NotReproduced, self.not_reproduced),
        ]
    }
}

impl FromIterator<Verdict> for Counts {
    fn from_iter<T: IntoIterator<Item = Verdict>>(verdicts: T) -> Counts {
        let mut counts = Counts::default();
        for verdict in verdicts {
            match verdict {
                Verdict::Reproduced => counts.reproduced += 1,
                Verdict::SameConclusion => counts.same_conclusion += 1,
                Verdict::NotReproduced => counts.not_reproduced += 1,
            }
        }
        counts
    }
}
