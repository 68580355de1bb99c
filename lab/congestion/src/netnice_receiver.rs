// SPDX-License-Identifier: MIT OR Apache-2.0
//! The netnice control at the receiving end: `policies/receiver.h`.

use crate::decisions::Decided;
use netnice_parameters::exchange::{Parameters, Report};

/// State of a receiver when a segment is about to leave. Times are in microseconds and may wrap.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// Arrival of the newest packet.
    pub now_us: u32,
    /// Now minus the TSecr of the newest packet; 0 if unknown.
    pub rtt_us: u32,
    /// TSval of the newest packet.
    pub tsval: u32,
    /// Bytes that became available in order since the last segment left.
    pub bytes: u32,
    /// The stack's estimate of the peer's packets, in bytes.
    pub mss: u32,
    /// Largest window that can be advertised, in bytes.
    pub limit_bytes: u32,
    /// Largest window that would be advertised at once, whatever the limit, in bytes.
    pub bound_bytes: u32,
    /// True if data beyond a gap is queued.
    pub gap: bool,
    /// True if a CE mark has arrived, and no CWR since.
    pub ce: bool,
    /// True if the ACK of the newest packet was delayed.
    pub delayed_ack: bool,
    /// True if the segment carries data of our own.
    pub has_data: bool,
    /// True if the window can be closed; [`Receiver::window_in`] lets it close only if others of the group probe.
    pub may_close: bool,
    /// True if the peer knows no window scaling.
    pub unscaled: bool,
}

/// The path from one peer, shared by the connections of a group: their smallest round trip, and the highest rate of all.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Path {
    minimum_rtt_us: u32,
    met_us: u32,
    packet_ns: u32,
    rated_us: u32,
    rate_since_us: u32,
    rate_packets: u32,
}

/// The connections of a group, of which a few probe while they yield: `struct receiver_group`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Group {
    probers: [[u32; 2]; 2],
    active_us: u32,
}

/// The window as the stack knows it when a segment is about to leave.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Advertised {
    /// When the segment leaves, in microseconds.
    pub left_us: u32,
    /// Sequence number up to which data has arrived in order.
    pub received: u32,
    /// Right edge of the window that earlier segments have advertised, a sequence number.
    pub edge: u32,
}

/// Round trips of a connection without timestamps, `policies/receiver_round_trip.h`.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct RoundTrip {
    latest_us: u32,
    rest: [u32; 69],
}

impl Default for RoundTrip {
    fn default() -> Self {
        Self {
            latest_us: 0,
            rest: [0; 69],
        }
    }
}

/// The receiving end of one connection: the report, and the rest of `struct receiver`.
#[repr(C, align(4))]
#[derive(Clone, Debug)]
pub struct Receiver {
    report: Report,
    rest: [u8; 832 - size_of::<Report>()],
}

unsafe extern "C" {
    fn native_receiver_init(
        state: *mut Receiver,
        wanted: *const Parameters,
        window_bytes: u32,
        mss: u32,
        now_us: u32,
    );
    fn native_receiver_window(state: *mut Receiver, segment: *const Segment) -> u32;
    fn native_receiver_adopt_path(state: *mut Receiver, path: *mut Path, segment: *const Segment);
    fn native_receiver_share_path(state: *const Receiver, path: *mut Path, segment: *const Segment);
    fn native_receiver_decided(state: *const Receiver, decided: *mut [u32; 5]);
    fn native_receiver_clamp_bytes(state: *const Receiver) -> u32;
    fn native_receiver_others_probe(group: *const Group, number: u32, now_us: u32) -> bool;
    fn native_receiver_share_probing(
        state: *const Receiver,
        group: *mut Group,
        number: u32,
        now_us: u32,
    );
    fn native_receiver_time(
        trip: *mut RoundTrip,
        state: *const Receiver,
        segment: *mut Segment,
        advertised: *const Advertised,
    );
}

impl Receiver {
    /// Creates the state of a new connection from the window that the handshake advertised and the largest packet that
    /// the peer may send, both in bytes.
    pub fn new(parameters: &Parameters, window_bytes: u32, mss: u32, now_us: u32) -> Self {
        let mut state = Self {
            report: Report::default(),
            rest: [0; 832 - size_of::<Report>()],
        };
        // SAFETY: the state is zeroed and has the size of the C side's, which a test compares.
        unsafe { native_receiver_init(&mut state, parameters, window_bytes, mss, now_us) };
        state
    }

    /// Returns the window to advertise in a segment that is about to leave, in bytes; 0 closes it once what was advertised
    /// has arrived.
    pub fn window(&mut self, segment: &Segment) -> u32 {
        // SAFETY: the state was initialised by `new`; the call only touches state and segment.
        unsafe { native_receiver_window(self, segment) }
    }

    /// As [`window_on`](Self::window_on), for connection `number`, which is not 0, of a group.
    pub fn window_in(
        &mut self,
        group: &mut Group,
        number: u32,
        path: &mut Path,
        segment: &Segment,
    ) -> u32 {
        // SAFETY: the call only reads the group.
        let others_probe = unsafe { native_receiver_others_probe(group, number, segment.now_us) };
        let segment = Segment {
            may_close: segment.may_close && others_probe,
            ..*segment
        };
        let window_bytes = self.window_on(path, &segment);
        // SAFETY: the state was initialised by `new`; the call only reads it, and touches the group.
        unsafe { native_receiver_share_probing(self, group, number, segment.now_us) };
        window_bytes
    }

    /// As [`window`](Self::window), for a connection that shares what is known of its path with others.
    pub fn window_on(&mut self, path: &mut Path, segment: &Segment) -> u32 {
        // SAFETY: the state was initialised by `new`; the call only touches the state and the path.
        unsafe { native_receiver_adopt_path(self, path, segment) };
        let window_bytes = self.window(segment);
        // SAFETY: the state was initialised by `new`; the call only reads it and touches the path.
        unsafe { native_receiver_share_path(self, path, segment) };
        window_bytes
    }

    /// Completes `segment`, of a connection without timestamps, by a round trip; to be called before the window is asked for.
    pub fn time(&self, trip: &mut RoundTrip, segment: &mut Segment, advertised: &Advertised) {
        // SAFETY: the state was initialised by `new`; the call reads it and `advertised`, and touches trip and segment.
        unsafe { native_receiver_time(trip, self, segment, advertised) };
    }

    /// Returns what has been decided.
    pub(crate) fn decided(&self) -> Decided {
        let mut decided = [0; 5];
        // SAFETY: the state was initialised by `new`; the call only reads it, and fills the array.
        unsafe { native_receiver_decided(self, &mut decided) };
        decided.into()
    }

    /// Returns the limit to keep for the window, in bytes: the latest window, or, while that is 0, the one that opens it.
    pub fn clamp_bytes(&self) -> u32 {
        // SAFETY: the state was initialised by `new`; the call only reads it.
        unsafe { native_receiver_clamp_bytes(self) }
    }

    /// The report of the policy.
    pub fn report(&self) -> &Report {
        &self.report
    }
}
