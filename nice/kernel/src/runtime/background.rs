// SPDX-License-Identifier: MIT OR Apache-2.0
//! Background processes that outlive this one: without terminal or open files, and without a parent that has to wait
//! for them.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use nix::errno::Errno;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, signal, sigprocmask};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, chdir, fork, setsid};

use crate::error::{Context, Result};

/// Name of a process that clears up. `killall netnice`, `pkill netnice` and `kill $(pidof netnice)`
/// end the commands, but not what clears up after them.
pub const GUARD: &CStr = c"nn-guard";

/// Name of a supervisor, for the same reason.
pub(crate) const SUPERVISOR: &CStr = c"nn-supervisor";

/// Runs `work` in a new background process called `name` (at most 15 bytes), with no file open except `kept`. Only one
/// thread may be running.
pub fn spawn(name: &CStr, kept: Option<BorrowedFd<'_>>, work: impl FnOnce()) -> Result<()> {
    let starting = || "starting a process in the background".to_owned();
    let kept = kept.map(|kept| kept.as_raw_fd());
    // SAFETY: as the caller has only this thread, the child's memory is in a consistent state.
    match unsafe { fork() }.doing(starting)? {
        ForkResult::Parent { child } => {
            // It ends at once: its own child, which thus has no parent, does the work.
            match waitpid(child, None) {
                // If the caller ignores SIGCHLD, there is nothing to wait for.
                Ok(_) | Err(Errno::ECHILD) => Ok(()),
                Err(error) => Err(error).doing(starting),
            }
        }
        ForkResult::Child => {
            // SAFETY: as above.
            if setsid().is_ok() && matches!(unsafe { fork() }, Ok(ForkResult::Child)) {
                detach(name, kept);
                work();
            }
            // SAFETY: ends the process without running the parent's exit handlers.
            unsafe { libc::_exit(0) }
        }
    }
}

/// Detaches from the terminal, the working directory and all files; ignores signals meant for the command.
fn detach(name: &CStr, kept: Option<RawFd>) {
    for number in [
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGTERM,
        Signal::SIGUSR1,
        Signal::SIGUSR2,
        Signal::SIGPIPE,
    ] {
        // SAFETY: ignoring a signal runs no code of this program.
        let _ = unsafe { signal(number, SigHandler::SigIgn) };
    }
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
    let _ = chdir("/");
    let _ = nix::sys::prctl::set_name(name);
    let _ = set_program_name(name);
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let null = null.as_fd();
        let _ = nix::unistd::dup2_stdin(null);
        let _ = nix::unistd::dup2_stdout(null);
        let _ = nix::unistd::dup2_stderr(null);
    }
    close_from(3, kept.as_slice());
}

/// Puts `name` in the place of the program in this process's command line (`/proc/PID/cmdline`),
/// which `pidof` and `ps` go by. What has no room any more at the end of the arguments is cut off.
/// Nothing may use the arguments afterwards.
fn set_program_name(name: &CStr) -> io::Result<()> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (start, end) = arguments(&stat).ok_or(io::ErrorKind::InvalidData)?;
    // SAFETY: the kernel has put the arguments there, in memory that this process may write to; it
    // is never freed, and this process has one thread, which uses none of them any more.
    let line = unsafe { std::slice::from_raw_parts_mut(start as *mut u8, end - start) };
    rename(line, name.to_bytes_with_nul());
    Ok(())
}

/// Where the arguments begin and end in memory: fields 48 and 49 of `/proc/PID/stat`. The name in
/// the second field is in parentheses and may hold any character.
fn arguments(stat: &str) -> Option<(usize, usize)> {
    let (_, from_third_field) = stat.rsplit_once(')')?;
    let mut fields = from_third_field.split_whitespace().skip(48 - 3);
    let start = fields.next()?.parse().ok()?;
    let end = fields.next()?.parse().ok()?;
    (0 < start && start < end).then_some((start, end))
}

/// Replaces the first of the strings in `line`, each of which ends with a zero byte.
fn rename(line: &mut [u8], name: &[u8]) {
    let first = line
        .iter()
        .position(|byte| *byte == 0)
        .map_or(line.len(), |at| at + 1);
    let new: Vec<u8> = name.iter().chain(&line[first..]).copied().collect();
    let length = new.len().min(line.len());
    line[..length].copy_from_slice(&new[..length]);
    line[length..].fill(0);
    // Else the kernel would take the environment for a part of it.
    if let Some(last) = line.last_mut() {
        *last = 0;
    }
}

/// Closes all files from `first` on except `kept`. Values that own them must not be used.
pub(crate) fn close_from(first: RawFd, kept: &[RawFd]) {
    let close = |from: RawFd, to: libc::c_uint| {
        // SAFETY: the callers run nothing that relies on the files closed here.
        unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) };
    };
    let mut kept: Vec<_> = kept.iter().filter(|kept| **kept >= first).collect();
    kept.sort_unstable();
    let mut from = first;
    for &kept in kept {
        if kept > from {
            close(from, (kept - 1) as libc::c_uint);
        }
        from = kept + 1;
    }
    close(from, libc::c_uint::MAX);
}

#[cfg(test)]
mod tests {
    use super::{arguments, rename};

    #[test]
    fn the_first_argument_is_replaced_within_the_room_there_is() {
        for (before, after) in [
            ("/usr/bin/netnice\0run\0", "nn-guard\0run\0\0\0\0\0\0\0\0\0"),
            ("netnice\0run\0true\0", "nn-guard\0run\0tru\0"),
            ("n\0", "n\0"),
            ("netnice", "nn-gua\0"),
        ] {
            let mut line = before.as_bytes().to_vec();
            rename(&mut line, b"nn-guard\0");
            assert_eq!(String::from_utf8(line).unwrap(), after);
        }
    }

    #[test]
    fn the_arguments_are_found_behind_any_name() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("77 (a) b) {}", fields.join(" "));
        assert_eq!(arguments(&stat), Some((48, 49)));
        assert_eq!(arguments("77 (a) S 1"), None);
    }
}
