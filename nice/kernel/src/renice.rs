// SPDX-License-Identifier: MIT OR Apache-2.0
//! Low priority for running processes: their open connections, and as root their future ones.

use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use nix::unistd::geteuid;

use crate::cgroup::attachment::{self, Attacher};
use crate::cgroup::hierarchy::{Cgroup, Hierarchy};
use crate::error::{Error, Result};
use crate::objects::control::is_ours;
use crate::runtime::guard::remove_when_empty;
use crate::runtime::journal::{Kind, Record};
use crate::runtime::pins::Pins;
use crate::settings::{Settings, Udp};
use crate::sockets::process::{self, Handle};
use crate::sockets::storage::SocketStorage;
use crate::sockets::{governance, options};

/// The changes that were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Processes inspected.
    pub processes: usize,
    /// Sockets changed: open connections and listening sockets.
    pub sockets: usize,
    /// Sockets among them by which systemd listens for the service.
    pub listening: usize,
    /// Processes whose files this user may not inspect.
    pub denied: usize,
    /// True if sockets that the processes open from now on are governed, too.
    pub future: bool,
    /// Reason received data is not governed although both directions were requested.
    pub receive_refused: Option<String>,
    /// Path of the cgroup that has low priority as a whole and keeps it, if any.
    pub attached: Option<String>,
}

impl Outcome {
    /// Adds the changes of another cgroup.
    pub fn add(&mut self, other: Outcome) {
        self.processes += other.processes;
        self.sockets += other.sockets;
        self.listening += other.listening;
        self.denied += other.denied;
        self.future |= other.future;
        self.receive_refused = self.receive_refused.take().or(other.receive_refused);
        self.attached = self.attached.take().or(other.attached);
    }
}

/// Gives low priority to a process and its descendants.
pub fn set(pid: i32, settings: &Settings) -> Result<Outcome> {
    let family = process::with_descendants(pid)?;
    let mut outcome = Outcome::default();
    if !geteuid().is_root() {
        settings.control.check_open_to_all()?;
        if !settings.control.is_registered() {
            return Err(settings.control.not_registered());
        }
        if !settings.parameters.is_default() {
            return Err(Error::NeedsRoot {
                action: "setting parameters of the control",
            });
        }
        if !settings.direction.sends() {
            return Err(Error::NeedsRoot {
                action: "governing what is received",
            });
        }
        if settings.udp == Udp::Yes {
            return Err(Error::NeedsRoot {
                action: "governing UDP",
            });
        }
        reachable(pid)?;
        Sockets::default().govern(&family, settings, None, &mut outcome);
        return Ok(outcome);
    }
    let pins = Pins::open()?;
    let (_, attacher) = Attacher::with(settings, &pins)?;
    let moved = move_in(pid, settings, &pins, &attacher);
    let family = process::with_descendants(pid)?;
    outcome.future = moved.is_ok();
    outcome.receive_refused = attacher.receive_refused().map(str::to_owned);
    Sockets::default().govern(&family, settings, Some(attacher.storage()), &mut outcome);
    // The connections are changed even if moving between cgroups failed.
    pins.close()?;
    moved?;
    Ok(outcome)
}

/// Removes low priority from a process and its descendants.
pub fn unset(pid: i32) -> Result<Outcome> {
    let family = process::with_descendants(pid)?;
    let mut outcome = Outcome::default();
    if !geteuid().is_root() {
        reachable(pid)?;
        Sockets::default().release(&family, None, &mut outcome);
        return Ok(outcome);
    }
    let pins = Pins::open()?;
    // Without the programs no cgroup can have them, and no socket has a record.
    let attacher = Attacher::open(&pins)?;
    outcome.attached = move_out(pid)?;
    outcome.future = outcome.attached.is_none();
    let family = process::with_descendants(pid)?;
    Sockets::default().release(&family, Some(attacher.storage()), &mut outcome);
    pins.close()?;
    Ok(outcome)
}

/// Gives low priority to the open connections of processes, or removes it; complements settings of their cgroup.
pub(crate) fn set_open(pids: &[i32], settings: Option<&Settings>, attacher: &Attacher) -> Outcome {
    let mut outcome = Outcome::default();
    let mut sockets = Sockets::default();
    match settings {
        Some(settings) => sockets.govern(pids, settings, Some(attacher.storage()), &mut outcome),
        None => sockets.release(pids, Some(attacher.storage()), &mut outcome),
    }
    outcome
}

/// Gives low priority to the sockets by which a process listens at these addresses, and so to what is sent by the connections
/// accepted there, or removes it; returns how many there were. As systemd has them, for services that it starts.
pub(crate) fn set_listening(
    pid: i32,
    addresses: &[SocketAddr],
    settings: Option<&Settings>,
    storage: &SocketStorage,
) -> usize {
    if addresses.is_empty() {
        return 0;
    }
    let mut outcome = Outcome::default();
    Sockets::default().each(&[pid], &mut outcome, |socket| {
        let at = options::local_address(socket);
        if !options::listens(socket)? || !at.is_some_and(|at| addresses.contains(&at)) {
            return Ok(false);
        }
        match settings {
            Some(settings) => governance::govern(socket, settings, Some(storage)),
            None => governance::release(socket, Some(storage)),
        }
    });
    outcome.sockets
}

/// Gives low priority to the connections and listening sockets of processes that none of netnice's controls governs, but not to
/// those that it was removed from; returns copies of these sockets.
pub(crate) fn set_others(
    pids: &[i32],
    settings: &Settings,
    storage: &SocketStorage,
) -> Vec<OwnedFd> {
    let governed = RefCell::new(Vec::new());
    Sockets::default().each(pids, &mut Outcome::default(), |socket| {
        let is_in_use = options::is_connected(socket) || options::listens(socket)?;
        if !is_in_use
            || is_ours(&options::control(socket)?)
            || governance::was_released(socket, storage)
        {
            return Ok(false);
        }
        let is_governed = governance::govern(socket, settings, Some(storage))?;
        if is_governed {
            governed.borrow_mut().push(socket.try_clone()?);
        }
        Ok(is_governed)
    });
    governed.into_inner()
}

/// Returns the number of TCP connections of a process that none of netnice's controls governs.
pub(crate) fn other_connections(pid: i32) -> usize {
    let mut outcome = Outcome::default();
    Sockets::default().each(&[pid], &mut outcome, |socket| {
        Ok(options::is_connected(socket) && !is_ours(&options::control(socket)?))
    });
    outcome.sockets
}

/// Fails if the process itself is another user's; inaccessible descendants are no error.
fn reachable(pid: i32) -> Result<()> {
    match process::sockets(pid) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(Error::NotOurs { pid })
        }
        _ => Ok(()),
    }
}

/// Moves the process and its descendants, each into a new child of its cgroup. Repeats for processes forked meanwhile.
fn move_in(pid: i32, settings: &Settings, pins: &Pins, attacher: &Attacher) -> Result<()> {
    let hierarchy = Hierarchy::find()?;
    let mut moved = HashSet::new();
    let mut homes: HashMap<u64, (Cgroup, Record)> = HashMap::new();
    loop {
        let family = process::with_descendants(pid)?;
        let Some(&next) = family.iter().find(|pid| !moved.contains(*pid)) else {
            return Ok(());
        };
        moved.insert(next);
        // The process may have ended since it was listed.
        let Ok(from) = hierarchy.of(Some(next)) else {
            continue;
        };
        let is_home = homes.values().any(|(home, _)| home.id() == from.id());
        if is_home {
            continue;
        }
        let (home, _) = match homes.entry(from.id()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let home = from.create_child(&format!("netnice-pid-{pid}"))?;
                let record = Record::new(pins, Kind::Made, &home)?;
                remove_when_empty(&home, settings)?;
                attacher.attach(&home, settings)?;
                entry.insert((home, record))
            }
        };
        match home.enter(next) {
            Err(error) if error.errno() == Some(libc::ESRCH) => {}
            other => other?,
        }
    }
}

/// Moves the process and its descendants to the nearest ancestor cgroup not created by netnice; returns the path of
/// such a cgroup that has low priority by other means.
fn move_out(pid: i32) -> Result<Option<String>> {
    let hierarchy = Hierarchy::find()?;
    let mut attached = None;
    let mut moved = HashSet::new();
    loop {
        let family = process::with_descendants(pid)?;
        let Some(&next) = family.iter().find(|pid| !moved.contains(*pid)) else {
            return Ok(attached);
        };
        moved.insert(next);
        let Ok(from) = hierarchy.of(Some(next)) else {
            continue;
        };
        let mut to = hierarchy.of(Some(next))?;
        while to.is_ours() {
            to = to.parent()?;
        }
        if to.id() != from.id() {
            match to.enter(next) {
                Err(error) if error.errno() == Some(libc::ESRCH) => {}
                other => other?,
            }
        }
        attached = attached.or(attached_above(to)?);
    }
}

fn attached_above(mut cgroup: Cgroup) -> Result<Option<String>> {
    loop {
        if attachment::is_attached(&cgroup)? {
            return Ok(Some(cgroup.path().to_owned()));
        }
        if cgroup.path().trim_matches('/').is_empty() {
            return Ok(None);
        }
        cgroup = cgroup.parent()?;
    }
}

/// Sockets seen so far: several processes may have the same one open.
#[derive(Default)]
struct Sockets {
    met: HashSet<u64>,
}

impl Sockets {
    fn govern(
        &mut self,
        pids: &[i32],
        settings: &Settings,
        storage: Option<&SocketStorage>,
        outcome: &mut Outcome,
    ) {
        self.each(pids, outcome, |socket| {
            governance::govern(socket, settings, storage)
        });
    }

    fn release(&mut self, pids: &[i32], storage: Option<&SocketStorage>, outcome: &mut Outcome) {
        self.each(pids, outcome, |socket| governance::release(socket, storage));
    }

    fn each(
        &mut self,
        pids: &[i32],
        outcome: &mut Outcome,
        change: impl Fn(&OwnedFd) -> io::Result<bool>,
    ) {
        for &pid in pids {
            outcome.processes += 1;
            let (Ok(handle), Ok(sockets)) = (Handle::open(pid), process::sockets(pid)) else {
                outcome.denied += usize::from(fs::exists(format!("/proc/{pid}")).unwrap_or(false));
                continue;
            };
            for (number, inode) in sockets {
                if self.met.contains(&inode) {
                    continue;
                }
                match handle.copy_descriptor(number) {
                    Ok(socket) => {
                        self.met.insert(inode);
                        if options::is_tcp(&socket) {
                            outcome.sockets += usize::from(change(&socket).unwrap_or(false));
                        }
                    }
                    Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                        outcome.denied += 1;
                        break;
                    }
                    // The socket was closed since it was listed.
                    Err(_) => {}
                }
            }
        }
    }
}
