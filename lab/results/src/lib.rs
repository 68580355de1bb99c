// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measurements of a run, alike for simulator and lab, and summaries of many runs: statistics, tables, directories.
//!
//! `plot` (with the feature of that name) chooses plots of results, to be drawn by `netnice-chart`.

mod call_model;
mod compare;
mod derived;
mod directory;
mod e_model;
#[cfg(feature = "parquet")]
mod event_file;
mod events;
mod in_time;
pub mod output;
#[cfg(feature = "parquet")]
mod parquet_file;
mod phase_effect;
#[cfg(feature = "plot")]
pub mod plot;
mod quantity;
mod run;
mod samples;
#[cfg(feature = "parquet")]
mod series_file;
mod summary;
pub mod tables;
mod without_chance;

pub use call_model::{CallBeyondTheModel, calls_beyond_the_model};
pub use compare::{Comparison, PointComparison, Row};
pub use derived::derive;
pub use directory::{
    Backend, DirectoryError, Existing, Manifest, ResultsDirectory, SeriesFormat, StaleRun,
};
pub use e_model::{Codec, delay_impairment, equipment_impairment, mean_opinion_score, rating};
#[cfg(feature = "parquet")]
pub use event_file::EventFile;
pub use events::{EventKind, LinkEvent};
pub use in_time::until_in_time;
pub use netnice_measure::{Delays, Distribution, Estimate, jain_index, quantile, student_t_975};
pub use phase_effect::{PhaseEffect, phase_effects};
pub use quantity::quantity;
pub use run::{
    ALL_SIZES, CallQuality, CallResult, ClassResult, DerivedValue, Drops, FlowResult, LabReport,
    PacketsOfColour, PageTimes, PhaseResult, QueueResult, ResponseTimes, RunResults, Series,
    SizeBin, SizeClass, Slowdown, VideoQuality, VideoResult,
};
pub use summary::{CompletionTimes, Figure, PointSummary, Subject, Summary, Unit};
pub use without_chance::are_without_chance;
