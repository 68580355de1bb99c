// SPDX-License-Identifier: MIT OR Apache-2.0
//! A path small enough to reason about, for tests of a policy in motion: senders, one drop-tail
//! queue with one server, receivers that delay ACKs and stamp them in milliseconds. A lost packet
//! is told to its sender one round trip later and counts as sent again; there is no more of loss
//! recovery here than that.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use netnice_congestion::netnice::{self, NetNice};
use netnice_congestion::policy::{Parameters, Phase, Report};
use netnice_congestion::tcplp::{self, TcpLp};

const MICROSECOND: u64 = 1_000;
const DELAYED_ACK: u64 = 40_000 * MICROSECOND;
/// Data packets in bytes on the wire.
pub const PACKET_BYTES: u64 = 1500;

/// Who decides on the window.
pub enum Control {
    NetNice(NetNice),
    TcpLp(TcpLp),
    /// Additive increase, multiplicative decrease.
    Reno,
    /// RFC 9438 without its Reno-friendly region's finer points.
    Cubic(Cubic),
}

#[derive(Default)]
pub struct Cubic {
    maximum: f64,
    origin: f64,
    epoch_ns: Option<u64>,
    cwnd: f64,
    friendly: f64,
}

impl Cubic {
    fn on_ack(&mut self, now: u64, rtt_us: u32, acked: u32, cwnd: u32, slow_start: bool) -> u32 {
        if slow_start {
            self.epoch_ns = None;
            return cwnd + acked;
        }
        let epoch = *self.epoch_ns.get_or_insert_with(|| {
            self.cwnd = cwnd.into();
            self.friendly = self.cwnd;
            self.origin = self.maximum.max(self.cwnd);
            now
        });
        let k = if self.maximum > 0.0 {
            (self.origin * 0.3 / 0.4).cbrt()
        } else {
            0.0
        };
        let t = (now - epoch) as f64 / 1e9 + f64::from(rtt_us) / 1e6;
        let target = 0.4 * (t - k).powi(3) + self.origin;
        self.friendly += 3.0 * 0.3 / 1.7 * f64::from(acked) / self.cwnd;
        if target > self.cwnd {
            self.cwnd += (target - self.cwnd) / self.cwnd * f64::from(acked);
        } else {
            self.cwnd += 0.01 * f64::from(acked) / self.cwnd;
        }
        self.cwnd = self.cwnd.max(self.friendly);
        self.cwnd as u32
    }

    fn on_loss(&mut self, cwnd: u32) -> u32 {
        self.epoch_ns = None;
        self.maximum = if f64::from(cwnd) < self.maximum {
            f64::from(cwnd) * 0.85
        } else {
            cwnd.into()
        };
        ((f64::from(cwnd) * 0.7) as u32).max(2)
    }
}

impl Control {
    pub fn netnice() -> Self {
        Self::NetNice(NetNice::new(&Parameters::default()))
    }
    pub fn tcplp() -> Self {
        Self::TcpLp(TcpLp::new(&Parameters::default()))
    }
}

/// The path all flows share. Times in nanoseconds.
#[derive(Clone)]
pub struct Path {
    pub bits_per_second: u64,
    pub one_way_ns: u64,
    pub queue_packets: usize,
    /// What the receiver's clock gains, in parts per million.
    pub drift_ppm: u64,
    /// Every packet takes up to so much longer, at random, but none overtakes another.
    pub jitter_ns: u64,
    /// Packets lost at random, in a million.
    pub loss_ppm: u64,
    /// The receiver acknowledges every packet at once.
    pub prompt_acks: bool,
    /// Peers send timestamps.
    pub timestamps: bool,
}

impl Path {
    pub fn new(megabits: f64, rtt_ms: u64, queue_packets: usize) -> Self {
        Self {
            bits_per_second: (megabits * 1e6) as u64,
            one_way_ns: rtt_ms * 500 * 1000,
            queue_packets,
            drift_ppm: 0,
            jitter_ns: 0,
            loss_ppm: 0,
            prompt_acks: false,
            timestamps: true,
        }
    }
}

#[derive(Clone, Copy)]
struct Packet {
    flow: usize,
    sent_ns: u64,
    prior_delivered: u32,
    prior_delivered_ns: u64,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Start,
    Send,
    Served,
    Received,
    AckTimer,
    Ack,
    LossSeen,
    Inject,
}

/// Packets nobody reacts for: UDP, or the answers of a web server.
#[derive(Clone, Copy)]
pub struct Injection {
    pub start_ns: u64,
    pub interval_ns: u64,
    pub burst: u32,
    /// On for half of this period, off for the other; 0 = always on.
    pub period_ns: u64,
}

#[derive(Default)]
pub struct Injected {
    pub sent: u64,
    pub lost: u64,
    /// Backlog in packets met by each burst.
    pub met: Vec<f64>,
}

pub struct Flow {
    control: Control,
    pub cwnd: u32,
    ssthresh: u32,
    in_flight: u32,
    delivered: u32,
    delivered_ns: u64,
    smoothed_rtt_us: u32,
    next_send_ns: u64,
    send_pending: bool,
    recover_until: u32,
    pub start_ns: u64,
    pub stop_ns: u64,
    started: bool,
    credit: u32,
    held: Vec<Packet>,
    ack_timer: u64,
    acks: VecDeque<(Vec<Packet>, u32)>,
    arrivals: VecDeque<Packet>,
    pub sent: u64,
    pub received: u64,
    pub losses: u64,
}

impl Flow {
    pub fn new(control: Control, start_s: f64, stop_s: f64) -> Self {
        Self {
            control,
            cwnd: 10,
            ssthresh: u32::MAX,
            in_flight: 0,
            delivered: 0,
            delivered_ns: 0,
            smoothed_rtt_us: 0,
            next_send_ns: 0,
            send_pending: false,
            recover_until: 0,
            start_ns: (start_s * 1e9) as u64,
            stop_ns: (stop_s * 1e9) as u64,
            started: false,
            credit: 0,
            held: Vec::new(),
            ack_timer: 0,
            acks: VecDeque::new(),
            arrivals: VecDeque::new(),
            sent: 0,
            received: 0,
            losses: 0,
        }
    }

    /// What a low-priority policy tells about itself.
    pub fn report(&self) -> Option<&Report> {
        match &self.control {
            Control::NetNice(control) => Some(control.report()),
            Control::TcpLp(control) => Some(control.report()),
            _ => None,
        }
    }
}

pub struct Bottleneck {
    pub path: Path,
    pub flows: Vec<Flow>,
    now: u64,
    order: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event, usize)>>,
    queue: VecDeque<Packet>,
    serving: Option<Packet>,
    injections: Vec<Injection>,
    pub injected: Vec<Injected>,
    served_until_ns: u64,
    latest_arrival_ns: u64,
    random: u64,
}

impl Bottleneck {
    pub fn new(path: Path, flows: Vec<Flow>) -> Self {
        let mut this = Self {
            path,
            flows,
            now: 0,
            order: 0,
            events: BinaryHeap::new(),
            queue: VecDeque::new(),
            serving: None,
            injections: Vec::new(),
            injected: Vec::new(),
            served_until_ns: 0,
            latest_arrival_ns: 0,
            random: 1,
        };
        for flow in 0..this.flows.len() {
            this.at(this.flows[flow].start_ns, Event::Start, flow);
        }
        this
    }

    fn at(&mut self, time: u64, event: Event, flow: usize) {
        self.order += 1;
        self.events.push(Reverse((time, self.order, event, flow)));
    }

    pub fn inject(&mut self, injection: Injection) {
        self.injections.push(injection);
        self.injected.push(Injected::default());
        self.at(injection.start_ns, Event::Inject, self.injections.len() - 1);
    }

    fn injecting(&mut self, index: usize) {
        let injection = self.injections[index];
        let on =
            injection.period_ns == 0 || self.now % injection.period_ns < injection.period_ns / 2;
        if on {
            let residual = if self.serving.is_some() {
                (self.served_until_ns - self.now) as f64 / self.packet_ns() as f64
            } else {
                0.0
            };
            let met = self.queue.len() as f64 + residual;
            self.injected[index].met.push(met);
            for _ in 0..injection.burst {
                self.injected[index].sent += 1;
                if self.queue.len() >= self.path.queue_packets && self.serving.is_some() {
                    self.injected[index].lost += 1;
                } else {
                    self.queue.push_back(Packet {
                        flow: usize::MAX,
                        sent_ns: self.now,
                        prior_delivered: 0,
                        prior_delivered_ns: 0,
                    });
                    self.serve();
                }
            }
        }
        // Bursts come at uneven times, or they would keep step with the flows' own cycles.
        let turn = self.injected[index].met.len() as u64;
        let uneven = if injection.period_ns == 0 {
            injection.interval_ns / 2 + (turn * 2_654_435_761 % 1000) * injection.interval_ns / 5000
                - injection.interval_ns / 10
        } else {
            injection.interval_ns / 2
        };
        self.at(
            self.now + injection.interval_ns / 2 + uneven,
            Event::Inject,
            index,
        );
    }

    pub fn packet_ns(&self) -> u64 {
        PACKET_BYTES * 8 * 1_000_000_000 / self.path.bits_per_second
    }

    /// Packets waiting or being served.
    pub fn backlog(&self) -> usize {
        self.queue.len() + usize::from(self.serving.is_some())
    }

    /// Runs to `seconds`, calling `watch` every `step_s`.
    pub fn run_watching(&mut self, seconds: f64, step_s: f64, mut watch: impl FnMut(&Self, f64)) {
        let mut next = self.now as f64 / 1e9;
        while next < seconds {
            next += step_s;
            self.run(next);
            watch(self, next);
        }
    }

    pub fn run(&mut self, seconds: f64) {
        let end = (seconds * 1e9) as u64;
        while let Some(&Reverse((time, ..))) = self.events.peek() {
            if time > end {
                break;
            }
            let Reverse((time, _, event, flow)) = self.events.pop().unwrap();
            self.now = time;
            match event {
                Event::Start => {
                    self.flows[flow].started = true;
                    self.try_send(flow);
                }
                Event::Send => {
                    self.flows[flow].send_pending = false;
                    self.try_send(flow);
                }
                Event::Served => {
                    let packet = self.serving.take().expect("a packet is served");
                    let due = self.arrival();
                    if packet.flow != usize::MAX {
                        self.flows[packet.flow].arrivals.push_back(packet);
                        self.at(due, Event::Received, packet.flow);
                    }
                    self.serve();
                }
                Event::Received => self.receive(flow),
                Event::AckTimer => {
                    if self.flows[flow].ack_timer <= self.now && !self.flows[flow].held.is_empty() {
                        self.send_ack(flow);
                    }
                }
                Event::Ack => self.ack(flow),
                Event::LossSeen => self.loss(flow),
                Event::Inject => self.injecting(flow),
            }
        }
        self.now = end;
    }

    fn pacing_ns(&self, flow: &Flow) -> Option<u64> {
        match &flow.control {
            Control::NetNice(control) if flow.smoothed_rtt_us > 0 => {
                let rtt = std::time::Duration::from_micros(flow.smoothed_rtt_us.into());
                Some(
                    control.pacing_interval(flow.cwnd, rtt).as_nanos() as u64
                        / u64::from(flow.cwnd),
                )
            }
            _ => None,
        }
    }

    fn try_send(&mut self, index: usize) {
        loop {
            let flow = &self.flows[index];
            if !flow.started || self.now >= flow.stop_ns || flow.in_flight >= flow.cwnd {
                return;
            }
            let pacing = self.pacing_ns(flow);
            let probing = flow
                .report()
                .is_some_and(|report| report.phase() == Phase::Yielding);
            let burst = if pacing.is_some() && probing && flow.cwnd >= 4 {
                2
            } else {
                1
            };
            if pacing.is_some() && self.now < flow.next_send_ns {
                if !flow.send_pending {
                    let due = flow.next_send_ns;
                    self.flows[index].send_pending = true;
                    self.at(due, Event::Send, index);
                }
                return;
            }
            for _ in 0..burst {
                let flow = &mut self.flows[index];
                if flow.in_flight == 0 {
                    flow.delivered_ns = self.now;
                }
                flow.in_flight += 1;
                flow.sent += 1;
                flow.next_send_ns = self.now.max(flow.next_send_ns) + pacing.unwrap_or(0);
                let packet = Packet {
                    flow: index,
                    sent_ns: self.now,
                    prior_delivered: flow.delivered,
                    prior_delivered_ns: flow.delivered_ns,
                };
                let full = self.queue.len() >= self.path.queue_packets && self.serving.is_some();
                if full || self.random_below(1_000_000) < self.path.loss_ppm {
                    self.flows[index].losses += 1;
                    let due = self.now + 2 * self.path.one_way_ns;
                    self.at(due, Event::LossSeen, index);
                } else {
                    self.queue.push_back(packet);
                    self.serve();
                }
            }
        }
    }

    /// A number below `limit` by Knuth's linear congruential generator: enough for jitter and loss.
    fn random_below(&mut self, limit: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % limit
    }

    /// When a packet that leaves the queue now arrives.
    fn arrival(&mut self) -> u64 {
        let mut due = self.now + self.path.one_way_ns;
        if self.path.jitter_ns > 0 {
            due += self.random_below(self.path.jitter_ns);
        }
        self.latest_arrival_ns = self.latest_arrival_ns.max(due);
        self.latest_arrival_ns
    }

    fn serve(&mut self) {
        if self.serving.is_some() {
            return;
        }
        if let Some(packet) = self.queue.pop_front() {
            self.serving = Some(packet);
            self.served_until_ns = self.now + self.packet_ns();
            self.at(self.now + self.packet_ns(), Event::Served, packet.flow);
        }
    }

    fn receive(&mut self, index: usize) {
        let prompt = self.path.prompt_acks;
        let flow = &mut self.flows[index];
        let packet = flow.arrivals.pop_front().expect("a packet arrives");
        flow.received += 1;
        flow.held.push(packet);
        if flow.held.len() >= 2 || prompt {
            self.send_ack(index);
        } else {
            let due = self.now + DELAYED_ACK;
            flow.ack_timer = due;
            self.at(due, Event::AckTimer, index);
        }
    }

    fn send_ack(&mut self, index: usize) {
        let receiver_ns = self.now + self.now / 1_000_000 * self.path.drift_ppm;
        let tsval = (receiver_ns / 1_000_000) as u32;
        let flow = &mut self.flows[index];
        let packets = std::mem::take(&mut flow.held);
        flow.ack_timer = u64::MAX;
        flow.acks.push_back((packets, tsval));
        let due = self.now + self.path.one_way_ns;
        self.at(due, Event::Ack, index);
    }

    fn ack(&mut self, index: usize) {
        let now = self.now;
        let timestamps = self.path.timestamps;
        let flow = &mut self.flows[index];
        let (packets, tsval) = flow.acks.pop_front().expect("an ACK arrives");
        let acked = packets.len() as u32;
        let newest = packets.last().expect("an ACK covers packets");
        let rtt_us = ((now - newest.sent_ns) / MICROSECOND) as u32;
        flow.smoothed_rtt_us = match flow.smoothed_rtt_us {
            0 => rtt_us,
            old => (7 * old + rtt_us) / 8,
        };
        flow.in_flight -= acked;
        flow.delivered += acked;
        flow.delivered_ns = now;
        let limited = flow.in_flight + acked >= flow.cwnd;
        let now_us = (now / MICROSECOND) as u32;
        let cwnd = flow.cwnd;
        flow.cwnd = match &mut flow.control {
            Control::Reno => {
                if cwnd < flow.ssthresh {
                    cwnd + acked
                } else {
                    flow.credit += acked;
                    if flow.credit >= cwnd {
                        flow.credit -= cwnd;
                        cwnd + 1
                    } else {
                        cwnd
                    }
                }
            }
            Control::Cubic(control) => {
                control.on_ack(now, rtt_us, acked, cwnd, cwnd < flow.ssthresh)
            }
            Control::TcpLp(control) => {
                let new = control.on_ack(&tcplp::Ack {
                    now_us,
                    sample_rtt_us: rtt_us,
                    smoothed_rtt_us: flow.smoothed_rtt_us,
                    tsval,
                    acked,
                    in_flight: flow.in_flight,
                    cwnd,
                    ssthresh: flow.ssthresh,
                    has_timestamp: timestamps,
                    in_recovery: false,
                    cwnd_limited: limited,
                });
                if new < cwnd {
                    flow.ssthresh = new;
                }
                new
            }
            Control::NetNice(control) => control.on_ack(&netnice::Ack {
                now_us,
                sample_rtt_us: rtt_us,
                tsval,
                acked,
                in_flight: flow.in_flight,
                delivered: flow.delivered,
                prior_delivered: newest.prior_delivered,
                rate_delivered: flow.delivered - newest.prior_delivered,
                rate_interval_us: ((now - newest.prior_delivered_ns) / MICROSECOND) as u32,
                cwnd,
                has_timestamp: timestamps,
                in_recovery: flow.delivered < flow.recover_until,
                after_timeout: false,
                app_limited: false,
            }),
        };
        self.try_send(index);
    }

    fn loss(&mut self, index: usize) {
        let now_us = (self.now / MICROSECOND) as u32;
        let flow = &mut self.flows[index];
        flow.in_flight -= 1;
        let recovering = flow.delivered < flow.recover_until;
        if !recovering {
            flow.recover_until = flow.delivered + flow.in_flight;
            match &mut flow.control {
                Control::Reno => {
                    flow.cwnd = (flow.cwnd / 2).max(2);
                    flow.ssthresh = flow.cwnd;
                }
                Control::Cubic(control) => {
                    flow.cwnd = control.on_loss(flow.cwnd);
                    flow.ssthresh = flow.cwnd;
                }
                Control::TcpLp(control) => {
                    flow.cwnd = control.on_loss(flow.cwnd, now_us);
                    flow.ssthresh = flow.cwnd;
                }
                Control::NetNice(_) => {}
            }
        }
        self.try_send(index);
    }
}
