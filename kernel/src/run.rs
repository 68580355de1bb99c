// SPDX-License-Identifier: MIT OR Apache-2.0
//! Low priority for this process and all that it starts from now on.

use nix::unistd::getpid;

use crate::background;
use crate::cgroup::{Cgroup, Hierarchy};
use crate::connections;
use crate::control::Registered;
use crate::error::Result;
use crate::flow::Totals;
use crate::pins::Pins;
use crate::placement::{Placer, Settings};
use crate::records::{self, Kind, Record};

/// Proof that this process has low priority, and the means to learn what came of it.
pub struct Entered {
    placer: Placer,
    group: u64,
    registered: Registered,
    /// Keeps the sums until they have been read.
    _record: Record,
    _pins: Pins,
}

/// Moves this process into a cgroup of its own whose sockets get low priority. The cgroup is
/// removed when the last process in it has ended, even if netnice itself is killed before.
pub fn enter(settings: &Settings) -> Result<Entered> {
    let pins = Pins::open()?;
    let cgroup = Hierarchy::find()?
        .of(None)?
        .create_child(&format!("netnice-run-{}", getpid()))?;
    let record = Record::new(&pins, Kind::Made, &cgroup)?;
    tidy_up_later(&cgroup)?;
    // Moving waits for other processors, loading computes: they do not hinder each other.
    let (loaded, moved) = std::thread::scope(|scope| {
        let moving = scope.spawn(|| cgroup.enter(getpid().as_raw()));
        let loaded = Placer::with(settings.control, &pins);
        (loaded, moving.join().expect("moving does not panic"))
    });
    let (registered, placer) = moved.and(loaded)?;
    placer.count(cgroup.id())?;
    placer.attach(&cgroup, settings)?;
    Ok(Entered {
        placer,
        group: cgroup.id(),
        registered,
        _record: record,
        _pins: pins,
    })
}

impl Entered {
    /// Whether the control was there, and if so, whose.
    pub fn registered(&self) -> Registered {
        self.registered
    }

    /// Sums over the connections so far, those that are still open included.
    pub fn totals(&self) -> Result<Totals> {
        let mut sums = connections::open_totals(self.group)?;
        let finished = self.placer.totals(self.group).unwrap_or_default();
        sums.sockets += finished.sockets;
        sums.bytes_sent += finished.bytes_sent;
        sums.bytes_received += finished.bytes_received;
        sums.yields += finished.yields;
        sums.without_timestamps += finished.without_timestamps;
        Ok(sums)
    }
}

/// Leaves a process behind that removes a cgroup of ours once nobody holds its record and no
/// process lives in it. The caller may not have moved there yet: it would take that one along.
pub(crate) fn tidy_up_later(cgroup: &Cgroup) -> Result<()> {
    let (path, id) = (cgroup.path().to_owned(), cgroup.id());
    background::spawn(None, || {
        let Ok(pins) = Pins::open() else { return };
        records::wait_until_released(pins.home(), id);
        // Whatever fails here, the next call finds the record and tries again.
        if let Ok(cgroup) = Hierarchy::find().and_then(|hierarchy| hierarchy.open(&path)) {
            let _ = cgroup.wait_until_empty();
        }
        let _ = pins.close();
    })
}
