// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every table and figure of the papers: its set-up, the reported values, and the verdicts.
//!
//! - [`Experiment`]: one table or figure: the question, the open parameters, the claims with the rules by which
//!   they are judged, the studies that are run, and a function from measurements to findings.
//! - [`Study`]: a scenario, as `netnice sim` takes it, with its settings and the number of runs.
//! - [`Rule`], [`Claim`], [`Verdict`]: reported values and how they are judged, written down before anything is run.
//! - [`Outcome`]: values with verdicts, figures and tables of an experiment. A report is made of outcomes alone.
//! - [`Reproduction`]: runs the studies of many experiments and keeps the finished runs.
//! - [`LabReproduction`]: the same on a running kernel, of the studies that fit an emulated link.
//! - [`experiments`]: all of them, a file each.
//!
//! `papers/README.md` says how to add one.

mod claim;
mod counts;
mod definition;
pub mod experiments;
mod figure;
mod findings;
pub mod fluid;
mod lab;
mod lab_summary;
mod markdown;
pub mod measured;
mod outcome;
mod run;
mod store;
mod study;

pub use claim::{Claim, Conclusion, Judgement, Reported, Rule, Verdict};
pub use counts::Counts;
pub use definition::{Choice, Experiment, Paper};
pub use figure::{Axis, Curve, CurveKind, Figure, FigureKind, Scaling, XY};
pub use findings::Findings;
pub use lab::{LabLimits, LabReproduction};
pub use lab_summary::LabSummary;
pub use markdown::markdown;
pub use measured::{Measured, MeasuredPoint, MeasuredStudy};
pub use netnice_study::{Effort, Scale, Table, Tick};
pub use outcome::{LabOutcome, LabValue, Outcome, Outcomes, ReportedValue, StudyRecord};
pub use run::{Finished, Reproduction, ReproductionError};
pub use store::{Store, StoreError};
pub use study::{KernelPath, Study, StudyError};
