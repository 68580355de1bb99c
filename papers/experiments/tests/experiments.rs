// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registry, and a whole reproduction in seconds.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use netnice_papers::{
    Effort, Experiment, Outcome, Reproduction, Rule, Scale, Store, Study, Verdict, experiments,
    markdown,
};
use netnice_study::{Made, Run};

#[test]
fn ids_are_those_of_their_paper_and_stand_once() {
    let all = experiments::all();
    for (number, experiment) in all.iter().enumerate() {
        let prefix = format!("{}-", experiment.paper.short_name());
        assert!(experiment.id.starts_with(&prefix), "{}", experiment.id);
        let same = all.iter().filter(|other| other.id == experiment.id);
        assert_eq!(same.count(), 1, "{number} {}", experiment.id);
    }
}

#[test]
fn all_of_the_tcp_lp_paper_is_there() {
    let numbers = [
        "T1a",
        "T1b",
        "F6",
        "F7",
        "F8",
        "F10",
        "F11",
        "F12",
        "F13",
        "F14",
        "F15",
        "F17",
        "F18",
        "F20",
        "F21",
        "clock",
        "parameters",
        "mirrors",
    ];
    let expected: Vec<String> = numbers.iter().map(|id| format!("LP03-{id}")).collect();
    let lp03 = experiments::select(&["LP03".to_owned()]).unwrap();
    let ids: Vec<&str> = lp03.iter().map(|experiment| experiment.id).collect();
    assert_eq!(ids, expected);
}

#[test]
fn experiments_are_chosen_by_id_and_by_paper() {
    let ids = |wanted: &[&str]| {
        let wanted: Vec<String> = wanted.iter().map(|&id| id.to_owned()).collect();
        experiments::select(&wanted)
            .map(|chosen| chosen.iter().map(|one| one.id).collect::<Vec<_>>())
    };
    assert_eq!(
        ids(&["lp03-f11", "LP03-T1a"]),
        Ok(vec!["LP03-T1a", "LP03-F11"])
    );
    assert!(
        ids(&["LP03"])
            .unwrap()
            .iter()
            .all(|id| id.starts_with("LP03-"))
    );
    assert_eq!(ids(&[]).unwrap(), experiments::ids());
    assert_eq!(ids(&["LP03", "LP03-F1"]), Err("LP03-F1".to_owned()));
    // Figures that stand together are found by each of them.
    for figure in ["FF-F3", "ff-f4", "FF-F5"] {
        assert_eq!(ids(&[figure]), Ok(vec!["FF-F3-F5"]));
    }
    assert_eq!(ids(&["FF-F6"]), ids(&["FF-F7"]));
    assert_eq!(ids(&["FF-F2"]), Err("FF-F2".to_owned()));
}

#[test]
fn every_study_is_a_valid_scenario_and_one_name_means_one_study() {
    let mut seen: BTreeMap<String, Study> = BTreeMap::new();
    for experiment in experiments::all() {
        for study in experiment.studies {
            for effort in [Effort::Quick, Effort::Full] {
                if let Err(error) = study.scenario(effort) {
                    panic!("{}: {error}", experiment.id);
                }
            }
            let before = seen
                .entry(study.name.clone())
                .or_insert_with(|| study.clone());
            assert_eq!(*before, study, "{}", experiment.id);
        }
    }
}

#[test]
fn every_claim_has_a_rule_that_what_is_reported_fulfils() {
    for experiment in experiments::all() {
        assert!(!experiment.claims.is_empty(), "{}", experiment.id);
        for claim in &experiment.claims {
            let of = format!("{} {}", experiment.id, claim.key);
            let same = experiment
                .claims
                .iter()
                .filter(|other| other.key == claim.key);
            assert_eq!(same.count(), 1, "{of}");
            if let Some(reported) = claim.reported.number() {
                assert!(
                    claim.rule.holds(reported) || claim.rule == Rule::Nothing,
                    "{of}"
                );
                let concludes = claim.conclusion.as_ref();
                assert!(
                    concludes.is_none_or(|weaker| weaker.rule.holds(reported)),
                    "{of}"
                );
            }
        }
    }
}

#[test]
fn what_was_fitted_is_said_where_values_are() {
    for experiment in experiments::all() {
        let fitted = experiment.claims.iter().any(|claim| claim.fitted);
        let mut choices = experiment.choices.iter();
        let said = choices.any(|choice| choice.chosen.contains("fitted"));
        assert!(!fitted || said, "{}", experiment.id);
    }
    let searched = experiments::select(&["DS-T3".to_owned(), "DS-T6".to_owned()]).unwrap();
    let mut claims = searched.iter().flat_map(|experiment| &experiment.claims);
    assert!(claims.all(|claim| claim.fitted));
}

/// An experiment with runs of a few seconds.
fn tiny(id: &str) -> Experiment {
    let mut experiment = experiments::select(&[id.to_owned()]).unwrap().remove(0);
    for study in &mut experiment.studies {
        study.quick = Scale::new(2, 5);
    }
    experiment
}

fn simulate(run: Run<'_>, go_on: &dyn Fn() -> bool) -> Made {
    Ok(netnice_sim::run_laid_out(run.laid_out()?, run.seed, go_on)?)
}

fn reproduce(experiment: Experiment, store: &Store, runs: &mut usize) -> Vec<Outcome> {
    let reproduction = Reproduction::new(vec![experiment], Effort::Quick).unwrap();
    let finished = reproduction
        .run(&simulate, Some(store), 2, |tick| {
            *runs = tick.of_runs;
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(finished.count(), reproduction.runs());
    reproduction.outcomes(&finished)
}

#[test]
fn a_tiny_reproduction_has_every_value_and_resumes_to_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let store = |resume| Store::new(directory.path(), resume, "1", vec!["netnice".to_owned()]);
    let mut runs = 0;
    let outcomes = reproduce(tiny("LP03-T1a"), &store(false), &mut runs);
    let values = &outcomes[0].values;
    assert_eq!(values.len(), tiny("LP03-T1a").claims.len());
    for value in values {
        assert!(value.ours.is_some(), "{}", value.claim.key);
        let reproduced = value.judgement.verdict == Verdict::Reproduced;
        assert_eq!(value.reason.is_none(), reproduced, "{}", value.claim.key);
    }
    // All runs are there, so nothing is run, and the outcome is the same to the last digit.
    assert!(reproduce(tiny("LP03-T1a"), &store(true), &mut runs) == outcomes);

    let kept = store(true).keep(outcomes.clone(), 2, 1.0).unwrap();
    assert!(Store::outcomes(directory.path()).unwrap() == kept);
    assert!(kept.outcomes == outcomes);
    let page = markdown(&kept);
    for value in values {
        let not_reproduced = value.judgement.verdict == Verdict::NotReproduced;
        let listed = value.claim.central || not_reproduced;
        let what = &value.claim.what;
        assert_eq!(page.contains(what), listed, "{what}");
        let reason = value.reason.iter().filter(|_| not_reproduced);
        for reason in reason {
            assert!(page.contains(reason), "{reason}");
        }
    }
    assert!(
        page.contains(&format!("| all | {} |", values.len())),
        "{page}"
    );
    // The tables of an experiment are in the report only.
    let mut tables = kept.outcomes[0].tables.iter();
    assert!(tables.all(|table| !page.contains(&table.title)));
    let place = |heading| page.find(heading).unwrap();
    assert!(place("## Values that TCP-LP's paper rests on") < place("## Findings"));
}

#[test]
fn reused_runs_have_their_time_series() {
    // So many samples that they are kept as Parquet files.
    let experiment = || {
        experiments::select(&["LP03-F6".to_owned()])
            .unwrap()
            .remove(0)
    };
    let directory = tempfile::tempdir().unwrap();
    let store = |resume| Store::new(directory.path(), resume, "1", vec!["netnice".to_owned()]);
    let mut runs = 0;
    let outcomes = reproduce(experiment(), &store(false), &mut runs);
    let series = directory.path().join("studies/lp03_f6/series");
    assert_eq!(series.read_dir().unwrap().count(), runs);
    assert!(outcomes[0].values.iter().all(|value| value.ours.is_some()));
    assert!(reproduce(experiment(), &store(true), &mut runs) == outcomes);
}

#[test]
fn a_stopped_reproduction_has_no_outcome() {
    let reproduction = Reproduction::new(vec![tiny("LP03-T1a")], Effort::Quick).unwrap();
    let finished = reproduction
        .run(&simulate, None, 1, |_| ControlFlow::Break(()))
        .unwrap();
    assert!(finished.count() < reproduction.runs());
    assert_eq!(reproduction.outcomes(&finished), []);
}
