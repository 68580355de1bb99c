// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small part of the grid, simulated, with bounds.

use std::fs;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use netnice_judge::{Effort, Judgement, Plan, markdown, page};
use netnice_results::Backend;
use netnice_scenario::network::not_simulated;
use netnice_scenario::{Check, ControlFiles, ScenarioFile};

const SIMULATED: (Backend, Check) = (Backend::Simulation, &not_simulated);

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Makes the runs of a plan, and stops after `most`; returns how many were finished.
fn simulate(plan: &Plan, out: &std::path::Path, resume: bool, most: usize) -> (Judgement, usize) {
    let begun = AtomicUsize::new(0);
    let made = AtomicUsize::new(0);
    let (judgement, _) = plan
        .run(
            &|run, go_on| {
                if begun.fetch_add(1, Ordering::Relaxed) >= most {
                    // Otherwise a fast run might end before the stop.
                    while go_on() {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    return Ok(None);
                }
                let run = netnice_sim::run_laid_out(run.laid_out()?, run.seed, go_on)?;
                made.fetch_add(usize::from(run.is_some()), Ordering::Relaxed);
                Ok(run)
            },
            out,
            resume,
            2,
            "test",
            names(&["netnice", "judge"]),
            |progress| match progress.runs < most {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            },
        )
        .unwrap();
    (judgement, made.into_inner())
}

#[test]
fn controls_yield_as_they_are_known_to() {
    let controls = names(&["netnice", "ledbatpp", "cubic"]);
    let rivals = names(&["cubic", "itself", "short"]);
    let plan = Plan::new(
        &controls,
        &names(&["base"]),
        &rivals,
        Effort::Quick,
        SIMULATED,
        1,
    )
    .unwrap();
    let out = tempfile::tempdir().unwrap();
    let (judgement, _) = simulate(&plan, out.path(), false, usize::MAX);
    let figure = |rival, control, name| {
        let cell = judgement.cell("base", rival, control).unwrap();
        cell.figures[name].mean
    };
    assert_eq!(figure("none", "cubic", "alone"), 1.0);
    assert!(figure("none", "netnice", "alone") > 0.9);
    assert!(figure("cubic", "netnice", "share") < 0.03);
    assert!(figure("cubic", "netnice", "harm") < 0.05);
    assert!(figure("cubic", "netnice", "yield_s") < 2.0);
    assert!(figure("short", "netnice", "harm_delay") < 0.2);
    assert!(figure("none", "netnice", "queue_s") < 0.02);
    // LEDBAT++ keeps a queue of 60 ms; two CUBICs share.
    assert!(figure("none", "ledbatpp", "queue_s") > 0.03);
    assert!((0.2..0.8).contains(&figure("cubic", "cubic", "share")));
    assert!(figure("cubic", "cubic", "harm") > 0.2);
    assert_eq!(figure("cubic", "cubic", "yield_s"), 12.0);

    let html = page::page(&judgement);
    for cell in &judgement.cells {
        let id = format!("id=\"{}.{}.{}\"", cell.path, cell.rival, cell.control);
        assert_eq!(html.matches(&id).count(), 1, "{id}");
    }
    let text = markdown::markdown(&judgement);
    assert!(text.contains("| base, cubic | **"), "{text}");
}

#[test]
fn finished_runs_are_reused_and_kept_when_stopped() {
    let plan = |controls: &[&str]| {
        let [paths, rivals] = [&["slow"], &["cubic"]].map(|all| names(all));
        Plan::new(
            &names(controls),
            &paths,
            &rivals,
            Effort::Quick,
            SIMULATED,
            1,
        )
        .unwrap()
    };
    let out = tempfile::tempdir().unwrap();
    let (first, made) = simulate(&plan(&["vegas"]), out.path(), false, 1);
    assert!(made == 1 && first.cells.len() < 2, "{made} runs");
    let (_, rest) = simulate(&plan(&["vegas"]), out.path(), true, usize::MAX);
    assert_eq!(made + rest, 4);
    let (whole, again) = simulate(&plan(&["vegas"]), out.path(), true, usize::MAX);
    assert_eq!((whole.cells.len(), again), (2, 0));
    // Another control needs its own runs only.
    let (_, more) = simulate(&plan(&["vegas", "reno"]), out.path(), true, usize::MAX);
    assert_eq!(more, 2);
    let plan = plan(&["vegas"]);
    let occupied = plan.run(
        &|_, _| Ok(None),
        out.path(),
        false,
        1,
        "test",
        Vec::new(),
        |_| ControlFlow::Continue(()),
    );
    assert!(occupied.unwrap_err().to_string().contains("--resume"));
}

#[test]
fn unknown_names_are_answered_by_those_that_exist() {
    let new = |control, path, rival| {
        let [controls, paths, rivals] = [control, path, rival].map(|name| names(&[name]));
        let plan = Plan::new(&controls, &paths, &rivals, Effort::Quick, SIMULATED, 1);
        plan.map(|_| ()).unwrap_err().to_string()
    };
    assert!(
        new("reno", "bass", "cubic").starts_with("there is no path \"bass\"; there are base, ")
    );
    assert!(new("reno", "base", "qubic").contains("rival \"qubic\"; there are cubic, reno"));
    assert!(new("renno", "base", "cubic").contains("did you mean `reno`"));
}

#[test]
fn a_control_in_a_file_is_judged_as_the_same_by_name() {
    const RENO: &str = include_str!("../../../python/tests/reno.h");
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("mine.h");
    fs::write(&file, RENO).unwrap();
    let plan = |controls: &[&str]| {
        let [paths, rivals] = [&["base"], &["itself"]].map(|all| names(all));
        Plan::new(
            &names(controls),
            &paths,
            &rivals,
            Effort::Quick,
            SIMULATED,
            1,
        )
    };
    let given = file.to_str().unwrap();
    let out = tempfile::tempdir().unwrap();
    let both = plan(&[given, "reno", "netnice"]).unwrap();
    let (judgement, made) = simulate(&both, out.path(), false, usize::MAX);
    assert_eq!(made, 7);
    let alone = |control| judgement.cell("base", "none", control).unwrap().figures["queue_s"].mean;
    // They round otherwise; netnice leaves the queue empty.
    let (own, reno, netnice) = (alone("mine.h"), alone("reno"), alone("netnice"));
    assert!(
        (own / reno - 1.0).abs() < 0.4 && netnice < reno / 2.0,
        "{own} {reno} {netnice}"
    );
    let cell = judgement.cell("base", "itself", "mine.h").unwrap();
    assert!(cell.figures["share"].mean > 0.3);
    // The scenario has its file beside it, and the command allows it.
    assert!(
        cell.run.starts_with("netnice sim --allow-control-files "),
        "{}",
        cell.run
    );
    let kept = out.path().join("scenarios");
    assert_eq!(fs::read_to_string(kept.join("mine.h")).unwrap(), RENO);
    let scenario = kept.join("base.itself.mine.h.toml");
    let allowed = ControlFiles::OfScenario;
    let again = ScenarioFile::load_for(&scenario, &[], allowed, &|_, _| Vec::new()).unwrap();
    let found = both
        .cases()
        .find(|(case, _)| case.name() == "base.itself.mine.h");
    assert_eq!(again.hash, found.unwrap().1.hash);
    // Runs of another text are not reused.
    fs::write(&file, RENO.replace("window->cwnd++", "window->cwnd += 2")).unwrap();
    let changed = plan(&[given, "reno", "netnice"]).unwrap();
    let (_, made) = simulate(&changed, out.path(), true, usize::MAX);
    assert_eq!(made, 2);

    let refused = |controls: &[&str]| plan(controls).map(drop).unwrap_err().to_string();
    assert!(refused(&[given, "./mine.h"]).contains("two of the controls are called mine.h"));
    assert!(refused(&["./my own.h"]).contains("call it by letters"));
    assert!(refused(&["./none.h"]).contains("No such file"));
    fs::write(&file, RENO.replace("INTERFACE 1", "INTERFACE 2")).unwrap();
    assert!(refused(&[given]).contains("this netnice has interface 1"));
}
