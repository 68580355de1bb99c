// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points × seeds: the runs that are finished are found, the others made, several at a time.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::mem;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::pool;
use netnice_results::{Backend, DirectoryError, RunResults, StaleRun};
use netnice_scenario::network::Problems;
use netnice_scenario::{Layout, Point, Scenario, ScenarioFile};

use crate::budget::Budget;
use crate::keep::{Keep, Key};
use crate::lab_load::{lab_load, slowest_bps};

/// Scenarios of which each point is run with each of its seeds.
#[derive(Debug, Clone)]
pub struct Campaign<'a> {
    /// Each with a name for errors.
    pub scenarios: Vec<(String, &'a ScenarioFile)>,
    /// Where they run. A lab has no more runs at a time than it carries in time.
    pub backend: Backend,
}

/// The runs of a campaign.
#[derive(Debug)]
pub struct Runs<R> {
    /// Those that are finished.
    pub finished: BTreeMap<Key, R>,
    /// The others, in the order in which they will be made.
    pub left: Vec<Key>,
    /// Why runs that have a file are made again.
    pub stale: Vec<StaleRun>,
}

/// A run to be made.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// The point.
    pub point: &'a Point,
    /// Its number in the sweep.
    pub number: usize,
    /// The seed.
    pub seed: u64,
    /// No run of the point begins after this.
    is_last: bool,
}

/// A run that was made; `None` where it was stopped.
pub type Made = Result<Option<RunResults>, Box<dyn Error + Send + Sync>>;

/// Makes a run, until the last argument returns false.
pub type Make<'a> = dyn Fn(Run<'_>, &dyn Fn() -> bool) -> Made + Sync + 'a;

/// The progress of a campaign.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tick {
    /// Finished runs.
    pub runs: usize,
    /// All runs.
    pub of_runs: usize,
    /// Part of the work that is done, 0 to 1.
    pub part: f64,
}

/// Why a campaign ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A run failed.
    #[error("{of}, seed {seed}: {error}")]
    Run {
        /// Name of the scenario.
        of: String,
        /// Seed.
        seed: u64,
        /// The message of the simulator or the lab.
        error: Box<dyn Error + Send + Sync>,
    },
    /// Not even one thread could be had.
    #[error("starting a thread for the runs: {0}")]
    Thread(io::Error),
    /// A run could not be kept.
    #[error(transparent)]
    Keep(#[from] DirectoryError),
}

impl<R> Default for Runs<R> {
    fn default() -> Runs<R> {
        Runs {
            finished: BTreeMap::new(),
            left: Vec::new(),
            stale: Vec::new(),
        }
    }
}

impl<R> Runs<R> {
    /// Number of finished runs.
    pub fn count(&self) -> usize {
        self.finished.len()
    }
}

impl<'a> Run<'a> {
    /// The scenario.
    pub fn scenario(&self) -> &'a Scenario {
        &self.point.scenario
    }

    /// The scenario with its network, laid out once for all seeds of the point. The last of them is its only owner, and may give its
    /// memory back.
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub fn laid_out(&self) -> Result<(&'a Scenario, Arc<Layout>), Problems> {
        let layout = match self.is_last {
            true => self.point.take_layout(),
            false => self.point.layout(),
        };
        Ok((self.scenario(), layout?))
    }
}

impl Campaign<'_> {
    /// All runs: scenario by scenario, point by point, seed by seed.
    pub fn keys(&self) -> Vec<Key> {
        let scenarios = self.scenarios.iter().enumerate();
        let runs = scenarios.flat_map(|(scenario, (_, file))| {
            let runs = file.runs().into_iter();
            runs.map(move |(point, seed)| (scenario, point, seed))
        });
        runs.collect()
    }

    fn point(&self, (scenario, point, _): Key) -> &Point {
        &self.scenarios[scenario].1.points[point]
    }

    /// A measure of a run's work: bits that its slowest link can carry in its time; in a lab only time.
    fn work(&self, key: Key) -> f64 {
        let scenario = &self.point(key).scenario;
        let rate = match self.backend {
            Backend::Simulation => slowest_bps(scenario).unwrap_or(1e6),
            Backend::Lab => 1.0,
        };
        scenario.duration.get().as_secs_f64() * rate
    }

    /// Finds the runs that are finished.
    pub fn find<K: Keep>(&self, keep: &K) -> Runs<K::Kept> {
        let mut runs = Runs::default();
        for key in self.keys() {
            let found = keep.find(key, self.point(key));
            let found = found.unwrap_or_else(|reason| {
                runs.stale.push(reason);
                None
            });
            match found {
                Some(run) => {
                    runs.finished.insert(key, run);
                }
                None => runs.left.push(key),
            }
        }
        runs
    }

    /// Makes and keeps the runs that are left, at most `jobs` at a time. `tick` gets the progress, several times a second, and
    /// says whether to go on.
    ///
    /// # Errors
    /// If a run fails or cannot be kept: no other begins then. Those that are finished stay in `runs`.
    pub fn make<K: Keep>(
        &self,
        runs: &mut Runs<K::Kept>,
        keep: &K,
        make: &Make<'_>,
        jobs: usize,
        mut tick: impl FnMut(Tick) -> ControlFlow<()>,
    ) -> Result<(), RunError> {
        let left = mem::take(&mut runs.left);
        let mut of_points: BTreeMap<(usize, usize), AtomicUsize> = BTreeMap::new();
        for &(scenario, point, _) in &left {
            *of_points.entry((scenario, point)).or_default().get_mut() += 1;
        }
        let of_runs = runs.finished.len() + left.len();
        let mut done: f64 = runs.finished.keys().map(|&key| self.work(key)).sum();
        let all = done + left.iter().map(|&key| self.work(key)).sum::<f64>();
        let budget = Budget::new(1.0);
        let under_way = UnderWay::default();
        let work = |&key: &Key, stop: &AtomicBool| {
            let load = match self.backend {
                Backend::Simulation => 0.0,
                Backend::Lab => lab_load(&self.point(key).scenario),
            };
            let _part = budget.take(load);
            let left = of_points[&(key.0, key.1)].fetch_sub(1, Ordering::Relaxed);
            under_way.begins(key);
            let run = match stop.load(Ordering::Relaxed) {
                true => Ok(None),
                false => self.one(key, left == 1, keep, make, stop),
            };
            under_way.ends(key);
            (key, run)
        };
        let mut failure = None;
        let pool = pool::run(&left, jobs, work, |result| {
            match result {
                Some((key, Ok(Some(run)))) => {
                    runs.finished.insert(key, run);
                    done += self.work(key);
                }
                Some((_, Err(error))) => {
                    failure.get_or_insert(error);
                }
                Some((_, Ok(None))) | None => {}
            }
            let more = match self.backend {
                Backend::Simulation => 0.0,
                Backend::Lab => under_way.seconds(),
            };
            let now = Tick {
                runs: runs.finished.len(),
                of_runs,
                part: if all > 0.0 {
                    ((done + more) / all).min(1.0)
                } else {
                    1.0
                },
            };
            match failure {
                Some(_) => ControlFlow::Break(()),
                None => tick(now),
            }
        });
        let unfinished = left.into_iter();
        runs.left = unfinished
            .filter(|key| !runs.finished.contains_key(key))
            .collect();
        match failure {
            Some(error) => Err(error),
            None => pool.map_err(RunError::Thread),
        }
    }

    /// One run, kept if it came to its end; `None` where it was stopped before.
    fn one<K: Keep>(
        &self,
        key: Key,
        is_last: bool,
        keep: &K,
        make: &Make<'_>,
        stop: &AtomicBool,
    ) -> Result<Option<K::Kept>, RunError> {
        let (scenario, number, seed) = key;
        let point = self.point(key);
        let run = Run {
            point,
            number,
            seed,
            is_last,
        };
        let made = make(run, &|| !stop.load(Ordering::Relaxed));
        let made = made.map_err(|error| RunError::Run {
            of: self.scenarios[scenario].0.clone(),
            seed,
            error,
        })?;
        let Some(mut results) = made else {
            return Ok(None);
        };
        results.settings.clone_from(&point.settings);
        Ok(Some(keep.keep(key, results)?))
    }
}

/// The runs that have begun and not ended. In a lab their real time is work that is done.
#[derive(Default)]
struct UnderWay(Mutex<BTreeMap<Key, Instant>>);

impl UnderWay {
    fn begins(&self, key: Key) {
        self.with(|runs| runs.insert(key, Instant::now()));
    }

    fn ends(&self, key: Key) {
        self.with(|runs| runs.remove(&key));
    }

    fn seconds(&self) -> f64 {
        self.with(|runs| runs.values().map(|at| at.elapsed().as_secs_f64()).sum())
    }

    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<Key, Instant>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;

    use super::*;

    const TEXT: &str = "name = \"n\"\nduration = \"1s\"\nseeds = [5, 3, 9]
        [[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\nqueue = \"9p\"
        [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n[sweep]\nlinks.a-b.rate = [\"1mbit\", \"2mbit\"]\n";

    /// Keeps seeds; the run of seed 3 at the first point is there.
    struct Seeds;

    impl Keep for Seeds {
        type Kept = u64;

        fn find(&self, key: Key, _: &Point) -> Result<Option<u64>, StaleRun> {
            match key {
                (0, 0, 3) => Ok(Some(3)),
                (0, 1, 5) => Err(StaleRun::OtherRun("5".into())),
                _ => Ok(None),
            }
        }

        fn keep(&self, _: Key, run: RunResults) -> Result<u64, DirectoryError> {
            Ok(run.seed)
        }
    }

    fn made(run: Run<'_>) -> RunResults {
        RunResults {
            seed: run.seed,
            ..RunResults::default()
        }
    }

    fn with_campaign(test: impl FnOnce(Campaign<'_>, Runs<u64>)) {
        let file = ScenarioFile::parse("n", TEXT, &[], None).unwrap();
        let campaign = Campaign {
            scenarios: vec![("n".to_owned(), &file)],
            backend: Backend::Simulation,
        };
        let runs = campaign.find(&Seeds);
        test(campaign, runs);
    }

    #[test]
    fn what_is_not_found_is_left_and_made_once() {
        with_campaign(|campaign, mut runs| {
            assert_eq!((runs.count(), runs.stale.len()), (1, 1));
            let left = [(0, 0, 5), (0, 0, 9), (0, 1, 5), (0, 1, 3), (0, 1, 9)];
            assert_eq!(runs.left, left);
            let seen = Mutex::new(Vec::new());
            let make = |run: Run<'_>, _: &dyn Fn() -> bool| {
                seen.lock().unwrap().push((0, run.number, run.seed));
                Ok(Some(made(run)))
            };
            let mut last = None;
            let tick = |tick: Tick| {
                last = Some(tick);
                ControlFlow::Continue(())
            };
            campaign.make(&mut runs, &Seeds, &make, 1, tick).unwrap();
            assert_eq!(seen.into_inner().unwrap(), left);
            assert!(runs.left.is_empty());
            let last = last.unwrap();
            assert_eq!((last.runs, last.of_runs), (6, 6));
            assert!((last.part - 1.0).abs() < 1e-9, "{last:?}");
        });
    }

    #[test]
    fn finished_runs_stay_when_one_fails() {
        with_campaign(|campaign, mut runs| {
            let make = |run: Run<'_>, _: &dyn Fn() -> bool| match run.seed {
                9 => Err("no such link".into()),
                _ => Ok(Some(made(run))),
            };
            let tick = |_| ControlFlow::Continue(());
            let failed = campaign.make(&mut runs, &Seeds, &make, 1, tick);
            assert_eq!(failed.unwrap_err().to_string(), "n, seed 9: no such link");
            assert!(runs.finished.contains_key(&(0, 0, 5)));
            assert!(runs.left.contains(&(0, 0, 9)));
        });
    }

    #[test]
    fn seeds_of_a_point_share_its_network_until_the_last() {
        with_campaign(|campaign, mut runs| {
            let seen: Mutex<Vec<(usize, Weak<Layout>, usize)>> = Mutex::default();
            let make = |run: Run<'_>, _: &dyn Fn() -> bool| {
                let (_, layout) = run.laid_out().unwrap();
                let owners = Arc::strong_count(&layout);
                let layout = (run.number, Arc::downgrade(&layout), owners);
                seen.lock().unwrap().push(layout);
                Ok(Some(made(run)))
            };
            let tick = |_| ControlFlow::Continue(());
            campaign.make(&mut runs, &Seeds, &make, 1, tick).unwrap();
            let seen = seen.into_inner().unwrap();
            let of = |point: usize| seen.iter().filter(move |(of, _, _)| *of == point);
            for point in [0, 1] {
                let first = &of(point).next().unwrap().1;
                assert!(of(point).all(|(_, layout, _)| layout.ptr_eq(first)));
                // The last seed has it alone, and it is gone after it.
                assert_eq!(of(point).next_back().unwrap().2, 1);
                assert!(first.upgrade().is_none());
            }
        });
    }
}
