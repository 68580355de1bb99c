// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sender's policy at the receiving end: `policies/arrivals.h`, called as in the kernel.

use std::fmt;

use crate::netnice_receiver::{Advertised, RoundTrip, Segment};
use netnice_parameters::exchange::{Parameters, Report};

use super::interface::{Opening, ReceiverPolicy};

/// The delay that a policy samples: `enum arrivals_delay`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delay {
    /// Round trips, with the queue on the reverse path.
    RoundTrip,
    /// One-way delays of the data.
    OneWay,
}

/// Bytes of the largest `struct NAME_receiver`.
const STATE_BYTES: usize = 192;

/// The report, and the rest of a `struct NAME_receiver`.
#[repr(C, align(8))]
#[derive(Debug, Clone)]
pub(super) struct State {
    report: Report,
    rest: [u8; STATE_BYTES - size_of::<Report>()],
}

/// The functions of one policy at the receiving end, of `native.c`.
#[derive(Clone, Copy)]
pub(super) struct Functions {
    pub(super) init: unsafe extern "C" fn(*mut State, *const Parameters, Delay, u32, u32, u32),
    pub(super) window: unsafe extern "C" fn(*mut State, *const Segment) -> u32,
    pub(super) time:
        unsafe extern "C" fn(*mut RoundTrip, *const State, *mut Segment, *const Advertised),
    pub(super) clamp_bytes: unsafe extern "C" fn(*const State) -> u32,
}

/// A receiver whose window a policy of TCP-LP's family sets.
#[derive(Clone)]
pub(super) struct PolicyReceiver {
    functions: Functions,
    state: State,
    /// Of a connection without timestamps.
    round_trip: Option<Box<RoundTrip>>,
}

impl PolicyReceiver {
    pub(super) fn new(
        functions: Functions,
        parameters: &Parameters,
        delay: Delay,
        opening: &Opening,
    ) -> Self {
        let mut state = State {
            report: Report::default(),
            rest: [0; STATE_BYTES - size_of::<Report>()],
        };
        let Opening {
            window_bytes,
            mss,
            now_us,
            timestamps,
            ..
        } = *opening;
        // SAFETY: the state is zeroed and as large as any policy's, which `native.c` asserts.
        unsafe { (functions.init)(&mut state, parameters, delay, window_bytes, mss, now_us) };
        PolicyReceiver {
            functions,
            state,
            round_trip: (!timestamps).then(Box::default),
        }
    }
}

impl fmt::Debug for PolicyReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PolicyReceiver").field(&self.state).finish()
    }
}

impl ReceiverPolicy for PolicyReceiver {
    fn window(&mut self, segment: &Segment, advertised: &Advertised) -> u32 {
        let mut segment = *segment;
        if let Some(trip) = self.round_trip.as_deref_mut() {
            // SAFETY: the state was initialised by `new`; the call reads it and `advertised`, and touches trip and segment.
            unsafe { (self.functions.time)(trip, &self.state, &mut segment, advertised) };
        }
        // SAFETY: the state was initialised by `new`; the call only touches state and segment.
        unsafe { (self.functions.window)(&mut self.state, &segment) }
    }

    fn clamp_bytes(&self) -> u32 {
        // SAFETY: the state was initialised by `new`; the call only reads it.
        unsafe { (self.functions.clamp_bytes)(&self.state) }
    }

    fn report(&self) -> Report {
        self.state.report
    }

    fn boxed_clone(&self) -> Box<dyn ReceiverPolicy> {
        Box::new(self.clone())
    }
}

/// Returns the functions of `native.c` of these names, as [`Functions`].
macro_rules! receiver_functions {
    ($init:ident, $window:ident, $time:ident, $clamp_bytes:ident) => {{
        use crate::receivers::arrivals::{Delay, Functions, State};

        unsafe extern "C" {
            fn $init(
                state: *mut State,
                wanted: *const netnice_parameters::exchange::Parameters,
                delay: Delay,
                window_bytes: u32,
                mss: u32,
                now_us: u32,
            );
            fn $window(state: *mut State, segment: *const crate::netnice_receiver::Segment) -> u32;
            fn $time(
                trip: *mut crate::netnice_receiver::RoundTrip,
                state: *const State,
                segment: *mut crate::netnice_receiver::Segment,
                advertised: *const crate::netnice_receiver::Advertised,
            );
            fn $clamp_bytes(state: *const State) -> u32;
        }

        Functions {
            init: $init,
            window: $window,
            time: $time,
            clamp_bytes: $clamp_bytes,
        }
    }};
}

pub(super) use receiver_functions;
