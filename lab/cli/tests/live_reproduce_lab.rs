// SPDX-License-Identifier: MIT OR Apache-2.0
//! An experiment of the papers on this kernel, in a few seconds: what fits is measured, what does not is said.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use netnice_emulation::{self as experiment, Lab};
use netnice_papers::{
    Effort, LabLimits, LabSummary, LabValue, Reproduction, Scale, Store, Tick, experiments,
    markdown,
};
use netnice_study::Run;

#[test]
fn what_fits_is_measured_on_this_kernel_and_what_does_not_is_said() {
    let mut chosen = experiments::select(&["LP03-T1a".to_owned()]).unwrap();
    for study in &mut chosen[0].studies {
        study.quick = Scale::new(1, 4);
        if study.name == "lp03_t1a_tcplp_ecn" {
            let control = "flows.low.congestion_control".to_owned();
            study.settings.push((control, "bbr3".to_owned()));
        }
    }
    let reproduction = Reproduction::new(chosen, Effort::Quick).unwrap();
    let go_on = |_| ControlFlow::Continue(());
    let simulate = |run: Run<'_>, go_on: &dyn Fn() -> bool| {
        let made = netnice_sim::run_laid_out(run.laid_out()?, run.seed, go_on);
        Ok(made?)
    };
    let simulated = reproduction.run(&simulate, None, 2, go_on).unwrap();
    let mut outcomes = reproduction.outcomes(&simulated);
    let limits = LabLimits {
        seeds: 1,
        longest: Duration::from_secs(4),
        repeats: 0,
    };
    let on_kernel = reproduction
        .on_kernel(&simulated, limits, &experiment::check)
        .unwrap();
    // TCP alone and beside TCP-LP: the others are no part of a value, or have a control that this kernel has not.
    assert_eq!(on_kernel.runs(), 2);
    assert_eq!(on_kernel.real_time(), Duration::from_secs(8));

    let directory = tempfile::tempdir().unwrap();
    let store = |resume| Store::new(directory.path(), resume, "1", vec!["netnice".to_owned()]);
    let lab = Lab::open(on_kernel.scenarios()).unwrap();
    let made = AtomicUsize::new(0);
    let make = |run: Run<'_>, go_on: &dyn Fn() -> bool| {
        let run = lab.run(run.laid_out()?, run.seed, None, go_on)?;
        made.fetch_add(usize::from(run.is_some()), Ordering::Relaxed);
        Ok(run)
    };
    // Interrupted after the first run: that is kept, and not run again.
    let after_one = |tick: Tick| match tick.runs {
        0 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let one = on_kernel
        .run(&make, Some(&store(false)), 1, after_one)
        .unwrap();
    assert_eq!(one.count(), 1);
    let mut unfinished = outcomes.clone();
    on_kernel.add_to(&mut unfinished, &one);
    assert!(
        unfinished[0].values.iter().any(|value| matches!(
            &value.lab,
            Some(LabValue::NotMeasured { reason }) if reason.contains("interrupted")
        )),
        "{unfinished:?}"
    );
    let measured = on_kernel.run(&make, Some(&store(true)), 2, go_on).unwrap();
    lab.close().unwrap();
    assert_eq!((measured.count(), made.into_inner()), (2, 2));
    on_kernel.add_to(&mut outcomes, &measured);

    let value = |key: &str| {
        let mut values = outcomes[0].values.iter();
        values.find(|value| value.claim.key == key).unwrap()
    };
    for key in ["tcplp", "kept"] {
        match &value(key).lab {
            Some(LabValue::Measured { ours, .. }) => {
                assert!(ours.mean > 0.0 && ours.mean < 150.0, "{key}: {ours:?}");
            }
            other => panic!("{key}: {other:?}"),
        }
    }
    match &value("ecn").lab {
        Some(LabValue::NotMeasured { reason }) => {
            assert!(reason.contains("control `bbr3`"), "{reason}");
        }
        other => panic!("ecn: {other:?}"),
    }
    let record = outcomes[0].lab.as_ref().unwrap();
    assert!(!record.kernel.is_empty());
    assert!(
        record
            .studies
            .iter()
            .all(|study| study.command.starts_with("netnice lab "))
    );
    assert!(directory.path().join("lab/lp03_t1a_tcplp/runs").exists());
    let outcomes = store(true).keep(outcomes, 1, 1.0).unwrap();
    let page = markdown(&outcomes);
    assert!(page.contains("measured on a kernel"), "{page}");
    let summary = LabSummary::of(&outcomes.outcomes).unwrap();
    assert_eq!(summary.counts.all(), 2);
    assert!(page.contains(&summary.words()), "{page}");
}
