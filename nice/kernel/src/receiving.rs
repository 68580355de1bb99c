// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets of this process that receive at low priority, without moving the process.

use std::os::fd::OwnedFd;

use crate::cgroup::attachment::Attacher;
use crate::cgroup::fork::tcp_socket_in;
use crate::cgroup::hierarchy::{Cgroup, Hierarchy};
use crate::error::{Context, Result};
use crate::objects::control::Control;
use crate::objects::parameters::Parameters;
use crate::runtime::journal::{self, Kind, Record};
use crate::runtime::pins::Pins;
use crate::settings::{Direction, Settings, Udp};

/// A cgroup without processes, whose sockets receive at low priority.
pub struct ReceivingGroup {
    cgroup: Option<Cgroup>,
    record: Option<Record>,
}

impl ReceivingGroup {
    /// Makes a cgroup below this process's, whose receivers have this control, one of [`Control::receivers`], with these
    /// parameters. If this process is killed, the next call of netnice removes the cgroup. Needs root.
    pub fn new(pins: &Pins, control: Control, parameters: Parameters) -> Result<Self> {
        let settings = Settings {
            control,
            parameters,
            mark: false,
            direction: Direction::Receive,
            udp: Udp::No,
            ..Settings::default()
        };
        let (_, attacher) = Attacher::with(&settings, pins)?;
        let above = Hierarchy::find()?.of(None)?;
        // A failure here does not concern this group.
        let _ = journal::clear_unrecorded(pins.home(), &above);
        let cgroup = above.create_child(&format!("netnice-run-{}-lab", std::process::id()))?;
        let mut group = Self {
            cgroup: Some(cgroup),
            record: None,
        };
        if let Some(cgroup) = &group.cgroup {
            group.record = Some(Record::new(pins, Kind::Made, cgroup)?);
            attacher.attach(cgroup, &settings)?;
        }
        Ok(group)
    }

    /// Makes a TCP socket of IPv4 in the network namespace of the calling thread. What arrives at it, and at sockets that
    /// it accepts, is governed.
    pub fn tcp_socket(&self) -> Result<OwnedFd> {
        let cgroup = self
            .cgroup
            .as_ref()
            .expect("it is there until it is dropped");
        tcp_socket_in(cgroup).doing(|| format!("making a socket in the cgroup {}", cgroup.path()))
    }
}

impl Drop for ReceivingGroup {
    fn drop(&mut self) {
        // A cgroup that stays is on record, and the next call removes it.
        let removed = self.cgroup.take().map(Cgroup::remove);
        if let (Some(Ok(())), Some(record)) = (removed, self.record.take()) {
            let _ = record.remove();
        }
    }
}
