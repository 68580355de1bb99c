// SPDX-License-Identifier: MIT OR Apache-2.0
//! Low priority for a whole cgroup that somebody else has made: a slice, a service, a container.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cgroup::attachment::{self, Attacher};
use crate::cgroup::hierarchy::{Cgroup, Hierarchy};
use crate::error::{Context, Error, Result, need_root};
use crate::objects::pin_directory;
use crate::renice::{self, Outcome};
use crate::runtime::journal::{self, Kind, Record};
use crate::runtime::pins::Pins;
use crate::settings::Settings;

/// Finds the cgroup that a user means: a path in the cgroup file system or below its top, or the
/// name of a unit where systemd runs.
pub fn find(name: &str) -> Result<Cgroup> {
    let hierarchy = Hierarchy::find()?;
    match hierarchy.open_given(name) {
        Err(Error::UnknownCgroup { .. }) if !name.contains('/') => {}
        other => return other,
    }
    hierarchy.open(&unit(name)?)
}

/// The cgroup of a unit.
fn unit(name: &str) -> Result<String> {
    // Not looked up in PATH: this may run as root with the caller's environment.
    let systemctl = ["/usr/bin/systemctl", "/bin/systemctl"];
    let systemctl = systemctl.iter().find(|path| Path::new(path).exists());
    let Some(systemctl) = systemctl.filter(|_| systemd_runs()) else {
        return Err(Error::NoSystemd {
            name: name.to_owned(),
        });
    };
    let answer = Command::new(systemctl)
        .args(["show", "--property=ControlGroup", "--value", "--", name])
        .env_clear()
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .doing(|| format!("asking systemd about {name}"))?;
    let path = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    if path.is_empty() {
        return Err(Error::UnknownUnit {
            name: name.to_owned(),
        });
    }
    Ok(path)
}

/// Gives low priority to all that lives in a cgroup or will. It stays until [`detach`], until the
/// cgroup is removed, or until the system stops.
pub fn attach(cgroup: &Cgroup, settings: &Settings) -> Result<Outcome> {
    need_root("changing a cgroup")?;
    let pins = Pins::open()?;
    let (_, attacher) = Attacher::with(settings, &pins)?;
    let record = Record::new(&pins, Kind::Attached, cgroup)?;
    attacher.attach(cgroup, settings)?;
    drop(record);
    let processes = cgroup.processes_beneath()?;
    let mut outcome = renice::set_open(&processes, Some(settings), &attacher);
    outcome.future = true;
    outcome.receive_refused = attacher.receive_refused().map(str::to_owned);
    pins.close()?;
    Ok(outcome)
}

/// Takes it away again, from the open connections too.
pub fn detach(cgroup: &Cgroup) -> Result<Outcome> {
    need_root("changing a cgroup")?;
    if !attachment::is_attached(cgroup)? {
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
    journal::remove(pins.home(), cgroup.id());
    let mut outcome = renice::set_open(&cgroup.processes_beneath()?, None, &attacher);
    outcome.future = true;
    pins.close()?;
    Ok(outcome)
}

/// The paths of the cgroups that have been given low priority and still exist.
pub fn attached() -> Vec<String> {
    on_record(|there, id| there == Some(id))
}

/// The paths at which there is another cgroup now than the one that was given low priority: a
/// service that has restarted has a new one, without low priority.
pub fn lost() -> Vec<String> {
    on_record(|there, id| there.is_some_and(|there| there != id))
}

/// The paths on record for which `wanted` holds, given the id of the cgroup that is there now, if
/// any, and the id on record.
fn on_record(wanted: impl Fn(Option<u64>, u64) -> bool) -> Vec<String> {
    let records = journal::cgroups(&pin_directory::home(), Kind::Attached).into_iter();
    let Ok(hierarchy) = Hierarchy::find() else {
        return Vec::new();
    };
    let there = |path: &String| hierarchy.open(path).ok().map(|cgroup| cgroup.id());
    records
        .filter(|(id, path)| wanted(there(path), *id))
        .map(|(_, path)| path)
        .collect()
}

/// Whether systemd is the system's service manager.
pub fn systemd_runs() -> bool {
    fs::exists("/run/systemd/system").unwrap_or(false)
}
