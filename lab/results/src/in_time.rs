// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of a lab that are made again where the machine was late: their figures do not describe what ran.

use super::RunResults;

impl RunResults {
    /// Returns true unless the run was a lab's and says that it cannot be trusted.
    pub fn was_in_time(&self) -> bool {
        self.lab.as_ref().is_none_or(|report| report.trustworthy)
    }
}

/// Makes a run, and makes it again up to `repeats` times while the machine was late in it. The last one counts that came to
/// its end; `make` returns `None` for one that was stopped.
pub fn until_in_time<E>(
    repeats: u32,
    make: impl Fn() -> Result<Option<RunResults>, E>,
) -> Result<Option<RunResults>, E> {
    let mut run = make()?;
    for _ in 0..repeats {
        if run.as_ref().is_none_or(RunResults::was_in_time) {
            break;
        }
        match make()? {
            Some(again) => run = Some(again),
            // Stopped: the late one is all there is.
            None => break,
        }
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::LabReport;
    use super::*;

    fn run(trustworthy: bool) -> RunResults {
        RunResults {
            lab: Some(LabReport {
                trustworthy,
                ..LabReport::default()
            }),
            ..RunResults::default()
        }
    }

    #[test]
    fn a_run_is_made_again_while_the_machine_is_late() {
        // Late in so many runs, and allowed so many more: runs made, and whether the last was in time.
        for (late, repeats, expected) in [
            (0, 2, (1, true)),
            (1, 2, (2, true)),
            (9, 2, (3, false)),
            (9, 0, (1, false)),
        ] {
            let made = Cell::new(0);
            let make = || {
                made.set(made.get() + 1);
                Ok::<_, ()>(Some(run(made.get() > late)))
            };
            let last = until_in_time(repeats, make).unwrap().unwrap();
            assert_eq!((made.get(), last.was_in_time()), expected);
        }
    }

    #[test]
    fn a_stopped_run_is_not_made_again() {
        // The late run is kept where the next one is stopped.
        for (late, expected) in [(0, (1, None)), (1, (2, Some(run(false))))] {
            let made = Cell::new(0);
            let last = until_in_time(2, || {
                made.set(made.get() + 1);
                Ok::<_, ()>((made.get() <= late).then(|| run(false)))
            });
            assert_eq!((made.get(), last.unwrap()), expected);
        }
    }
}
