// SPDX-License-Identifier: MIT OR Apache-2.0
//! What becomes of commands that write to a pipe that nobody reads: what would without netnice.
//!
//! Rust's runtime ignores SIGPIPE before `main`, and gives what it starts the default action, which ends it. Who started
//! us may have had it ignored, as systemd does for services, and a command may rely on either.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{SigHandler, Signal, signal};

static WAS_IGNORED: AtomicBool = AtomicBool::new(false);

// SAFETY: the C library calls it before `main`, in the only thread; it needs nothing of Rust's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static REMEMBER: extern "C" fn() = remember;

extern "C" fn remember() {
    // SAFETY: sigaction is a plain C structure for which all zeroes is a valid value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: it is only read how the signal is handled, into a value that lives through the call.
    let answer = unsafe { libc::sigaction(libc::SIGPIPE, ptr::null(), &raw mut action) };
    let ignored = answer == 0 && action.sa_sigaction == libc::SIG_IGN;
    WAS_IGNORED.store(ignored, Ordering::Relaxed);
}

/// Handles SIGPIPE as we were started with. May be called between fork and exec.
pub fn restore() -> io::Result<()> {
    let handler = match WAS_IGNORED.load(Ordering::Relaxed) {
        true => SigHandler::SigIgn,
        false => SigHandler::SigDfl,
    };
    // SAFETY: neither runs code of ours.
    unsafe { signal(Signal::SIGPIPE, handler) }?;
    Ok(())
}
