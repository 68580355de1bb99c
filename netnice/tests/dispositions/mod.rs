// SPDX-License-Identifier: MIT OR Apache-2.0
//! How this test program, and so what it starts, takes signals.

use std::sync::Once;

use nix::sys::signal::{SigHandler, Signal, signal};

static ONCE: Once = Once::new();

/// SIGHUP, SIGINT and SIGQUIT end a process, even where `nohup` has started the tests, or a shell in the background: they
/// have them ignored, and that is inherited.
pub fn heed_signals() {
    ONCE.call_once(|| {
        for ignored in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT] {
            // SAFETY: no handler of ours is replaced, and none is set.
            unsafe { signal(ignored, SigHandler::SigDfl) }.expect("the default disposition");
        }
    });
}
