// SPDX-License-Identifier: MIT OR Apache-2.0
//! The supervisor's answers to the calls of programs.

use std::collections::HashSet;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use bytemuck::Zeroable;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, recv, send};
use nix::sys::stat::fstat;
use nix::unistd::getuid;

use super::caller::{self, Surroundings, Wanted};
use super::filter::{CONVENTIONS, socketcall};
use super::listener::{Call, Listener};
use crate::abi::{DSCP_LOWER_EFFORT, Flow};
use crate::cgroup::attachment::Attacher;
use crate::runtime::log;
use crate::runtime::pins::Pins;
use crate::settings::Settings;
use crate::sockets::connections::{self, OF_A_SUPERVISOR, Sums};
use crate::sockets::options;

/// The message that a supervisor sends once, before it serves.
pub(super) const READY: &[u8] = b"!";

/// Largest number of sockets remembered; beyond it the first ones are forgotten.
const REMEMBERED: usize = 100_000;

struct Supervisor<'a> {
    settings: &'a Settings,
    listener: Listener,
    surroundings: Surroundings,
    /// As root: sets parameters, and counts by group.
    attacher: Option<Attacher>,
    group: u64,
    /// Inode numbers of the sockets made: they show whether a descriptor is one
    /// of TCP where Yama forbids to copy it.
    inodes: HashSet<u64>,
    cookies: HashSet<u64>,
    /// True if a Multipath TCP socket was created: only its subflows have the control, and these have cookies of their
    /// own.
    uncounted: bool,
    /// Sockets of TCP that were made without the control.
    refused: u64,
    /// True if a program has listened: the cookies of its accepted connections are unknown.
    listens: bool,
}

/// The contents of a call.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    Socket(Wanted),
    Listen {
        descriptor: u64,
    },
    Option {
        descriptor: u64,
        level: u64,
        name: u64,
    },
}

/// Serves until the last program under the filter has ended. `client` carries the filter's descriptor in, then the
/// ready message out, then requests for sums in.
pub(super) fn run(client: BorrowedFd<'_>, settings: &Settings) {
    let pins = Pins::open().ok();
    let Ok(Some(listener)) = caller::receive_descriptor(client.as_raw_fd()) else {
        return;
    };
    let mut supervisor = Supervisor {
        settings,
        listener: Listener::from(listener),
        surroundings: Surroundings::new(),
        attacher: pins.as_ref().and_then(|pins| Attacher::open(pins).ok()),
        group: u64::from(std::process::id()) | OF_A_SUPERVISOR,
        inodes: HashSet::new(),
        cookies: HashSet::new(),
        uncounted: false,
        refused: 0,
        listens: false,
    };
    if let Some(attacher) = &supervisor.attacher {
        // An earlier process with this number may have been killed.
        attacher.storage().forget_totals(supervisor.group);
        let _ = attacher.count(supervisor.group);
        let _ = (attacher.storage()).set_floor(supervisor.group, supervisor.settings.floor());
    }
    if send(client.as_raw_fd(), READY, MsgFlags::MSG_NOSIGNAL).is_ok() {
        supervisor.serve(client);
        if let Some(words) = supervisor.sums().and_then(|sums| sums.ungoverned(false)) {
            log::warn(&format!("of a command of user {}: {words}", getuid()));
        }
    }
    if let Some(attacher) = &supervisor.attacher {
        attacher.storage().forget_totals(supervisor.group);
        let _ = attacher.storage().set_floor(supervisor.group, 0);
    }
}

impl Supervisor<'_> {
    fn serve(&mut self, client: BorrowedFd<'_>) {
        let mut client = Some(client);
        loop {
            let calls = PollFd::new(self.listener.as_fd(), PollFlags::POLLIN);
            let mut wait = vec![calls];
            wait.extend(client.map(|client| PollFd::new(client, PollFlags::POLLIN)));
            match poll(&mut wait, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return,
            }
            let events = |at: usize| wait.get(at).and_then(PollFd::revents);
            let (calls, questions) = (events(0), events(1));
            if questions.is_some_and(|events| !events.is_empty()) {
                client = client.filter(|client| self.answer_question(client.as_raw_fd()));
            }
            let Some(calls) = calls else { continue };
            if calls.contains(PollFlags::POLLIN) {
                // An error means that the caller has gone.
                if let Ok(Some(call)) = self.listener.receive() {
                    self.answer(&call);
                }
            } else if !calls.is_empty() {
                // The last program under the filter has ended, and so has the process that started the supervisor.
                return;
            }
        }
    }

    fn answer(&mut self, call: &Call) {
        match self.request(call) {
            Some(Request::Socket(wanted)) if wanted.is_tcp() => self.make_socket(call, wanted),
            Some(Request::Listen { descriptor }) => {
                let inode = caller::socket_inode(call.thread, descriptor);
                self.listens |= inode.is_some_and(|inode| self.inodes.contains(&inode));
                self.listener.proceed(call);
            }
            Some(Request::Option {
                descriptor,
                level,
                name,
            }) if self.is_ours_to_set(call, descriptor, level, name) => {
                self.listener.succeed(call, 0);
            }
            _ => self.listener.proceed(call),
        }
    }

    fn make_socket(&mut self, call: &Call, wanted: Wanted) {
        let made = match self.surroundings.make_socket(call.thread, wanted) {
            Ok(Some(made)) if self.listener.still_waits(call) => made,
            // Namespace and cgroup may have been those of another thread with the same number.
            Ok(Some(_)) => return,
            // An ordinary socket of its own network and cgroup is better than none.
            Ok(None) => {
                self.refused += 1;
                return self.listener.proceed(call);
            }
            Err(error) => return self.listener.fail(call, &error),
        };
        // All work precedes the hand-over: afterwards the program continues, and a signal interrupts its next call
        // unless the supervisor receives that at once.
        let governed = self.govern(&made);
        match governed {
            true => self.remember(&made),
            false => self.refused += 1,
        }
        let handed_over = self
            .listener
            .hand_over(call, made.as_fd(), wanted.close_on_exec());
        match handed_over {
            Ok(()) => self.uncounted |= governed && wanted.protocol == libc::IPPROTO_MPTCP,
            Err(error) => {
                self.forget(&made);
                self.listener.fail(call, &error);
            }
        }
    }

    /// Sets the control; returns false if none has that name, as after unregistering: the socket is then an ordinary
    /// one.
    fn govern(&self, made: &OwnedFd) -> bool {
        if let Some(attacher) = &self.attacher {
            let flow = Flow {
                group: self.group,
                parameters: self.settings.parameters,
                ..Flow::zeroed()
            };
            let _ = attacher.storage().set_flow(made, &flow);
        }
        if self.settings.mark {
            let _ = options::set_dscp(made, DSCP_LOWER_EFFORT);
        }
        options::set_control(made, self.settings.control.name()).is_ok()
    }

    fn remember(&mut self, made: &OwnedFd) {
        if self.inodes.len() >= REMEMBERED {
            self.inodes.clear();
            self.cookies.clear();
        }
        self.cookies.extend(options::cookie(made));
        self.inodes.extend(fstat(made).map(|file| file.st_ino));
    }

    /// Undoes [`Self::remember`].
    fn forget(&mut self, made: &OwnedFd) {
        if let (Ok(cookie), Ok(file)) = (options::cookie(made), fstat(made)) {
            self.cookies.remove(&cookie);
            self.inodes.remove(&file.st_ino);
        }
    }

    /// Returns true if the option is one that the program may not set, on a TCP socket.
    fn is_ours_to_set(&self, call: &Call, descriptor: u64, level: u64, name: u64) -> bool {
        let is = |known: (libc::c_int, libc::c_int)| {
            (level as libc::c_int, name as libc::c_int) == known
        };
        if is((libc::SOL_TCP, libc::TCP_CONGESTION)) {
            return true;
        }
        if !self.settings.mark
            || !(is((libc::SOL_IP, libc::IP_TOS)) || is((libc::SOL_IPV6, libc::IPV6_TCLASS)))
        {
            return false;
        }
        let known = caller::socket_inode(call.thread, descriptor)
            .is_some_and(|inode| self.inodes.contains(&inode));
        known
            || caller::copy_descriptor(call.thread, descriptor)
                .is_ok_and(|copy| options::is_tcp(&copy))
    }

    /// The contents of a call; `None` if they cannot be read.
    fn request(&self, call: &Call) -> Option<Request> {
        let convention = CONVENTIONS.iter().find(|convention| {
            let numbers = [convention.socket, convention.listen, convention.setsockopt];
            convention.architecture == call.architecture
                && (numbers.contains(&call.number) || convention.socketcall == Some(call.number))
        })?;
        if convention.socketcall != Some(call.number) {
            return Some(match call.number {
                number if number == convention.socket => Request::socket(&call.arguments),
                number if number == convention.listen => Request::listen(&call.arguments),
                _ => Request::option(&call.arguments),
            });
        }
        let arguments = caller::read_arguments(call.thread, call.arguments[1], 3).ok()?;
        Some(match call.arguments[0] {
            socketcall::SOCKET => Request::socket(&arguments),
            socketcall::LISTEN => Request::listen(&arguments),
            _ => Request::option(&arguments),
        })
    }

    /// Answers one request of the process that started the supervisor; returns true if more may follow.
    fn answer_question(&self, client: RawFd) -> bool {
        let mut question = [0];
        if !matches!(recv(client, &mut question, MsgFlags::empty()), Ok(1)) {
            return false;
        }
        let sums = self.sums();
        let answer = sums.as_ref().map_or(&[][..], bytemuck::bytes_of);
        send(client, answer, MsgFlags::MSG_NOSIGNAL).is_ok()
    }

    fn sums(&self) -> Option<Sums> {
        if self.uncounted {
            return None;
        }
        let mut sums = match &self.attacher {
            Some(attacher) => {
                let finished = || attacher.totals(self.group).unwrap_or_default();
                // Connections that cannot be listed do not count.
                connections::of_group(self.group, finished).0
            }
            None => Sums {
                accepted_uncounted: self.listens.into(),
                ..connections::of_cookies(&self.cookies).ok()??
            },
        };
        sums.totals.refused += self.refused;
        Some(sums)
    }
}

impl Request {
    fn socket(arguments: &[u64]) -> Self {
        // All are `int`: the upper half is ignored.
        let number = |at: usize| arguments[at] as libc::c_int;
        Self::Socket(Wanted {
            domain: number(0),
            kind: number(1),
            protocol: number(2),
        })
    }

    fn listen(arguments: &[u64]) -> Self {
        Self::Listen {
            descriptor: arguments[0] & 0xffff_ffff,
        }
    }

    fn option(arguments: &[u64]) -> Self {
        Self::Option {
            descriptor: arguments[0] & 0xffff_ffff,
            level: arguments[1] & 0xffff_ffff,
            name: arguments[2] & 0xffff_ffff,
        }
    }
}
