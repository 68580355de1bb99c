// SPDX-License-Identifier: MIT OR Apache-2.0
//! SIGPIPE and SIGXFSZ, which end a program that writes to a pipe without a reader, or beyond the file size limit
//! (`ulimit -f`). netnice ignores them, so that such a write fails and can be reported; commands inherit the actions
//! that netnice was started with.
//!
//! Rust's runtime ignores SIGPIPE before `main`, and gives child processes the default action. The parent may have had
//! it ignored, as systemd does for services, and a command may rely on either.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{SigHandler, Signal, signal};

const SIGNALS: [Signal; 2] = [Signal::SIGPIPE, Signal::SIGXFSZ];

static WERE_IGNORED: [AtomicBool; SIGNALS.len()] = [AtomicBool::new(false), AtomicBool::new(false)];

// SAFETY: the C library calls it before `main`, in the only thread; it needs nothing of Rust's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static REMEMBER: extern "C" fn() = remember;

extern "C" fn remember() {
    for (signal, was_ignored) in SIGNALS.into_iter().zip(&WERE_IGNORED) {
        // SAFETY: sigaction is a plain C structure for which all zeroes is a valid value.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: the call only reads how the signal is handled, into a value that lives through the call.
        let answer = unsafe { libc::sigaction(signal as i32, ptr::null(), &raw mut action) };
        let ignored = answer == 0 && action.sa_sigaction == libc::SIG_IGN;
        was_ignored.store(ignored, Ordering::Relaxed);
    }
}

/// Ignores both: writes fail with EPIPE or EFBIG instead.
pub fn ignore() {
    for number in SIGNALS {
        // SAFETY: ignoring a signal runs no code of this program.
        let _ = unsafe { signal(number, SigHandler::SigIgn) };
    }
}

/// Restores the actions that netnice was started with. May be called between fork and exec.
pub fn restore() -> io::Result<()> {
    for (number, was_ignored) in SIGNALS.into_iter().zip(&WERE_IGNORED) {
        let handler = match was_ignored.load(Ordering::Relaxed) {
            true => SigHandler::SigIgn,
            false => SigHandler::SigDfl,
        };
        // SAFETY: neither runs code of this program.
        unsafe { signal(number, handler) }?;
    }
    Ok(())
}
