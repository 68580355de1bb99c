// SPDX-License-Identifier: MIT OR Apache-2.0
//! A path for one flow, kept simple: a drop-tail queue, a receiver that acknowledges every packet and stamps in
//! milliseconds, and a sender that detects a loss when the packet's ACK would have arrived. Lost packets count as
//! retransmitted.

use std::collections::VecDeque;

use netnice_congestion::congestion_control::{Ack, CaState, Congestion, CongestionControl, Window};

/// Times in nanoseconds.
pub struct Path {
    /// Time of a packet at the link's rate.
    pub packet_ns: u64,
    pub base_rtt_ns: u64,
    pub queue_packets: u64,
    /// Queue length in packets above which packets are marked.
    pub mark_above_packets: Option<u64>,
    /// Start and end of the others' queue, and its length, in nanoseconds.
    pub others: Option<(u64, u64, u64)>,
    /// Start and end of a longer forward route, and its additional delay, in nanoseconds.
    pub detour: Option<(u64, u64, u64)>,
    /// Time at which the receiver's clock steps forward, and the step in milliseconds; modulo 2^32 also back.
    pub clock_step: Option<(u64, u32)>,
}

impl Path {
    /// 10 Mb/s, packets of 1000 bytes: 62.5 packets fill the path of 50 ms.
    pub fn new(queue_packets: u64) -> Self {
        Self {
            packet_ns: 800_000,
            base_rtt_ns: 50_000_000,
            queue_packets,
            mark_above_packets: None,
            others: None,
            detour: None,
            clock_step: None,
        }
    }
}

#[derive(Clone, Copy)]
struct Packet {
    sent_ns: u64,
    ack_ns: u64,
    number: u64,
    prior_delivered: u64,
    prior_delivered_ns: u64,
    lost: bool,
    marked: bool,
}

pub struct Flow {
    pub control: Box<dyn CongestionControl>,
    pub window: Window,
    pub losses: u64,
    pub echoes: u64,
    pub delivered: u64,
    path: Path,
    now_ns: u64,
    outstanding: VecDeque<Packet>,
    sent: u64,
    free_ns: u64,
    next_send_ns: u64,
    delivered_ns: u64,
    smoothed_rtt_ns: u64,
    min_rtt_ns: u64,
    recovery_end: Option<u64>,
    echo_after: u64,
    /// Losses that no ACK has reported.
    newly_lost: u32,
}

impl Flow {
    pub fn new(path: Path, control: Box<dyn CongestionControl>, cwnd: f64) -> Self {
        Self {
            control,
            window: Window {
                cwnd,
                ssthresh: f64::INFINITY,
            },
            losses: 0,
            echoes: 0,
            delivered: 0,
            path,
            now_ns: 0,
            outstanding: VecDeque::new(),
            sent: 0,
            free_ns: 0,
            next_send_ns: 0,
            delivered_ns: 0,
            smoothed_rtt_ns: 0,
            min_rtt_ns: 0,
            recovery_end: None,
            echo_after: 0,
            newly_lost: 0,
        }
    }

    pub fn run(&mut self, seconds: f64) {
        let end_ns = (seconds * 1e9) as u64;
        loop {
            let send_ns = self.send();
            let ack_ns = self.outstanding.front().map(|packet| packet.ack_ns);
            let next_ns = match (send_ns, ack_ns) {
                (Some(send_ns), Some(ack_ns)) => send_ns.min(ack_ns),
                (Some(one_ns), None) | (None, Some(one_ns)) => one_ns,
                (None, None) => unreachable!("a window of a packet is always sent or out"),
            };
            if next_ns > end_ns {
                break;
            }
            self.now_ns = next_ns;
            if ack_ns == Some(next_ns) {
                self.answer();
            }
        }
        self.now_ns = end_ns;
    }

    /// Sends all packets allowed; returns when pacing allows more.
    fn send(&mut self) -> Option<u64> {
        while (self.outstanding.len() as u64) < self.window.cwnd as u64 {
            let interval_ns = self
                .control
                .pacing_interval_ns(&self.window, self.smoothed_rtt_ns);
            if interval_ns.is_some() && self.now_ns < self.next_send_ns {
                return Some(self.next_send_ns);
            }
            for _ in 0..self.control.pacing_burst_packets() {
                self.transmit();
                self.next_send_ns =
                    self.now_ns.max(self.next_send_ns) + interval_ns.unwrap_or_default();
            }
        }
        None
    }

    fn transmit(&mut self) {
        let others_ns = match self.path.others {
            Some((from_ns, to_ns, queue_ns)) if (from_ns..to_ns).contains(&self.now_ns) => queue_ns,
            _ => 0,
        };
        let start_ns = self.free_ns.max(self.now_ns + others_ns);
        let queued = (start_ns - self.now_ns) / self.path.packet_ns;
        let lost = queued > self.path.queue_packets;
        if !lost {
            self.free_ns = start_ns + self.path.packet_ns;
        }
        if self.outstanding.is_empty() {
            self.delivered_ns = self.now_ns;
        }
        let detour_ns = match self.path.detour {
            Some((from_ns, to_ns, longer_ns)) if (from_ns..to_ns).contains(&self.now_ns) => {
                longer_ns
            }
            _ => 0,
        };
        let ack_ns = self.free_ns.max(self.now_ns) + self.path.base_rtt_ns + detour_ns;
        // No packet overtakes another.
        let before_ns = self.outstanding.back().map_or(0, |packet| packet.ack_ns);
        self.sent += 1;
        self.outstanding.push_back(Packet {
            sent_ns: self.now_ns,
            ack_ns: ack_ns.max(before_ns),
            number: self.sent,
            prior_delivered: self.delivered,
            prior_delivered_ns: self.delivered_ns,
            lost,
            marked: self
                .path
                .mark_above_packets
                .is_some_and(|most| queued > most),
        });
    }

    fn congestion(&self) -> Congestion {
        Congestion {
            now_ns: self.now_ns,
            in_flight: self.outstanding.len() as u32 + 1,
            smoothed_rtt_ns: self.smoothed_rtt_ns,
            min_rtt_ns: self.min_rtt_ns,
        }
    }

    fn answer(&mut self) {
        let packet = self.outstanding.pop_front().expect("an ACK is due");
        if packet.lost {
            self.lose();
            return;
        }
        let rtt_ns = self.now_ns - packet.sent_ns;
        self.smoothed_rtt_ns = match self.smoothed_rtt_ns {
            0 => rtt_ns,
            old_ns => (7 * old_ns + rtt_ns) / 8,
        };
        self.min_rtt_ns = match self.min_rtt_ns {
            0 => rtt_ns,
            old_ns => old_ns.min(rtt_ns),
        };
        self.delivered += 1;
        self.delivered_ns = self.now_ns;
        if self.recovery_end.is_some_and(|end| packet.number > end) {
            self.recovery_end = None;
            self.control.on_recovery_end(self.now_ns, &mut self.window);
        }
        if packet.marked && packet.number > self.echo_after && self.recovery_end.is_none() {
            self.echo_after = self.sent;
            self.echoes += 1;
            let congestion = self.congestion();
            self.control
                .on_ecn_echo(&congestion, true, &mut self.window);
        }
        let received_ns = self.now_ns - self.path.base_rtt_ns / 2;
        let step_ms = match self.path.clock_step {
            Some((at_ns, step_ms)) if received_ns >= at_ns => step_ms,
            _ => 0,
        };
        let ack = Ack {
            now_ns: self.now_ns,
            rtt_ns: Some(rtt_ns),
            retransmitted: false,
            smoothed_rtt_ns: self.smoothed_rtt_ns,
            min_rtt_ns: self.min_rtt_ns,
            tsval: Some(((received_ns / 1_000_000) as u32).wrapping_add(step_ms)),
            tsecr: Some((packet.sent_ns / 1_000_000) as u32),
            acked: 1,
            newly_lost: std::mem::take(&mut self.newly_lost),
            in_flight: self.outstanding.len() as u32,
            delivered: self.delivered,
            prior_delivered: packet.prior_delivered,
            rate_delivered: (self.delivered - packet.prior_delivered) as u32,
            rate_interval_ns: self.now_ns - packet.prior_delivered_ns,
            ca_state: match self.recovery_end {
                Some(_) => CaState::Recovery,
                None => CaState::Open,
            },
            may_grow: self.recovery_end.is_none(),
            cwnd_limited: true,
            app_limited: false,
            marked: u32::from(packet.marked),
            prior_in_flight: self.outstanding.len() as u32 + 1,
            lost: self.losses,
            next_send_ns: self.next_send_ns,
        };
        self.control.on_ack(&ack, &mut self.window);
    }

    fn lose(&mut self) {
        self.losses += 1;
        self.newly_lost += 1;
        if self.recovery_end.is_some() {
            return;
        }
        self.recovery_end = Some(self.sent);
        let congestion = self.congestion();
        self.control.on_loss(&congestion, &mut self.window);
        if !self.control.governs_recovery() {
            self.window.cwnd = self.window.ssthresh.max(1.0);
        }
    }
}
