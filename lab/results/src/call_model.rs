// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls with more loss than the E-model is for.

use crate::{CallResult, RunResults};

/// A call whose score means little.
#[derive(Debug, Clone, PartialEq)]
pub struct CallBeyondTheModel {
    /// Name of the flow.
    pub flow: String,
    /// Share of the packets that were lost on the way, 0 to 1.
    pub lost: f64,
    /// Share of the packets that came after their playout time, 0 to 1.
    pub late: f64,
}

impl CallBeyondTheModel {
    /// The largest share of packets not played for which the E-model is meant: Ppl of 20 % (ITU-T G.107, table 2).
    pub const MOST: f64 = 0.2;

    /// Share of the packets that were not played, 0 to 1.
    pub fn not_played(&self) -> f64 {
        self.lost + self.late
    }
}

/// The calls of a run of whose packets more than [`CallBeyondTheModel::MOST`] were not played.
pub fn calls_beyond_the_model(run: &RunResults) -> Vec<CallBeyondTheModel> {
    let calls = run.calls.iter().map(|CallResult { flow, quality, .. }| {
        let share = |packets: u64| packets as f64 / quality.packets.max(1) as f64;
        CallBeyondTheModel {
            flow: flow.clone(),
            lost: share(quality.lost),
            late: share(quality.late),
        }
    });
    let beyond = |call: &CallBeyondTheModel| call.not_played() > CallBeyondTheModel::MOST;
    calls.filter(beyond).collect()
}
