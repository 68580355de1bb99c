// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes a found environment as plain as its figure allows.

use super::OF_SHRINKING;
use super::measured::Measurements;
use super::space::{Environment, Space};
use crate::error::PlanError;

/// Part of the distance to the figure of the plain path that a plainer environment has to keep.
const KEPT: f64 = 0.8;

/// Returns the environment with as many values of the plain path, and as many round ones, as leave the figure nearly as bad;
/// `None` where `go_on` has stopped it.
pub(super) fn shrink(
    space: &Space,
    control: &str,
    found: &Environment,
    figure: usize,
    kept: &Measurements<'_>,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Environment>, PlanError> {
    let badness = |environment: &Environment| -> Result<Option<f64>, PlanError> {
        let measured = kept.one(control, environment, &OF_SHRINKING, go_on)?;
        Ok(measured.then(|| kept.badness(control, environment, &OF_SHRINKING, figure)))
    };
    let (Some(plain), Some(worst)) = (badness(&space.plain())?, badness(found)?) else {
        return Ok(None);
    };
    let enough = plain + KEPT * (worst - plain);
    let mut environment = found.clone();
    for plain in [true, false] {
        for (place, range) in space.ranges.iter().enumerate() {
            let other = match plain {
                true => Some(range.plain.clone()),
                false => range.rounder(&environment[place]),
            };
            let Some(other) = other
                .filter(|other| environment[place] != range.plain && environment[place] != *other)
            else {
                continue;
            };
            let mut candidate = environment.clone();
            candidate[place] = other;
            let candidate = space.used(candidate);
            let Some(badness) = badness(&candidate)? else {
                return Ok(None);
            };
            if badness >= enough {
                environment = candidate;
            }
        }
    }
    Ok(Some(environment))
}
