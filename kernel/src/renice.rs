// SPDX-License-Identifier: MIT OR Apache-2.0
//! Low priority for processes that run already: their open connections, and as root those to come.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use bytemuck::Zeroable;
use nix::unistd::geteuid;

use crate::cgroup::{Cgroup, Hierarchy};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::flow::{DSCP_LOWER_EFFORT, Flow, padded, unpadded};
use crate::pins::Pins;
use crate::placement::{self, Placer, Settings};
use crate::process::{self, Handle};
use crate::records::{Kind, Record};
use crate::run::tidy_up_later;
use crate::socket;

/// What has been changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Processes looked at.
    pub processes: usize,
    /// Sockets changed: open connections, and those that listen.
    pub sockets: usize,
    /// Processes whose files we may not look at.
    pub denied: usize,
    /// Whether sockets that the processes open from now on follow.
    pub future: bool,
    /// Why received data is not governed although both directions were asked for.
    pub receive_refused: Option<String>,
    /// The cgroup, if one, that has been given low priority as a whole and keeps it.
    pub attached: Option<String>,
}

/// Gives low priority to a process and its descendants.
pub fn set(pid: i32, settings: &Settings) -> Result<Outcome> {
    let family = process::with_descendants(pid)?;
    let mut outcome = Outcome::default();
    if !geteuid().is_root() {
        settings.control.check_open_to_all()?;
        if !settings.control.is_registered() {
            return Err(Error::NotRegistered {
                control: settings.control.name(),
            });
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
        reachable(pid)?;
        Sockets::default().place(&family, settings, None, &mut outcome);
        return Ok(outcome);
    }
    let pins = Pins::open()?;
    let (_, placer) = Placer::with(settings, &pins)?;
    let moved = move_in(pid, settings, &pins, &placer);
    let family = process::with_descendants(pid)?;
    outcome.future = moved.is_ok();
    outcome.receive_refused = placer.receive_refused().map(str::to_owned);
    Sockets::default().place(&family, settings, Some(&placer), &mut outcome);
    // The connections have been served by then, whatever became of the cgroups.
    pins.close()?;
    moved?;
    Ok(outcome)
}

/// Takes low priority off a process and its descendants.
pub fn unset(pid: i32) -> Result<Outcome> {
    let family = process::with_descendants(pid)?;
    let mut outcome = Outcome::default();
    if !geteuid().is_root() {
        reachable(pid)?;
        Sockets::default().restore(&family, None, &mut outcome);
        return Ok(outcome);
    }
    let pins = Pins::open()?;
    // Without the programs no cgroup can have them, and no socket has a record of ours.
    let placer = Placer::open(&pins)?;
    outcome.attached = move_out(pid)?;
    outcome.future = outcome.attached.is_none();
    let family = process::with_descendants(pid)?;
    Sockets::default().restore(&family, Some(&placer), &mut outcome);
    pins.close()?;
    Ok(outcome)
}

/// Gives low priority to, or takes it from, the open connections of given processes. For use
/// beside settings of their cgroup.
pub(crate) fn set_open(pids: &[i32], settings: Option<&Settings>, placer: &Placer) -> Outcome {
    let mut outcome = Outcome::default();
    let mut sockets = Sockets::default();
    match settings {
        Some(settings) => sockets.place(pids, settings, Some(placer), &mut outcome),
        None => sockets.restore(pids, Some(placer), &mut outcome),
    }
    outcome
}

/// That the process itself is another's is an error; that some of its descendants are is not.
fn reachable(pid: i32) -> Result<()> {
    match process::sockets(pid) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(Error::NotOurs { pid })
        }
        _ => Ok(()),
    }
}

/// Moves the process and its descendants, each into a new child of the cgroup that it is in. A
/// process that forks meanwhile is met again in the next round.
fn move_in(pid: i32, settings: &Settings, pins: &Pins, placer: &Placer) -> Result<()> {
    let hierarchy = Hierarchy::find()?;
    let mut moved = HashSet::new();
    let mut homes: HashMap<u64, (Cgroup, Record)> = HashMap::new();
    loop {
        let family = process::with_descendants(pid)?;
        let Some(&next) = family.iter().find(|pid| !moved.contains(*pid)) else {
            return Ok(());
        };
        moved.insert(next);
        // It may have ended since it was listed.
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
                tidy_up_later(&home)?;
                placer.attach(&home, settings)?;
                entry.insert((home, record))
            }
        };
        match home.enter(next) {
            Err(error) if error.errno() == Some(libc::ESRCH) => {}
            other => other?,
        }
    }
}

/// Moves the process and its descendants to the nearest cgroup above that is not ours; returns
/// the path of a cgroup there that has been given low priority by other means.
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
        if placement::is_attached(&cgroup)? {
            return Ok(Some(cgroup.path().to_owned()));
        }
        if cgroup.path().trim_matches('/').is_empty() {
            return Ok(None);
        }
        cgroup = cgroup.parent()?;
    }
}

/// The sockets met so far: more than one process may have the same one open.
#[derive(Default)]
struct Sockets {
    met: HashSet<u64>,
}

impl Sockets {
    fn place(
        &mut self,
        pids: &[i32],
        settings: &Settings,
        placer: Option<&Placer>,
        outcome: &mut Outcome,
    ) {
        self.each(pids, outcome, |socket| place(socket, settings, placer));
    }

    fn restore(&mut self, pids: &[i32], placer: Option<&Placer>, outcome: &mut Outcome) {
        self.each(pids, outcome, |socket| restore(socket, placer));
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
                        if socket::is_tcp(&socket) {
                            outcome.sockets += usize::from(change(&socket).unwrap_or(false));
                        }
                    }
                    Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                        outcome.denied += 1;
                        break;
                    }
                    // Closed since it was listed.
                    Err(_) => {}
                }
            }
        }
    }
}

fn is_ours(control: &str) -> bool {
    Control::all().any(|ours| ours.name() == control)
}

/// Puts the control on a socket; returns whether it is there afterwards.
pub(crate) fn place(
    socket: &impl AsFd,
    settings: &Settings,
    placer: Option<&Placer>,
) -> io::Result<bool> {
    if let Some(placer) = placer.filter(|_| !settings.direction.receives()) {
        placer.release_window(socket);
    }
    if !settings.direction.sends() {
        restore_control(socket, placer)?;
        return Ok(false);
    }
    let wanted = settings.control.name();
    let current = socket::control(socket)?;
    let opened = placer.map(|placer| open(socket, placer));
    let previous = match &opened {
        Some(flow) if is_ours(&current) => flow.previous,
        _ if is_ours(&current) => [0; 16],
        _ => padded(&current),
    };
    if settings.mark {
        socket::set_dscp(socket, DSCP_LOWER_EFFORT)?;
    } else if is_ours(&current) && socket::dscp(socket)? == DSCP_LOWER_EFFORT {
        socket::set_dscp(socket, 0)?;
    }
    if let Some(placer) = placer {
        if is_ours(&current) {
            // Only a control that takes over reads its parameters. Letting go closes the books.
            socket::set_control(socket, "reno")?;
        }
        let flow = Flow {
            parameters: settings.parameters,
            unguarded: 1,
            previous,
            ..Flow::zeroed()
        };
        placer.set_flow(socket, &flow).map_err(io::Error::other)?;
    }
    socket::set_control(socket, wanted)?;
    if let Some((placer, flow)) = placer.and_then(|placer| Some((placer, placer.flow(socket)?))) {
        let guarded = Flow {
            unguarded: 0,
            ..flow
        };
        placer
            .set_flow(socket, &guarded)
            .map_err(io::Error::other)?;
    }
    Ok(socket::control(socket)? == wanted)
}

/// Takes low priority off a socket; returns whether it had it.
fn restore(socket: &OwnedFd, placer: Option<&Placer>) -> io::Result<bool> {
    let received = placer.is_some_and(|placer| placer.release_window(socket));
    Ok(restore_control(socket, placer)? || received)
}

/// Puts the control back that a socket had before one of ours; returns whether there was one.
fn restore_control(socket: &impl AsFd, placer: Option<&Placer>) -> io::Result<bool> {
    if !is_ours(&socket::control(socket)?) {
        return Ok(false);
    }
    let flow = placer.map(|placer| open(socket, placer));
    socket::set_dscp(socket, 0)?;
    let previous = flow
        .map(|flow| unpadded(&flow.previous))
        .unwrap_or_default();
    let restored = !previous.is_empty()
        && !is_ours(&previous)
        && socket::set_control(socket, &previous).is_ok();
    if !restored {
        let usual = socket::usual_control(socket)?;
        let usual = if is_ours(&usual) { "reno" } else { &usual };
        socket::set_control(socket, usual)?;
    }
    if let Some(placer) = placer {
        placer.forget_flow(socket);
    }
    Ok(!is_ours(&socket::control(socket)?))
}

/// Makes the guard of the socket's cgroup, if it has one, let us pass; returns what is kept
/// beside the socket.
fn open(socket: &impl AsFd, placer: &Placer) -> Flow {
    let flow = placer.flow(socket).unwrap_or(Flow::zeroed());
    // If this fails the guard keeps its post, and the caller sees no change.
    let _ = placer.set_flow(
        socket,
        &Flow {
            unguarded: 1,
            ..flow
        },
    );
    flow
}
