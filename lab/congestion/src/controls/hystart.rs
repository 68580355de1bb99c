// SPDX-License-Identifier: MIT OR Apache-2.0
//! HyStart++ (RFC 9406): leaves the first slow start when round-trip times rise, before packets are lost.

use crate::congestion_control::{Ack, Window};
use crate::controls::round::Round;

/// MIN_RTT_THRESH of RFC 9406 section 4.3, in nanoseconds.
const LEAST_THRESHOLD_NS: u64 = 4_000_000;
/// MAX_RTT_THRESH, in nanoseconds.
const MOST_THRESHOLD_NS: u64 = 16_000_000;
/// MIN_RTT_DIVISOR: the threshold is this fraction of the round-trip time.
const THRESHOLD_DIVISOR: u64 = 8;
/// N_RTT_SAMPLE: number of samples before a round's minimum counts.
const SAMPLES: u32 = 8;
/// CSS_GROWTH_DIVISOR: factor by which conservative slow start is slower.
const CONSERVATIVE_DIVISOR: f64 = 4.0;
/// CSS_ROUNDS: length of conservative slow start in rounds.
const CONSERVATIVE_ROUNDS: u32 = 5;
/// L: largest increase of the window by one ACK of an unpaced sender, in packets. With pacing it is infinite.
const LIMIT_PACKETS: u32 = 8;

/// The first slow start of a connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct HyStart {
    round: Round,
    last_round_minimum_ns: Option<u64>,
    round_minimum_ns: Option<u64>,
    samples: u32,
    /// Conservative slow start: the round-trip time that started it, and its rounds so far.
    conservative: Option<(u64, u32)>,
    /// The sender paces.
    pub(crate) paced: bool,
}

impl HyStart {
    /// Opens the window for an ACK in the first slow start, and ends slow start by setting `ssthresh`.
    pub(crate) fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if self.round.ends(ack) && self.begin_round() {
            window.ssthresh = window.cwnd;
            return;
        }
        let limit = match self.paced {
            true => u32::MAX,
            false => LIMIT_PACKETS,
        };
        let packets = f64::from(ack.acked.min(limit));
        window.cwnd += match self.conservative {
            Some(_) => packets / CONSERVATIVE_DIVISOR,
            None => packets,
        };
        if let Some(rtt_ns) = ack.rtt_ns {
            let minimum = self.round_minimum_ns.unwrap_or(u64::MAX);
            self.round_minimum_ns = Some(minimum.min(rtt_ns));
            self.samples += 1;
        }
        self.compare();
    }

    /// Returns whether conservative slow start has lasted its rounds.
    fn begin_round(&mut self) -> bool {
        self.last_round_minimum_ns = self.round_minimum_ns.take();
        self.samples = 0;
        match &mut self.conservative {
            Some((_, rounds)) => {
                *rounds += 1;
                *rounds >= CONSERVATIVE_ROUNDS
            }
            None => false,
        }
    }

    fn compare(&mut self) {
        let (Some(now_ns), Some(before_ns)) = (self.round_minimum_ns, self.last_round_minimum_ns)
        else {
            return;
        };
        if self.samples < SAMPLES {
            return;
        }
        match self.conservative {
            // The rise that started it was not a queue.
            Some((baseline_ns, _)) if now_ns < baseline_ns => self.conservative = None,
            Some(_) => {}
            None => {
                let threshold_ns =
                    (before_ns / THRESHOLD_DIVISOR).clamp(LEAST_THRESHOLD_NS, MOST_THRESHOLD_NS);
                if now_ns >= before_ns + threshold_ns {
                    self.conservative = Some((now_ns, 0));
                }
            }
        }
    }
}
