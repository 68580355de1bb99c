// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small part of the grid, simulated, with bounds.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use netnice_judge::{Effort, Judgement, Plan, markdown, page};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Makes the runs of a plan, and stops after `most`; returns how many were finished.
fn simulate(plan: &Plan, out: &std::path::Path, resume: bool, most: usize) -> (Judgement, usize) {
    let begun = AtomicUsize::new(0);
    let made = AtomicUsize::new(0);
    let (judgement, _) = plan
        .run(
            &|scenario, seed, go_on| {
                if begun.fetch_add(1, Ordering::Relaxed) >= most {
                    // Otherwise a fast run might end before the stop.
                    while go_on() {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    return Ok(None);
                }
                let run = netnice_sim::run(scenario, seed, go_on)?;
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
        false,
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
        Plan::new(&names(controls), &paths, &rivals, Effort::Quick, false, 1).unwrap()
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
        &|_, _, _| Ok(None),
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
        let plan = Plan::new(&controls, &paths, &rivals, Effort::Quick, false, 1);
        plan.map(|_| ()).unwrap_err().to_string()
    };
    assert!(
        new("reno", "bass", "cubic").starts_with("there is no path \"bass\"; there are base, ")
    );
    assert!(new("reno", "base", "qubic").contains("rival \"qubic\"; there are cubic, reno"));
    assert!(new("renno", "base", "cubic").contains("did you mean `reno`"));
}
