// SPDX-License-Identifier: MIT OR Apache-2.0
//! netnice at the receiving end: `policies/receiver.h`, called as in the kernel.

use super::interface::{Member, Opening, ReceiverPolicy, Registration};
use crate::above_floor::ReceiverAbove;
use crate::decisions::{Observer, Teller};
use crate::netnice_receiver::{Advertised, Receiver, RoundTrip, Segment};
use netnice_parameters::exchange::Report;

pub(crate) const REGISTRATION: Registration = Registration {
    name: "netnice",
    summary: "yields at the first sign of others' queues, and fills an idle link",
    in_kernel: true,
    without_timestamps: true,
    of_senders: &[],
    open: |parameters, opening| {
        let Opening {
            window_bytes,
            mss,
            now_us,
            timestamps,
            member,
        } = opening;
        Box::new(NetNiceReceiver {
            policy: Receiver::new(parameters, window_bytes, mss, now_us),
            round_trip: (!timestamps).then(Box::default),
            above: member.as_ref().and_then(|_| ReceiverAbove::new(parameters)),
            member,
            low_bytes: 0,
            told: None,
        })
    },
};

#[derive(Debug, Clone)]
struct NetNiceReceiver {
    policy: Receiver,
    /// Of a connection without timestamps.
    round_trip: Option<Box<RoundTrip>>,
    member: Option<Member>,
    /// Of a connection of a group above a floor.
    above: Option<ReceiverAbove>,
    /// Window that the policy last computed for low priority, in bytes.
    low_bytes: u32,
    /// Of a connection whose decisions are observed.
    told: Option<Told>,
}

/// Tells of decisions by a clock that does not wrap.
#[derive(Debug, Clone)]
struct Told {
    teller: Teller,
    /// Time of the latest segment, and the same as it had it.
    now_ns: u64,
    now_us: u32,
    window_bytes: u32,
}

impl NetNiceReceiver {
    /// Returns the window to advertise, in bytes.
    fn decide(&mut self, segment: &Segment, advertised: &Advertised) -> u32 {
        let mut segment = *segment;
        segment.may_close &= self.member.is_some() && self.round_trip.is_none();
        if let Some(round_trip) = self.round_trip.as_deref_mut() {
            self.policy.time(round_trip, &mut segment, advertised);
        }
        let Some(member) = &self.member else {
            return self.policy.window(&segment);
        };
        let mut shared = member.locked();
        let shared = &mut *shared;
        let above = self.above.as_ref();
        let hidden = above.is_some_and(|above| above.hides(&mut self.policy, &segment));
        // Otherwise what low priority would advertise has not changed.
        if !hidden {
            self.low_bytes = self.policy.window_in(
                &mut shared.group,
                member.number(),
                &mut shared.path,
                &segment,
            );
        }
        match &mut self.above {
            None => self.low_bytes,
            Some(above) => above.window(&self.policy, &mut shared.floor, &segment, self.low_bytes),
        }
    }
}

impl ReceiverPolicy for NetNiceReceiver {
    fn window(&mut self, segment: &Segment, advertised: &Advertised) -> u32 {
        let window = self.decide(segment, advertised);
        if let Some(told) = &mut self.told {
            told.now_ns += u64::from(segment.now_us.wrapping_sub(told.now_us)) * 1000;
            told.now_us = segment.now_us;
            (told.teller).tell(
                told.now_ns,
                self.policy.decided(),
                told.window_bytes,
                window,
            );
            told.window_bytes = window;
        }
        window
    }

    fn clamp_bytes(&self) -> u32 {
        let floor_bytes = self.above.as_ref().map_or(0, ReceiverAbove::window_bytes);
        self.policy.clamp_bytes().max(floor_bytes)
    }

    fn observe(&mut self, observer: &Observer, now_ns: u64, now_us: u32) {
        self.told = Some(Told {
            teller: Teller::new(observer, true),
            now_ns,
            now_us,
            window_bytes: self.policy.clamp_bytes(),
        });
    }

    fn report(&self) -> Report {
        *self.policy.report()
    }

    fn boxed_clone(&self) -> Box<dyn ReceiverPolicy> {
        Box::new(self.clone())
    }
}
