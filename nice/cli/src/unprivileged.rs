// SPDX-License-Identifier: MIT OR Apache-2.0
//! Giving root up for good, before data from a network is parsed.

use anyhow::{Context, Result, ensure};
use nix::sys::prctl;
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid, setuid};

/// User and group `nobody`, which own no file.
const NOBODY: u32 = 65534;

/// Makes this process, with all its threads, one of the user nobody. It gets no privilege back, nor do programs that it
/// starts. Files that are open stay open.
///
/// # Errors
/// If the kernel refuses, as in a user namespace that has no such user. The process may then have lost root in part,
/// and must end.
pub fn give_up_root() -> Result<()> {
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    let dropping = "giving up root (becoming the user nobody, 65534)";
    setgroups(&[]).context(dropping)?;
    setresgid(group, group, group).context(dropping)?;
    // This clears all capabilities as well, since no user id stays 0 (man 7 capabilities).
    setresuid(user, user, user).context(dropping)?;
    prctl::set_no_new_privs().context(dropping)?;
    ensure!(
        setuid(Uid::from_raw(0)).is_err(),
        "root was given up, and could be had back: refusing to go on"
    );
    Ok(())
}
