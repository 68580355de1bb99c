// SPDX-License-Identifier: MIT OR Apache-2.0
//! UDP of a group at low priority, but for uTP: QUIC above all. `bpf/udp.bpf.c` leads its packets through queues of our own, and
//! a process in the background sets their rates.
//!
//! | file | role |
//! | --- | --- |
//! | `aggregate.rs`, `native.c` | netnice applied to the aggregate (`policies/aggregate.h`) |
//! | `echo.rs` | ICMP echoes to the peer: delays and a clock of deliveries |
//! | `queue.rs` | the queues: veths with a token bucket |
//! | `keeper.rs` | the process |
//! | `watch.rs` | whether there is something to govern |

mod aggregate;
mod echo;
mod keeper;
mod queue;
mod watch;

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use nix::sched::{CloneFlags, setns};

use crate::abi::UtpGroup;
use crate::cgroup::attachment;
use crate::cgroup::hierarchy::{Cgroup, Hierarchy};
use crate::error::{Context, Error, Result};
use crate::features;
use crate::objects::pin_directory::PinDirectory;
use crate::runtime::background;
use crate::runtime::journal::Kind;
use crate::runtime::keepers::{self, Record};
use crate::runtime::pins::Pins;
use crate::settings::{Settings, Udp};
use crate::sockets::storage::SocketStorage;

pub(crate) use watch::Watch;

/// Name of the process.
const KEEPER: &std::ffi::CStr = c"nn-udp";

/// The network namespace of the calling thread.
const NAMESPACE: &str = "/proc/thread-self/ns/net";

/// Has UDP of a cgroup governed, if `settings` want that: at once, or once it transfers something, which [`look_at_made`] and
/// [`look_at_attached`] notice. Only one thread may be running, and not in a cgroup that is to be governed.
///
/// # Errors
/// If it cannot be governed here, and `settings` do not permit that.
pub(crate) fn keep(
    cgroup: &Cgroup,
    settings: &Settings,
    kind: Kind,
    pins: &PinDirectory,
) -> Result<()> {
    let (home, id) = (pins.home(), cgroup.id());
    // Without a record, which there may be no room for, it is not governed.
    match (settings.wants_udp(), settings.udp, kind) {
        (true, Udp::Yes, _) => {
            try_governing(pins)?;
            let stderr = io::stderr();
            let wanted = attachment::utp_group(settings);
            return start(cgroup, &wanted, kind, pins, None, Some(stderr.as_fd()));
        }
        (true, _, Kind::Attached) => {
            let _ = fs::metadata(NAMESPACE).and_then(|found| keepers::wait(home, id, found.ino()));
        }
        (true, _, Kind::Made) => {}
        (false, ..) => keepers::forget(home, id),
    }
    Ok(())
}

/// Has UDP of a cgroup that netnice has made governed once it transfers something; returns after how long to look again, if at all.
pub(crate) fn look_at_made(
    watch: &mut Option<Watch>,
    cgroup: &Cgroup,
    settings: &Settings,
    pins: &PinDirectory,
) -> Option<Duration> {
    if !watch.as_mut()?.finds_transfer(pins) {
        return Some(watch::LOOK);
    }
    *watch = None;
    let wanted = attachment::utp_group(settings);
    let _ = start(cgroup, &wanted, Kind::Made, pins, None, None);
    None
}

/// Has UDP of an attached cgroup governed once it transfers something.
pub(crate) fn look_at_attached(watch: &mut Watch, cgroup: &Cgroup, pins: &PinDirectory) {
    if !watch.finds_transfer(pins) {
        return;
    }
    let Some(namespace) = keepers::waits(pins.home(), cgroup.id()) else {
        return;
    };
    let Ok(pins) = Pins::open() else { return };
    let wanted = SocketStorage::open(&pins).map(|storage| storage.utp(cgroup.id()));
    if let Ok(Some(wanted)) = wanted {
        let _ = start(
            cgroup,
            &wanted,
            Kind::Attached,
            &pins,
            Some(namespace),
            None,
        );
        // It was detached meanwhile, which may not have found the new record.
        if !attachment::is_attached(cgroup).unwrap_or(false) {
            keepers::forget(pins.home(), cgroup.id());
        }
    }
    let _ = pins.close();
}

/// Starts the process that governs, in the network namespace with this number. With `stderr` it reports what cannot be governed.
fn start(
    cgroup: &Cgroup,
    wanted: &UtpGroup,
    kind: Kind,
    pins: &PinDirectory,
    namespace: Option<u64>,
    stderr: Option<BorrowedFd<'_>>,
) -> Result<()> {
    let starting = || "starting what governs UDP".to_owned();
    let record = Record::new(pins.home(), cgroup.id()).doing(starting)?;
    let stderr = stderr.map(|stderr| stderr.try_clone_to_owned());
    let stderr = stderr.transpose().doing(starting)?;
    let number = stderr.as_ref().map(|stderr| stderr.as_raw_fd());
    let kept = stderr.as_ref().map(AsFd::as_fd);
    let (path, id) = (cgroup.path(), cgroup.id());
    background::spawn(KEEPER, kept, || {
        if let Some(Err(error)) = namespace.map(|number| enter_namespace(number, path)) {
            record.tell(&format!("not governed: {error}"));
            return;
        }
        // SAFETY: of all descriptors this process has kept this one, which belongs to nobody else here.
        let stderr = number.map(|number| unsafe { OwnedFd::from_raw_fd(number) });
        keeper::run(path, id, wanted, kind, record, stderr.map(File::from));
    })
}

/// Enters the network namespace with this number, which a process of the cgroup at `path` is in.
fn enter_namespace(number: u64, path: &str) -> io::Result<()> {
    let is_it = |path: &str| fs::metadata(path).is_ok_and(|found| found.ino() == number);
    if is_it(NAMESPACE) {
        return Ok(());
    }
    let processes = Hierarchy::find()
        .and_then(|all| all.open(path)?.processes_beneath())
        .map_err(io::Error::other)?;
    let mut paths = processes.iter().map(|pid| format!("/proc/{pid}/ns/net"));
    let path = paths.find(|path| is_it(path)).ok_or_else(|| {
        io::Error::other("no process of the cgroup is in the network namespace of `attach`")
    })?;
    Ok(setns(File::open(path)?, CloneFlags::CLONE_NEWNET)?)
}

/// Fails if UDP other than uTP cannot be governed here: tries all that it takes but for traffic.
pub(crate) fn try_governing(pins: &PinDirectory) -> Result<()> {
    match keeper::attempt(pins) {
        Err(error) => Err(Error::NoUdp {
            reason: match features::TCX.is_there() {
                true => error.to_string(),
                false => format!("the kernel lacks {}", features::TCX),
            },
        }),
        Ok(()) => Ok(()),
    }
}
