// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guard of a cgroup of ours: a process in the background that removes the cgroup in the end.

use crate::cgroup::hierarchy::{Cgroup, Hierarchy};
use crate::error::Result;
use crate::runtime::background;
use crate::runtime::journal;
use crate::runtime::pins::Pins;

/// Leaves a process behind that removes a cgroup of ours once nobody holds its record and no
/// process lives in it. The caller may not have moved there yet: it would take that one along.
pub(crate) fn remove_when_empty(cgroup: &Cgroup) -> Result<()> {
    let (path, id) = (cgroup.path().to_owned(), cgroup.id());
    background::spawn(background::GUARD, None, || {
        let Ok(pins) = Pins::open() else { return };
        journal::wait_until_released(pins.home(), id);
        // Whatever fails here, the next call finds the record and tries again.
        if let Ok(cgroup) = Hierarchy::find().and_then(|hierarchy| hierarchy.open(&path)) {
            let _ = cgroup.wait_until_empty();
        }
        let _ = pins.close();
    })
}
