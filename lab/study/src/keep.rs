// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where finished runs are kept.

use netnice_results::{DirectoryError, ResultsDirectory, RunResults, SeriesFormat, StaleRun};
use netnice_scenario::Point;

/// A run: the number of its scenario, that of its point, and the seed.
pub type Key = (usize, usize, u64);

/// Keeps the finished runs of a campaign.
pub trait Keep: Sync {
    /// What stays in memory of a run.
    type Kept: Send;

    /// Finds a run that was finished before, which may be used.
    ///
    /// # Errors
    /// If there is a file, but not of this run as it was written: the run is made again.
    fn find(&self, key: Key, point: &Point) -> Result<Option<Self::Kept>, StaleRun>;

    /// Keeps a finished run.
    ///
    /// # Errors
    /// If a file cannot be written.
    fn keep(&self, key: Key, run: RunResults) -> Result<Self::Kept, DirectoryError>;
}

/// Keeps whole runs, in a directory of results for each scenario.
pub struct Directories<'a> {
    /// By the number of the scenario; `None` keeps its runs in memory alone.
    pub directories: Vec<Option<&'a ResultsDirectory>>,
    /// Time series stay in memory as well where they have files of their own.
    pub with_series: bool,
    /// Whether a run that was found may be used.
    pub reuse: &'a (dyn Fn(Key, &RunResults) -> bool + Sync),
}

impl Keep for Directories<'_> {
    type Kept = RunResults;

    fn find(&self, key: Key, point: &Point) -> Result<Option<RunResults>, StaleRun> {
        let (scenario, number, seed) = key;
        let Some(directory) = self.directories[scenario] else {
            return Ok(None);
        };
        let found = match self.with_series {
            true => directory.finished_with_series(number, point, seed)?,
            false => directory.finished(number, point, seed)?,
        };
        Ok(found.filter(|run| (self.reuse)(key, run)))
    }

    fn keep(&self, key: Key, mut run: RunResults) -> Result<RunResults, DirectoryError> {
        let (scenario, number, _) = key;
        if let Some(directory) = self.directories[scenario] {
            directory.store(number, &mut run)?;
            if !self.with_series && directory.series_format() == SeriesFormat::Parquet {
                run.series = Vec::new();
            }
        }
        Ok(run)
    }
}
