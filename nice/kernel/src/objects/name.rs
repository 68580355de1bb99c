// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of congestion controls in the kernel: whether somebody holds one, and waiting until it is free.
//!
//! The kernel frees a name some time after the last reference to its link has gone: the inode of a pin is freed after
//! an RCU grace period, and a work queue unregisters the control then. Meanwhile nobody can open the link.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo, MapInfoIter};
use libbpf_rs::{ErrorKind, MapCore, MapFlags, MapHandle, MapType};

/// `TCP_CA_NAME_MAX`: size of the name in `struct tcp_congestion_ops`, in bytes.
const NAME_BYTES: usize = 16;

/// `BPF_STRUCT_OPS_STATE_INUSE`: the map itself has registered its callbacks, without a link.
const STATE_IN_USE: u32 = 1;

/// Times to wait for a name that is taken, both from the end of an RCU grace period on.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    /// While a link or a map that can be opened holds the name. It may be about to go: who lists links holds each of them
    /// open for a moment.
    held: Duration,
    /// While none does, so that the kernel is about to free it, or a kernel module has it.
    abandoned: Duration,
}

impl Patience {
    /// Does not wait: the holder is known.
    pub(crate) const NONE: Self = Self {
        held: Duration::ZERO,
        abandoned: Duration::ZERO,
    };

    /// Waits for a control whose pin may have been removed just now.
    pub(crate) const UNREGISTERING: Self = Self {
        held: Duration::from_secs(2),
        abandoned: Duration::from_secs(30),
    };
}

/// Calls `attach`, which registers `name`, until it does not find the name taken, for as long as `patience`.
pub(crate) fn when_free<T>(
    name: &str,
    patience: Patience,
    attach: impl FnMut() -> libbpf_rs::Result<T>,
) -> libbpf_rs::Result<T> {
    poll(patience, || is_held(name), attach)
}

fn poll<T>(
    patience: Patience,
    is_held: impl Fn() -> bool,
    mut attach: impl FnMut() -> libbpf_rs::Result<T>,
) -> libbpf_rs::Result<T> {
    let is_taken = |error: &libbpf_rs::Error| error.kind() == ErrorKind::AlreadyExists;
    match attach() {
        Err(error) if is_taken(&error) && !patience.abandoned.is_zero() => {}
        other => return other,
    }
    wait_for_grace_period();
    let start = Instant::now();
    loop {
        match attach() {
            Err(error) if is_taken(&error) => {
                let waited = start.elapsed();
                if waited >= patience.abandoned || waited >= patience.held && is_held() {
                    return Err(error);
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
}

/// Waits until the kernel may free what was removed before this call: until then an unpinned link can be opened still.
fn wait_for_grace_period() {
    // `membarrier(2)`: MEMBARRIER_CMD_GLOBAL waits for an RCU grace period. Refused with `nohz_full`, where the wait is
    // the shorter one.
    let global = 1 << 0;
    // SAFETY: the call takes no pointer.
    unsafe { libc::syscall(libc::SYS_membarrier, global, 0, 0) };
}

/// Returns true if a link or a map that can be opened has registered `name`, or if this process may not know.
pub(crate) fn is_held(name: &str) -> bool {
    if !may_list() {
        return true;
    }
    let linked: HashSet<u32> = LinkInfoIter::default()
        .filter_map(|link| match link.info {
            LinkTypeInfo::StructOps(info) => Some(info.map_id),
            _ => None,
        })
        .collect();
    MapInfoIter::default()
        .filter(|map| map.ty == MapType::StructOps)
        .any(|map| {
            let Some(value) = value_of(map.id) else {
                return false;
            };
            has_name(&value, name) && (linked.contains(&map.id) || state(&value) == STATE_IN_USE)
        })
}

/// Returns true if the kernel lets this process list links and maps, which takes CAP_SYS_ADMIN.
fn may_list() -> bool {
    let mut first = 0;
    // SAFETY: the number is valid for the duration of the call.
    let answer = unsafe { libbpf_rs::libbpf_sys::bpf_link_get_next_id(0, &mut first) };
    answer != -libc::EPERM
}

/// Returns the callbacks in a struct_ops map, `None` if it has gone.
fn value_of(map_id: u32) -> Option<Vec<u8>> {
    let map = MapHandle::from_map_id(map_id).ok()?;
    map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()?
}

/// Returns the state in `struct bpf_struct_ops_common_value`, which a struct_ops map's value begins with.
fn state(value: &[u8]) -> u32 {
    let bytes = value.get(4..8).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u32::from_ne_bytes)
}

/// Returns true if a field of a map's value is `name`. Its offset differs between kernels; the other fields are flags and
/// numbers of programs.
fn has_name(value: &[u8], name: &str) -> bool {
    let mut field = [0; NAME_BYTES];
    field[..name.len()].copy_from_slice(name.as_bytes());
    value.windows(NAME_BYTES).any(|window| window == field)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn exists() -> libbpf_rs::Error {
        libbpf_rs::Error::from_raw_os_error(libc::EEXIST)
    }

    #[test]
    fn a_name_that_is_not_free_yet_is_waited_for() {
        // Neither time ends this wait: nobody holds the name, or not for long enough.
        for (held, is_held) in [(Duration::ZERO, false), (LONG, true)] {
            let patience = Patience {
                held,
                abandoned: LONG,
            };
            let mut attempts = 0;
            let attach = || {
                attempts += 1;
                match attempts {
                    1 | 2 => Err(exists()),
                    _ => Ok(attempts),
                }
            };
            assert_eq!(poll(patience, || is_held, attach).unwrap(), 3);
        }
    }

    #[test]
    fn a_name_that_another_program_holds_is_given_up() {
        let patience = Patience {
            held: Duration::ZERO,
            abandoned: LONG,
        };
        for (patience, expected) in [(Patience::NONE, 1), (patience, 2)] {
            let mut attempts = 0;
            let attach = || -> libbpf_rs::Result<()> {
                attempts += 1;
                Err(exists())
            };
            let answer = poll(patience, || true, attach);
            assert_eq!(answer.unwrap_err().kind(), ErrorKind::AlreadyExists);
            assert_eq!(attempts, expected);
        }
    }

    #[test]
    fn names_are_compared_as_a_whole() {
        let mut value = vec![0xff; 64];
        value[20..36].copy_from_slice(b"netnice\0\0\0\0\0\0\0\0\0");
        assert!(has_name(&value, "netnice"));
        for other in ["net", "nice", "netnice2", ""] {
            assert!(!has_name(&value, other), "{other}");
        }
    }
}
