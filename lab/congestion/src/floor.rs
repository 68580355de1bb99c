// SPDX-License-Identifier: MIT OR Apache-2.0
//! The native build of `policies/floor.h`: a floor under a group of connections, and the deadline that it follows from.

use std::time::Duration;

use netnice_parameters::deadline::Plan;
use netnice_parameters::exchange::Parameters;

/// The floor of a group in one direction: `struct floor`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Floor {
    /// Rate that the group gets at least, in bytes per second; 0 for none.
    pub(crate) bytes_per_s: u64,
    rest: [u64; 11],
}

/// Time from one reckoning of a deadline to the next, as in the kernel's keeper of promises.
const RECKONING: Duration = Duration::from_secs(1);

/// State that the connections of a group share at their sender.
#[derive(Debug, Default)]
pub struct Group {
    pub(crate) floor: Floor,
    deadline: Option<Deadline>,
}

#[derive(Debug)]
struct Deadline {
    plan: Plan,
    /// To be sent, in bytes.
    bytes: u64,
    /// Acknowledged so far, in bytes.
    done: u64,
    reckoned: Option<Duration>,
}

impl Group {
    /// Makes the group, before its first ACK, send so many more bytes until a time of the run: its floor is what that needs.
    pub fn promise(&mut self, bytes: u64, by: Duration) {
        let bytes = bytes + self.deadline.as_ref().map_or(0, |deadline| deadline.bytes);
        self.deadline = Some(Deadline {
            plan: Plan::new(bytes, by),
            bytes,
            done: 0,
            reckoned: None,
        });
    }

    pub(crate) fn has_deadline(&self) -> bool {
        self.deadline.is_some()
    }

    /// Notes what was acknowledged, and sets the floor that the deadline needs, once a second.
    pub(crate) fn on_ack(&mut self, now: Duration, bytes: u64) {
        let Some(deadline) = &mut self.deadline else {
            return;
        };
        deadline.done += bytes;
        let due = deadline.reckoned.is_none_or(|then| now >= then + RECKONING);
        if due {
            deadline.reckoned = Some(now);
            self.floor.bytes_per_s = deadline.plan.look(now, deadline.done).floor;
        }
    }
}

unsafe extern "C" {
    fn native_floor_bytes_per_s(wanted: *const Parameters) -> u64;
    fn native_floor_cube_root(cube: u64) -> u32;
}

impl Floor {
    /// The floor that these parameters ask for, if any.
    pub fn new(parameters: &Parameters) -> Floor {
        Floor {
            // SAFETY: a function of the parameters.
            bytes_per_s: unsafe { native_floor_bytes_per_s(parameters) },
            ..Floor::default()
        }
    }
}

/// Returns the cube root by which the window's rise is computed, rounded down.
pub fn cube_root(cube: u64) -> u32 {
    // SAFETY: a function of a number.
    unsafe { native_floor_cube_root(cube) }
}
