// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attaching BPF programs to cgroups without a link: the attachment lives as long as the cgroup, whoever created it,
//! and leaves no pin behind.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use libbpf_rs::{Program, libbpf_sys};

/// System call or socket event at which the kernel runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    /// Connecting, accepting, listening.
    SocketOps,
    /// `setsockopt`.
    SetSockOpt,
    /// `connect` over IPv4.
    Connect4,
    /// `connect` over IPv6.
    Connect6,
    /// `sendto` and `sendmsg` over IPv4.
    SendMsg4,
    /// `sendto` and `sendmsg` over IPv6.
    SendMsg6,
}

impl Hook {
    fn number(self) -> libbpf_sys::bpf_attach_type {
        match self {
            Self::SocketOps => libbpf_sys::BPF_CGROUP_SOCK_OPS,
            Self::SetSockOpt => libbpf_sys::BPF_CGROUP_SETSOCKOPT,
            Self::Connect4 => libbpf_sys::BPF_CGROUP_INET4_CONNECT,
            Self::Connect6 => libbpf_sys::BPF_CGROUP_INET6_CONNECT,
            Self::SendMsg4 => libbpf_sys::BPF_CGROUP_UDP4_SENDMSG,
            Self::SendMsg6 => libbpf_sys::BPF_CGROUP_UDP6_SENDMSG,
        }
    }
}

/// Program attached to a cgroup.
pub(crate) struct Attached {
    /// Its number, which the kernel does not use anew soon.
    pub(crate) id: u32,
    program: OwnedFd,
    /// Its name, of 15 bytes at most.
    pub(crate) name: String,
}

/// Attaches `program`; programs of others stay attached. Succeeds if it is attached already.
pub(crate) fn attach(
    cgroup: BorrowedFd<'_>,
    program: BorrowedFd<'_>,
    hook: Hook,
) -> io::Result<()> {
    // SAFETY: both descriptors are open for the duration of the call.
    let answer = unsafe {
        libbpf_sys::bpf_prog_attach(
            program.as_raw_fd(),
            cgroup.as_raw_fd(),
            hook.number(),
            libbpf_sys::BPF_F_ALLOW_MULTI,
        )
    };
    match check(answer) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            let wanted = information(program)?.id;
            let attached = attached(cgroup, hook)?;
            let already = attached.iter().any(|attached| attached.id == wanted);
            if already { Ok(()) } else { Err(error) }
        }
        other => other,
    }
}

/// Detaches the programs called `name`, of any version, except `except`; returns how many there were.
pub(crate) fn detach(
    cgroup: BorrowedFd<'_>,
    name: &str,
    hook: Hook,
    except: Option<BorrowedFd<'_>>,
) -> io::Result<usize> {
    let kept = except
        .map(information)
        .transpose()?
        .map(|program| program.id);
    let mut detached = 0;
    for attached in attached(cgroup, hook)? {
        if attached.name == name && Some(attached.id) != kept {
            // SAFETY: both descriptors are open for the duration of the call.
            check(unsafe {
                libbpf_sys::bpf_prog_detach2(
                    attached.program.as_raw_fd(),
                    cgroup.as_raw_fd(),
                    hook.number(),
                )
            })?;
            detached += 1;
        }
    }
    Ok(detached)
}

/// Returns true if a program called `name` is attached.
pub(crate) fn is_attached(cgroup: BorrowedFd<'_>, name: &str, hook: Hook) -> io::Result<bool> {
    Ok(attached(cgroup, hook)?
        .iter()
        .any(|attached| attached.name == name))
}

/// Returns true if `program` is the only one called `name` that is attached; without a program, if none is.
pub(crate) fn is_only(
    cgroup: BorrowedFd<'_>,
    name: &str,
    hook: Hook,
    program: Option<BorrowedFd<'_>>,
) -> io::Result<bool> {
    let wanted = program.map(information).transpose()?;
    let wanted: Vec<u32> = wanted.iter().map(|program| program.id).collect();
    let attached = attached(cgroup, hook)?.into_iter();
    let found = attached.filter(|attached| attached.name == name);
    Ok(found.map(|attached| attached.id).collect::<Vec<_>>() == wanted)
}

/// Returns the programs attached to the cgroup itself, in the order in which they run.
pub(crate) fn attached(cgroup: BorrowedFd<'_>, hook: Hook) -> io::Result<Vec<Attached>> {
    let mut ids = [0u32; 64];
    let mut count = 64u32;
    // SAFETY: `ids` has room for `count` numbers.
    check(unsafe {
        libbpf_sys::bpf_prog_query(
            cgroup.as_raw_fd(),
            hook.number(),
            0,
            std::ptr::null_mut(),
            ids.as_mut_ptr(),
            &mut count,
        )
    })?;
    let mut found = Vec::new();
    for &id in &ids[..(count as usize).min(ids.len())] {
        // The program may have been detached since it was listed.
        if let Ok(program) = Program::fd_from_id(id) {
            let name = information(std::os::fd::AsFd::as_fd(&program))?.name;
            found.push(Attached { id, program, name });
        }
    }
    Ok(found)
}

struct Information {
    id: u32,
    name: String,
}

fn information(program: BorrowedFd<'_>) -> io::Result<Information> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = size_of_val(&info) as u32;
    // SAFETY: `info` has room for `length` bytes, and none of its pointers is set.
    check(unsafe {
        libbpf_sys::bpf_prog_get_info_by_fd(program.as_raw_fd(), &mut info, &mut length)
    })?;
    let name = info.name.map(|character| character as u8);
    Ok(Information {
        id: info.id,
        name: crate::abi::unpadded(&name),
    })
}

/// Converts libbpf's return value, a negated error number.
fn check(answer: libc::c_int) -> io::Result<()> {
    if answer < 0 {
        return Err(io::Error::from_raw_os_error(-answer));
    }
    Ok(())
}
