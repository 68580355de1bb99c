// SPDX-License-Identifier: MIT OR Apache-2.0
//! Socket programs of others, on a cgroup or above it. They run after netnice's and may undo what it has set: another program
//! (`bpf/keep.bpf.c`), which runs last, sets it again.

use std::fmt;
use std::fs;
use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::libbpf_sys;

use crate::cgroup::hierarchy::Cgroup;
use crate::cgroup::programs::{self, Hook};
use crate::cgroup::{attachment, link};
use crate::error::{Context, Result};
use crate::objects::pin_directory::PinDirectory;
use crate::objects::programs::Set;

/// Begins the names of netnice's own programs.
const OURS: &str = "netnice_";
const KEEP: &str = "netnice_keep";

/// A program of others that is called for the sockets of a cgroup, and may change them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// Its name in the kernel, 15 bytes at most; may be empty.
    pub name: String,
    /// Its number, as `bpftool` shows it.
    pub id: u32,
    /// Path of the cgroup that it is attached to.
    pub cgroup: String,
}

impl fmt::Display for Other {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, id, cgroup } = self;
        write!(
            formatter,
            "the program {name} (id {id}) on the cgroup {cgroup}"
        )
    }
}

/// Returns the programs of others for the sockets of a cgroup, the nearest first: as far up as this process may look.
pub(crate) fn of(cgroup: &Cgroup) -> Vec<Other> {
    above(cgroup)
        .into_iter()
        .flat_map(|(_, found)| found)
        .collect()
}

/// Attaches the program that sets again what others change behind theirs, for as long as the pins are there. Does nothing
/// where there are none, or where it runs last already.
pub(crate) fn keep(cgroup: &Cgroup, pins: &PinDirectory) -> Result<()> {
    let Some((top, _)) = above(cgroup).pop() else {
        return Ok(());
    };
    let attaching = || format!("attaching to the cgroup {}", top.path());
    let set = Set::new("keep");
    let loading = pins.while_loading()?;
    attachment::load(set, &loading, pins)?;
    let pin = set.directory(pins).join(format!("link-{}", top.id()));
    let last = programs::attached(top.as_fd(), Hook::SocketOps).doing(attaching)?;
    if last.last().is_some_and(|last| last.name == KEEP) && pin.exists() {
        return Ok(());
    }
    // One that others have been attached behind.
    if pin.exists() {
        fs::remove_file(&pin).doing(|| format!("unpinning {}", pin.display()))?;
    }
    let program = attachment::open_program(set, KEEP, pins)?;
    let place = libbpf_sys::BPF_CGROUP_SOCK_OPS;
    link::create(program.as_fd(), top.as_fd().as_raw_fd(), place)
        .and_then(|link| link::pin(&link, &pin))
        .doing(attaching)
}

/// Returns the cgroup and those above that have programs of others, with these.
fn above(cgroup: &Cgroup) -> Vec<(Cgroup, Vec<Other>)> {
    let mut found = Vec::new();
    let mut next = cgroup.again().ok();
    while let Some(cgroup) = next.take() {
        // What is above the visible part of the hierarchy is no cgroup, and no program is known of it.
        let Ok(attached) = programs::attached(cgroup.as_fd(), Hook::SocketOps) else {
            break;
        };
        let others = attached
            .into_iter()
            .filter(|one| !one.name.starts_with(OURS));
        let others: Vec<Other> = others
            .map(|one| Other {
                name: one.name,
                id: one.id,
                cgroup: cgroup.path().to_owned(),
            })
            .collect();
        if cgroup.path().trim_matches('/').is_empty() {
            next = None;
        } else {
            next = cgroup.parent().ok();
        }
        if !others.is_empty() {
            found.push((cgroup, others));
        }
    }
    found
}
