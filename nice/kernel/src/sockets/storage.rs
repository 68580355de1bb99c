// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records that the BPF programs keep: one for each socket, and sums over finished connections. They are in the pinned
//! maps `flows`, `receptions` and `totals`.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use libbpf_rs::{ErrorKind, MapCore, MapFlags, MapHandle};

use crate::abi::{Flow, Totals, UtpGroup};
use crate::error::{Context, Result, libbpf};
use crate::objects::pin_directory::PinDirectory;
use crate::sockets::options;

/// The map of floors' rates (`bpf/floors.h`).
const FLOORS: &str = "floor_rates";

/// The map of groups' settings for uTP (`bpf/utp.bpf.c`).
const UTP_GROUPS: &str = "utp_groups";

/// The maps, opened for writing.
pub(crate) struct SocketStorage {
    flows: MapHandle,
    totals: MapHandle,
    /// State of sockets that receive at low priority; `None` without the map.
    receptions: Option<MapHandle>,
    /// Rates of groups that have a floor; `None` without a program that knows floors.
    floors: Option<MapHandle>,
    /// Settings of groups for uTP; `None` without the program that governs it.
    utp_groups: Option<MapHandle>,
}

impl SocketStorage {
    /// Opens the maps that a loaded program has pinned.
    pub(crate) fn open(pins: &PinDirectory) -> Result<Self> {
        Ok(Self {
            flows: pins.open_map("flows")?,
            totals: open_totals(pins)?,
            receptions: pins.open_map("receptions").ok(),
            floors: pins.open_map(FLOORS).ok(),
            utp_groups: pins.open_map(UTP_GROUPS).ok(),
        })
    }

    /// Creates the entry for sums over the finished connections of a cgroup's sockets, unless it is there.
    pub(crate) fn count(&self, group: u64) -> Result<()> {
        let zero = bytemuck::bytes_of(&Totals::default()).to_vec();
        let made = self
            .totals
            .update(&group.to_ne_bytes(), &zero, MapFlags::NO_EXIST);
        match made {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            other => other
                .map_err(libbpf)
                .doing(|| "making a place for sums".into()),
        }
    }

    /// Returns the sums over the finished connections of a cgroup's sockets, if [`Self::count`] was called.
    pub(crate) fn totals(&self, group: u64) -> Option<Totals> {
        totals_in(&self.totals, group)
    }

    /// Sets the rate that a group gets at least, in bytes per second; 0 for no floor.
    pub(crate) fn set_floor(&self, group: u64, bytes_per_second: u64) -> Result<()> {
        let key = group.to_ne_bytes();
        let Some(floors) = &self.floors else {
            // Nobody could have set one.
            return match bytes_per_second {
                0 => Ok(()),
                _ => Err(io::Error::from(io::ErrorKind::NotFound)).doing(setting_floor),
            };
        };
        match bytes_per_second {
            0 => {
                // A missing entry is no error.
                let _ = floors.delete(&key);
                Ok(())
            }
            rate => floors
                .update(&key, &rate.to_ne_bytes(), MapFlags::ANY)
                .map_err(libbpf)
                .doing(setting_floor),
        }
    }

    /// Sets how uTP of a group is governed; `None` removes the settings, and leaves it to those of a cgroup above.
    pub(crate) fn set_utp(&self, group: u64, settings: Option<&UtpGroup>) -> Result<()> {
        let Some(groups) = &self.utp_groups else {
            return Ok(());
        };
        let key = group.to_ne_bytes();
        match settings {
            None => {
                // A missing entry is no error.
                let _ = groups.delete(&key);
                Ok(())
            }
            Some(settings) => groups
                .update(&key, bytemuck::bytes_of(settings), MapFlags::ANY)
                .map_err(libbpf)
                .doing(|| "setting how uTP of a cgroup is governed".into()),
        }
    }

    /// Returns how UDP of a group is governed.
    pub(crate) fn utp(&self, group: u64) -> Option<UtpGroup> {
        let found = (self.utp_groups.as_ref()?).lookup(&group.to_ne_bytes(), MapFlags::ANY);
        bytemuck::try_pod_read_unaligned(&found.ok()??).ok()
    }

    /// Returns true if uTP of a group is governed with these settings, or nowhere.
    pub(crate) fn has_utp(&self, group: u64, settings: &UtpGroup) -> bool {
        self.utp_groups.as_ref().is_none_or(|groups| {
            let found = groups.lookup(&group.to_ne_bytes(), MapFlags::ANY);
            found.is_ok_and(|found| found.as_deref() == Some(bytemuck::bytes_of(settings)))
        })
    }

    /// Removes the sums of a group.
    pub(crate) fn forget_totals(&self, group: u64) {
        // A missing entry is no error.
        let _ = self.totals.delete(&group.to_ne_bytes());
    }

    /// Writes the record of a socket that a control reads when it takes over.
    pub(crate) fn set_flow(&self, socket: impl AsFd, flow: &Flow) -> Result<()> {
        self.flows
            .update(&key_of(&socket), bytemuck::bytes_of(flow), MapFlags::ANY)
            .map_err(libbpf)
            .doing(|| "writing the settings of a connection".into())
    }

    /// The record beside a socket, if one of our controls has been put on it.
    pub(crate) fn flow(&self, socket: impl AsFd) -> Option<Flow> {
        let bytes = self.flows.lookup(&key_of(&socket), MapFlags::ANY).ok()??;
        bytemuck::try_pod_read_unaligned(&bytes).ok()
    }

    /// Stops governing the window of a socket that receives at low priority; returns true if it was governed.
    pub(crate) fn release_window(&self, socket: impl AsFd) -> bool {
        let forget = |map: &MapHandle| map.delete(&key_of(&socket)).is_ok();
        // The program ignores a socket without a record.
        let governed = self.receptions.as_ref().is_some_and(forget);
        // A small window would otherwise stay small, as nothing would tune it.
        governed && options::raise_window_clamp(&socket).is_ok()
    }
}

/// Opens the map of sums alone.
pub(crate) fn open_totals(pins: &PinDirectory) -> Result<MapHandle> {
    pins.open_map("totals")
}

/// Returns the sums of a group in that map.
pub(crate) fn totals_in(totals: &MapHandle, group: u64) -> Option<Totals> {
    let bytes = totals.lookup(&group.to_ne_bytes(), MapFlags::ANY).ok()??;
    bytemuck::try_pod_read_unaligned(&bytes).ok()
}

fn setting_floor() -> String {
    "setting the least rate of a cgroup".to_owned()
}

/// Removes what the pinned maps have of a group, if anything.
pub(crate) fn forget_group(bpf: &Path, group: u64) {
    for map in ["totals", FLOORS, UTP_GROUPS] {
        if let Ok(map) = MapHandle::from_pinned_path(bpf.join("maps").join(map)) {
            // A missing entry is no error.
            let _ = map.delete(&group.to_ne_bytes());
        }
    }
}

fn key_of(socket: &impl AsFd) -> [u8; 4] {
    socket.as_fd().as_raw_fd().to_ne_bytes()
}
