// SPDX-License-Identifier: MIT OR Apache-2.0
//! Low priority for a whole existing cgroup: a slice, a service, a container.

use std::collections::HashMap;

use crate::abi::Totals;
use crate::cgroup::attachment::{self, Attacher};
use crate::cgroup::hierarchy::{Cgroup, Hierarchy};
use crate::elsewhere;
use crate::error::{Error, Result, need_root};
use crate::objects::pin_directory;
use crate::renice::{self, Outcome};
use crate::runtime::journal::{self, Kind, Record};
use crate::runtime::keepers;
use crate::runtime::pins::Pins;
use crate::settings::Settings;
use crate::sockets::connections;
use crate::systemd;
use crate::udp;

/// The process that is systemd.
const SYSTEMD: i32 = 1;

/// Finds a cgroup by its path, in the cgroup file system or below its top, or, where systemd runs, by the name of its
/// unit.
pub fn find(name: &str) -> Result<Cgroup> {
    let hierarchy = Hierarchy::find()?;
    match hierarchy.open_given(name) {
        Err(Error::UnknownCgroup { .. }) if !name.contains('/') => {}
        other => return other,
    }
    hierarchy.open(&systemd::control_group(name)?)
}

/// Returns the paths of the cgroups whose own names `is_meant` accepts, except those within such a cgroup.
pub fn search(is_meant: impl Fn(&str) -> bool) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut left = vec![Hierarchy::find()?.open_given("/")?];
    while let Some(cgroup) = left.pop() {
        // A cgroup may be removed meanwhile.
        for child in cgroup.children().unwrap_or_default() {
            match is_meant(child.name()) {
                true => found.push(child.path().to_owned()),
                false => left.push(child),
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Gives low priority to all present and future processes of a cgroup, until [`detach`], until the cgroup is removed,
/// or until the system stops.
pub fn attach(cgroup: &Cgroup, settings: &Settings) -> Result<Outcome> {
    need_root("changing a cgroup")?;
    let pins = Pins::open()?;
    let (_, attacher) = Attacher::with(settings, &pins)?;
    let record = Record::new(&pins, Kind::Attached, cgroup)?;
    journal::forget_lost(pins.home(), cgroup.path(), Some(cgroup.id()));
    // Without a place for them nothing but the sums is missing.
    let _ = attacher.count(cgroup.id());
    attacher.attach(cgroup, settings)?;
    udp::keep(cgroup, settings, Kind::Attached, &pins)?;
    drop(record);
    let processes = cgroup.processes_beneath()?;
    elsewhere::keep(cgroup, settings, &pins)?;
    let settings = &settings.within(cgroup.id());
    let mut outcome = renice::set_open(&processes, Some(settings), &attacher);
    outcome.future = true;
    set_listening(cgroup.name(), Some(settings), &attacher, &mut outcome);
    outcome.receive_refused = attacher.receive_refused().map(str::to_owned);
    pins.close()?;
    Ok(outcome)
}

/// Changes the sockets by which systemd listens for a service (socket activation): they were made in systemd's own cgroup.
fn set_listening(
    name: &str,
    settings: Option<&Settings>,
    attacher: &Attacher,
    outcome: &mut Outcome,
) {
    if !name.ends_with(".service") {
        return;
    }
    let addresses = systemd::listening_for(name);
    outcome.listening = renice::set_listening(SYSTEMD, &addresses, settings, attacher.storage());
    outcome.sockets += outcome.listening;
}

/// Gives low priority to the sockets by which systemd listens for a service, whether or not it runs, or removes it; returns how
/// many were changed.
pub fn change_listening(service: &str, settings: Option<&Settings>) -> Result<usize> {
    let addresses = systemd::listening_for(service);
    if addresses.is_empty() {
        return Ok(0);
    }
    let pins = Pins::open()?;
    let attacher = match settings {
        Some(settings) => Attacher::with(settings, &pins)?.1,
        None => Attacher::open(&pins)?,
    };
    let changed = renice::set_listening(SYSTEMD, &addresses, settings, attacher.storage());
    pins.close()?;
    Ok(changed)
}

/// Returns true if a cgroup has low priority with these settings, by the programs and the control of this version. Received
/// data counts as governed where the programs for it are not loaded. Needs root; loads nothing.
pub fn has(cgroup: &Cgroup, settings: &Settings) -> Result<bool> {
    need_root("reading the settings of a cgroup")?;
    attachment::has(cgroup, settings)
}

/// Takes low priority from a cgroup and its open connections. If the cgroup was created again since [`attach`], only the
/// record is removed.
pub fn detach(cgroup: &Cgroup) -> Result<Outcome> {
    need_root("changing a cgroup")?;
    if !attachment::is_attached(cgroup)? {
        if forget(cgroup.path())?.is_some() {
            return Ok(Outcome {
                future: true,
                ..Outcome::default()
            });
        }
        let others = attached();
        return Err(Error::NotAttached {
            path: cgroup.path().to_owned(),
            others: match others.is_empty() {
                true => "no cgroup has".to_owned(),
                false => format!("{} has", others.join(", ")),
            },
        });
    }
    let pins = Pins::open()?;
    let attacher = Attacher::open(&pins)?;
    attachment::detach(cgroup)?;
    attacher.storage().forget_totals(cgroup.id());
    attacher.forget_settings(cgroup.id())?;
    keepers::forget(pins.home(), cgroup.id());
    journal::forget_lost(pins.home(), cgroup.path(), None);
    let mut outcome = renice::set_open(&cgroup.processes_beneath()?, None, &attacher);
    outcome.future = true;
    set_listening(cgroup.name(), None, &attacher, &mut outcome);
    pins.close()?;
    Ok(outcome)
}

/// Returns the processes of an attached cgroup that hold TCP connections without low priority, with their number: these were made
/// in another cgroup, as by socket activation, or somebody has replaced their control. Needs root; empty where only received data
/// is governed.
pub fn with_other_connections(path: &str) -> Vec<(i32, usize)> {
    let Ok(cgroup) = Hierarchy::find().and_then(|hierarchy| hierarchy.open(path)) else {
        return Vec::new();
    };
    let groups = connections::finished_groups();
    if !(groups.iter()).any(|group| group.id == cgroup.id() && group.control.is_some()) {
        return Vec::new();
    }
    let processes = cgroup.processes_beneath().unwrap_or_default().into_iter();
    let counted = processes.map(|pid| (pid, renice::other_connections(pid)));
    counted.filter(|(_, number)| *number > 0).collect()
}

/// Returns the paths of the existing cgroups that have been given low priority.
pub fn attached() -> Vec<String> {
    on_record(|_, there, id| there == Some(id))
}

/// Returns the paths of the cgroups, of running commands too, whose sockets QUIC is refused to. Needs root: empty for
/// other users.
pub fn without_quic() -> Vec<String> {
    let Ok(hierarchy) = Hierarchy::find() else {
        return Vec::new();
    };
    let refuses = |path: &String| {
        let cgroup = hierarchy.open(path);
        cgroup.is_ok_and(|cgroup| attachment::refuses_quic(&cgroup).unwrap_or(false))
    };
    let mut paths: Vec<String> = recorded().map(|(_, path)| path).filter(refuses).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// What a cgroup has moved over UDP.
pub struct OverUdp {
    /// Path of the cgroup.
    pub path: String,
    /// Its sums.
    pub totals: Totals,
    /// How UDP other than uTP is governed, or why not, if there is something to tell.
    pub told: Option<String>,
}

/// Returns the cgroups, of running commands too, that have moved something over UDP, by path. Needs root: empty
/// for other users.
pub fn over_udp() -> Vec<OverUdp> {
    let groups = connections::finished_groups().into_iter();
    let moved = |totals: &Totals| totals.utp_connections > 0 || totals.moved_other_udp();
    let governed = groups.filter(|group| moved(&group.totals));
    let records: HashMap<u64, String> = recorded().collect();
    let mut found: Vec<OverUdp> = governed
        .filter_map(|group| {
            Some(OverUdp {
                path: records.get(&group.id)?.clone(),
                totals: group.totals,
                told: keepers::told(&pin_directory::home(), group.id),
            })
        })
        .collect();
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// The id and the path of each cgroup on record: those given low priority, and those made for running commands.
fn recorded() -> impl Iterator<Item = (u64, String)> {
    let kinds = [Kind::Attached, Kind::Made].into_iter();
    kinds.flat_map(|kind| journal::cgroups(&pin_directory::home(), kind))
}

/// The paths of cgroups that were given low priority and are gone: the cgroup that is there now, if
/// any, is another one without low priority, as that of a service which has restarted.
pub fn lost() -> Vec<String> {
    let mut lost = on_record(|path, there, id| match there {
        Some(there) => there != id,
        None => journal::may_return(path),
    });
    // Another cgroup may have been attached there since, and this record may not have been removed yet.
    let attached = attached();
    lost.retain(|path| !attached.contains(path));
    lost.sort();
    lost.dedup();
    lost
}

/// Removes the record of a cgroup that is gone, given its path or the name of its unit; returns the
/// path, if there was such a record.
pub fn forget(name: &str) -> Result<Option<String>> {
    need_root("changing a cgroup")?;
    let hierarchy = Hierarchy::find()?;
    let mounted_at = hierarchy.mounted_at();
    let name = mounted_at
        .and_then(|at| name.strip_prefix(at))
        .unwrap_or(name);
    let is_meant = |path: &String| {
        path.trim_matches('/') == name.trim_matches('/') || path.rsplit('/').next() == Some(name)
    };
    let Some(path) = lost().into_iter().find(is_meant) else {
        return Ok(None);
    };
    let pins = Pins::open()?;
    journal::forget_lost(pins.home(), &path, None);
    pins.close()?;
    Ok(Some(path))
}

/// The paths on record for which `wanted` holds, given the path, the id of the cgroup that is there
/// now, if any, and the id on record.
fn on_record(wanted: impl Fn(&str, Option<u64>, u64) -> bool) -> Vec<String> {
    let records = journal::cgroups(&pin_directory::home(), Kind::Attached).into_iter();
    let Ok(hierarchy) = Hierarchy::find() else {
        return Vec::new();
    };
    let there = |path: &String| hierarchy.open(path).ok().map(|cgroup| cgroup.id());
    records
        .filter(|(id, path)| wanted(path, there(path), *id))
        .map(|(_, path)| path)
        .collect()
}
