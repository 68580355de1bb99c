// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system's service manager: the cgroup of a unit, and drop-ins by which a service is attached
//! each time it starts (man 5 systemd.unit, man 5 systemd.service).

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};

use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::error::{Context, Error, Result};

/// Where an administrator's units and drop-ins are.
const UNITS: &str = "/etc/systemd/system";
/// The name of our drop-ins.
const DROP_IN: &str = "50-netnice.conf";

/// Returns true if systemd is the system's service manager.
pub fn runs() -> bool {
    fs::exists("/run/systemd/system").unwrap_or(false)
}

/// The cgroup of a unit, in the form of `/proc/PID/cgroup`.
pub(crate) fn control_group(name: &str) -> Result<String> {
    match property(name, "ControlGroup")? {
        Some(path) => Ok(path),
        None => Err(Error::UnknownUnit {
            name: name.to_owned(),
        }),
    }
}

/// Returns the unit that a cgroup belongs to by its path, as systemd names the cgroups of services and scopes; of a path
/// within none of these the innermost slice; `None` in a hierarchy that systemd does not manage.
pub fn unit_of(path: &str) -> Option<&str> {
    let innermost = |suffixes: &[&str]| {
        let is_unit = |name: &&str| suffixes.iter().any(|suffix| name.ends_with(suffix));
        path.rsplit('/').find(is_unit)
    };
    innermost(&[".service", ".scope"]).or_else(|| innermost(&[".slice"]))
}

/// Returns the addresses at which systemd itself listens for a service, by its `.socket` units: the service gets these sockets,
/// or each connection, as it starts. Empty where systemd does not run.
pub(crate) fn listening_for(service: &str) -> Vec<SocketAddr> {
    let asked = |unit: &str, name| property(unit, name).ok().flatten().unwrap_or_default();
    let triggers = asked(service, "TriggeredBy");
    let sockets = triggers.split_whitespace();
    let sockets = sockets.filter(|unit| unit.ends_with(".socket"));
    sockets
        .flat_map(|unit| stream_addresses(&asked(unit, "Listen")))
        .collect()
}

/// Reads the property `Listen` of a socket unit: a line for each socket, such as `[::]:22 (Stream)`.
fn stream_addresses(text: &str) -> Vec<SocketAddr> {
    let address = |line: &str| line.strip_suffix(" (Stream)")?.parse().ok();
    text.lines().filter_map(address).collect()
}

/// Runs `systemctl`, which is not looked up in PATH: this may run as root with the caller's
/// environment. `None` where systemd or `systemctl` is missing.
pub fn systemctl(arguments: &[&str]) -> Option<Result<Output>> {
    let systemctl = ["/usr/bin/systemctl", "/bin/systemctl"];
    let systemctl = systemctl.iter().find(|path| Path::new(path).exists());
    let output = Command::new(systemctl.filter(|_| runs())?)
        .args(arguments)
        .env_clear()
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    Some(output.doing(|| format!("running systemctl {}", arguments.join(" "))))
}

/// A property of a unit; `None` if it is empty.
fn property(unit: &str, property: &str) -> Result<Option<String>> {
    let option = format!("--property={property}");
    let answer = systemctl(&["show", &option, "--value", "--", unit]);
    let answer = answer.ok_or_else(|| Error::NoSystemd {
        name: unit.to_owned(),
    })??;
    let value = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    Ok((!value.is_empty()).then_some(value))
}

/// Command that has written a drop-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// `netnice attach --persist`.
    Attach,
    /// `netnice apply`.
    Apply,
}

impl Author {
    fn comment(self) -> &'static str {
        match self {
            Self::Attach => "# Written by `netnice attach --persist`; `netnice detach` removes it.",
            Self::Apply => "# Written by `netnice apply`, from a file that names this service.",
        }
    }
}

/// Returns the full name of a service that systemd knows by a unit file.
///
/// # Errors
/// If systemd does not run, or knows no such service.
pub fn service(name: &str) -> Result<String> {
    if !runs() {
        return Err(Error::NoServiceManager);
    }
    let is_service = |unit: &String| unit.ends_with(".service") && !unit.contains('/');
    // Of a unit that it does not know, systemd prints the name that the unit would have.
    let known = property(name, "FragmentPath")?.is_some();
    let unit = property(name, "Id")?.filter(is_service).filter(|_| known);
    unit.ok_or_else(|| Error::NotAService {
        name: name.to_owned(),
    })
}

/// Has a service, given by its full name, run a command, its program and arguments, as root each time it starts, before its
/// own programs. If the command fails the service starts all the same. It takes effect with [`reload`].
pub fn persist(unit: &str, author: Author, command: &[String]) -> Result<()> {
    let directory = drop_in_directory(unit);
    let file = directory.join(DROP_IN);
    let writing = || format!("writing {}", file.display());
    make_directories(&directory).doing(writing)?;
    write_whole(&file, &drop_in(author, command)).doing(writing)
}

/// Returns true if [`persist`] was called with the same arguments last.
pub fn is_persisted(unit: &str, author: Author, command: &[String]) -> bool {
    let text = fs::read_to_string(drop_in_directory(unit).join(DROP_IN));
    text.is_ok_and(|text| text == drop_in(author, command))
}

/// Returns the full names of the services that have a drop-in of `author`.
pub fn persisted(author: Author) -> Vec<String> {
    let entries = fs::read_dir(UNITS).into_iter().flatten().flatten();
    let unit = |directory: PathBuf| {
        let name = directory.file_name()?.to_str()?.strip_suffix(".d")?;
        let text = fs::read_to_string(directory.join(DROP_IN)).ok()?;
        text.starts_with(author.comment()).then(|| name.to_owned())
    };
    let mut units: Vec<String> = entries.filter_map(|entry| unit(entry.path())).collect();
    units.sort();
    units
}

/// Starts a slice, so that its cgroup exists before anything in it starts.
pub fn start_slice(name: &str) -> Result<()> {
    let started = systemctl(&["start", "--", name]).ok_or_else(|| Error::NoSystemd {
        name: name.to_owned(),
    })??;
    match started.status.success() {
        true => Ok(()),
        false => Err(Error::UnknownUnit {
            name: name.to_owned(),
        }),
    }
}

/// Removes the drop-in of a service, given by name or by its cgroup; returns whether there was one.
pub fn forget(name: &str) -> Result<bool> {
    let name = name.trim_end_matches('/').rsplit('/').next();
    let unit = match name {
        None | Some("" | "." | "..") => return Ok(false),
        Some(name) if name.ends_with(".service") => name.to_owned(),
        Some(name) => format!("{name}.service"),
    };
    let removed = remove_drop_in(&drop_in_directory(&unit))?;
    if removed {
        reload()?;
    }
    Ok(removed)
}

/// Name of the timer and the service by which a command runs as hours begin and end.
const HOURS: &str = "netnice-hours";

/// Has systemd run a command, its program and arguments, as root at these times of each day, `22:00`, and after a time at which the
/// machine was off or suspended; at none if there are none.
pub fn keep_hours(times: &BTreeSet<String>, command: &[String]) -> Result<()> {
    if times.is_empty() {
        return forget_hours();
    }
    let [timer, service] = hours_units(times, command);
    let files = [("timer", timer), ("service", service)]
        .map(|(suffix, text)| (Path::new(UNITS).join(format!("{HOURS}.{suffix}")), text));
    if files
        .iter()
        .all(|(file, text)| fs::read_to_string(file).is_ok_and(|there| there == *text))
    {
        return Ok(());
    }
    for (file, text) in &files {
        write_whole(file, text).doing(|| format!("writing {}", file.display()))?;
    }
    reload()?;
    // A timer that runs takes its new times only when it is started again.
    let timer = format!("{HOURS}.timer");
    for arguments in [["enable", &timer], ["restart", &timer]] {
        let answer = systemctl(&arguments).transpose()?;
        if answer.is_some_and(|answer| !answer.status.success()) {
            return Err(io::Error::other("it fails"))
                .doing(|| format!("running systemctl {}", arguments.join(" ")));
        }
    }
    Ok(())
}

/// Removes the timer of [`keep_hours`], if there is one.
pub fn forget_hours() -> Result<()> {
    let timer = Path::new(UNITS).join(format!("{HOURS}.timer"));
    if !fs::exists(&timer).unwrap_or(false) {
        return Ok(());
    }
    if let Some(answer) = systemctl(&["disable", "--now", &format!("{HOURS}.timer")]) {
        answer?;
    }
    for file in [timer.clone(), timer.with_extension("service")] {
        match fs::remove_file(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other.doing(|| format!("removing {}", file.display()))?,
        }
    }
    reload()
}

/// The timer and the service.
fn hours_units(times: &BTreeSet<String>, command: &[String]) -> [String; 2] {
    let calendar: String = times
        .iter()
        .map(|time| format!("OnCalendar=*-*-* {time}:00\n"))
        .collect();
    let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    let head =
        "# Written by `netnice apply`, which removes it when its file has no hours any more.\n";
    [
        format!(
            "{head}[Unit]\nDescription=Hours of low priority (netnice)\n\n[Timer]\n{calendar}AccuracySec=1s\nPersistent=true\n\n\
             [Install]\nWantedBy=timers.target\n"
        ),
        format!(
            "{head}[Unit]\nDescription=Low priority as the hours ask for it (netnice)\n\n[Service]\nType=oneshot\nExecStart={}\n",
            words.join(" ")
        ),
    ]
}

/// Removes all drop-ins of ours, and the timer of hours.
pub fn forget_all() -> Result<()> {
    forget_hours()?;
    let mut removed = false;
    for entry in fs::read_dir(UNITS).into_iter().flatten().flatten() {
        removed |= remove_drop_in(&entry.path())?;
    }
    match removed {
        true => reload(),
        false => Ok(()),
    }
}

/// Creates a directory, and those above it, in which nobody else may write whatever the caller's umask is.
pub fn make_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

fn drop_in_directory(unit: &str) -> PathBuf {
    Path::new(UNITS).join(format!("{unit}.d"))
}

/// Replaces a file so that it is complete after a loss of power, too. systemd ignores the name that it has meanwhile, which
/// does not end in `.conf`.
fn write_whole(file: &Path, text: &str) -> io::Result<()> {
    let beside = file.with_extension("unfinished");
    let mut written = fs::File::create(&beside)?;
    // systemd runs as root what is in it, whatever the caller's umask is.
    written.set_permissions(Permissions::from_mode(0o644))?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    fs::rename(&beside, file)
}

fn remove_drop_in(directory: &Path) -> Result<bool> {
    let file = directory.join(DROP_IN);
    match fs::remove_file(&file) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(false);
        }
        other => other.doing(|| format!("removing {}", file.display()))?,
    }
    // Drop-ins of others may be in it.
    let _ = fs::remove_dir(directory);
    Ok(true)
}

/// Has systemd read its files again, where it runs.
pub fn reload() -> Result<()> {
    match systemctl(&["daemon-reload"]) {
        Some(Ok(answer)) if !answer.status.success() => {
            Err(io::Error::other("it fails")).doing(|| "running systemctl daemon-reload".to_owned())
        }
        Some(other) => other.map(drop),
        None => Ok(()),
    }
}

/// `-`: a failure does not keep the service from starting; `+`: as root, whatever `User=` says.
fn drop_in(author: Author, command: &[String]) -> String {
    let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    format!(
        "{}\n\
         [Service]\n\
         ExecStartPre=-+{}\n",
        author.comment(),
        words.join(" ")
    )
}

/// A word of a command line, so that systemd takes none of its characters for one of its own.
fn quoted(word: &str) -> String {
    let mut quoted = String::from("\"");
    for character in word.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '%' | '$' => quoted.extend([character, character]),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drop_in_runs_the_command_as_it_was_given() {
        let words = [
            "/usr/local/bin/netnice",
            "attach",
            "a b.service",
            r#"5%$"\"#,
        ];
        let expected =
            r#"ExecStartPre=-+"/usr/local/bin/netnice" "attach" "a b.service" "5%%$$\"\\""#;
        let text = drop_in(Author::Attach, &words.map(str::to_owned));
        assert_eq!(text.lines().last(), Some(expected));
        assert!(text.contains("\n[Service]\n"), "{text}");
    }

    #[test]
    fn the_addresses_of_a_socket_unit_are_those_of_streams() {
        let text = "0.0.0.0:22 (Stream)\n[::]:22 (Stream)\n/run/x (Stream)\n[::]:53 (Datagram)";
        let expected = ["0.0.0.0:22", "[::]:22"].map(|address| address.parse().unwrap());
        assert_eq!(stream_addresses(text), expected);
    }

    #[test]
    fn a_timer_has_each_end_of_the_hours() {
        let times = ["06:00", "22:00"].map(str::to_owned).into_iter().collect();
        let command = ["/usr/bin/netnice", "apply", "/etc/a b.toml"].map(str::to_owned);
        let [timer, service] = hours_units(&times, &command);
        let calendar: Vec<&str> = timer
            .lines()
            .filter(|line| line.starts_with("OnCalendar"))
            .collect();
        assert_eq!(
            calendar,
            ["OnCalendar=*-*-* 06:00:00", "OnCalendar=*-*-* 22:00:00"]
        );
        assert!(timer.contains("\nPersistent=true\n"));
        let starts = r#"ExecStart="/usr/bin/netnice" "apply" "/etc/a b.toml""#;
        assert_eq!(service.lines().last(), Some(starts));
    }

    #[test]
    fn a_drop_in_is_replaced_whole() {
        let directory =
            std::env::temp_dir().join(format!("netnice-drop-in-{}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        let file = directory.join(DROP_IN);
        write_whole(&file, "old").unwrap();
        // A reader that has the old file open keeps it: nothing is written in place.
        let mut before = fs::File::open(&file).unwrap();
        write_whole(&file, "new").unwrap();
        assert_eq!(io::read_to_string(&mut before).unwrap(), "old");
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_cgroup_belongs_to_its_innermost_unit() {
        for (path, expected) in [
            ("/system.slice/backup.service", Some("backup.service")),
            (
                "/system.slice/docker-01.scope/init",
                Some("docker-01.scope"),
            ),
            (
                "/user.slice/user-1.slice/user@1.service/app.slice/app-x.scope",
                Some("app-x.scope"),
            ),
            ("/user.slice/user-1.slice", Some("user-1.slice")),
            ("/lxc/container", None),
            ("/", None),
        ] {
            assert_eq!(unit_of(path), expected);
        }
    }

    #[test]
    fn no_name_leads_out_of_the_directory_of_units() {
        for name in ["..", "/", "", "../..", "a/.."] {
            assert!(!forget(name).unwrap(), "{name:?}");
        }
    }
}
