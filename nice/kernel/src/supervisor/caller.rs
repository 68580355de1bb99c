// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program that made a call: its namespaces, cgroup, user, descriptors and memory.

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

use crate::cgroup::fork::fork_into;
use crate::cgroup::hierarchy::{Cgroup, Hierarchy, path_of};
use crate::runtime::background;
use crate::sockets::process::Handle;

/// The arguments of `socket`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) domain: libc::c_int,
    /// Type of the socket, with its flags.
    pub(super) kind: libc::c_int,
    pub(super) protocol: libc::c_int,
}

impl Wanted {
    /// Returns true for TCP and Multipath TCP sockets.
    pub(super) fn is_tcp(self) -> bool {
        matches!(self.domain, libc::AF_INET | libc::AF_INET6)
            && self.kind & 0xf == libc::SOCK_STREAM
            && matches!(self.protocol, 0 | libc::IPPROTO_TCP | libc::IPPROTO_MPTCP)
    }

    pub(super) fn close_on_exec(self) -> bool {
        self.kind & libc::SOCK_CLOEXEC != 0
    }

    /// Creates the socket, with the credentials of `owner` if given.
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
        // SAFETY: the kernel has just created this descriptor for the caller.
        Ok(unsafe { OwnedFd::from_raw_fd(made) })
    }
}

/// Credentials with which a thread creates files.
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

    /// Creates files with these credentials from now on; returns the previous ones.
    fn assume(self) -> Self {
        Self {
            group: setfsgid(self.group),
            user: setfsuid(self.user),
        }
    }
}

/// Namespace and cgroup of the supervisor, to compare with callers.
pub(super) struct Surroundings {
    network: io::Result<u64>,
    itself: io::Result<Handle>,
}

impl Surroundings {
    /// Reads those of this process, which never changes its network namespace. Others may move it to another cgroup.
    pub(super) fn new() -> Self {
        Self {
            network: network_of("self"),
            itself: Handle::open(std::process::id() as i32),
        }
    }

    /// Returns true if the thread is in this process's cgroup, which holds for all threads without cgroup2.
    fn shares_cgroup(&self, thread: u32) -> bool {
        let ids = || {
            let itself = self.itself.as_ref().ok()?.cgroup_id().ok()?;
            let theirs = Handle::open_thread(thread as i32).ok()?.cgroup_id().ok()?;
            Some((itself, theirs))
        };
        match ids() {
            Some((ours, theirs)) => ours == theirs,
            None => cgroup_of("self") == cgroup_of(thread),
        }
    }

    /// Creates the socket where the thread would have: in its network namespace, in its cgroup, and for its user and
    /// group, since firewalls, routes and limits may depend on these. `None` if these are unknown or may not be
    /// entered: a socket created by the supervisor would lead out of a sandbox.
    pub(super) fn make_socket(&self, thread: u32, wanted: Wanted) -> io::Result<Option<OwnedFd>> {
        let (Ok(theirs), Ok(ours)) = (network_of(thread), &self.network) else {
            return Ok(None);
        };
        // Without root, all programs under the filter belong to the supervisor's user.
        let root = geteuid().is_root();
        let owner = root.then(|| Owner::of(thread)).transpose()?;
        let same_cgroup = self.shares_cgroup(thread);
        if theirs == *ours && same_cgroup {
            return wanted.make(owner).map(Some);
        }
        let mut elsewhere = Elsewhere::default();
        if theirs != *ours {
            match Namespaces::of(thread, root) {
                Ok(namespaces) => elsewhere.namespaces = Some(namespaces),
                Err(_) => return Ok(None),
            }
        }
        if !same_cgroup {
            let path = cgroup_of(thread);
            let open = |path: String| Hierarchy::find().and_then(|all| all.open(&path)).ok();
            elsewhere.cgroup = path.and_then(open);
            if elsewhere.cgroup.is_none() {
                return Ok(None);
            }
        }
        elsewhere.make_socket(wanted, owner)
    }
}

/// Returns the path of a process's cgroup; `None` if it is unknown.
fn cgroup_of(process: impl Display) -> Option<String> {
    path_of(process).ok().flatten()
}

/// Returns a number unique to the network namespace: each has files of its own under `net`. The link `ns/net` shows it
/// too, but not for processes that are not dumpable (`PR_SET_DUMPABLE`), as those that hold keys are; they get low
/// priority all the same.
fn network_of(process: impl Display) -> io::Result<u64> {
    Ok(fs::metadata(format!("/proc/{process}/net/dev"))?.ino())
}

/// Namespaces in which to create a socket.
struct Namespaces {
    network: File,
    /// User namespace that owns the network namespace, if it must be entered first.
    users: Option<File>,
}

impl Namespaces {
    fn of(thread: u32, root: bool) -> io::Result<Self> {
        let network = File::open(format!("/proc/{thread}/ns/net"))?;
        // Root may enter any network namespace, others only from the user namespace that owns it. The thread's own user
        // namespace may be another one inside that.
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
        // SAFETY: the kernel has just created this descriptor for the caller.
        let users = File::from(unsafe { OwnedFd::from_raw_fd(users) });
        let ours = fs::metadata("/proc/self/ns/user")?;
        let users = (users.metadata()?.ino() != ours.ino()).then_some(users);
        Ok(Self { network, users })
    }

    /// Moves this process there permanently; of its files, besides the namespaces, only `kept` stays open. Root of a
    /// user namespace may trace a process that enters it, and so use all that the process has: the filter's descriptor,
    /// and the file system outside. Only root of the user namespace where its memory was created, which is outside, can
    /// trace a process that is not dumpable.
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
            // For a process that gains privileges by this the kernel has set it to `fs.suid_dumpable`.
            set_dumpable(false)?;
        }
        Ok(setns(&self.network, CloneFlags::CLONE_NEWNET)?)
    }
}

/// Namespaces and cgroup in which to create a socket, where they differ from the supervisor's.
#[derive(Default)]
struct Elsewhere {
    namespaces: Option<Namespaces>,
    cgroup: Option<Cgroup>,
}

impl Elsewhere {
    /// Creates it in a new process: a process cannot leave a user namespace again, and one that stayed would keep the
    /// cgroup from becoming empty. `None` if it may not enter.
    fn make_socket(&self, wanted: Wanted, owner: Option<Owner>) -> io::Result<Option<OwnedFd>> {
        let (here, there) = socketpair(
            AddressFamily::Unix,
            SockType::SeqPacket,
            None,
            SockFlag::SOCK_CLOEXEC,
        )?;
        match fork_there(self.cgroup.as_ref()) {
            Ok(ForkResult::Child) => {
                let there = there.as_raw_fd();
                let entered = self
                    .namespaces
                    .as_ref()
                    .map_or(Ok(()), |namespaces| namespaces.enter(there));
                let made = entered.and_then(|()| wanted.make(owner));
                let sent = made.and_then(|socket| send_descriptor(there, &socket));
                // SAFETY: ends the process without running the parent's exit handlers.
                unsafe { libc::_exit(sent.map_or(1, |()| 0)) }
            }
            Ok(ForkResult::Parent { child }) => {
                drop(there);
                let received = receive_descriptor(here.as_raw_fd());
                // If SIGCHLD is ignored, there is nothing to wait for.
                let _ = waitpid(child, None);
                received
            }
            // It may not enter the cgroup, or the cgroup takes no more processes.
            Err(_) if self.cgroup.is_some() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Forks; the child starts in the cgroup, if one is given.
fn fork_there(cgroup: Option<&Cgroup>) -> nix::Result<ForkResult> {
    match cgroup {
        // SAFETY: the supervisor has only this thread.
        Some(cgroup) => unsafe { fork_into(cgroup, 0, libc::SIGCHLD) },
        // SAFETY: as above.
        None => unsafe { fork() },
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
    // SAFETY: the kernel has just created this descriptor for the caller.
    Ok(received.map(|number| unsafe { OwnedFd::from_raw_fd(number) }))
}

/// Returns the inode number of the socket behind one of the thread's descriptors, if it is a socket.
pub(super) fn socket_inode(thread: u32, descriptor: u64) -> Option<u64> {
    let link = fs::read_link(format!("/proc/{thread}/fd/{descriptor}")).ok()?;
    let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
    inode.parse().ok()
}

/// Copies one of the thread's descriptors.
pub(super) fn copy_descriptor(thread: u32, descriptor: u64) -> io::Result<OwnedFd> {
    let status = fs::read_to_string(format!("/proc/{thread}/status"))?;
    let process = status
        .lines()
        .find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
        .ok_or(io::ErrorKind::InvalidData)?;
    let process = Handle::open(process)?;
    process.copy_descriptor(descriptor as RawFd)
}

/// Reads `count` 32-bit arguments from the program's memory.
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
