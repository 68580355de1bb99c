// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cgroups and services that a configuration stands for on this machine now.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use netnice_kernel::cgroup::hierarchy::Cgroup;
use netnice_kernel::{Error, attach, systemd};

use super::configuration::{Configuration, Group, Target};
use crate::presets::Preset;

/// A target of the file, as it is found here.
pub struct Wanted<'a> {
    /// The target.
    pub target: &'a Target,
    /// Its line in the file.
    pub line: usize,
    /// Its options.
    pub group: &'a Group,
    /// Its cgroups that exist.
    pub cgroups: Vec<Cgroup>,
    /// Services that attach it each time they start.
    pub services: Vec<Service>,
}

/// A service with a drop-in.
pub struct Service {
    /// Its full name.
    pub unit: String,
    /// The unit to attach when it starts: itself or, for the service of a user's session, the user's slice.
    pub attaches: String,
}

impl Service {
    fn of_itself(unit: String) -> Self {
        let attaches = unit.clone();
        Self { unit, attaches }
    }

    /// Returns the service of this full name.
    pub fn by_unit(unit: &str) -> Self {
        let user = unit
            .strip_prefix("user@")
            .and_then(|rest| rest.strip_suffix(".service"));
        Self {
            unit: unit.to_owned(),
            attaches: match user {
                Some(number) => format!("user-{number}.slice"),
                None => unit.to_owned(),
            },
        }
    }
}

/// Finds the targets of a configuration. With `start` a slice that does not run is started, so that what starts in it
/// later has low priority from its start.
///
/// # Errors
/// If two targets are the same cgroup, or systemd or the cgroups cannot be asked.
pub fn find<'a>(
    file: &str,
    configuration: &'a Configuration,
    start: bool,
) -> Result<Vec<Wanted<'a>>> {
    let mut all = Vec::new();
    let mut lines: BTreeMap<u64, usize> = BTreeMap::new();
    // A unit, cgroup or user has its own options where a preset covers it as well.
    for of_presets in [false, true] {
        let mut claimed: BTreeSet<u64> = lines.keys().copied().collect();
        let services: BTreeSet<String> = all
            .iter()
            .flat_map(|wanted: &Wanted<'_>| &wanted.services)
            .map(|service| service.unit.clone())
            .collect();
        for group in &configuration.groups {
            for (target, line) in &group.targets {
                let mut wanted = match (target, of_presets) {
                    (Target::Preset(preset), true) => preset_here(preset)?,
                    (Target::Preset(_), false) | (_, true) => continue,
                    (target, false) => target_here(target, start)?,
                };
                if of_presets {
                    wanted.0.retain(|cgroup| claimed.insert(cgroup.id()));
                    wanted.1.retain(|service| !services.contains(&service.unit));
                }
                for cgroup in &wanted.0 {
                    if let Some(first) = lines.insert(cgroup.id(), *line) {
                        let path = cgroup.path();
                        bail!(
                            "{file}:{line}: {target} is the cgroup {path}, as is what line {first} names: name it once"
                        );
                    }
                }
                all.push(Wanted {
                    target,
                    line: *line,
                    group,
                    cgroups: wanted.0,
                    services: wanted.1,
                });
            }
        }
    }
    all.sort_by_key(|wanted| wanted.line);
    Ok(all)
}

type Here = (Vec<Cgroup>, Vec<Service>);

fn target_here(target: &Target, start: bool) -> Result<Here> {
    match target {
        Target::Unit(name) if name.ends_with(".service") => {
            let service = known_service(name)?.map(Service::of_itself);
            Ok((cgroup_here(name)?, Vec::from_iter(service)))
        }
        Target::Unit(name) => {
            let mut found = cgroup_here(name)?;
            if found.is_empty() && start && name.ends_with(".slice") && systemd::runs() {
                systemd::start_slice(name)?;
                found = cgroup_here(name)?;
            }
            Ok((found, Vec::new()))
        }
        Target::Cgroup(path) => Ok((cgroup_here(path)?, Vec::new())),
        Target::User(name) => match number_of(name)? {
            Some(number) => user_here(number),
            None => Ok((Vec::new(), Vec::new())),
        },
        Target::UserNumber(number) => user_here(*number),
        Target::Preset(preset) => preset_here(preset),
    }
}

fn user_here(number: u32) -> Result<Here> {
    let slice = format!("user-{number}.slice");
    let service = known_service(&format!("user@{number}.service"))?;
    let service = service.map(|unit| Service {
        unit,
        attaches: slice.clone(),
    });
    Ok((cgroup_here(&slice)?, Vec::from_iter(service)))
}

fn preset_here(preset: &Preset) -> Result<Here> {
    let mut cgroups = Vec::new();
    for path in preset.cgroups()? {
        cgroups.extend(cgroup_here(&path)?);
    }
    let mut services = Vec::new();
    for name in preset.services {
        services.extend(known_service(name)?.map(Service::of_itself));
    }
    Ok((cgroups, services))
}

/// Returns the cgroup of a unit or a path, if there is one now.
pub fn cgroup_here(name: &str) -> Result<Vec<Cgroup>> {
    match attach::find(name) {
        Ok(cgroup) => Ok(vec![cgroup]),
        Err(Error::UnknownCgroup { .. } | Error::UnknownUnit { .. } | Error::NoSystemd { .. }) => {
            Ok(Vec::new())
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the full name of a service, if systemd runs and knows it.
fn known_service(name: &str) -> Result<Option<String>> {
    match systemd::service(name) {
        Ok(unit) => Ok(Some(unit)),
        Err(Error::NoServiceManager | Error::NotAService { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the number of a user; `None` if the system knows none of this name. `getent` asks what nsswitch.conf names, which
/// a statically linked program cannot. It is not looked up in PATH.
fn number_of(name: &str) -> Result<Option<u32>> {
    let places = ["/usr/bin/getent", "/bin/getent"];
    let getent = places.iter().find(|place| Path::new(place).exists());
    let getent =
        getent.context("no `getent` is here, which finds a user by name: give the number")?;
    let answer = Command::new(getent)
        .args(["passwd", "--", name])
        .env_clear()
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .context("running getent")?;
    let line = String::from_utf8_lossy(&answer.stdout);
    Ok(line
        .split(':')
        .nth(2)
        .and_then(|number| number.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_attaches_the_users_slice() {
        let of = |unit: &str| Service::by_unit(unit).attaches;
        assert_eq!(of("user@1000.service"), "user-1000.slice");
        assert_eq!(of("backup@1000.service"), "backup@1000.service");
    }

    #[test]
    fn users_are_found_by_name() {
        assert_eq!(number_of("root").unwrap(), Some(0));
        assert_eq!(number_of("no-such-user-here").unwrap(), None);
    }
}
