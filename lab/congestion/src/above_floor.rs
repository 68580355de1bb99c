// SPDX-License-Identifier: MIT OR Apache-2.0
//! The native build of `policies/netnice/above_floor.h` and `policies/receiver_floor.h`: netnice above a floor.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use netnice_parameters::exchange::Parameters;

use crate::floor::{Floor, Group};
use crate::netnice::{Ack, NetNice, microseconds};
use crate::netnice_receiver::{Receiver, Segment};
use crate::state::State;

/// Bytes of data in a full packet over Ethernet, with timestamps.
const ETHERNET_MSS: u32 = 1448;

/// State of one connection above a floor: `struct floor_member`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Member {
    rest: [u32; 9],
    driven: u8,
    flags: [u8; 3],
}

/// Where C has `driven`.
#[cfg(test)]
pub(crate) const DRIVEN_OFFSET: usize = std::mem::offset_of!(Member, driven);

unsafe extern "C" {
    fn native_floor_on_ack(
        state: *mut State,
        floor: *mut Floor,
        member: *mut Member,
        ack: *const Ack,
        rtt_us: u32,
        mss: u32,
    ) -> u32;
    fn native_floor_pacing_us(
        state: *const State,
        member: *const Member,
        cwnd: u32,
        rtt_us: u32,
        mss: u32,
    ) -> u32;
    fn native_floor_burst_packets(state: *const State, member: *const Member) -> u32;
    fn native_receiver_floor_is_hidden(
        state: *const Receiver,
        own: *const ReceiverMember,
        segment: *const Segment,
    ) -> u32;
    fn native_receiver_floor_hide(state: *mut Receiver, segment: *const Segment);
    fn native_receiver_floor_window(
        state: *const Receiver,
        floor: *mut Floor,
        own: *mut ReceiverMember,
        segment: *const Segment,
        low_bytes: u32,
    ) -> u32;
}

/// State of one receiving connection above a floor: `struct receiver_floor`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReceiverMember {
    rest: [u32; 14],
}

/// A receiving connection of a group.
#[derive(Debug, Clone)]
pub(crate) struct ReceiverAbove {
    /// The floor that the group has.
    parameters: Parameters,
    own: ReceiverMember,
    window_bytes: u32,
}

impl ReceiverAbove {
    /// `None` without a floor.
    pub(crate) fn new(parameters: &Parameters) -> Option<ReceiverAbove> {
        (Floor::new(parameters).bytes_per_s > 0).then(|| ReceiverAbove {
            parameters: *parameters,
            own: ReceiverMember::default(),
            window_bytes: 0,
        })
    }

    /// Returns whether the segment is no evidence for low priority, and counts what has arrived if so.
    pub(crate) fn hides(&self, policy: &mut Receiver, segment: &Segment) -> bool {
        // SAFETY: the policy was initialised; the sizes are those of the C side, which it checks.
        unsafe {
            let hidden = native_receiver_floor_is_hidden(policy, &self.own, segment) != 0;
            if hidden {
                native_receiver_floor_hide(policy, segment);
            }
            hidden
        }
    }

    /// Returns the window in bytes, where low priority would have `low_bytes`.
    pub(crate) fn window(
        &mut self,
        policy: &Receiver,
        floor: &mut Floor,
        segment: &Segment,
        low_bytes: u32,
    ) -> u32 {
        floor.bytes_per_s = Floor::new(&self.parameters).bytes_per_s;
        // SAFETY: as above.
        self.window_bytes = unsafe {
            native_receiver_floor_window(policy, floor, &mut self.own, segment, low_bytes)
        };
        self.window_bytes.max(low_bytes)
    }

    /// The window that the floor has set, in bytes; 0 if low priority has.
    pub(crate) fn window_bytes(&self) -> u32 {
        self.window_bytes
    }
}

/// A sending connection of a group.
#[derive(Debug, Clone)]
pub(crate) struct Above {
    group: Arc<Mutex<Group>>,
    member: Member,
    /// Bytes of data in a full packet.
    mss: u32,
}

impl Above {
    /// A connection that is alone; `None` without a floor.
    pub(crate) fn new(parameters: &Parameters) -> Option<Above> {
        let floor = Floor::new(parameters);
        (floor.bytes_per_s > 0).then(|| {
            let mut alone = Group::default();
            alone.floor = floor;
            Above::of(&Arc::new(Mutex::new(alone)), ETHERNET_MSS)
        })
    }

    fn of(group: &Arc<Mutex<Group>>, mss: u32) -> Above {
        Above {
            group: group.clone(),
            member: Member::default(),
            mss,
        }
    }

    /// Makes a connection, before its first ACK, one of a group; `own` has the floor that its parameters ask for.
    pub(crate) fn join(own: Option<Above>, group: &Arc<Mutex<Group>>, mss: u32) -> Option<Above> {
        let joined = Above::of(group, mss);
        match own {
            Some(own) => joined.group().floor.bytes_per_s = own.group().floor.bytes_per_s,
            None if !joined.group().has_deadline() => return None,
            None => {}
        }
        Some(joined)
    }

    fn group(&self) -> MutexGuard<'_, Group> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the floor, not low priority, sets the window.
    pub(crate) fn drives(&self) -> bool {
        self.member.driven != 0
    }

    /// Returns the window in packets after an ACK at `now`; `rtt` is the smoothed round-trip time.
    pub(crate) fn on_ack(
        &mut self,
        policy: &mut NetNice,
        ack: &Ack,
        now: Duration,
        rtt: Duration,
    ) -> u32 {
        let mut member = self.member;
        let mut group = self.group();
        group.on_ack(now, u64::from(ack.acked) * u64::from(self.mss));
        // SAFETY: the state was initialised by `NetNice::new`; floor and member have the sizes of the C side's, which it checks.
        let cwnd = unsafe {
            native_floor_on_ack(
                policy.state_mut(),
                &mut group.floor,
                &mut member,
                ack,
                microseconds(rtt),
                self.mss,
            )
        };
        drop(group);
        self.member = member;
        cwnd
    }

    /// Returns the time over which to send a window of `cwnd` packets.
    pub(crate) fn pacing_interval(&self, policy: &NetNice, cwnd: u32, rtt: Duration) -> Duration {
        let rtt_us = microseconds(rtt);
        // SAFETY: as above; the call only reads.
        let interval_us =
            unsafe { native_floor_pacing_us(policy.state(), &self.member, cwnd, rtt_us, self.mss) };
        Duration::from_micros(interval_us.into())
    }

    /// Returns the number of packets that pacing sends at once.
    pub(crate) fn burst_packets(&self, policy: &NetNice) -> u32 {
        // SAFETY: as above.
        unsafe { native_floor_burst_packets(policy.state(), &self.member) }
    }
}
