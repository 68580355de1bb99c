// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sender's view of its connection (`TCP_INFO`, `struct tcp_info` of `linux/tcp.h`).

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use netnice_kernel::connections::tcp_info_bytes;

/// Sender states (`enum tcp_ca_state`).
const CWR: u8 = 2;
const RECOVERY: u8 = 3;
/// The kernel's value for no threshold.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The fields that are used.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct TcpInfo {
    state: u8,
    /// Congestion window in packets.
    pub(super) cwnd: u32,
    /// Slow-start threshold in packets; infinite until set.
    pub(super) ssthresh: f64,
    /// Smoothed round-trip time.
    pub(super) smoothed_rtt: Duration,
    /// Expirations of the RTO so far; `None` before Linux 6.7.
    pub(super) timeouts: Option<u64>,
}

impl TcpInfo {
    pub(super) fn of(socket: &impl AsFd) -> io::Result<TcpInfo> {
        let (bytes, length) = tcp_info_bytes(socket)?;
        Ok(TcpInfo::read(&bytes[..length]))
    }

    /// Reads the structure; older kernels write fewer bytes of it.
    fn read(bytes: &[u8]) -> TcpInfo {
        let word = |at: usize| {
            let bytes = bytes
                .get(at..at + 4)
                .and_then(|bytes| bytes.try_into().ok());
            bytes.map(u32::from_ne_bytes)
        };
        let half = |at: usize| {
            let bytes = bytes
                .get(at..at + 2)
                .and_then(|bytes| bytes.try_into().ok());
            bytes.map(u16::from_ne_bytes)
        };
        TcpInfo {
            state: bytes.get(1).copied().unwrap_or_default(),
            smoothed_rtt: Duration::from_micros(word(68).unwrap_or_default().into()),
            ssthresh: match word(76) {
                Some(ssthresh) if ssthresh < INFINITE_SSTHRESH => ssthresh.into(),
                _ => f64::INFINITY,
            },
            cwnd: word(80).unwrap_or_default(),
            timeouts: half(240).map(u64::from),
        }
    }

    /// Returns true if the sender has reduced its window for a mark since `before`.
    pub(super) fn has_reacted_to_ecn_since(&self, before: &TcpInfo) -> bool {
        self.state == CWR && before.state != CWR
    }

    /// Returns true if the sender has begun a fast recovery since `before`.
    pub(super) fn has_begun_recovery_since(&self, before: &TcpInfo) -> bool {
        self.state == RECOVERY && before.state != RECOVERY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_fresh_connection_has_its_initial_window() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let info = TcpInfo::of(&stream).unwrap();
        assert!((1..=100).contains(&info.cwnd), "{info:?}");
        assert!(info.smoothed_rtt < Duration::from_secs(1), "{info:?}");
        assert!(
            info.timeouts.is_none_or(|timeouts| timeouts == 0),
            "{info:?}"
        );
    }

    #[test]
    fn states_tell_what_has_happened() {
        let in_state = |state| TcpInfo {
            state,
            ..TcpInfo::default()
        };
        assert!(in_state(RECOVERY).has_begun_recovery_since(&in_state(0)));
        assert!(!in_state(RECOVERY).has_begun_recovery_since(&in_state(RECOVERY)));
        assert!(in_state(CWR).has_reacted_to_ecn_since(&in_state(0)));
        assert!(!in_state(RECOVERY).has_reacted_to_ecn_since(&in_state(0)));
    }

    #[test]
    fn a_shorter_structure_is_an_older_kernel() {
        let info = TcpInfo::read(&[0; 104]);
        assert_eq!((info.cwnd, info.timeouts), (0, None));
    }
}
