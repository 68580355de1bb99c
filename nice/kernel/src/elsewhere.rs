// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets that processes of attached cgroups hold and that were made in other cgroups: a listening socket or a connection which
//! somebody hands to a service. The programs of the cgroup never see them.
//!
//! One process in the background looks for them, for all attached cgroups. It holds nothing of the kernel's while it sleeps. It
//! notices, too, when a cgroup transfers over UDP (`udp/`).

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::FlockArg;
use nix::sys::stat::fstat;

use crate::cgroup::attachment;
use crate::cgroup::hierarchy::{Cgroup, Hierarchy};
use crate::error::Result;
use crate::locked_file::{self, Locked};
use crate::objects::pin_directory::PinDirectory;
use crate::renice;
use crate::runtime::background;
use crate::runtime::journal::{self, Kind};
use crate::settings::Settings;
use crate::sockets::storage::SocketStorage;
use crate::sockets::{governance, options, process};
use crate::udp::{self, Watch};

/// Name of the process.
const KEEPER: &CStr = c"nn-sockets";
/// Between looks for processes that have come into the cgroups.
const LOOK: Duration = Duration::from_millis(500);
/// Between looks at what processes hold that have been looked at before.
const REVIEW: Duration = Duration::from_secs(5);
/// It sleeps this many times as long as a look takes, at least.
const IDLE_PARTS: u32 = 100;

/// Starts the process, unless it runs. The cgroup must be on record as attached. Only one thread may be running.
pub(crate) fn keep(cgroup: &Cgroup, settings: &Settings, pins: &PinDirectory) -> Result<()> {
    let has_sockets = !is_root(cgroup) && settings.direction.sends();
    let needed = has_sockets || settings.wants_udp();
    if !needed || Turn::take(pins.home()).is_none() {
        return Ok(());
    }
    background::spawn(KEEPER, None, || {
        // The cgroup in which this process was started may be governed, or end with a session.
        if let Ok(root) = Hierarchy::find().and_then(|all| all.open("/")) {
            let _ = root.enter(std::process::id() as i32);
        }
        let pins = PinDirectory::find();
        while let Some(turn) = Turn::take(pins.home()) {
            look_after(&pins, &turn);
            drop(turn);
            // Whoever has attached a cgroup before that has started no other process.
            if attached(pins.home()).is_empty() {
                break;
            }
        }
    })
}

/// Returns true if all sockets are made in a cgroup, or below.
fn is_root(cgroup: &Cgroup) -> bool {
    cgroup.path().trim_matches('/').is_empty()
}

/// The right to look after the cgroups on record, which one process has.
struct Turn(Locked);

impl Turn {
    fn take(home: &Path) -> Option<Self> {
        let records = File::open(journal::directory(home)).ok()?;
        let locked = locked_file::lock(records, FlockArg::LockExclusiveNonblock);
        locked.ok().map(Self)
    }

    /// Returns true until the records are removed, whether or not others are made.
    fn holds(&self, home: &Path) -> bool {
        let number = |found: fs::Metadata| found.ino();
        let there = fs::metadata(journal::directory(home)).map(number).ok();
        there.is_some() && there == self.0.metadata().map(number).ok()
    }
}

/// Returns the attached cgroups.
fn attached(home: &Path) -> Vec<Cgroup> {
    let Ok(hierarchy) = Hierarchy::find() else {
        return Vec::new();
    };
    let records = journal::cgroups(home, Kind::Attached).into_iter();
    let there = records.filter_map(|(id, path)| {
        let cgroup = hierarchy.open(&path).ok()?;
        (cgroup.id() == id).then_some(cgroup)
    });
    there.collect()
}

/// Looks after the attached cgroups until there is none.
fn look_after(pins: &PinDirectory, turn: &Turn) {
    let mut known: HashMap<u64, Known> = HashMap::new();
    loop {
        let begun = Instant::now();
        let attached = match turn.holds(pins.home()) {
            true => attached(pins.home()),
            false => Vec::new(),
        };
        let ids: HashSet<u64> = attached.iter().map(Cgroup::id).collect();
        let mut left = HashSet::new();
        known.retain(|id, known| {
            let stays = ids.contains(id);
            if !stays {
                left.extend(known.listening.drain());
            }
            stays
        });
        release(&left, pins);
        if attached.is_empty() {
            return;
        }
        for cgroup in &attached {
            let known = (known.entry(cgroup.id())).or_insert_with(|| Known::new(cgroup.id()));
            known.look(cgroup, &ids, pins);
            udp::look_at_attached(&mut known.udp, cgroup, pins);
        }
        thread::sleep(LOOK.max(begun.elapsed() * IDLE_PARTS));
    }
}

/// What is known of an attached cgroup.
struct Known {
    processes: HashSet<i32>,
    reviewed: Instant,
    /// Inodes of the listening sockets that were given low priority: others may hold them longer than the cgroup is attached.
    listening: HashSet<u64>,
    udp: Watch,
}

impl Known {
    fn new(id: u64) -> Self {
        Self {
            udp: Watch::new(id, false),
            processes: HashSet::new(),
            reviewed: Instant::now(),
            listening: HashSet::new(),
        }
    }

    fn look(&mut self, cgroup: &Cgroup, attached: &HashSet<u64>, pins: &PinDirectory) {
        if is_root(cgroup) {
            return;
        }
        let found = processes(cgroup, attached);
        if self.reviewed.elapsed() >= REVIEW {
            self.reviewed = Instant::now();
            self.processes.clear();
        }
        let is_new = |pid: &&i32| !self.processes.contains(*pid);
        let new: Vec<i32> = found.iter().filter(is_new).copied().collect();
        self.processes = found.into_iter().collect();
        if new.is_empty() {
            return;
        }
        let Some(settings) = attachment::sending_settings(cgroup, pins) else {
            return;
        };
        let Ok(storage) = SocketStorage::open(pins) else {
            return;
        };
        let governed = renice::set_others(&new, &settings, &storage);
        if attachment::is_attached(cgroup).unwrap_or(false) {
            let listening = governed.iter().filter_map(listening_inode);
            self.listening.extend(listening);
            return;
        }
        // It was detached meanwhile, which may not have found them.
        for socket in governed {
            let _ = governance::release(&socket, Some(&storage));
        }
    }
}

/// Returns the processes in a cgroup and below, without those below that have settings of their own.
fn processes(cgroup: &Cgroup, attached: &HashSet<u64>) -> Vec<i32> {
    // The cgroup may be removed meanwhile.
    let mut found = cgroup.processes().unwrap_or_default();
    for child in cgroup.children().unwrap_or_default() {
        if !attached.contains(&child.id()) && !child.is_ours() {
            found.extend(processes(&child, attached));
        }
    }
    found
}

fn listening_inode(socket: &OwnedFd) -> Option<u64> {
    let listens = options::listens(socket).unwrap_or(false);
    let inode = fstat(socket).ok()?.st_ino;
    listens.then_some(inode)
}

/// Takes low priority from sockets, given by their inodes, that somebody still holds.
fn release(sockets: &HashSet<u64>, pins: &PinDirectory) {
    if sockets.is_empty() {
        return;
    }
    // Where the records have gone it gets the usual control.
    let storage = SocketStorage::open(pins).ok();
    for (pid, number) in process::holders(sockets).into_values() {
        let socket = process::Handle::open(pid).and_then(|process| process.copy_descriptor(number));
        let _ = socket.and_then(|socket| governance::release(&socket, storage.as_ref()));
    }
}
