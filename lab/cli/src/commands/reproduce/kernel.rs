// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice reproduce --lab`: runs the experiments that fit an emulated link on this kernel.

use anyhow::Result;
use netnice_papers::{Finished, LabReproduction, Store};
use nix::sys::signal::Signal;

use super::super::lab;
use super::super::progress::Progress;
use netnice_terminal::text::say;

/// The outcome of the runs.
pub struct Done {
    /// Finished runs.
    pub finished: Finished,
    /// Signal that ended them early.
    pub interrupted: Option<Signal>,
}

/// Makes the runs that are not in the store yet.
pub fn run(
    reproduction: &LabReproduction<'_>,
    store: &Store,
    jobs: usize,
    quiet: bool,
) -> Result<Done> {
    if reproduction.runs() == 0 {
        say!("netnice: nothing of this fits an emulated link; the reasons stand beside the values");
        return Ok(Done {
            finished: Finished::default(),
            interrupted: None,
        });
    }
    if !quiet {
        let minutes = reproduction.real_time().as_secs().div_ceil(60);
        say!(
            "netnice: {} runs on this kernel take {minutes} min one after the other",
            reproduction.runs()
        );
    }
    let lab = lab::open(reproduction.scenarios())?;
    let mut progress = Progress::new(quiet)?;
    let finished = reproduction.run(&lab::maker(&lab), Some(store), jobs, |tick| {
        progress.tick(tick)
    });
    let interrupted = progress.finish();
    lab.close()?;
    Ok(Done {
        finished: finished?,
        interrupted,
    })
}
