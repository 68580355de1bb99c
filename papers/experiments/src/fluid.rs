// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fluid model of TCP-LP's responsiveness (LP03 III-C).
//!
//! One flow over TCP-LP and one over TCP share a link with a queue of Q packets, which is empty at time 0, when both
//! together send at the link's rate. Each rate then grows by 1/RTT in each RTT, so that after t the queue holds
//! `s t^2 / 2` packets, where `s = 1/RTT_LP^2 + 1/RTT_TCP^2`.

/// When the queue holds `packets`, in seconds after it was empty: equation (3).
pub fn time_to_fill(packets: f64, rtt_lp_s: f64, rtt_tcp_s: f64) -> f64 {
    let growth = rtt_lp_s.powi(-2) + rtt_tcp_s.powi(-2);
    (2.0 * packets / growth).sqrt()
}

/// Does TCP-LP slow down before TCP loses a packet? It sees the threshold `delta` of the queue passed, and that takes
/// effect a round-trip time later.
pub fn yields_in_time(delta: f64, queue_packets: f64, rtt_lp_s: f64, rtt_tcp_s: f64) -> bool {
    let indication = time_to_fill(delta * queue_packets, rtt_lp_s, rtt_tcp_s);
    let loss = time_to_fill(queue_packets, rtt_lp_s, rtt_tcp_s);
    indication + rtt_lp_s <= loss
}

/// The largest ratio k of TCP-LP's round-trip time to TCP's with which it does, equation (4):
/// `sqrt(k^2 + 1) <= sqrt(2 Q) (1 - sqrt(delta))`. Zero where there is none.
pub fn largest_rtt_ratio(delta: f64, queue_packets: f64) -> f64 {
    let right = (2.0 * queue_packets).sqrt() * (1.0 - delta.sqrt());
    (right * right - 1.0).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_fills_as_by_hand() {
        // Round-trip times of 0.1 s: s = 200 packets per second squared; sqrt(2 * 25 / 200) = 0.5 s.
        assert!((time_to_fill(25.0, 0.1, 0.1) - 0.5).abs() < 1e-12);
        // 0.1 and 0.05 s: s = 100 + 400.
        assert!((time_to_fill(62.5, 0.1, 0.05) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_largest_ratio_by_hand() {
        // Q = 50, delta = 0.25: 10 * (1 - 0.5) = 5, sqrt(25 - 1).
        assert!((largest_rtt_ratio(0.25, 50.0) - 24f64.sqrt()).abs() < 1e-12);
        // Q = 2, delta = 0.25: 2 * 0.5 = 1, so that k = 0 is the largest.
        assert_eq!(largest_rtt_ratio(0.25, 2.0), 0.0);
        assert_eq!(largest_rtt_ratio(1.0, 100.0), 0.0);
    }

    #[test]
    fn ratio_and_times_are_one_condition() {
        for queue in [10.0, 22.0, 144.0] {
            for delta in [0.01, 0.15, 0.5] {
                let largest = largest_rtt_ratio(delta, queue);
                let (less, more) = (largest * 0.999, largest * 1.001);
                assert!(yields_in_time(delta, queue, 0.05 * less, 0.05));
                assert!(!yields_in_time(delta, queue, 0.05 * more, 0.05));
            }
        }
    }
}
