// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the supervisor needs to know of a program whose call it has before it.

use std::fs::{self, File};
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;

use nix::sched::{CloneFlags, setns};
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg,
    sendmsg, socketpair,
};
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, Uid, fork, geteuid, setfsuid};

/// What is asked of `socket`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) domain: libc::c_int,
    /// With its flags.
    pub(super) kind: libc::c_int,
    pub(super) protocol: libc::c_int,
}

impl Wanted {
    /// Whether it is a socket of TCP, or of Multipath TCP.
    pub(super) fn is_tcp(self) -> bool {
        matches!(self.domain, libc::AF_INET | libc::AF_INET6)
            && self.kind & 0xf == libc::SOCK_STREAM
            && matches!(self.protocol, 0 | libc::IPPROTO_TCP | libc::IPPROTO_MPTCP)
    }

    pub(super) fn close_on_exec(self) -> bool {
        self.kind & libc::SOCK_CLOEXEC != 0
    }

    /// Makes it for `user`, if that is another.
    fn make(self, user: Option<Uid>) -> io::Result<OwnedFd> {
        let kind = self.kind | libc::SOCK_CLOEXEC;
        let before = user.map(setfsuid);
        // SAFETY: all arguments are numbers.
        let made = unsafe { libc::socket(self.domain, kind, self.protocol) };
        let error = io::Error::last_os_error();
        before.map(setfsuid);
        if made < 0 {
            return Err(error);
        }
        // SAFETY: the kernel has just made this descriptor for us.
        Ok(unsafe { OwnedFd::from_raw_fd(made) })
    }
}

/// Makes the socket in the network namespace that the thread lives in, and for its user: firewalls
/// and routes may go by that.
pub(super) fn make_socket(thread: u32, wanted: Wanted) -> io::Result<OwnedFd> {
    // Of who is not root all programs under the filter are the own ones.
    let root = geteuid().is_root();
    let user = root.then(|| user_of(thread)).transpose()?;
    let theirs = fs::metadata(format!("/proc/{thread}/ns/net")).map(|file| file.ino());
    let ours = fs::metadata("/proc/self/ns/net").map(|file| file.ino());
    match (theirs, ours) {
        (Ok(theirs), Ok(ours)) if theirs != ours => make_socket_elsewhere(thread, wanted, user),
        // Where it can not be told, the program has hidden itself, but hardly moved.
        _ => wanted.make(user),
    }
}

/// The user as whom the thread makes files.
fn user_of(thread: u32) -> io::Result<Uid> {
    let status = fs::read_to_string(format!("/proc/{thread}/status"))?;
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let id = ids.and_then(|ids| ids.split_whitespace().nth(3)?.parse().ok());
    Ok(Uid::from_raw(id.ok_or(io::ErrorKind::InvalidData)?))
}

/// A process has to be made for the purpose: who enters a user namespace does not come back.
fn make_socket_elsewhere(thread: u32, wanted: Wanted, user: Option<Uid>) -> io::Result<OwnedFd> {
    // Root has the right to enter any network, others only as somebody in its user namespace.
    let namespaces: &[_] = match user {
        Some(_) => &[(CloneFlags::CLONE_NEWNET, "net")],
        None => &[
            (CloneFlags::CLONE_NEWUSER, "user"),
            (CloneFlags::CLONE_NEWNET, "net"),
        ],
    };
    let mut entries = Vec::new();
    for &(kind, name) in namespaces {
        let theirs = File::open(format!("/proc/{thread}/ns/{name}"))?;
        let ours = fs::metadata(format!("/proc/self/ns/{name}"))?;
        if theirs.metadata()?.ino() != ours.ino() {
            entries.push((kind, theirs));
        }
    }
    let (here, there) = socketpair(
        AddressFamily::Unix,
        SockType::SeqPacket,
        None,
        SockFlag::SOCK_CLOEXEC,
    )?;
    // SAFETY: the supervisor has only this thread.
    match unsafe { fork() }? {
        ForkResult::Child => {
            let made = (entries.iter())
                .try_for_each(|(kind, namespace)| setns(namespace, *kind).map_err(io::Error::from))
                .and_then(|()| wanted.make(user));
            let sent = made.and_then(|socket| send_descriptor(there.as_raw_fd(), &socket));
            // SAFETY: ends the process without running what the parent is to run at its end.
            unsafe { libc::_exit(sent.map_or(1, |()| 0)) }
        }
        ForkResult::Parent { child } => {
            drop(there);
            let received = receive_descriptor(here.as_raw_fd());
            // Where SIGCHLD is ignored there is nothing to await.
            let _ = waitpid(child, None);
            received?.ok_or_else(|| io::Error::from_raw_os_error(libc::EACCES))
        }
    }
}

/// Sends a descriptor over a Unix domain socket.
pub(super) fn send_descriptor(over: RawFd, descriptor: &impl AsRawFd) -> io::Result<()> {
    let descriptors = [descriptor.as_raw_fd()];
    let message = [ControlMessage::ScmRights(&descriptors)];
    let content = [io::IoSlice::new(b"f")];
    sendmsg::<()>(over, &content, &message, MsgFlags::MSG_NOSIGNAL, None)?;
    Ok(())
}

/// Receives a descriptor; `None` if the other end was closed without sending one.
pub(super) fn receive_descriptor(over: RawFd) -> io::Result<Option<OwnedFd>> {
    let mut space = nix::cmsg_space!(RawFd);
    let mut content = [0];
    let mut content = [IoSliceMut::new(&mut content)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(over, &mut content, Some(&mut space), flags)?;
    let received = message.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmRights(descriptors) => descriptors.first().copied(),
        _ => None,
    });
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(received.map(|number| unsafe { OwnedFd::from_raw_fd(number) }))
}

/// Inode number of the socket behind one of the thread's descriptors, if it is a socket.
pub(super) fn socket_inode(thread: u32, descriptor: u64) -> Option<u64> {
    let link = fs::read_link(format!("/proc/{thread}/fd/{descriptor}")).ok()?;
    let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
    inode.parse().ok()
}

/// A copy of one of the thread's descriptors.
pub(super) fn copy_descriptor(thread: u32, descriptor: u64) -> io::Result<OwnedFd> {
    let status = fs::read_to_string(format!("/proc/{thread}/status"))?;
    let process = status
        .lines()
        .find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
        .ok_or(io::ErrorKind::InvalidData)?;
    let process = crate::process::Handle::open(process)?;
    process.copy_descriptor(descriptor as RawFd)
}

/// Reads `count` 32-bit arguments that lie in the program's memory.
pub(super) fn read_arguments(thread: u32, address: u64, count: usize) -> io::Result<Vec<u64>> {
    let mut bytes = vec![0; 4 * count];
    let wanted = bytes.len();
    let base = usize::try_from(address).map_err(io::Error::other)?;
    let remote = [RemoteIoVec { base, len: wanted }];
    let thread = Pid::from_raw(thread as libc::pid_t);
    let read = process_vm_readv(thread, &mut [IoSliceMut::new(&mut bytes)], &remote)?;
    if read != wanted {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let words = bytes.chunks_exact(4);
    Ok(words
        .map(|word| u32::from_ne_bytes(word.try_into().expect("chunks of 4")).into())
        .collect())
}
