// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sender's policy at the receiving end: what it is passed for an ACK comes from the data that the ACK covers.
//!
//! | a sender's ACK | here |
//! | --- | --- |
//! | round trip | arrival less the stamp echoed, TSecr (RFC 9840 section 4.2.1) |
//! | one-way delay | arrival less TSval, on the scale of round trips |
//! | packets acknowledged | packets that have arrived in order |
//! | the window limits the sender | as much arrived in a round trip as was advertised at its start |
//! | loss | a packet below the highest sequence number with a later TSval (RFC 9840 section 4.3), or a CE mark |
//!
//! Losses reduce the window at most once per round trip (RFC 9840 section 4.3), in which it does not change otherwise.
//! An ACK that was delayed gives no sample: its packet has waited here.

use crate::control::CaState;
use crate::controls::delay_policy::Policy;
use crate::policy::{Report, Signal};
use crate::receiver::{Advertised, Segment};
use crate::tcplp::Ack;

use super::{Opening, ReceiverPolicy};

/// After so long without data the policy's current delay is too old, in microseconds.
const IDLE_US: u32 = 1_000_000;
/// A stamp echoed covers this time, in microseconds: timestamps of Linux count milliseconds.
const TICK_US: u32 = 1000;
/// Packets that an ACK may cover: as many may be missing of a window that limits the sender.
const SLACK_PACKETS: u32 = 2;

/// The delay that a policy samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delay {
    /// Round trips, with the queue on the way back.
    RoundTrip,
    /// One-way delays of the data.
    OneWay,
}

/// `struct one_way_delay` of `policy/one_way_delay.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PeerClock([u32; 4]);

unsafe extern "C" {
    fn native_one_way_delay_of_data(
        clock: *mut PeerClock,
        tsval: u32,
        now_us: u32,
        restarted: *mut u8,
    ) -> u32;
}

impl PeerClock {
    /// Returns how long a packet was on its way, in microseconds above an unknown origin, and whether that origin is a
    /// new one; `None` where the peer's clock cannot be read.
    fn one_way_us(&mut self, tsval: u32, now_us: u32) -> (Option<u32>, bool) {
        let mut restarted = 0;
        // SAFETY: a zeroed clock is a valid one; the call only touches it and the flag.
        let delay_us = unsafe { native_one_way_delay_of_data(self, tsval, now_us, &mut restarted) };
        ((delay_us != 0).then_some(delay_us), restarted != 0)
    }
}

/// Returns whether `time` is later than `other`, both of which wrap.
fn is_after(time: u32, other: u32) -> bool {
    (time.wrapping_sub(other) as i32) > 0
}

/// A window's round trip, from an ACK until data arrive that were sent after that ACK.
#[derive(Debug, Clone, Copy)]
struct Round {
    began_us: u32,
    /// Packets that had arrived.
    delivered: u32,
    /// Packets advertised.
    window: u32,
}

/// One-way delays begin at the round trip of the first, so that both have one scale.
#[derive(Debug, Clone, Copy)]
struct Anchor {
    rtt_us: u32,
    one_way_us: u32,
}

/// State of the data that have arrived.
#[derive(Debug, Clone)]
struct Arrivals {
    delay: Delay,
    mss: u32,
    /// Bytes towards the next packet.
    remainder: u32,
    delivered: u32,
    clock: PeerClock,
    anchor: Option<Anchor>,
    minimum_rtt_us: u32,
    smoothed_rtt_us: u32,
    arrived_us: u32,
    round: Round,
    limited: bool,
    /// Data were missing when the last segment left.
    gap: bool,
    /// TSV.HGH: newest TSval of data in order, or beyond a gap.
    newest_tsval: u32,
    ce: bool,
}

impl Arrivals {
    /// Returns the whole packets that have arrived since the segment before.
    fn count(&mut self, bytes: u32) -> u32 {
        self.remainder += bytes;
        let packets = self.remainder / self.mss;
        self.remainder %= self.mss;
        self.delivered = self.delivered.wrapping_add(packets);
        packets
    }

    /// Returns whether a loss or a mark shows: RFC 9840 section 4.3.
    fn is_congested(&mut self, segment: &Segment) -> bool {
        let filled = self.gap && segment.bytes > 0;
        let retransmitted = filled && is_after(segment.tsval, self.newest_tsval);
        if !filled {
            self.newest_tsval = segment.tsval;
        }
        self.gap = segment.gap;
        let marked = segment.ce && !self.ce;
        self.ce = segment.ce;
        retransmitted || marked
    }

    /// Returns the newest packet's delay in microseconds; 0 if unknown.
    fn sample_us(&mut self, segment: &Segment) -> u32 {
        let (one_way_us, restarted) = self.clock.one_way_us(segment.tsval, segment.now_us);
        if restarted {
            self.anchor = None;
        }
        if segment.rtt_us == 0 || segment.delayed_ack {
            return 0;
        }
        self.minimum_rtt_us = match self.minimum_rtt_us {
            0 => segment.rtt_us,
            minimum_us => minimum_us.min(segment.rtt_us),
        };
        // RFC 6298, equations 2.2 and 2.3.
        self.smoothed_rtt_us = match self.smoothed_rtt_us {
            0 => segment.rtt_us,
            smoothed_us => smoothed_us - smoothed_us / 8 + segment.rtt_us / 8,
        };
        match (self.delay, one_way_us) {
            (Delay::OneWay, Some(one_way_us)) => {
                let anchor = *self.anchor.get_or_insert(Anchor {
                    rtt_us: segment.rtt_us,
                    one_way_us,
                });
                let change_us = one_way_us.wrapping_sub(anchor.one_way_us) as i32;
                anchor.rtt_us.saturating_add_signed(change_us).max(1)
            }
            _ => segment.rtt_us,
        }
    }

    /// Finds out, once in a round trip, whether the window limits the sender. In slow start the window is ahead of what
    /// it brings: half of it suffices.
    fn end_round(&mut self, segment: &Segment, window: u32, in_slow_start: bool) {
        if segment.rtt_us == 0 {
            return;
        }
        let echoed_us = segment
            .now_us
            .wrapping_sub(segment.rtt_us)
            .wrapping_add(TICK_US - 1);
        if is_after(self.round.began_us, echoed_us) {
            return;
        }
        let came = self.delivered.wrapping_sub(self.round.delivered);
        let slack = SLACK_PACKETS + if in_slow_start { came } else { came / 8 };
        self.limited = came.saturating_add(slack) >= self.round.window;
        self.round = Round {
            began_us: segment.now_us,
            delivered: self.delivered,
            window,
        };
    }
}

/// A receiver whose window a policy of TCP-LP's family sets.
#[derive(Debug, Clone)]
pub(super) struct PolicyReceiver<P> {
    policy: P,
    arrivals: Arrivals,
    /// Packets, as a sender's.
    cwnd: u32,
    ssthresh: u32,
    /// End of the round trip after a loss, while it lasts.
    held_until_us: Option<u32>,
}

impl<P: Policy> PolicyReceiver<P> {
    pub(super) fn new(policy: P, delay: Delay, opening: &Opening) -> Self {
        let mss = opening.mss.max(1);
        let cwnd = (opening.window_bytes / mss).max(1);
        PolicyReceiver {
            policy,
            arrivals: Arrivals {
                delay,
                mss,
                remainder: 0,
                delivered: 0,
                clock: PeerClock::default(),
                anchor: None,
                minimum_rtt_us: 0,
                smoothed_rtt_us: 0,
                arrived_us: opening.now_us,
                round: Round {
                    began_us: opening.now_us,
                    delivered: 0,
                    window: cwnd,
                },
                limited: true,
                gap: false,
                newest_tsval: 0,
                ce: false,
            },
            cwnd,
            ssthresh: u32::MAX,
            held_until_us: None,
        }
    }

    fn is_held(&mut self, now_us: u32) -> bool {
        self.held_until_us = self
            .held_until_us
            .filter(|until_us| is_after(*until_us, now_us));
        self.held_until_us.is_some()
    }

    /// Sets the window for data that have arrived: `acked` packets, of which one was lost before or marked if `congested`.
    fn on_arrival(&mut self, segment: &Segment, acked: u32, congested: bool) {
        let now_us = segment.now_us;
        let sample_rtt_us = self.arrivals.sample_us(segment);
        let in_slow_start = self.cwnd < self.ssthresh;
        self.arrivals.end_round(segment, self.cwnd, in_slow_start);
        let held = self.is_held(now_us);
        let ack = Ack {
            now_us,
            sample_rtt_us,
            smoothed_rtt_us: self.arrivals.smoothed_rtt_us,
            minimum_rtt_us: self.arrivals.minimum_rtt_us,
            acked,
            // A window of packets is under way: a lone ACK that was not delayed is prompt.
            in_flight: 1,
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            ca_state: if held || congested {
                CaState::Recovery
            } else {
                CaState::Open
            },
            cwnd_limited: self.arrivals.limited,
            ..Ack::default()
        };
        self.policy.sample(&ack);
        if held {
            return;
        }
        if congested {
            self.ssthresh = self.policy.on_loss(self.cwnd, now_us);
            self.cwnd = self.ssthresh;
            let rtt_us = segment.rtt_us.max(self.arrivals.minimum_rtt_us);
            self.held_until_us = Some(now_us.wrapping_add(rtt_us));
            return;
        }
        let wanted = self.policy.on_sampled_ack(&ack);
        // As for a sender: otherwise slow start would undo it.
        if wanted < self.cwnd {
            self.ssthresh = wanted;
        }
        self.cwnd = wanted;
    }
}

impl<P: Policy + Clone + 'static> ReceiverPolicy for PolicyReceiver<P> {
    fn window(&mut self, segment: &Segment, _advertised: &Advertised) -> u32 {
        if segment.bytes == 0 {
            if segment.gap {
                self.arrivals.is_congested(segment);
            }
            return self.clamp_bytes();
        }
        if segment.now_us.wrapping_sub(self.arrivals.arrived_us) > IDLE_US {
            self.policy.on_restart();
        }
        self.arrivals.arrived_us = segment.now_us;
        let acked = self.arrivals.count(segment.bytes);
        let congested = self.arrivals.is_congested(segment);
        if acked > 0 || congested {
            self.on_arrival(segment, acked, congested);
        }
        let most = (segment.limit_bytes / self.arrivals.mss).max(1);
        self.cwnd = self.cwnd.min(most);
        self.clamp_bytes()
    }

    fn clamp_bytes(&self) -> u32 {
        self.cwnd.saturating_mul(self.arrivals.mss)
    }

    fn report(&self) -> Report {
        let mut report = *self.policy.report();
        if self.arrivals.anchor.is_some() {
            report.signal = Signal::OneWayDelay as u8;
        }
        report
    }

    fn boxed_clone(&self) -> Box<dyn ReceiverPolicy> {
        Box::new(self.clone())
    }
}
