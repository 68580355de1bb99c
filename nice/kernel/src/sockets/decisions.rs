// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records of netnice's decisions on the connections of a group, from `bpf/decision_record.h`.

use std::cell::RefCell;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::rc::Rc;

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, RingBuffer, RingBufferBuilder, libbpf_sys};
use netnice_parameters::decisions::Transition;

use crate::error::{Context, Result, libbpf};
use crate::objects::pin_directory::PinDirectory;

/// The pinned map of ring buffers, by group.
const MAP: &str = "decisions";

/// Bytes of a ring buffer: 4096 records, which many connections at once may make between two readings. It is a power of
/// two and a multiple of all pages' sizes, as the kernel wants.
const RING_BYTES: u32 = 1 << 18;

/// The ring buffer of a group, which the kernel fills while the value lives.
pub struct Recorder {
    ring: RingBuffer<'static>,
    read: Rc<RefCell<Vec<Transition>>>,
    rings: MapHandle,
    group: u64,
}

impl Recorder {
    /// Begins to record the decisions on the connections of a group.
    pub(crate) fn begin(pins: &PinDirectory, group: u64) -> Result<Self> {
        let doing = || "recording decisions".to_owned();
        let rings = pins.open_map(MAP)?;
        let options = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as _,
            ..Default::default()
        };
        let map = MapHandle::create(MapType::RingBuf, Some(MAP), 0, 0, RING_BYTES, &options)
            .map_err(libbpf)
            .doing(doing)?;
        let read = Rc::new(RefCell::new(Vec::new()));
        let into = Rc::clone(&read);
        let mut builder = RingBufferBuilder::new();
        let take = move |bytes: &[u8]| {
            into.borrow_mut()
                .extend(bytemuck::try_pod_read_unaligned::<Transition>(bytes));
            0
        };
        builder.add(&map, take).map_err(libbpf).doing(doing)?;
        let ring = builder.build().map_err(libbpf).doing(doing)?;
        let descriptor = map.as_fd().as_raw_fd().to_ne_bytes();
        rings
            .update(&group.to_ne_bytes(), &descriptor, MapFlags::ANY)
            .map_err(libbpf)
            .doing(doing)?;
        Ok(Self {
            ring,
            read,
            rings,
            group,
        })
    }

    /// Returns what has been decided since the last call, in order.
    pub fn take(&self) -> Result<Vec<Transition>> {
        self.ring
            .consume()
            .map_err(libbpf)
            .doing(|| "reading decisions".to_owned())?;
        Ok(self.read.take())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // A missing entry is no error.
        let _ = self.rings.delete(&self.group.to_ne_bytes());
    }
}

/// Removes the ring buffer of a group whose recorder was killed.
pub(crate) fn forget(bpf: &Path, group: u64) {
    if let Ok(rings) = MapHandle::from_pinned_path(bpf.join("maps").join(MAP)) {
        let _ = rings.delete(&group.to_ne_bytes());
    }
}
