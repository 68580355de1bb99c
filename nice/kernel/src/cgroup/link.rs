// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links: attachments of BPF programs that last as long as they are open or pinned.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libbpf_rs::libbpf_sys;

/// Attaches a program to a cgroup (a descriptor) or an interface (its index).
pub(crate) fn create(
    program: BorrowedFd<'_>,
    target: RawFd,
    place: libbpf_sys::bpf_attach_type,
) -> io::Result<OwnedFd> {
    // SAFETY: the program is open for the duration of the call, which takes no options.
    opened(unsafe {
        libbpf_sys::bpf_link_create(program.as_raw_fd(), target, place, std::ptr::null())
    })
}

/// Attaches a program to an interface as [`create`] does, before all that are there.
pub(crate) fn create_first(
    program: BorrowedFd<'_>,
    target: RawFd,
    place: libbpf_sys::bpf_attach_type,
) -> io::Result<OwnedFd> {
    let options = libbpf_sys::bpf_link_create_opts {
        sz: size_of::<libbpf_sys::bpf_link_create_opts>() as _,
        flags: libbpf_sys::BPF_F_BEFORE,
        ..Default::default()
    };
    // SAFETY: the program and the options are there for the duration of the call.
    opened(unsafe { libbpf_sys::bpf_link_create(program.as_raw_fd(), target, place, &options) })
}

/// Keeps a link for as long as `path` is there, in a BPF file system.
pub(crate) fn pin(link: &OwnedFd, path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path ends with a zero byte.
    match unsafe { libbpf_sys::bpf_obj_pin(link.as_fd().as_raw_fd(), path.as_ptr()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

/// Opens a pinned link, and reads what the kernel says of it.
pub(crate) fn information(pinned: &Path) -> io::Result<libbpf_sys::bpf_link_info> {
    let path = CString::new(pinned.as_os_str().as_bytes())?;
    // SAFETY: the path ends with a zero byte.
    let link = opened(unsafe { libbpf_sys::bpf_obj_get(path.as_ptr()) })?;
    let mut info = libbpf_sys::bpf_link_info::default();
    let mut length = size_of_val(&info) as u32;
    // SAFETY: `info` has room for `length` bytes, and none of its pointers is set.
    let answer =
        unsafe { libbpf_sys::bpf_link_get_info_by_fd(link.as_raw_fd(), &mut info, &mut length) };
    match answer {
        0 => Ok(info),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

/// Takes over a descriptor that libbpf returns, or its negated error number.
fn opened(answer: RawFd) -> io::Result<OwnedFd> {
    match answer {
        // SAFETY: the descriptor is new.
        0.. => Ok(unsafe { OwnedFd::from_raw_fd(answer) }),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}
