// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program that closes windows (`netnice_window` of `bpf/receive_netnice.bpf.c`) at the network interfaces: no program of a
//! cgroup may change the segments that leave. Needs Linux 6.6.

use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use libbpf_rs::libbpf_sys;

/// Attaches the program to the interfaces of this thread's network namespace, except the loopback interface. Each
/// attachment lasts as long as its pin in `directory`. Continues after a failure, and returns the last one.
pub(crate) fn attach(program: BorrowedFd<'_>, directory: &Path) -> io::Result<()> {
    let namespace = fs::metadata("/proc/thread-self/ns/net")?.ino();
    let mut result = Ok(());
    for index in indices()? {
        let pin = directory.join(format!("window-{namespace}-{index}"));
        let pin = CString::new(pin.as_os_str().as_bytes())?;
        let attached = match is_attached(&pin) {
            true => Ok(()),
            false => attach_to(program, index, &pin),
        };
        match attached {
            // Another call may have pinned its own meanwhile, and the interface may have gone.
            Err(error)
                if error.kind() != io::ErrorKind::AlreadyExists
                    && error.raw_os_error() != Some(libc::ENODEV) =>
            {
                result = Err(error);
            }
            _ => {}
        }
    }
    result
}

/// Attaches the program to the loopback interface for a moment, to find out whether the kernel can.
pub(crate) fn can_attach(program: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the name ends with a zero byte.
    match unsafe { libc::if_nametoindex(c"lo".as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => link(program, index).map(drop),
    }
}

/// Returns a link, which holds the program at the interface while it is open or pinned.
fn link(program: BorrowedFd<'_>, index: u32) -> io::Result<OwnedFd> {
    let place = libbpf_sys::BPF_TCX_EGRESS;
    // SAFETY: the program is open for the duration of the call, which takes no options.
    opened(unsafe {
        libbpf_sys::bpf_link_create(program.as_raw_fd(), index as RawFd, place, std::ptr::null())
    })
}

fn attach_to(program: BorrowedFd<'_>, index: u32, pin: &CStr) -> io::Result<()> {
    let link = link(program, index)?;
    // SAFETY: the path ends with a zero byte.
    match unsafe { libbpf_sys::bpf_obj_pin(link.as_raw_fd(), pin.as_ptr()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

/// Returns true if the pin is there and its interface is, too. Removes the pin of an interface that has gone.
fn is_attached(pin: &CStr) -> bool {
    // SAFETY: the path ends with a zero byte.
    let Ok(link) = opened(unsafe { libbpf_sys::bpf_obj_get(pin.as_ptr()) }) else {
        return false;
    };
    let mut info = libbpf_sys::bpf_link_info::default();
    let mut length = size_of_val(&info) as u32;
    // SAFETY: `info` has room for `length` bytes, and none of its pointers is set.
    let answer =
        unsafe { libbpf_sys::bpf_link_get_info_by_fd(link.as_raw_fd(), &mut info, &mut length) };
    // SAFETY: all members of the union are integers; the kernel has set those of this kind of link, or none.
    let there = answer == 0 && unsafe { info.__bindgen_anon_1.tcx.ifindex } != 0;
    if !there {
        let _ = fs::remove_file(Path::new(std::ffi::OsStr::from_bytes(pin.to_bytes())));
    }
    there
}

/// Takes over a descriptor that libbpf returns, or its negated error number.
fn opened(answer: RawFd) -> io::Result<OwnedFd> {
    match answer {
        // SAFETY: the descriptor is new.
        0.. => Ok(unsafe { OwnedFd::from_raw_fd(answer) }),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

/// Returns the indices of the interfaces, except the loopback interface's.
fn indices() -> io::Result<Vec<u32>> {
    // SAFETY: the call has no arguments.
    let list = unsafe { libc::if_nameindex() };
    if list.is_null() {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut entry = list;
    // SAFETY: the list ends with an entry of zeros, and is freed once.
    unsafe {
        while (*entry).if_index != 0 {
            if CStr::from_ptr((*entry).if_name) != c"lo" {
                found.push((*entry).if_index);
            }
            entry = entry.add(1);
        }
        libc::if_freenameindex(list);
    }
    Ok(found)
}
