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

mod aggregate;
mod echo;
mod keeper;
mod queue;

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use crate::cgroup::hierarchy::Cgroup;
use crate::error::{Context, Error, Result};
use crate::features;
use crate::objects::pin_directory::PinDirectory;
use crate::runtime::background;
use crate::runtime::journal::Kind;
use crate::runtime::keepers::{self, Record};
use crate::settings::Settings;

/// Name of the process.
const KEEPER: &std::ffi::CStr = c"nn-udp";

/// Starts the process that governs UDP of a cgroup, if `settings` want that. Only one thread may be running, and not in a cgroup that
/// is to be governed.
///
/// # Errors
/// If it cannot be governed here.
pub(crate) fn keep(
    cgroup: &Cgroup,
    settings: &Settings,
    kind: Kind,
    pins: &PinDirectory,
) -> Result<()> {
    if !settings.wants_other_udp() {
        keepers::forget(pins.home(), cgroup.id());
        return Ok(());
    }
    try_governing(pins)?;
    let starting = || "starting what governs UDP".to_owned();
    let record = Record::new(pins.home(), cgroup.id()).doing(starting)?;
    let (path, id, settings) = (cgroup.path().to_owned(), cgroup.id(), *settings);
    let stderr = std::io::stderr();
    let stderr = stderr.as_fd().try_clone_to_owned().doing(starting)?;
    let number = stderr.as_raw_fd();
    background::spawn(KEEPER, Some(stderr.as_fd()), move || {
        // SAFETY: of all descriptors this process has kept this one, which belongs to nobody else here.
        let stderr = unsafe { OwnedFd::from_raw_fd(number) };
        keeper::run(&path, id, &settings, kind, record, stderr.into());
    })
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
