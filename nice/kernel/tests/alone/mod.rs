// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keeps tests from running while netnice is in use.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

static ALONE: Mutex<()> = Mutex::new(());

/// Runs one test at a time, and none while another program uses the pins.
pub fn alone() -> MutexGuard<'static, ()> {
    assert!(
        nix::unistd::geteuid().is_root(),
        "this test needs root: sudo -E cargo test"
    );
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let deadline = Instant::now() + Duration::from_secs(15);
    while Path::new("/run/netnice").exists() {
        assert!(
            Instant::now() < deadline,
            "netnice is installed or in use here"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    guard
}
