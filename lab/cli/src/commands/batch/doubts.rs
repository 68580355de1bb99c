// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warnings, after the runs, of figures that say more about the scenario than about the controls.

use std::collections::HashMap;

use netnice_results::{
    CallBeyondTheModel, PhaseEffect, RunResults, are_without_chance, calls_beyond_the_model,
    phase_effects,
};
use netnice_scenario::ScenarioFile;

use netnice_terminal::text::{self, say};

/// Warnings of one kind that are shown at most.
const MOST_WARNINGS: usize = 3;

/// A reason to doubt the figures of one flow.
trait Doubt {
    /// Name of the flow.
    fn flow(&self) -> &str;

    /// How great the doubt is, for comparison with others of its kind.
    fn extent(&self) -> f64;

    /// The warning; `runs` says, in brackets, in which runs it was found.
    fn warning(&self, runs: &str) -> String;
}

/// A doubt about a flow in all runs in which it was found.
struct Found<'a, T> {
    /// Where it is greatest.
    worst: T,
    /// The run of that.
    run: &'a RunResults,
    /// The number of runs in which it was found.
    runs: usize,
}

/// Warns of doubtful figures of `runs`, those of each flow once.
pub fn warn_of_doubts(file: &ScenarioFile, runs: &[RunResults]) {
    let points = file.points.iter();
    let points: HashMap<_, _> = points.map(|point| (&point.settings, point)).collect();
    warn_of_kind(runs, |run| {
        let point = points.get(&run.settings);
        point.map_or_else(Vec::new, |point| phase_effects(point, run))
    });
    warn_of_kind(runs, calls_beyond_the_model);
}

/// Says so if the seeds of each point made the same run.
pub fn note_equal_runs(runs: &[RunResults]) {
    if are_without_chance(runs) {
        say!(
            "netnice: the runs of all seeds are the same, since nothing random had an effect: one seed says as much, and ± 0 is \
             no certainty. `start_spread` of flows or `jitter` of links would tell them apart"
        );
    }
}

/// Warns of doubts of one kind, the greatest first.
fn warn_of_kind<T: Doubt>(runs: &[RunResults], doubts_of: impl Fn(&RunResults) -> Vec<T>) {
    let found = find(runs, doubts_of);
    warn_of_some(&found, "", |found| {
        let in_runs = place(found, runs.len());
        say!("netnice: warning: {}", found.worst.warning(&in_runs));
    });
}

/// Finds the doubts of one kind, the greatest first.
fn find<T: Doubt>(
    runs: &[RunResults],
    doubts_of: impl Fn(&RunResults) -> Vec<T>,
) -> Vec<Found<'_, T>> {
    let mut all: Vec<Found<'_, T>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for run in runs {
        for doubt in doubts_of(run) {
            match places.get(doubt.flow()) {
                Some(&place) => {
                    let found = &mut all[place];
                    found.runs += 1;
                    if doubt.extent() > found.worst.extent() {
                        (found.worst, found.run) = (doubt, run);
                    }
                }
                None => {
                    places.insert(doubt.flow().to_owned(), all.len());
                    all.push(Found {
                        worst: doubt,
                        run,
                        runs: 1,
                    });
                }
            }
        }
    }
    all.sort_by(|one, other| other.worst.extent().total_cmp(&one.worst.extent()));
    all
}

/// Says in which run the doubt is greatest and in how many of `all` it was found, in brackets; nothing of a single run.
fn place<T>(found: &Found<T>, all: usize) -> String {
    if all == 1 {
        return String::new();
    }
    let mut words = vec![format!("seed {}", found.run.seed)];
    words.extend(text::settings(&found.run.settings));
    format!(" ({}; in {} of {all} runs)", words.join(", "), found.runs)
}

/// Warns of the first of one kind, and says how many more there are; `where_all` says where they are shown.
pub fn warn_of_some<T>(all: &[T], where_all: &str, warn: impl Fn(&T)) {
    all.iter().take(MOST_WARNINGS).for_each(warn);
    if let Some(more @ 1..) = all.len().checked_sub(MOST_WARNINGS) {
        let warnings = if more == 1 { "warning" } else { "warnings" };
        say!("netnice: {more} more {warnings} of this kind{where_all}");
    }
}

/// A call whose score means little.
impl Doubt for CallBeyondTheModel {
    fn flow(&self) -> &str {
        &self.flow
    }

    fn extent(&self) -> f64 {
        self.not_played()
    }

    fn warning(&self, runs: &str) -> String {
        let cause = match self.late > self.lost {
            true => {
                "The delay of its first packet sets the time of all: `playout_delay` is for what others add later"
            }
            false => "Most of these were lost",
        };
        format!(
            "{:.0} % of the packets of `{}` could not be played{runs}, and its score (MOS) is no more than a sign of that: the \
             E-model holds up to {:.0} % (ITU-T G.107). {cause}",
            100.0 * self.not_played(),
            self.flow,
            100.0 * CallBeyondTheModel::MOST,
        )
    }
}

/// A flow whose loss says more about the simulation than about its control.
impl Doubt for PhaseEffect {
    fn flow(&self) -> &str {
        &self.flow
    }

    fn extent(&self) -> f64 {
        self.lost
    }

    fn warning(&self, runs: &str) -> String {
        let jitter =
            "all access links a `jitter` of about the time that a packet takes on the slowest link";
        let remedy = match &self.begins_at {
            Some(link) => {
                format!("Put a link with a `rate` between its host and `{link}`, or give {jitter}")
            }
            None if self.links.is_empty() => format!("Give {jitter}"),
            None => format!("Give {jitter}, or {} a `rate`", self.links.join(" and ")),
        };
        format!(
            "`{}` lost {:.1} % of its packets{runs}, but the drop-tail queues on its path drop {:.2} % of all: a phase effect of \
             hosts and links without any chance. {remedy}",
            self.flow,
            100.0 * self.lost,
            100.0 * self.expected,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> Vec<RunResults> {
        let run = |seed: u64, queue: &str| RunResults {
            seed,
            settings: vec![("queue".to_owned(), queue.to_owned())],
            ..RunResults::default()
        };
        vec![
            run(1, "20ms"),
            run(2, "20ms"),
            run(1, "200ms"),
            run(2, "200ms"),
        ]
    }

    fn call(flow: &str, late: f64) -> CallBeyondTheModel {
        CallBeyondTheModel {
            flow: flow.to_owned(),
            lost: 0.0,
            late,
        }
    }

    #[test]
    fn doubts_of_all_runs_are_found_the_greatest_first() {
        let runs = runs();
        let found = find(&runs, |run| match (run.seed, &*run.settings[0].1) {
            (2, "20ms") => vec![call("a", 0.3)],
            (1, "200ms") => vec![call("a", 0.5), call("b", 0.9)],
            (2, "200ms") => vec![call("a", 0.4)],
            _ => Vec::new(),
        });
        let shown: Vec<String> = found
            .iter()
            .map(|found| found.worst.flow.clone() + &place(found, runs.len()))
            .collect();
        assert_eq!(
            shown,
            [
                "b (seed 1, queue = 200ms; in 1 of 4 runs)",
                "a (seed 1, queue = 200ms; in 3 of 4 runs)"
            ]
        );
        assert_eq!(found[1].worst.late, 0.5);
        assert_eq!(place(&found[0], 1), "");
    }
}
