// SPDX-License-Identifier: MIT OR Apache-2.0
//! The outcome of an experiment. A report is made of this alone.

use netnice_results::{Backend, Estimate};
use netnice_study::Table;
use serde::{Deserialize, Serialize};

use crate::claim::{Claim, Judgement, Reported, Rule, Verdict, short};
use crate::definition::{Choice, Experiment, Paper};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::study::{Study, directory};
use netnice_study::{Effort, Scale, written};

/// Outcomes, and their origin.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Outcomes {
    /// Version of netnice.
    pub version: String,
    /// The last command, with its arguments.
    pub command: Vec<String>,
    /// Runs at a time.
    pub jobs: usize,
    /// Seconds that the last command took.
    pub wall_s: f64,
    /// One for each experiment, in the order of the registry.
    pub outcomes: Vec<Outcome>,
}

/// The outcome of one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// `LP03-T1a`.
    pub id: String,
    /// Paper.
    pub paper: Paper,
    /// Title.
    pub title: String,
    /// The question it answers.
    pub question: String,
    /// How much was run.
    pub effort: Effort,
    /// The parameters that the paper leaves open, and the chosen values.
    pub choices: Vec<Choice>,
    /// The studies that were run.
    pub studies: Vec<StudyRecord>,
    /// The reported values, and ours.
    pub values: Vec<ReportedValue>,
    /// Figures.
    pub figures: Vec<Figure>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Findings.
    pub notes: Vec<String>,
    /// The record of the runs on a running kernel, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<LabOutcome>,
}

/// The studies that were run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyRecord {
    /// Name.
    pub name: String,
    /// Points of the sweep.
    pub points: usize,
    /// Runs of each point, and how long each was.
    pub scale: Scale,
    /// A command that makes the same runs.
    pub command: String,
}

/// A reported value, ours, and the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportedValue {
    /// The reported value, and the rules.
    pub claim: Claim,
    /// Ours; `None` where it could not be measured.
    pub ours: Option<Estimate>,
    /// How it is judged.
    pub judgement: Judgement,
    /// Why it is not reproduced; nothing where it is.
    pub reason: Option<String>,
    /// The value on a running kernel, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<LabValue>,
}

/// A value on a running kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabValue {
    /// It was measured.
    Measured {
        /// Mean over the runs.
        ours: Estimate,
        /// How it is judged, by the rule that the simulation is judged by.
        judgement: Judgement,
        /// The path, where it is not that of the simulation: `on 100 Mb/s in place of 450`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Why the runs cannot be trusted, if they cannot.
        distrust: Option<String>,
    },
    /// It was not.
    NotMeasured {
        /// Why.
        reason: String,
    },
}

/// The record of an experiment on a kernel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LabOutcome {
    /// Release of the kernel; empty where nothing was run.
    pub kernel: String,
    /// The studies that were run.
    pub studies: Vec<StudyRecord>,
    /// Where the kernel differs slightly from the scenarios.
    pub notes: Vec<String>,
}

impl ReportedValue {
    /// The reported value, with the unit.
    pub fn reported(&self) -> String {
        let reported = self.claim.reported.to_string();
        match self.claim.reported {
            Reported::Value(_) => with_unit(&reported, &self.claim.unit),
            Reported::Statement(_) => reported,
        }
    }

    /// Ours with its 95 % interval, and the unit.
    pub fn ours(&self) -> String {
        match &self.ours {
            Some(ours) => with_unit(&written(ours), &self.claim.unit),
            None => "none".to_owned(),
        }
    }

    /// The verdict in words, with a mark where the value was fitted.
    pub fn verdict(&self) -> String {
        let fitted = if self.claim.fitted { ", fitted" } else { "" };
        format!("{}{fitted}", self.judgement.words())
    }

    /// The value on a running kernel with its verdict, or why there is none; `None` where it was not asked for.
    pub fn on_kernel(&self) -> Option<String> {
        Some(match self.lab.as_ref()? {
            LabValue::Measured {
                ours,
                judgement,
                path,
                distrust,
            } => {
                let ours = with_unit(&written(ours), &self.claim.unit);
                let path = path
                    .as_ref()
                    .map_or(String::new(), |path| format!(" {path}"));
                let mut words = format!("{ours}{path}, {}", judgement.words());
                if let Some(distrust) = distrust {
                    words.push_str(&format!("; NOT TRUSTWORTHY: {distrust}"));
                }
                words
            }
            LabValue::NotMeasured { reason } => format!("not measured: {reason}"),
        })
    }
}

fn with_unit(text: &str, unit: &str) -> String {
    match unit {
        "" => text.to_owned(),
        unit => format!("{text} {unit}"),
    }
}

impl Outcome {
    /// Judges the findings of an experiment.
    pub(crate) fn new(
        experiment: &Experiment,
        effort: Effort,
        studies: Vec<StudyRecord>,
        findings: Findings,
    ) -> Outcome {
        let values = experiment.claims.iter().map(|claim| {
            let value = findings.values.iter().find(|value| value.key == claim.key);
            judge(
                claim,
                value.and_then(|value| value.ours),
                value.and_then(|value| value.reason.clone()),
            )
        });
        Outcome {
            id: experiment.id.to_owned(),
            paper: experiment.paper,
            title: experiment.title.to_owned(),
            question: experiment.question.to_owned(),
            effort,
            choices: experiment.choices.clone(),
            studies,
            values: values.collect(),
            figures: findings.figures,
            tables: findings.tables,
            notes: findings.notes,
            lab: None,
        }
    }
}

fn judge(claim: &Claim, ours: Option<Estimate>, reason: Option<String>) -> ReportedValue {
    let judgement = match &ours {
        Some(ours) => claim.judge(ours),
        None => Judgement {
            verdict: Verdict::NotReproduced,
            certain: false,
        },
    };
    let short_reason = || match &ours {
        None => "could not be measured".to_owned(),
        Some(_) => {
            let unit = match claim.unit.as_str() {
                "" => String::new(),
                _ if claim.rule == Rule::Nothing => String::new(),
                unit => format!(" {unit}"),
            };
            let reproduced = format!("{}{unit} would reproduce it", claim.rule);
            match (&claim.conclusion, judgement.verdict) {
                (Some(conclusion), Verdict::SameConclusion) => {
                    format!("{reproduced}; but {}", conclusion.statement)
                }
                _ => reproduced,
            }
        }
    };
    let reason = match (judgement.verdict, reason) {
        (Verdict::Reproduced, _) => None,
        (_, Some(reason)) => Some(format!("{}: {reason}", short_reason())),
        (_, None) => Some(short_reason()),
    };
    ReportedValue {
        claim: claim.clone(),
        ours,
        judgement,
        reason,
        lab: None,
    }
}

impl StudyRecord {
    /// Runs in all.
    pub fn runs(&self) -> usize {
        self.points * self.scale.seeds as usize
    }

    /// How much it was run, in words: `11 points, 3 runs of 60 s each`.
    pub fn effort(&self) -> String {
        let seconds = self.scale.duration.as_secs_f64();
        let runs = match self.scale.seeds {
            1 => format!("one run of {seconds} s"),
            seeds => format!("{seeds} runs of {seconds} s"),
        };
        match self.points {
            1 => runs,
            points => format!("{points} points, {runs} each"),
        }
    }

    pub(crate) fn new(study: &Study, scale: Scale, points: usize, backend: Backend) -> StudyRecord {
        let file = match study.sweep.is_empty() {
            true => format!("papers/experiments/scenarios/{}", study.file),
            false => format!("{}/{}/scenario.toml", directory(backend), study.name),
        };
        let command = match backend {
            Backend::Simulation => "sim",
            Backend::Lab => "lab",
        };
        let mut command = format!(
            "netnice {command} {file} --seeds {} --set duration={}s",
            scale.seeds,
            scale.duration.as_secs()
        );
        for (key, value) in study.settings_of(backend) {
            command.push_str(&format!(" --set '{key}={value}'"));
        }
        StudyRecord {
            name: study.name.clone(),
            points,
            scale,
            command,
        }
    }
}

impl Reported {
    /// The number, where it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Reported::Value(value) => Some(*value),
            Reported::Statement(_) => None,
        }
    }
}

/// A number in a text.
pub(crate) fn number(value: f64) -> String {
    short(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Claim {
        Claim::value("share", "LP's share", "%", 2.0, "Table I")
            .concluding("LP takes a few per cent", Rule::AtMost(6.0))
    }

    #[test]
    fn a_reason_stands_only_where_a_value_is_not_reproduced() {
        let ours = |mean| Estimate::of(&[mean]);
        let good = judge(&claim(), ours(2.1), Some("the queue".to_owned()));
        assert_eq!(good.reason, None);
        assert_eq!(
            (good.reported(), good.ours()),
            ("2 %".to_owned(), "2.10 %".to_owned())
        );
        let other = judge(&claim(), ours(4.0), Some("the queue is short".to_owned()));
        assert_eq!(
            other.reason.as_deref(),
            Some(
                "1.8 to 2.2 % would reproduce it; but LP takes a few per cent: the queue is short"
            )
        );
        let bad = judge(&claim(), ours(40.0), None);
        assert_eq!(
            bad.reason.as_deref(),
            Some("1.8 to 2.2 % would reproduce it")
        );
        let none = judge(&claim(), None, None);
        assert_eq!(none.judgement.verdict, Verdict::NotReproduced);
        assert_eq!(none.reason.as_deref(), Some("could not be measured"));
    }
}
