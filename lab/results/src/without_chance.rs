// SPDX-License-Identifier: MIT OR Apache-2.0
//! Seeds that make no difference.

use super::RunResults;

/// Returns true if points have several runs each in `runs`, which are in the order of their points, and all those of a point are the
/// same but for their seeds: nothing random had an effect. Never of a lab.
pub fn are_without_chance(runs: &[RunResults]) -> bool {
    let mut points = runs.chunk_by(|one, next| one.settings == next.settings);
    let of_simulation = runs.iter().all(|run| run.lab.is_none());
    of_simulation
        && !runs.is_empty()
        && points
            .all(|point| point.len() > 1 && point.windows(2).all(|pair| alike(&pair[0], &pair[1])))
}

/// Series, which may be in files, follow from the same packets as the rest.
fn alike(one: &RunResults, other: &RunResults) -> bool {
    one.events == other.events
        && one.flows == other.flows
        && one.queues == other.queues
        && one.response_times == other.response_times
        && one.calls == other.calls
        && one.videos == other.videos
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LabReport;

    #[test]
    fn runs_of_a_point_that_differ_in_nothing_are_alike() {
        let run = |point: &str, seed, events| RunResults {
            seed,
            settings: vec![("rate".to_owned(), point.to_owned())],
            events,
            ..RunResults::default()
        };
        let alike = [
            run("a", 1, 5),
            run("a", 2, 5),
            run("b", 1, 7),
            run("b", 2, 7),
        ];
        assert!(are_without_chance(&alike));
        let one_seed = [run("a", 1, 5), run("b", 1, 7)];
        let chance = [
            run("a", 1, 5),
            run("a", 2, 5),
            run("b", 1, 7),
            run("b", 2, 8),
        ];
        let of_lab = alike.map(|run| RunResults {
            lab: Some(LabReport::default()),
            ..run
        });
        for runs in [&one_seed[..], &chance, &of_lab, &[]] {
            assert!(!are_without_chance(runs));
        }
    }
}
