// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the supervisor needs to know of a program whose call it has before it.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;

use nix::sched::{CloneFlags, setns};
use nix::sys::prctl::set_dumpable;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg,
    sendmsg, socketpair,
};
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Gid, Pid, Uid, fork, geteuid, setfsgid, setfsuid};

use crate::runtime::background;
use crate::sockets::process;

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

    /// Makes it for `owner`, if that is another.
    fn make(self, owner: Option<Owner>) -> io::Result<OwnedFd> {
        let kind = self.kind | libc::SOCK_CLOEXEC;
        let before = owner.map(Owner::assume);
        // SAFETY: all arguments are numbers.
        let made = unsafe { libc::socket(self.domain, kind, self.protocol) };
        let error = io::Error::last_os_error();
        before.map(Owner::assume);
        if made < 0 {
            return Err(error);
        }
        // SAFETY: the kernel has just made this descriptor for us.
        Ok(unsafe { OwnedFd::from_raw_fd(made) })
    }
}

/// As whom a thread makes files.
#[derive(Clone, Copy)]
struct Owner {
    user: Uid,
    group: Gid,
}

impl Owner {
    fn of(thread: u32) -> io::Result<Self> {
        let status = fs::read_to_string(format!("/proc/{thread}/status"))?;
        let id = |name: &str| {
            let ids = status.lines().find_map(|line| line.strip_prefix(name))?;
            ids.split_whitespace().nth(3)?.parse().ok()
        };
        Ok(Self {
            user: Uid::from_raw(id("Uid:").ok_or(io::ErrorKind::InvalidData)?),
            group: Gid::from_raw(id("Gid:").ok_or(io::ErrorKind::InvalidData)?),
        })
    }

    /// Makes files as this one from now on; returns as whom it was done before.
    fn assume(self) -> Self {
        Self {
            group: setfsgid(self.group),
            user: setfsuid(self.user),
        }
    }
}

/// Makes the socket in the network namespace that the thread lives in, and for its user and group:
/// firewalls and routes may go by that. `None` where it can not be told which namespace that is, or
/// where we may not enter it: a socket of another one would lead out of a sandbox.
pub(super) fn make_socket(thread: u32, wanted: Wanted) -> io::Result<Option<OwnedFd>> {
    let (Ok(theirs), Ok(ours)) = (network_of(thread), network_of("self")) else {
        return Ok(None);
    };
    // Of who is not root all programs under the filter are the own ones.
    let root = geteuid().is_root();
    let owner = root.then(|| Owner::of(thread)).transpose()?;
    if theirs == ours {
        return wanted.make(owner).map(Some);
    }
    match Namespaces::of(thread, root) {
        Ok(namespaces) => make_socket_elsewhere(&namespaces, wanted, owner),
        Err(_) => Ok(None),
    }
}

/// A number that no other network namespace has: each has files of its own there. The link `ns/net`
/// tells as much, but not of programs that hide (`PR_SET_DUMPABLE`), as those that hold keys do;
/// they are to have low priority all the same.
fn network_of(process: impl Display) -> io::Result<u64> {
    Ok(fs::metadata(format!("/proc/{process}/net/dev"))?.ino())
}

/// Where a socket is to be made.
struct Namespaces {
    network: File,
    /// That of users which the network belongs to, where it has to be entered first.
    users: Option<File>,
}

impl Namespaces {
    fn of(thread: u32, root: bool) -> io::Result<Self> {
        let network = File::open(format!("/proc/{thread}/ns/net"))?;
        // Root has the right to enter any network, others only as somebody in the user namespace
        // that it belongs to. The thread's own may be yet another, within that one.
        if root {
            return Ok(Self {
                network,
                users: None,
            });
        }
        // SAFETY: this request takes no argument.
        let users = unsafe { libc::ioctl(network.as_raw_fd(), libc::NS_GET_USERNS) };
        if users < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor for us.
        let users = File::from(unsafe { OwnedFd::from_raw_fd(users) });
        let ours = fs::metadata("/proc/self/ns/user")?;
        let users = (users.metadata()?.ino() != ours.ino()).then_some(users);
        Ok(Self { network, users })
    }

    /// Moves this process there for good; of its files, besides the namespaces, only `kept` stays
    /// open. Who is root in a user namespace may trace a process that enters it, and so use all
    /// that this one has: the filter's descriptor, and the file system as it is outside. A process
    /// that hides can be traced only by root of where its memory was made, and that is outside.
    fn enter(&self, kept: RawFd) -> io::Result<()> {
        let users = self.users.as_ref().map(AsRawFd::as_raw_fd);
        let needed: Vec<_> = [kept, self.network.as_raw_fd()]
            .into_iter()
            .chain(users)
            .collect();
        background::close_from(0, &needed);
        set_dumpable(false)?;
        if let Some(users) = &self.users {
            setns(users, CloneFlags::CLONE_NEWUSER)?;
            // Of who gains rights by this the kernel has set it to `fs.suid_dumpable`.
            set_dumpable(false)?;
        }
        Ok(setns(&self.network, CloneFlags::CLONE_NEWNET)?)
    }
}

/// A process has to be made for the purpose: who enters a user namespace does not come back.
/// `None` if it may not enter.
fn make_socket_elsewhere(
    namespaces: &Namespaces,
    wanted: Wanted,
    owner: Option<Owner>,
) -> io::Result<Option<OwnedFd>> {
    let (here, there) = socketpair(
        AddressFamily::Unix,
        SockType::SeqPacket,
        None,
        SockFlag::SOCK_CLOEXEC,
    )?;
    // SAFETY: the supervisor has only this thread.
    match unsafe { fork() }? {
        ForkResult::Child => {
            let there = there.as_raw_fd();
            let made = namespaces.enter(there).and_then(|()| wanted.make(owner));
            let sent = made.and_then(|socket| send_descriptor(there, &socket));
            // SAFETY: ends the process without running what the parent is to run at its end.
            unsafe { libc::_exit(sent.map_or(1, |()| 0)) }
        }
        ForkResult::Parent { child } => {
            drop(there);
            let received = receive_descriptor(here.as_raw_fd());
            // Where SIGCHLD is ignored there is nothing to await.
            let _ = waitpid(child, None);
            received
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
    let process = process::Handle::open(process)?;
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
