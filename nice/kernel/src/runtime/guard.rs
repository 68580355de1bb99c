// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guard of a cgroup that netnice created: a background process that finally removes it.

use std::time::Duration;

use crate::cgroup::attachment::Attacher;
use crate::cgroup::hierarchy::{Cgroup, Hierarchy};
use crate::error::Result;
use crate::runtime::background;
use crate::runtime::journal;
use crate::runtime::log;
use crate::runtime::pins::Pins;
use crate::settings::{Settings, Udp};
use crate::sockets::connections::Sums;
use crate::sockets::storage::SocketStorage;

/// Tells the system's log of connections that had another control: nobody waits for the command to say so.
fn warn_of_ungoverned(pins: &Pins, path: &str, id: u64) {
    let totals = SocketStorage::open(pins)
        .ok()
        .and_then(|storage| storage.totals(id));
    let sums = Sums {
        totals: totals.unwrap_or_default(),
        ..Sums::default()
    };
    // Whether received data was to be governed is not known here.
    if let Some(words) = sums.ungoverned(true) {
        log::warn(&format!("of the command in {path}: {words}"));
    }
}

/// Starts a process that removes the cgroup once no process holds its record or is in it. The caller must not be in the
/// cgroup yet: the guard would inherit it. Before, once nobody holds the record, it does what `settings` leave for then.
pub(crate) fn remove_when_empty(cgroup: &Cgroup, settings: &Settings) -> Result<()> {
    remove_and_look(
        cgroup,
        settings,
        None::<fn(&Cgroup, &Pins) -> Option<Duration>>,
    )
}

/// As [`remove_when_empty`], and calls `look` while the cgroup is not empty, which returns after how long to look again, if at all.
pub(crate) fn remove_and_look(
    cgroup: &Cgroup,
    settings: &Settings,
    mut look: Option<impl FnMut(&Cgroup, &Pins) -> Option<Duration>>,
) -> Result<()> {
    let (path, id) = (cgroup.path().to_owned(), cgroup.id());
    let utp_is_left = settings.udp == Udp::Soon && settings.wants_udp();
    background::spawn(background::GUARD, None, || {
        let Ok(pins) = Pins::open() else { return };
        let opened = || Hierarchy::find().and_then(|hierarchy| hierarchy.open(&path));
        // A process that waits for the command holds the record until the command ends.
        match opened() {
            Ok(cgroup) if look.is_some() && !utp_is_left => {
                journal::wait_until_begun(pins.home(), &cgroup);
            }
            _ => journal::wait_until_released(pins.home(), id),
        }
        // If anything fails here, the next call finds the record and retries.
        if let Ok(cgroup) = opened() {
            if utp_is_left
                && cgroup
                    .processes_beneath()
                    .is_ok_and(|found| !found.is_empty())
            {
                // Where it cannot be governed, `check` and `run -v` say why.
                let _ = Attacher::govern_utp_now(&cgroup, settings, &pins);
            }
            let _ = cgroup.wait_until_empty(|| look.as_mut()?(&cgroup, &pins));
        }
        journal::wait_until_released(pins.home(), id);
        warn_of_ungoverned(&pins, &path, id);
        let _ = pins.close();
    })
}
