// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface of controls from outside this crate, in a C file or in Python: `policies/control.h`, with its units.
//!
//! [`Interfaced`] stands between such a control and the sender, so that all of them see and set the same numbers.

use std::fmt::Debug;

use crate::congestion_control::{Ack, Congestion, CongestionControl, Window};
use crate::controls::low_priority::{duration_us, sample_us, whole_packets};

/// The threshold of a connection that has none: `CONTROL_NO_SSTHRESH`.
pub const NO_SSTHRESH: u32 = 0x7fff_ffff;

/// An ACK that allows the window to grow: `struct control_ack`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlAck {
    /// Time in microseconds; wraps after 71 minutes.
    pub now_us: u32,
    /// Round trip of the newest packet acknowledged, in microseconds; 0 if unknown.
    pub rtt_us: u32,
    /// Smoothed round trip (RFC 6298) in microseconds; 0 before the first sample.
    pub smoothed_rtt_us: u32,
    /// Smallest round trip of the connection in microseconds; 0 before the first sample.
    pub minimum_rtt_us: u32,
    /// Packets that this ACK has acknowledged.
    pub acked: u32,
    /// Packets sent, neither acknowledged nor deemed lost.
    pub in_flight: u32,
    /// 1 if the window, not the program, limits the connection; else 0.
    pub cwnd_limited: u32,
}

/// The numbers that a control may change, in packets: `struct control_window`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlWindow {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow start threshold; [`NO_SSTHRESH`] until first set.
    pub ssthresh: u32,
}

/// A loss or an ECN mark, or an RTO: `struct control_loss`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlLoss {
    /// Time in microseconds; wraps after 71 minutes.
    pub now_us: u32,
    /// Congestion window in packets, before it is reduced.
    pub cwnd: u32,
    /// Packets sent and not yet acknowledged.
    pub in_flight: u32,
}

/// The three functions of a control.
pub trait OutsideControl: Send + Debug {
    /// Sets the window at an ACK that allows it to grow: `control_on_ack`.
    fn on_ack(&mut self, ack: &ControlAck, window: &mut ControlWindow);

    /// Returns ssthresh in packets, to which the recovery from a loss, or a mark, brings the window: `control_on_loss`.
    fn on_loss(&mut self, loss: &ControlLoss) -> u32;

    /// Returns ssthresh in packets after an RTO: `control_on_timeout`.
    fn on_timeout(&mut self, loss: &ControlLoss) -> u32;
}

/// A control from outside as the sender's: converts units, and keeps windows at one packet or more.
#[derive(Debug, Clone)]
pub struct Interfaced<C>(
    /// The control.
    pub C,
);

/// A loss in the units of the interface.
fn loss_of(congestion: &Congestion, window: &Window) -> ControlLoss {
    ControlLoss {
        now_us: (congestion.now_ns / 1000) as u32,
        cwnd: whole_packets(window.cwnd),
        in_flight: congestion.in_flight,
    }
}

impl<C: OutsideControl> CongestionControl for Interfaced<C> {
    fn name(&self) -> &'static str {
        "a control from outside"
    }

    fn uses_flight_samples(&self) -> bool {
        false
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if !ack.may_grow {
            return;
        }
        let acked = ControlAck {
            now_us: (ack.now_ns / 1000) as u32,
            rtt_us: sample_us(ack.rtt_ns),
            smoothed_rtt_us: duration_us(ack.smoothed_rtt_ns),
            minimum_rtt_us: duration_us(ack.min_rtt_ns),
            acked: ack.acked,
            in_flight: ack.in_flight,
            cwnd_limited: ack.cwnd_limited.into(),
        };
        let old = ControlWindow {
            cwnd: whole_packets(window.cwnd),
            ssthresh: match window.ssthresh {
                ssthresh if ssthresh < f64::from(NO_SSTHRESH) => whole_packets(ssthresh),
                _ => NO_SSTHRESH,
            },
        };
        let mut new = old;
        self.0.on_ack(&acked, &mut new);
        // A fraction of the sender's window, such as recovery leaves, stays where the control changes nothing.
        if new.cwnd != old.cwnd {
            window.cwnd = new.cwnd.max(1).into();
        }
        if new.ssthresh != old.ssthresh {
            window.ssthresh = new.ssthresh.max(1).into();
        }
    }

    fn on_loss(&mut self, congestion: &Congestion, window: &mut Window) {
        let ssthresh = self.0.on_loss(&loss_of(congestion, window));
        window.ssthresh = ssthresh.max(1).into();
    }

    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window) {
        let ssthresh = self.0.on_timeout(&loss_of(congestion, window));
        window.ssthresh = ssthresh.max(1).into();
    }
}
