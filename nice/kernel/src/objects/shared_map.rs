// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pinned maps that unprivileged users may read: `flows` and `receptions` by a socket's descriptor, `finished` by a
//! socket's cookie.
//! Linux 5.19 and later let all users look up keys in a map whose pin they may read; loading programs needs root.

use std::ffi::CString;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use bytemuck::Pod;
use libbpf_rs::libbpf_sys;

use crate::abi::read_record;
use crate::error::{Context, Result};
use crate::objects::pin_directory::PinDirectory;

/// Maps that all users may read.
const READABLE: [&str; 3] = ["flows", "receptions", "finished"];

/// A pinned map, opened for reading.
#[derive(Debug)]
pub(crate) struct SharedMap {
    map: OwnedFd,
    id: u32,
    value_size: usize,
}

impl SharedMap {
    /// Opens the map pinned as `name`; `None` if there is none or it may not be read.
    pub(crate) fn open(name: &str) -> Option<Self> {
        let path = PinDirectory::find().maps().join(name);
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        let options = libbpf_sys::bpf_obj_get_opts {
            sz: size_of::<libbpf_sys::bpf_obj_get_opts>() as _,
            file_flags: libbpf_sys::BPF_F_RDONLY,
            ..Default::default()
        };
        // SAFETY: the path ends with a zero byte and, like the options, outlives the call.
        let number = unsafe { libbpf_sys::bpf_obj_get_opts(path.as_ptr(), &options) };
        if number < 0 {
            return None;
        }
        // SAFETY: the kernel has just created this descriptor for the caller.
        let map = unsafe { OwnedFd::from_raw_fd(number) };
        let mut info = libbpf_sys::bpf_map_info::default();
        let mut length = size_of_val(&info) as u32;
        // SAFETY: `info` has room for `length` bytes.
        let answer =
            unsafe { libbpf_sys::bpf_map_get_info_by_fd(map.as_raw_fd(), &mut info, &mut length) };
        (answer == 0).then(|| Self {
            map,
            id: info.id,
            value_size: info.value_size as usize,
        })
    }

    /// Returns the number by which the kernel knows the map.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Returns the value of a key. Of a newer version's longer value, only the known part is read.
    pub(crate) fn lookup<T: Pod>(&self, key: &[u8]) -> Option<T> {
        let mut value = vec![0u8; self.value_size];
        // SAFETY: the callers' keys have the size that the maps' declarations give, and `value`
        // has room for a value.
        let answer = unsafe {
            libbpf_sys::bpf_map_lookup_elem(
                self.map.as_raw_fd(),
                key.as_ptr().cast(),
                value.as_mut_ptr().cast(),
            )
        };
        (answer == 0).then_some(())?;
        read_record(&value)
    }
}

impl AsFd for SharedMap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

/// Lets all users read the maps in [`READABLE`]. Their records reveal no more of a connection than `ss -i` does, except
/// the state of its policy.
pub(crate) fn open_to_all(pins: &PinDirectory) -> Result<()> {
    for name in READABLE {
        let pin = pins.maps().join(name);
        match fs::set_permissions(&pin, Permissions::from_mode(0o444)) {
            // Objects that do not use the map have not pinned it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other.doing(|| format!("opening {} to all", pin.display()))?,
        }
    }
    Ok(())
}
