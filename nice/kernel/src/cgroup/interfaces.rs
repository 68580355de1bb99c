// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs at the network interfaces: the one that closes windows (`netnice_window` of `bpf/receive_netnice.bpf.c`), and the one that
//! governs uTP (`bpf/utp.bpf.c`). No program of a cgroup may change packets. Needs Linux 6.6.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use libbpf_rs::libbpf_sys;
use nix::net::if_::if_nametoindex;

use crate::cgroup::link;

/// Begins the names of the interfaces with queues of our own (`udp/queue.rs`): what passes them passes another one, too.
pub(crate) const QUEUES: &str = "nnudp";

/// Which packets of an interface a program sees. The numbers are those of `enum way` in `bpf/udp.bpf.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Those that leave.
    Out,
    /// Those that arrive.
    In,
}

impl Way {
    /// Returns where a program is attached that sees them.
    pub(crate) fn place(self) -> libbpf_sys::bpf_attach_type {
        match self {
            Way::In => libbpf_sys::BPF_TCX_INGRESS,
            Way::Out => libbpf_sys::BPF_TCX_EGRESS,
        }
    }
}

/// Attaches a program to the interfaces of this thread's network namespace, except the loopback interface. Each
/// attachment lasts as long as its pin in `directory`, whose name begins with `name`. Continues after a failure, and returns the
/// last one.
pub(crate) fn attach(
    program: BorrowedFd<'_>,
    way: Way,
    directory: &Path,
    name: &str,
) -> io::Result<()> {
    let namespace = fs::metadata("/proc/thread-self/ns/net")?.ino();
    let mut result = Ok(());
    for index in indices()? {
        let pin = directory.join(format!("{name}-{namespace}-{index}"));
        let attached = match is_attached(&pin) {
            true => Ok(()),
            false => link(program, way, index).and_then(|link| link::pin(&link, &pin)),
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
    link(program, Way::Out, if_nametoindex("lo")?).map(drop)
}

/// Returns a link, which holds the program at the interface while it is open or pinned.
fn link(program: BorrowedFd<'_>, way: Way, index: u32) -> io::Result<OwnedFd> {
    // What leads packets elsewhere comes behind.
    link::create_first(program, index as RawFd, way.place())
}

/// Returns true if the pin is there and its interface is, too. Removes the pin of an interface that has gone.
fn is_attached(pin: &Path) -> bool {
    let Ok(info) = link::information(pin) else {
        return false;
    };
    // SAFETY: all members of the union are integers; the kernel has set those of this kind of link, or none.
    let there = unsafe { info.__bindgen_anon_1.tcx.ifindex } != 0;
    if !there {
        let _ = fs::remove_file(pin);
    }
    there
}

/// Returns the indices of the interfaces, except the loopback interface's and our own.
pub(crate) fn indices() -> io::Result<Vec<u32>> {
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
            let name = CStr::from_ptr((*entry).if_name);
            if name != c"lo" && !name.to_bytes().starts_with(QUEUES.as_bytes()) {
                found.push((*entry).if_index);
            }
            entry = entry.add(1);
        }
        libc::if_freenameindex(list);
    }
    Ok(found)
}
