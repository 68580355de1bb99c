// SPDX-License-Identifier: MIT OR Apache-2.0
//! Claims: the values that a paper reports, and the rules that judge ours. Both are written down before anything is run.

use std::fmt;

use netnice_results::Estimate;
use serde::{Deserialize, Serialize};

/// One value or statement of a paper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Key within the experiment, by which findings refer to it: `lp_share`.
    pub key: String,
    /// The quantity, in words: `throughput of LP beside TCP`.
    pub what: String,
    /// Unit, or nothing: `% of the link`, `s`.
    pub unit: String,
    /// The reported value.
    pub reported: Reported,
    /// Where it stands: section, table or figure.
    pub place: String,
    /// When it is reproduced.
    pub rule: Rule,
    /// When at least its conclusion is, if that is less.
    pub conclusion: Option<Conclusion>,
    /// One of the values that the paper's argument rests on.
    #[serde(default)]
    pub central: bool,
    /// A setting that the paper leaves open was chosen because ours comes near to this value with it.
    #[serde(default)]
    pub fitted: bool,
}

/// A reported number is reproduced within this part of it.
pub(crate) const TOLERANCE: f64 = 0.1;

/// The reported value of a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reported {
    /// A number, in the claim's unit.
    Value(f64),
    /// A statement: `about 1`.
    Statement(String),
}

/// A weaker statement that the paper draws from the value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// In words: `LP takes a few per cent from a greedy flow`.
    pub statement: String,
    /// When it holds.
    pub rule: Rule,
}

/// When a value of ours agrees.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// From `low` to `high`, both included.
    Between {
        /// Least.
        low: f64,
        /// Most.
        high: f64,
    },
    /// No less.
    AtLeast(f64),
    /// No more.
    AtMost(f64),
    /// Nothing agrees: the paper's measurement cannot be repeated, such as a path over the Internet of its day.
    Nothing,
}

/// The verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Ours is within the tolerance around the reported value.
    Reproduced,
    /// The figure is another one, the conclusion holds.
    SameConclusion,
    /// Neither.
    NotReproduced,
}

/// A verdict and how it came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The verdict on our mean.
    pub verdict: Verdict,
    /// The whole 95 % interval has the same verdict.
    pub certain: bool,
}

impl Judgement {
    /// The verdict in words, with a mark where the interval leaves it open.
    pub fn words(&self) -> String {
        let doubt = if self.certain { "" } else { " ?" };
        format!("{}{doubt}", self.verdict.words())
    }
}

impl Rule {
    /// From `low` to `high`, both included.
    pub const fn between(low: f64, high: f64) -> Rule {
        Rule::Between { low, high }
    }

    /// Within `tolerance` of `value`.
    pub fn within(value: f64, tolerance: f64) -> Rule {
        Rule::between(value - tolerance, value + tolerance)
    }

    /// Where it begins or ends to hold.
    fn bounds(&self) -> Vec<f64> {
        match *self {
            Rule::Between { low, high } => vec![low, high],
            Rule::AtLeast(bound) | Rule::AtMost(bound) => vec![bound],
            Rule::Nothing => Vec::new(),
        }
    }

    /// Returns whether a value fulfils the rule.
    pub fn holds(&self, value: f64) -> bool {
        match *self {
            Rule::Between { low, high } => (low..=high).contains(&value),
            Rule::AtLeast(low) => value >= low,
            Rule::AtMost(high) => value <= high,
            Rule::Nothing => false,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Rule::Between { low, high } => write!(f, "{} to {}", short(low), short(high)),
            Rule::AtLeast(low) => write!(f, "at least {}", short(low)),
            Rule::AtMost(high) => write!(f, "at most {}", short(high)),
            Rule::Nothing => f.write_str("nothing that can be measured here"),
        }
    }
}

/// A number rounded to four digits after the point.
pub(crate) fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

impl fmt::Display for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reported::Value(value) => f.write_str(&short(*value)),
            Reported::Statement(text) => f.write_str(text),
        }
    }
}

impl Verdict {
    /// In words, as in the tables.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::SameConclusion => "same conclusion, other figure",
            Verdict::NotReproduced => "not reproduced",
        }
    }
}

impl Claim {
    /// A reported number, reproduced within a tenth of it.
    pub fn value(key: &str, what: &str, unit: &str, reported: f64, place: &str) -> Claim {
        Claim {
            key: key.to_owned(),
            what: what.to_owned(),
            unit: unit.to_owned(),
            reported: Reported::Value(reported),
            place: place.to_owned(),
            rule: Rule::within(reported, TOLERANCE * reported.abs()),
            conclusion: None,
            central: false,
            fitted: false,
        }
    }

    /// With another rule: where a tenth is less than the paper's rounding, or more than its measurement leaves open.
    #[must_use]
    pub fn judged_by(mut self, rule: Rule) -> Claim {
        self.rule = rule;
        self
    }

    /// A statement, reproduced where our value is as `rule` says.
    pub fn statement(
        key: &str,
        what: &str,
        unit: &str,
        (reported, rule): (&str, Rule),
        place: &str,
    ) -> Claim {
        Claim {
            key: key.to_owned(),
            what: what.to_owned(),
            unit: unit.to_owned(),
            reported: Reported::Statement(reported.to_owned()),
            place: place.to_owned(),
            rule,
            conclusion: None,
            central: false,
            fitted: false,
        }
    }

    /// With a weaker statement of the paper's own, which holds where our value is as `rule` says.
    #[must_use]
    pub fn concluding(mut self, statement: &str, rule: Rule) -> Claim {
        self.conclusion = Some(Conclusion {
            statement: statement.to_owned(),
            rule,
        });
        self
    }

    /// As one of the values that the paper's argument rests on: it stands at the head of the verdicts.
    #[must_use]
    pub fn central(mut self) -> Claim {
        self.central = true;
        self
    }

    /// As a value by which a setting that the paper leaves open was chosen: it is counted apart.
    #[must_use]
    pub fn fitted(mut self) -> Claim {
        self.fitted = true;
        self
    }

    fn verdict(&self, value: f64) -> Verdict {
        let concludes = |conclusion: &Conclusion| conclusion.rule.holds(value);
        if self.rule.holds(value) {
            Verdict::Reproduced
        } else if self.conclusion.as_ref().is_some_and(concludes) {
            Verdict::SameConclusion
        } else {
            Verdict::NotReproduced
        }
    }

    /// The verdict on our value.
    pub fn judge(&self, ours: &Estimate) -> Judgement {
        let verdict = self.verdict(ours.mean);
        let half_width = ours.half_width_95.unwrap_or(0.0);
        let (low, high) = (ours.mean - half_width, ours.mean + half_width);
        // An interval may reach over all of a range.
        let conclusion = self.conclusion.iter().map(|weaker| &weaker.rule);
        let bounds = [&self.rule].into_iter().chain(conclusion);
        let bounds = bounds.flat_map(Rule::bounds);
        let within = bounds.filter(|bound| (low..=high).contains(bound));
        let mut all = within.chain([low, high]);
        Judgement {
            verdict,
            certain: all.all(|value| self.verdict(value) == verdict),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(mean: f64, half_width: f64) -> Estimate {
        Estimate {
            mean,
            half_width_95: Some(half_width),
            min: mean,
            max: mean,
            runs: 5,
        }
    }

    fn claim() -> Claim {
        Claim::value("share", "share", "%", 5.0, "Table I")
            .concluding("a few per cent", Rule::AtMost(6.0))
    }

    #[test]
    fn verdicts_by_hand() {
        let verdict = |mean| claim().judge(&estimate(mean, 0.0)).verdict;
        assert_eq!(verdict(4.5), Verdict::Reproduced);
        assert_eq!(verdict(5.5), Verdict::Reproduced);
        assert_eq!(verdict(5.6), Verdict::SameConclusion);
        assert_eq!(verdict(0.0), Verdict::SameConclusion);
        assert_eq!(verdict(6.1), Verdict::NotReproduced);
        let strict = Claim {
            conclusion: None,
            ..claim()
        };
        let judged = strict.judge(&estimate(5.6, 0.0));
        assert_eq!(judged.verdict, Verdict::NotReproduced);
        let judged_by = claim().judged_by(Rule::within(5.0, 0.1));
        let judged = judged_by.judge(&estimate(5.2, 0.0));
        assert_eq!(judged.verdict, Verdict::SameConclusion);
    }

    #[test]
    fn a_verdict_is_certain_where_the_whole_interval_has_it() {
        let judge = |mean, half_width| claim().judge(&estimate(mean, half_width));
        assert!(judge(5.0, 0.4).certain);
        assert!(!judge(5.0, 0.6).certain);
        assert!(judge(3.5, 0.7).certain);
        assert!(!judge(5.8, 0.4).certain);
        // From 2 to 12, beyond all of 4.5 to 5.5 and 6.
        assert!(!judge(7.0, 5.0).certain);
        assert!(judge(7.0, 0.9).certain);
    }

    #[test]
    fn rules_hold_at_their_ends_and_say_what_they_are() {
        assert!(Rule::AtLeast(0.9).holds(0.9) && !Rule::AtLeast(0.9).holds(0.89));
        assert!(Rule::AtMost(1.0).holds(1.0) && !Rule::AtMost(1.0).holds(1.01));
        assert_eq!(Rule::within(49.7, 2.0).to_string(), "47.7 to 51.7");
        assert_eq!(Rule::AtLeast(0.95).to_string(), "at least 0.95");
        assert!(!Rule::Nothing.holds(0.0));
    }
}
