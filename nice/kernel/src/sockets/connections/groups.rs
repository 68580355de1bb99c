// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums over the finished connections of each group: a cgroup with settings, or the programs of a supervisor.

use libbpf_rs::{MapCore, MapFlags};

use crate::abi::{Attachment, Totals, read_record, unpadded};
use crate::objects::pin_directory::PinDirectory;

/// A group and its finished connections.
#[derive(Clone, Debug)]
pub struct FinishedGroup {
    /// Id of the cgroup, or of a supervisor's group.
    pub id: u64,
    /// Name of the congestion control that the cgroup's sockets get; `None` for a supervisor's group, and where only
    /// received data is governed.
    pub control: Option<String>,
    /// Sums over the finished connections.
    pub totals: Totals,
}

/// Returns the groups that are counted: cgroups of `run` and `attach` while these exist, and supervisors. Only root may
/// read them; others get none.
///
/// A caller that adds open connections lists those afterwards, as then none is counted twice.
pub fn finished_groups() -> Vec<FinishedGroup> {
    let pins = PinDirectory::find();
    let Ok(totals) = pins.open_map("totals") else {
        return Vec::new();
    };
    let attachments = pins.open_map("attachments").ok();
    let control = |key: &[u8]| {
        let settings = attachments.as_ref()?.lookup(key, MapFlags::ANY).ok()??;
        let name = unpadded(&read_record::<Attachment>(&settings)?.control);
        (!name.is_empty()).then_some(name)
    };
    let group = |key: Vec<u8>| {
        let value = totals.lookup(&key, MapFlags::ANY).ok()??;
        Some(FinishedGroup {
            id: u64::from_ne_bytes(key.as_slice().try_into().ok()?),
            control: control(&key),
            totals: read_record(&value)?,
        })
    };
    totals.keys().filter_map(group).collect()
}
