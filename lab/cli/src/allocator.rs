// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of the program.

/// Gives all threads memory of one pool from now on. The system's allocator has one for each thread, but only the first of them grows by more than
/// what is missing at a time: a run that is made in another thread asks the system for memory thousands of times. Threads that allocate at the same time
/// would wait for each other.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn share_memory() {
    // SAFETY: the function sets a number.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Elsewhere there is no such pool.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn share_memory() {}
