// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice apply`: low priority for what a file names, and for nothing that it named before.

mod configuration;
mod plan;
pub(super) mod record;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use netnice_kernel::cgroup::hierarchy::Cgroup;
use netnice_kernel::renice::Outcome;
use netnice_kernel::systemd::Author;
use netnice_kernel::{Error, attach, need_root, systemd};
use serde::Serialize;

use crate::clock_time::Hours;
use crate::low_priority::{say_not_received, standing};
use configuration::{Configuration, Group};
use netnice_terminal::text::{self, say};
use plan::{Service, Wanted};
use record::{Applied, Record};

/// The file that is read if none is given.
const FILE: &str = "/etc/netnice.toml";
/// The most that is read of it, in bytes.
const LONGEST: u64 = 4 << 20;

const EXAMPLES: &str = "\
Examples:
  sudo netnice apply
  netnice apply --check netnice.toml

File:
  # A table of units, users, cgroups and presets that have the same options;
  # there may be several such tables.
  [[attach]]
  units = [\"backup.service\", \"bulk.slice\"]   # services, slices and scopes of systemd
  users = [\"alice\", 1001]                    # all that these users run, by name or number
  cgroups = [\"/sync\"]                        # by their paths below the mount point of cgroup2
  presets = [\"docker\", \"apt\"]                # the names that `netnice attach` takes

  # Each of these is like the option of `netnice attach`, and optional.
  control = \"netnice\"
  direction = \"both\"
  no_dscp = false
  no_quic = false
  udp = \"yes\"            # or \"no\"; without this key, UDP is governed if possible
  only = \"22:00-06:00\"   # low priority in these hours of local time, else best effort
  parameters = { threshold = \"2ms\", at_least = \"2mbit\" }

Effects:
  netnice attaches the targets in the file, and detaches targets that an earlier call attached and the file no longer \
  names. It does not touch targets whose options have not changed, nor targets of `netnice attach`. As with `netnice \
  attach --persist`, a systemd drop-in attaches a service each time it starts, and a user's slice each time the user \
  logs in. netnice starts a slice that does not run. If a cgroup does not exist, the next call attaches it. Without \
  FILE a missing file counts as an empty one. The unit netnice.service runs this command at boot and when it is \
  reloaded. If a table has `only`, a systemd timer, netnice-hours.timer, runs this command when the hours begin and \
  end, and after the machine was off or suspended. In the other hours netnice detaches the table's targets, open \
  connections included. A change to or from daylight saving makes the hours longer or shorter.

Exit code:
  1 if the file has a mistake (then nothing changes), or if a target could not be attached or detached.";

/// Attach the targets in a file, and detach those that it no longer names.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// The file [default: /etc/netnice.toml]
    #[arg(value_name = "FILE")]
    path: Option<PathBuf>,
    /// The file, given as an option
    #[arg(long, value_name = "FILE", conflicts_with = "path")]
    file: Option<PathBuf>,
    /// Only check the file; needs no root
    #[arg(long, conflicts_with = "dry_run")]
    check: bool,
    /// Report the changes that the file would cause, and make none
    #[arg(long)]
    dry_run: bool,
    /// Report as one line of JSON
    #[arg(long)]
    json: bool,
}

/// Applies the file, and reports what changed.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let given = arguments.path.as_deref().or(arguments.file.as_deref());
    let path = given.unwrap_or(Path::new(FILE));
    let file = path.display().to_string();
    let configuration = read(path, &file, given.is_some())?;
    if arguments.check {
        return checked(arguments, &file, &configuration);
    }
    need_root("apply")?;
    if !arguments.dry_run {
        keep_hours(path, &configuration)?;
    }
    // What is named for other hours counts as not named now.
    let mut configuration = configuration;
    configuration
        .groups
        .retain(|group| group.only.is_none_or(Hours::are_now));
    let changes = match arguments.dry_run {
        true => plan_changes(&file, &configuration)?,
        false => make_changes(&file, &configuration)?,
    };
    report(arguments, &file, &changes)
}

/// Has systemd apply the file again as its hours begin and end, and no more when it has none.
fn keep_hours(path: &Path, configuration: &Configuration) -> Result<()> {
    let hours = configuration.groups.iter().filter_map(|group| group.only);
    let ends: BTreeSet<String> = hours.flat_map(Hours::ends).collect();
    if !ends.is_empty() && !systemd::runs() {
        let ends: Vec<String> = ends.into_iter().collect();
        say!(
            "netnice: systemd does not run here: call this again at {}, as by cron, to keep the hours",
            ends.join(", ")
        );
        return Ok(());
    }
    let program = std::env::current_exe().context("finding this program")?;
    let program = program.to_str().context("this program's path is no text")?;
    let path = std::path::absolute(path).context("finding the file")?;
    let path = path.to_str().context("the file's path is no text")?;
    let command = [program, "apply", path].map(str::to_owned);
    Ok(systemd::keep_hours(&ends, &command)?)
}

/// Reads the file; one that is missing counts as empty unless `must_exist`.
fn read(path: &Path, file: &str, must_exist: bool) -> Result<Configuration> {
    let content = match netnice_files::read(path, LONGEST) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !must_exist => {
            say!("netnice: there is no {file}, which counts as an empty one");
            Vec::new()
        }
        other => other.with_context(|| format!("reading {file}"))?,
    };
    let text = String::from_utf8(content).with_context(|| format!("{file} is no text"))?;
    Ok(Configuration::parse(file, &text)?)
}

/// Output of `--check --json`.
#[derive(Serialize)]
struct Checked<'a> {
    file: &'a str,
    targets: Vec<String>,
}

fn checked(arguments: &Arguments, file: &str, configuration: &Configuration) -> Result<ExitCode> {
    let targets = configuration.groups.iter().flat_map(|group| &group.targets);
    let targets: Vec<String> = targets.map(|(target, _)| target.to_string()).collect();
    let line = match (arguments.json, targets.is_empty()) {
        (true, _) => serde_json::to_string(&Checked { file, targets })?,
        (false, true) => format!("netnice: {file} is valid and names nothing"),
        (false, false) => format!("netnice: {file} is valid and names {}", targets.join(", ")),
    };
    text::print_line(&line)?;
    Ok(ExitCode::SUCCESS)
}

/// A target and what has become of it.
#[derive(Debug, Serialize)]
struct Change {
    /// As the file names it; a cgroup or service that it no longer names by its path or name.
    target: String,
    /// Line of the file.
    line: Option<usize>,
    result: Outcomes,
    /// Paths of its cgroups.
    cgroups: Vec<String>,
    /// Services that attach it each time they start.
    services: Vec<String>,
    /// Open TCP sockets that were changed.
    sockets: usize,
    /// Reason of a failure.
    error: Option<String>,
    #[serde(skip)]
    standing: &'static str,
}

/// Result for a target. In a dry run what would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcomes {
    /// It has these options already.
    Unchanged,
    /// It does not exist now.
    Absent,
    /// It does not run now, and will be attached when it starts.
    Waiting,
    Attached,
    /// It was attached, with other options or by another version.
    Changed,
    Detached,
    Failed,
}

impl Change {
    fn of(wanted: &Wanted<'_>) -> Self {
        let cgroups = wanted.cgroups.iter();
        let services = wanted.services.iter();
        Self {
            target: wanted.target.to_string(),
            line: Some(wanted.line),
            result: match (wanted.cgroups.is_empty(), wanted.services.is_empty()) {
                (true, true) => Outcomes::Absent,
                (true, false) => Outcomes::Waiting,
                (false, _) => Outcomes::Unchanged,
            },
            cgroups: cgroups.map(|cgroup| cgroup.path().to_owned()).collect(),
            services: services.map(|service| service.unit.clone()).collect(),
            sockets: 0,
            error: None,
            standing: standing(wanted.group.settings.control),
        }
    }

    fn detached(target: &str) -> Self {
        Self {
            target: target.to_owned(),
            line: None,
            result: Outcomes::Detached,
            cgroups: Vec::new(),
            services: Vec::new(),
            sockets: 0,
            error: None,
            standing: "best effort",
        }
    }

    /// Notes the result of a step: the gravest remains.
    fn note(&mut self, step: Result<Outcomes>) {
        match step {
            Ok(result) => self.result = self.result.max(result),
            Err(error) => {
                self.result = Outcomes::Failed;
                self.error.get_or_insert(format!("{error:#}"));
            }
        }
    }

    /// The line for a reader; `None` if nothing is to be said.
    fn in_words(&self, would: bool) -> Option<String> {
        let target = &self.target;
        let would = |done: &str, planned: &str| match would {
            true => planned.to_owned(),
            false => done.to_owned(),
        };
        let sockets = match self.sockets {
            0 => String::new(),
            sockets => format!(
                ", {} included",
                text::count(sockets as u64, "open TCP socket")
            ),
        };
        let is_user = target.starts_with("user ");
        let starts = match (self.services.is_empty(), is_user) {
            (true, _) => "",
            (false, true) => " and at each login",
            (false, false) => " and each time it starts",
        };
        let standing = self.standing;
        Some(match self.result {
            Outcomes::Unchanged => return None,
            Outcomes::Absent => format!("{target} does not exist here now"),
            Outcomes::Waiting => {
                let has = would("will have", "would have");
                let when = match is_user {
                    true => "at each login; not logged in now",
                    false => "each time it starts; it does not run now",
                };
                format!("{target} {has} {standing} {when}")
            }
            Outcomes::Attached => {
                let has = would("has", "would have");
                format!("{target} {has} {standing} now{starts}{sockets}")
            }
            Outcomes::Changed => {
                let has = would("has", "would have");
                format!("{target} {has} {standing} with other options now{starts}{sockets}")
            }
            Outcomes::Detached => {
                let has = would("has", "would have");
                format!("{target} {has} best effort again{sockets}")
            }
            Outcomes::Failed => {
                let error = self.error.as_deref().unwrap_or_default();
                format!("{target}: {error}")
            }
        })
    }
}

/// Returns what [`make_changes`] would do.
fn plan_changes(file: &str, configuration: &Configuration) -> Result<Vec<Change>> {
    let applied = record::peek()?;
    let wanted = plan::find(file, configuration, false)?;
    let mut changes = Vec::new();
    for wanted in &wanted {
        let mut change = Change::of(wanted);
        for cgroup in &wanted.cgroups {
            change.note(difference(cgroup, wanted.group, &applied));
        }
        for service in &wanted.services {
            let command = command(service, wanted.group)?;
            if !systemd::is_persisted(&service.unit, Author::Apply, &command) {
                change.note(Ok(not_persisted(&change)));
            }
        }
        changes.push(change);
    }
    for unit in services_left(&wanted) {
        changes.push(Change::detached(&unit));
    }
    let attached = attach::attached();
    for applied in cgroups_left(&applied, &wanted) {
        if attached.contains(&applied.cgroup)
            && !changes.iter().any(|change| covers(change, &applied))
        {
            changes.push(Change::detached(&applied.cgroup));
        }
    }
    Ok(changes)
}

/// Returns true if a detached service is that of a cgroup, which needs no line of its own.
fn covers(change: &Change, applied: &Applied) -> bool {
    let unit = Service::by_unit(&change.target).attaches;
    change.line.is_none() && applied.cgroup.rsplit('/').next() == Some(unit.as_str())
}

/// Brings the machine to the state that the file describes. A call that is interrupted at any time is completed by the
/// next one.
fn make_changes(file: &str, configuration: &Configuration) -> Result<Vec<Change>> {
    let mut record = Record::lock()?;
    let wanted = match plan::find(file, configuration, true) {
        Ok(wanted) => wanted,
        Err(error) => {
            record.close()?;
            return Err(error);
        }
    };
    let before = record.applied.clone();
    let left = cgroups_left(&before, &wanted);
    let now: Vec<Applied> = wanted.iter().flat_map(applied_by).collect();
    // Before anything is attached: whoever calls after `kill -9` has to know.
    record.replace(merged(&before, &now))?;

    let mut changes: Vec<Change> = wanted.iter().map(Change::of).collect();
    // Drop-ins first, so that a service which starts meanwhile is attached by one of the two.
    let mut reload = false;
    for (wanted, change) in wanted.iter().zip(&mut changes) {
        for service in &wanted.services {
            let command = command(service, wanted.group)?;
            if !systemd::is_persisted(&service.unit, Author::Apply, &command) {
                let step = systemd::persist(&service.unit, Author::Apply, &command);
                reload |= step.is_ok();
                let result = not_persisted(change);
                change.note(step.map(|()| result).map_err(Into::into));
            }
        }
    }
    if reload {
        systemd::reload()?;
    }
    let mut not_received = None;
    for (wanted, change) in wanted.iter().zip(&mut changes) {
        for cgroup in &wanted.cgroups {
            let step = difference(cgroup, wanted.group, &before);
            let step = step.and_then(|result| {
                if result != Outcomes::Unchanged {
                    let outcome = attach_now(cgroup, wanted.group)?;
                    change.sockets += outcome.sockets;
                    not_received = not_received.take().or(outcome.receive_refused);
                }
                Ok(result)
            });
            change.note(step);
        }
    }
    if let Some(reason) = &not_received {
        say_not_received(reason);
    }

    let mut remaining = now;
    for unit in services_left(&wanted) {
        let mut change = Change::detached(&unit);
        let kept = keep(&wanted);
        let step = release_service(&unit, &kept, &mut change);
        change.note(step.map(|()| Outcomes::Detached));
        changes.push(change);
    }
    for applied in left {
        let mut change = Change::detached(&applied.cgroup);
        match release(&applied.cgroup, &mut change) {
            Ok(false) => continue,
            Ok(true) => {}
            Err(error) => {
                change.note(Err(error));
                remaining.push(applied);
            }
        }
        changes.push(change);
    }
    record.replace(remaining)?;
    record.close()?;
    Ok(changes)
}

/// Attaches a cgroup. One that ends meanwhile is no failure of the call.
fn attach_now(cgroup: &Cgroup, group: &Group) -> Result<Outcome> {
    match attach::attach(cgroup, &group.settings) {
        Err(_) if !is_there(cgroup) => Ok(Outcome::default()),
        other => Ok(other?),
    }
}

fn is_there(cgroup: &Cgroup) -> bool {
    attach::find(cgroup.path()).is_ok_and(|there| there.id() == cgroup.id())
}

/// Compares a cgroup with what the file asks for.
fn difference(cgroup: &Cgroup, group: &Group, applied: &[Applied]) -> Result<Outcomes> {
    let options = group.options.join(" ");
    let recorded = applied
        .iter()
        .find(|applied| applied.cgroup == cgroup.path());
    // The kernel does not say whether received data is to be governed where it refuses the programs for that.
    if recorded.is_some_and(|applied| applied.options == options)
        && attach::has(cgroup, &group.settings)?
    {
        return Ok(Outcomes::Unchanged);
    }
    let attached = attach::attached().iter().any(|path| path == cgroup.path());
    let same = recorded.is_none() && attached && attach::has(cgroup, &group.settings)?;
    Ok(match (attached, same) {
        (false, _) => Outcomes::Attached,
        // A service has attached itself as it started, with the options that the file had.
        (true, true) => Outcomes::Unchanged,
        (true, false) => Outcomes::Changed,
    })
}

/// The result for a target whose drop-in has to be written.
fn not_persisted(change: &Change) -> Outcomes {
    match change.cgroups.is_empty() {
        true => Outcomes::Waiting,
        false => Outcomes::Attached,
    }
}

/// The command line by which a service attaches itself as it starts.
fn command(service: &Service, group: &Group) -> Result<Vec<String>> {
    let program = std::env::current_exe().context("finding this program")?;
    let program = program.to_str().context("this program's path is no text")?;
    let mut words = vec![program.to_owned(), "attach".to_owned()];
    words.extend(group.options.iter().cloned());
    words.push(service.attaches.clone());
    Ok(words)
}

fn applied_by<'a>(wanted: &'a Wanted<'_>) -> impl Iterator<Item = Applied> + 'a {
    wanted.cgroups.iter().map(|cgroup| Applied {
        cgroup: cgroup.path().to_owned(),
        options: wanted.group.options.join(" "),
    })
}

/// Returns the records of before, with those of now in place of the ones of the same cgroups. Options that are not in effect
/// yet must not be on record.
fn merged(before: &[Applied], now: &[Applied]) -> Vec<Applied> {
    let is_new = |new: &&Applied| !before.iter().any(|old| old.cgroup == new.cgroup);
    let unfinished = now.iter().filter(is_new).map(|new| Applied {
        cgroup: new.cgroup.clone(),
        options: "unfinished".to_owned(),
    });
    before.iter().cloned().chain(unfinished).collect()
}

/// Returns the cgroups on record that the file no longer names.
fn cgroups_left(applied: &[Applied], wanted: &[Wanted<'_>]) -> Vec<Applied> {
    let kept: BTreeSet<&str> = wanted
        .iter()
        .flat_map(|wanted| &wanted.cgroups)
        .map(Cgroup::path)
        .collect();
    // A service that does not run now, and that the file names, has no cgroup to compare.
    let waiting: BTreeSet<&str> = wanted
        .iter()
        .flat_map(|wanted| &wanted.services)
        .map(|service| service.attaches.as_str())
        .collect();
    let is_left = |applied: &&Applied| {
        let name = applied.cgroup.rsplit('/').next().unwrap_or_default();
        !kept.contains(applied.cgroup.as_str()) && !waiting.contains(name)
    };
    applied.iter().filter(is_left).cloned().collect()
}

/// Returns the services with a drop-in of ours that the file no longer names.
fn services_left(wanted: &[Wanted<'_>]) -> Vec<String> {
    let services = wanted.iter().flat_map(|wanted| &wanted.services);
    let kept: BTreeSet<&str> = services.map(|service| service.unit.as_str()).collect();
    let all = systemd::persisted(Author::Apply).into_iter();
    all.filter(|unit| !kept.contains(unit.as_str())).collect()
}

/// Returns the paths of the cgroups that the file names.
fn keep<'a>(wanted: &'a [Wanted<'_>]) -> BTreeSet<&'a str> {
    let cgroups = wanted.iter().flat_map(|wanted| &wanted.cgroups);
    cgroups.map(Cgroup::path).collect()
}

/// Removes a service's drop-in and detaches what it attached.
fn release_service(unit: &str, kept: &BTreeSet<&str>, change: &mut Change) -> Result<()> {
    // First, so that a service which starts meanwhile is not attached again.
    systemd::forget(unit)?;
    let attaches = Service::by_unit(unit).attaches;
    match plan::cgroup_here(&attaches)?.first() {
        Some(cgroup) if kept.contains(cgroup.path()) => Ok(()),
        Some(cgroup) => release(cgroup.path(), change).map(drop),
        None => Ok(attach::forget(&attaches).map(drop)?),
    }
}

/// Detaches a cgroup; returns false if it has no low priority any more.
fn release(path: &str, change: &mut Change) -> Result<bool> {
    let detached = match plan::cgroup_here(path)?.first() {
        Some(cgroup) => attach::detach(cgroup),
        None => {
            attach::forget(path)?;
            return Ok(false);
        }
    };
    match detached {
        Ok(outcome) => {
            change.cgroups.push(path.to_owned());
            change.sockets += outcome.sockets;
            Ok(true)
        }
        Err(Error::NotAttached { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Output of `--json`.
#[derive(Serialize)]
struct Report<'a> {
    file: &'a str,
    dry_run: bool,
    changes: &'a [Change],
}

fn report(arguments: &Arguments, file: &str, changes: &[Change]) -> Result<ExitCode> {
    let failed = changes
        .iter()
        .any(|change| change.result == Outcomes::Failed);
    if arguments.json {
        text::print_line(&serde_json::to_string(&Report {
            file,
            dry_run: arguments.dry_run,
            changes,
        })?)?;
    } else {
        for change in changes {
            match change.in_words(arguments.dry_run) {
                Some(words) if change.result == Outcomes::Failed => say!("netnice: {words}"),
                Some(words) => text::print_line(&format!("netnice: {words}"))?,
                None => {}
            }
        }
        let unchanged = changes
            .iter()
            .filter(|change| change.result == Outcomes::Unchanged)
            .count();
        match (changes.is_empty(), unchanged) {
            (true, _) => text::print_line(&format!("netnice: {file} names nothing"))?,
            (false, 0) => {}
            (false, unchanged) => text::print_line(&format!("netnice: {unchanged} unchanged"))?,
        }
    }
    Ok(match failed {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}
