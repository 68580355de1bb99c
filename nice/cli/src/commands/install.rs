// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice install`: for all users, from boot on.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use netnice_kernel::{locked_file, need_root, systemd};
use nix::fcntl::FlockArg;

use netnice_terminal::text;

use super::register::register;

const EXAMPLES: &str = "\
Examples:
  sudo netnice install
  sudo ./netnice install --prefix /opt/netnice

Effects:
  Copies this program to PREFIX/bin, and registers the controls, now and at each boot, by a systemd unit. The unit \
  also applies /etc/netnice.toml if it exists (netnice apply). From then on `netnice run`, `status`, and `renice` of \
  your own processes need no root.
  To upgrade, install again: open connections keep the version that they began with.
  `sudo netnice uninstall` undoes everything.";

/// File name of the program.
const PROGRAM_NAME: &str = "netnice";

/// Name of the unit that registers the controls at boot.
pub(super) const UNIT_NAME: &str = "netnice.service";

/// Directory of the administrator's units.
const UNITS: &str = "/etc/systemd/system";

/// Directories of the units of packages (man 5 systemd.unit).
const PACKAGED_UNITS: [&str; 2] = ["/usr/lib/systemd/system", "/lib/systemd/system"];

/// Register the controls now and at boot, so that all users can use them.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Install the program to bin below this directory
    #[arg(long, default_value = "/usr/local", value_name = "DIRECTORY")]
    prefix: PathBuf,
}

/// Installs, and reports what changed.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    need_root("install")?;
    let program = program(&arguments.prefix)?;
    refuse_packaged()?;
    // Registers first, so that a kernel that refuses leaves nothing half installed.
    register()?;
    copy_to(&program)?;
    if systemd::runs() {
        let units = Path::new(UNITS);
        write_whole(
            units,
            UNIT_NAME,
            |file| file.write_all(unit(&program).as_bytes()),
            0o644,
        )
        .with_context(|| format!("writing {UNITS}/{UNIT_NAME}"))?;
        systemctl(&["daemon-reload"])?;
        systemctl(&["enable", "--now", UNIT_NAME])?;
        text::print_line(&format!(
            "netnice: installed as {}; {UNIT_NAME} registers it at boot",
            program.display()
        ))?;
    } else {
        text::print_line(&format!(
            "netnice: installed as {0} and registered; no systemd runs here, so have `{0} register` \
             run at boot",
            program.display()
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the path of the installed program.
pub(super) fn program(prefix: &Path) -> Result<PathBuf> {
    let program = prefix.join("bin").join(PROGRAM_NAME);
    if !program.is_absolute()
        || program
            .to_str()
            .is_none_or(|path| path.contains(['%', '"', '\\']))
    {
        bail!(
            "--prefix {}: give an absolute path without %, \" and \\",
            prefix.display()
        );
    }
    Ok(program)
}

/// Fails where a package has installed netnice: a second copy would hide the package's unit.
pub(super) fn refuse_packaged() -> Result<()> {
    for directory in PACKAGED_UNITS {
        let unit = Path::new(directory).join(UNIT_NAME);
        if unit.exists() {
            bail!(
                "a package has installed netnice ({}): install, upgrade and remove it by the package manager",
                unit.display()
            );
        }
    }
    Ok(())
}

/// Removes the unit, if it exists, and the unfinished copy of a killed call.
pub(super) fn remove_unit() -> Result<()> {
    let units = Path::new(UNITS);
    let removing = |path: &Path| format!("removing {}", path.display());
    if units.is_dir() {
        let unfinished = units.join(unfinished(UNIT_NAME));
        remove(&unfinished).with_context(|| removing(&unfinished))?;
    }
    let unit = units.join(UNIT_NAME);
    if !unit.exists() {
        return Ok(());
    }
    if systemd::runs() {
        systemctl(&["disable", "--now", UNIT_NAME])?;
    }
    fs::remove_file(&unit).with_context(|| removing(&unit))?;
    if systemd::runs() {
        systemctl(&["daemon-reload"])?;
    }
    Ok(())
}

/// Copies this program so that at any time either the whole old one or the whole new one exists.
fn copy_to(program: &Path) -> Result<()> {
    let copying = || format!("copying this program to {}", program.display());
    let ours = fs::metadata("/proc/self/exe").with_context(copying)?;
    if fs::metadata(program)
        .is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino()))
    {
        return Ok(());
    }
    let directory = program.parent().context("the path has no directory")?;
    systemd::make_directories(directory).with_context(copying)?;
    let copy = |to: &mut File| {
        let mut from = File::open("/proc/self/exe")?;
        io::copy(&mut from, to).map(drop)
    };
    write_whole(directory, PROGRAM_NAME, copy, 0o755).with_context(copying)
}

/// Writes a file so that neither a killed call nor a loss of power leaves a part of it under its name: under another
/// name first, to disk, then renamed. An empty unit would be masked for systemd.
fn write_whole(
    directory: &Path,
    name: &str,
    write: impl FnOnce(&mut File) -> io::Result<()>,
    mode: u32,
) -> io::Result<()> {
    let lock = lock(directory)?;
    let unfinished = directory.join(unfinished(name));
    // A killed call may have left it.
    let _ = fs::remove_file(&unfinished);
    let written = File::options()
        .write(true)
        .create_new(true)
        .open(&unfinished)
        .and_then(|mut file| {
            // The caller's umask may be strict.
            file.set_permissions(Permissions::from_mode(mode))?;
            write(&mut file)?;
            file.sync_all()?;
            fs::rename(&unfinished, directory.join(name))
        });
    if written.is_err() {
        // The file may not even exist.
        let _ = fs::remove_file(&unfinished);
        return written;
    }
    // The new name is on disk too when this call ends.
    lock.sync_all()
}

/// Returns the name of an unfinished copy, in the directory of the file.
fn unfinished(name: &str) -> String {
    format!(".{name}-unfinished")
}

/// Removes the program, and the unfinished copy of a killed call.
pub(super) fn remove_program(program: &Path) -> Result<()> {
    let removing = || format!("removing {}", program.display());
    let directory = program.parent().context("the path has no directory")?;
    if !directory.is_dir() {
        return Ok(());
    }
    let _lock = lock(directory).with_context(removing)?;
    for path in [&directory.join(unfinished(PROGRAM_NAME)), program] {
        remove(path).with_context(removing)?;
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Locks a directory against other calls that copy to it. A lock file would stay behind.
fn lock(directory: &Path) -> io::Result<locked_file::Locked> {
    locked_file::lock(File::open(directory)?, FlockArg::LockExclusive)
}

/// Restrictions of the unit. Mounting the BPF file system, and opening a program that is attached to a cgroup, take
/// CAP_SYS_ADMIN; writing to pinned maps that others may only read takes CAP_DAC_OVERRIDE; reaching the sockets of running
/// processes takes CAP_SYS_PTRACE (man 2 pidfd_getfd). Nothing here may give the unit a mount namespace of its own: a mount
/// in it would keep the place of the BPF file system busy.
const RESTRICTIONS: &str = "\
CapabilityBoundingSet=CAP_BPF CAP_DAC_OVERRIDE CAP_NET_ADMIN CAP_PERFMON CAP_SYS_ADMIN CAP_SYS_PTRACE
IPAddressDeny=any
KeyringMode=private
LockPersonality=yes
MemoryDenyWriteExecute=yes
NoNewPrivileges=yes
ProtectClock=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service bpf mount umount2 pidfd_getfd
";

/// Returns the text of the unit that registers the controls of an installed program at boot, and applies `/etc/netnice.toml`.
pub(super) fn unit(program: &Path) -> String {
    let program = program.display();
    format!(
        "[Unit]\n\
         Description=Low priority for network transfers (netnice)\n\
         Documentation=https://github.com/netnice/netnice\n\
         ConditionPathExists=/sys/kernel/btf/vmlinux\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         ExecStart=\"{program}\" register\n\
         ExecStart=\"{program}\" apply\n\
         ExecReload=\"{program}\" register\n\
         ExecReload=\"{program}\" apply\n\
         ExecStop=\"{program}\" unregister\n\
         \n\
         {RESTRICTIONS}\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    )
}

/// Runs `systemctl` where systemd runs.
fn systemctl(arguments: &[&str]) -> Result<()> {
    let output =
        systemd::systemctl(arguments).context("systemd runs, but there is no systemctl")??;
    ensure!(
        output.status.success(),
        "systemctl {} failed: `journalctl -u netnice.service` may tell why",
        arguments.join(" ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_left_unfinished_hinders_nothing_and_goes() {
        let prefix = tempfile::tempdir().unwrap();
        let program = program(prefix.path()).unwrap();
        // Nothing is installed yet.
        remove_program(&program).unwrap();
        let directory = program.parent().unwrap();
        fs::create_dir(directory).unwrap();
        let unfinished = directory.join(unfinished(PROGRAM_NAME));
        fs::write(&unfinished, "half").unwrap();
        copy_to(&program).unwrap();
        assert!(!unfinished.exists());
        let length = |path: &Path| fs::metadata(path).unwrap().len();
        assert_eq!(length(&program), length(Path::new("/proc/self/exe")));
        fs::write(&unfinished, "half").unwrap();
        remove_program(&program).unwrap();
        assert_eq!(fs::read_dir(directory).unwrap().count(), 0);
    }

    #[test]
    fn a_write_that_fails_leaves_the_old_file_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        write_whole(path, "unit", |file| file.write_all(b"old"), 0o644).unwrap();
        let fail = |file: &mut File| {
            file.write_all(b"half of the n")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        };
        write_whole(path, "unit", fail, 0o644).unwrap_err();
        assert_eq!(fs::read(path.join("unit")).unwrap(), b"old");
        assert_eq!(fs::read_dir(path).unwrap().count(), 1);
        write_whole(path, "unit", |file| file.write_all(b"new"), 0o600).unwrap();
        assert_eq!(fs::read(path.join("unit")).unwrap(), b"new");
        assert_eq!(
            fs::metadata(path.join("unit")).unwrap().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn a_prefix_that_systemd_would_misread_is_refused() {
        assert_eq!(
            program(Path::new("/usr/local")).unwrap(),
            Path::new("/usr/local/bin/netnice")
        );
        for wrong in ["relative", "/opt/50%", "/opt/a\"b"] {
            assert!(program(Path::new(wrong)).is_err(), "{wrong}");
        }
    }
}
