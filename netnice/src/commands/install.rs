// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice install`: for all users, from boot on.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use netnice_kernel::{need_root, systemd};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::text;

use super::register::register;

const EXAMPLES: &str = "\
Examples:
  sudo netnice install
  sudo ./netnice install --prefix /opt/netnice

Effects:
  Copies this program to PREFIX/bin, and registers the controls, now and by a unit of systemd at
  each boot. From then on `netnice run`, `renice` of one's own processes and `status` need no root.
  Installing again upgrades: connections that are open keep the version they began with.
  `sudo netnice uninstall` undoes all of it.";

/// Name of an unfinished copy, in the program's directory.
const UNFINISHED: &str = ".netnice-unfinished";

/// Path of the unit that registers the controls at boot.
const UNIT: &str = "/etc/systemd/system/netnice.service";

/// Register the controls now and at boot, so that all users can use them.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// The program goes to bin below this directory
    #[arg(long, default_value = "/usr/local", value_name = "DIRECTORY")]
    prefix: PathBuf,
}

/// Installs, and reports what changed.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    need_root("install")?;
    let program = program(&arguments.prefix)?;
    // Registers first, so that a kernel that refuses leaves nothing half installed.
    register()?;
    copy_to(&program)?;
    if systemd::runs() {
        fs::write(UNIT, unit(&program)).with_context(|| format!("writing {UNIT}"))?;
        systemctl(&["daemon-reload"])?;
        systemctl(&["enable", "--now", "netnice.service"])?;
        text::print_line(&format!(
            "netnice: installed as {}; netnice.service registers it at boot",
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
    let program = prefix.join("bin/netnice");
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

/// Removes the unit, if it exists.
pub(super) fn remove_unit() -> Result<()> {
    if !Path::new(UNIT).exists() {
        return Ok(());
    }
    if systemd::runs() {
        systemctl(&["disable", "--now", "netnice.service"])?;
    }
    fs::remove_file(UNIT).with_context(|| format!("removing {UNIT}"))?;
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
    fs::create_dir_all(directory).with_context(copying)?;
    let _lock = lock(directory).with_context(copying)?;
    let unfinished = directory.join(UNFINISHED);
    // A killed call may have left it.
    let _ = fs::remove_file(&unfinished);
    let copied = File::open("/proc/self/exe").and_then(|mut from| {
        let mut to = File::options()
            .write(true)
            .create_new(true)
            .open(&unfinished)?;
        // The caller's umask may be strict.
        to.set_permissions(Permissions::from_mode(0o755))?;
        io::copy(&mut from, &mut to)?;
        to.sync_all()?;
        fs::rename(&unfinished, program)
    });
    if copied.is_err() {
        // The file may not even exist.
        let _ = fs::remove_file(&unfinished);
    }
    copied.with_context(copying)
}

/// Removes the program, and the unfinished copy of a killed call.
pub(super) fn remove_program(program: &Path) -> Result<()> {
    let removing = || format!("removing {}", program.display());
    let directory = program.parent().context("the path has no directory")?;
    if !directory.is_dir() {
        return Ok(());
    }
    let _lock = lock(directory).with_context(removing)?;
    for path in [&directory.join(UNFINISHED), program] {
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other.with_context(removing)?,
        }
    }
    Ok(())
}

/// Locks a directory against other calls that copy to it. A lock file would stay behind.
fn lock(directory: &Path) -> io::Result<Flock<File>> {
    let mut directory = File::open(directory)?;
    loop {
        match Flock::lock(directory, FlockArg::LockExclusive) {
            Ok(lock) => return Ok(lock),
            Err((unlocked, Errno::EINTR)) => directory = unlocked,
            Err((_, error)) => return Err(error.into()),
        }
    }
}

fn unit(program: &Path) -> String {
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
         ExecStop=\"{program}\" unregister\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    )
}

fn systemctl(arguments: &[&str]) -> Result<()> {
    let line = format!("systemctl {}", arguments.join(" "));
    // PATH is not searched: this runs as root with the caller's environment.
    let path = ["/usr/bin/systemctl", "/bin/systemctl"];
    let path = path.iter().find(|path| Path::new(path).exists());
    let status = Command::new(path.context("systemd runs, but there is no systemctl")?)
        .args(arguments)
        .env_clear()
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| line.clone())?;
    if !status.success() {
        bail!("{line} failed: `journalctl -u netnice.service` may tell why");
    }
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
        let unfinished = directory.join(UNFINISHED);
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
