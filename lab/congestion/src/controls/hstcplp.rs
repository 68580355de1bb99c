// SPDX-License-Identifier: MIT OR Apache-2.0
//! HSTCP-LP: `policies/hstcplp.h`, called as in the kernel.

use crate::congestion_control::Registration;
use crate::controls::delay_policy::{PolicyControl, delay_policy};
use netnice_parameters::policies::HSTCPLP;

pub(crate) const REGISTRATION: Registration = Registration {
    name: HSTCPLP.name,
    summary: HSTCPLP.summary,
    build: |settings| {
        Box::new(PolicyControl::new(HsTcpLp::new(
            &settings.policy_parameters(),
        )))
    },
};

delay_policy!(
    /// The state of one connection under HSTCP-LP.
    HsTcpLp,
    native_hstcplp_init,
    native_hstcplp_sample,
    native_hstcplp_on_ack,
    native_hstcplp_on_loss,
    native_hstcplp_pause_us,
    native_hstcplp_on_restart
);

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
