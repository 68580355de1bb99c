// SPDX-License-Identifier: MIT OR Apache-2.0
//! HSTCP-LP, TCP-LP for large windows: `policy/hstcplp.h`.

use crate::policy::{Parameters, Report, State};
use crate::tcplp::Ack;

unsafe extern "C" {
    fn native_hstcplp_init(state: *mut State, wanted: *const Parameters);
    fn native_hstcplp_sample(state: *mut State, ack: *const Ack);
    fn native_hstcplp_on_ack(state: *mut State, ack: *const Ack) -> u32;
    fn native_hstcplp_on_loss(state: *mut State, cwnd: u32, now_us: u32) -> u32;
    fn native_hstcplp_on_restart(state: *mut State);
    fn native_hstcplp_pause_us(state: *const State, cwnd: u32, smoothed_rtt_us: u32) -> u32;
}

/// The state of one connection under HSTCP-LP.
#[derive(Clone, Debug)]
pub struct HsTcpLp(State);

impl HsTcpLp {
    /// Creates the state of a new connection.
    pub fn new(parameters: &Parameters) -> Self {
        let mut state = State::zeroed();
        // SAFETY: the state is zeroed and as large as any policy's.
        unsafe { native_hstcplp_init(&mut state, parameters) };
        Self(state)
    }

    /// Samples the delay of an ACK.
    pub fn sample(&mut self, ack: &Ack) {
        // SAFETY: the state was initialised by `new`; the call only touches state and ack.
        unsafe { native_hstcplp_sample(&mut self.0, ack) };
    }

    /// Returns the window in packets after an ACK that has been sampled; a smaller one is also the new ssthresh.
    pub fn on_sampled_ack(&mut self, ack: &Ack) -> u32 {
        // SAFETY: as above.
        unsafe { native_hstcplp_on_ack(&mut self.0, ack) }
    }

    /// Returns the new ssthresh in packets after a loss.
    pub fn on_loss(&mut self, cwnd: u32, now_us: u32) -> u32 {
        // SAFETY: as above.
        unsafe { native_hstcplp_on_loss(&mut self.0, cwnd, now_us) }
    }

    /// Returns the microseconds between packets if the window is below one packet, otherwise 0.
    pub fn pause_us(&self, cwnd: u32, smoothed_rtt_us: u32) -> u32 {
        // SAFETY: as above.
        unsafe { native_hstcplp_pause_us(&self.0, cwnd, smoothed_rtt_us) }
    }

    /// Restarts the delay average after an idle period.
    pub fn on_restart(&mut self) {
        // SAFETY: as above.
        unsafe { native_hstcplp_on_restart(&mut self.0) }
    }

    /// The report of the policy.
    pub fn report(&self) -> &Report {
        &self.0.report
    }
}

#[cfg(test)]
mod tests {
    use crate::controls::highspeed::{decrease, increase};

    unsafe extern "C" {
        fn native_hstcplp_row(row: u32, decrease: *mut u32) -> u32;
    }

    /// RFC 3649's appendix B starts a row where a(w) has grown by more than one since the previous row.
    fn appendix_b() -> Vec<(u32, u32)> {
        let mut rows = vec![(38, 512)];
        let mut last = 1.0;
        for cwnd in 39..100_000 {
            let a = increase(cwnd.into());
            if a > last + 1.0 {
                last = a;
                rows.push((cwnd, (decrease(cwnd.into()) * 1024.0).round() as u32));
            }
        }
        rows
    }

    #[test]
    fn the_table_is_what_the_formulas_of_rfc_3649_give() {
        let table: Vec<_> = (0..)
            .map_while(|row| {
                let mut decrease = 0;
                // SAFETY: reads a constant table within its bounds, and writes only to `decrease`.
                let cwnd = unsafe { native_hstcplp_row(row, &mut decrease) };
                (cwnd > 0).then_some((cwnd, decrease))
            })
            .collect();
        assert_eq!(table.len(), 73);
        assert_eq!(table, appendix_b());
    }
}
