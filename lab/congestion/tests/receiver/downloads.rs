// SPDX-License-Identifier: MIT OR Apache-2.0
//! Downloads over one drop-tail link: Reno senders unaware of low priority, and receivers that advertise the window of
//! `policies/receiver.h`, or an unlimited one. Packets stay in order; the return path adds only its propagation delay.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use netnice_congestion::netnice_receiver::{Receiver, Segment};
use netnice_parameters::exchange::Parameters;

pub const MSS: u64 = 1448;
const MILLISECOND: u64 = 1_000_000;
const DELAYED_ACK_NS: u64 = 40 * MILLISECOND;
/// Linux's minimum RTO, and hence the minimum of its persist timer.
const LEAST_RTO_NS: u64 = 200 * MILLISECOND;
/// Windows are multiples of this: a window scale of 7.
const GRAIN: u64 = 128;
const PLAIN_WINDOW: u64 = 6 << 20;
const FIRST_WINDOW: u32 = 10 * MSS as u32;
const LAST_WINDOW: u32 = (16 << 20) - 1;

#[derive(Clone, Copy)]
pub struct Link {
    /// Time of a full packet at the link's rate.
    pub packet_ns: u64,
    pub base_rtt_ns: u64,
    pub queue_packets: u64,
    /// One of this many packets is lost at random; 0: none.
    pub loses_one_in: u64,
}

/// How a server departs from the rules.
#[derive(Clone, Copy)]
pub struct Lie {
    /// Its stamp, from its clock in milliseconds, the stamp of ours that it echoes, and the number of the packet.
    pub tsval: fn(u32, u32, u64) -> u32,
    /// The stamp that it echoes, from ours and the number of the packet.
    pub tsecr: fn(u32, u64) -> u32,
    /// Most bytes in a packet.
    pub segment: u64,
    pub heeds_window: bool,
    /// Of so many packets one has a mark of congestion; 0: none has.
    pub marks_one_in: u64,
    /// Interval of segments without data, as probes of a closed window are; 0: there are none.
    pub probes_ns: u64,
}

impl Lie {
    pub const NONE: Self = Self {
        tsval: |clock_ms, _, _| clock_ms,
        tsecr: |ours_ms, _| ours_ms,
        segment: MSS,
        heeds_window: true,
        marks_one_in: 0,
        probes_ns: 0,
    };
}

/// Receiver and sender of one download.
#[derive(Clone, Copy)]
pub struct Download {
    pub low_priority: bool,
    pub from_ns: u64,
    pub to_ns: u64,
    /// Size in bytes; afterwards the connection is idle.
    pub size: u64,
    /// Clock error of the sender in parts per million; positive is fast.
    pub clock_ppm: i64,
    /// Minimum of the sender's persist timer.
    pub persist_ns: u64,
    pub lie: Lie,
}

impl Download {
    pub fn low(from_s: u64, to_s: u64) -> Self {
        Self {
            low_priority: true,
            from_ns: from_s * 1_000_000_000,
            to_ns: to_s * 1_000_000_000,
            size: u64::MAX,
            clock_ppm: 0,
            persist_ns: LEAST_RTO_NS,
            lie: Lie::NONE,
        }
    }

    pub fn plain(from_s: u64, to_s: u64) -> Self {
        Self {
            low_priority: false,
            ..Self::low(from_s, to_s)
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    from: u64,
    to: u64,
    tsval: u32,
    tsecr: u32,
    sent: u64,
    marked: bool,
}

#[derive(Clone, Copy, Debug)]
struct Ack {
    next: u64,
    edge: u64,
    tsval: u32,
    /// Number, in sending order, of the newest packet that arrived.
    newest: u64,
    newest_from: u64,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Start(usize),
    Data(usize, Packet),
    Ack(usize, Ack),
    Timer(usize, u64),
    DelayedAck(usize, u64),
    /// A segment without data leaves the server, and arrives with its stamps.
    Probe(usize),
    Probed(usize, u32, u32),
}

/// A packet in flight, as its sender sees it.
#[derive(Clone, Copy)]
struct Out {
    to: u64,
    sent: u64,
    lost: bool,
}

struct Server {
    wanted: Download,
    out: BTreeMap<u64, Out>,
    next: u64,
    edge: u64,
    cwnd: f64,
    ssthresh: f64,
    recovery_end: u64,
    echo: u32,
    sent: u64,
    timer: u64,
    rtt_ns: u64,
    sent_ns: VecDeque<(u64, u64)>,
}

struct Client {
    control: Option<Receiver>,
    next: u64,
    beyond: BTreeMap<u64, u64>,
    edge: u64,
    unacked: u64,
    reported: u64,
    newest: Packet,
    arrived_ns: u64,
    delayed_ack: u64,
    /// Bytes received in each second.
    bins: Vec<u64>,
    longest_wait_ns: u64,
}

pub struct Downloads {
    link: Link,
    free_ns: u64,
    now_ns: u64,
    events: BinaryHeap<Reverse<(u64, u64)>>,
    /// Events by number.
    kept: BTreeMap<u64, Event>,
    events_made: u64,
    servers: Vec<Server>,
    clients: Vec<Client>,
    random: u64,
}

impl Downloads {
    pub fn new(link: Link, downloads: &[Download]) -> Self {
        let mut world = Self {
            link,
            free_ns: 0,
            now_ns: 0,
            events: BinaryHeap::new(),
            kept: BTreeMap::new(),
            events_made: 0,
            servers: Vec::new(),
            clients: Vec::new(),
            random: 88_172_645_463_325_252,
        };
        for (number, &wanted) in downloads.iter().enumerate() {
            world.servers.push(Server {
                wanted,
                out: BTreeMap::new(),
                next: 0,
                edge: FIRST_WINDOW.into(),
                cwnd: 10.0,
                ssthresh: f64::INFINITY,
                recovery_end: 0,
                echo: 0,
                sent: 0,
                timer: 0,
                rtt_ns: world.link.base_rtt_ns,
                sent_ns: VecDeque::new(),
            });
            world.clients.push(Client {
                control: None,
                next: 0,
                beyond: BTreeMap::new(),
                edge: FIRST_WINDOW.into(),
                unacked: 0,
                reported: 0,
                newest: Packet {
                    from: 0,
                    to: 0,
                    tsval: 0,
                    tsecr: 0,
                    sent: 0,
                    marked: false,
                },
                arrived_ns: wanted.from_ns,
                delayed_ack: 0,
                bins: Vec::new(),
                longest_wait_ns: 0,
            });
            world.at(wanted.from_ns, Event::Start(number));
        }
        world
    }

    fn at(&mut self, time_ns: u64, event: Event) {
        self.events_made += 1;
        self.kept.insert(self.events_made, event);
        self.events.push(Reverse((time_ns, self.events_made)));
    }

    pub fn run(&mut self, seconds: u64) {
        let end_ns = seconds * 1_000_000_000;
        while let Some(&Reverse((time_ns, event))) = self.events.peek() {
            if time_ns > end_ns {
                break;
            }
            self.events.pop();
            self.now_ns = time_ns;
            match self.kept.remove(&event).expect("an event is kept") {
                Event::Start(number) => self.start(number),
                Event::Data(number, packet) => self.receive(number, packet),
                Event::Ack(number, ack) => self.acknowledge(number, ack),
                Event::Timer(number, timer) if self.servers[number].timer == timer => {
                    self.time_out(number);
                }
                Event::DelayedAck(number, delayed_ack)
                    if self.clients[number].delayed_ack == delayed_ack =>
                {
                    self.answer(number, true);
                }
                Event::Timer(..) | Event::DelayedAck(..) => {}
                Event::Probe(number) => self.probe(number),
                Event::Probed(number, tsval, tsecr) => {
                    let newest = &mut self.clients[number].newest;
                    (newest.tsval, newest.tsecr) = (tsval, tsecr);
                    self.answer(number, false);
                }
            }
        }
        self.now_ns = end_ns;
    }

    /// Returns the mean goodput between two seconds, as a share of the link.
    pub fn share(&self, number: usize, from_s: usize, to_s: usize) -> f64 {
        let bins = &self.clients[number].bins;
        let bytes: u64 = (from_s..to_s).filter_map(|second| bins.get(second)).sum();
        let capacity = (to_s - from_s) as f64 * 1e9 / self.link.packet_ns as f64 * MSS as f64;
        bytes as f64 / capacity
    }

    pub fn received(&self, number: usize) -> u64 {
        self.clients[number].next
    }

    /// Returns the time of the latest arrival of data.
    pub fn arrived_ns(&self, number: usize) -> u64 {
        self.clients[number].arrived_ns
    }

    /// Returns the longest time between two arrivals.
    pub fn longest_wait_s(&self, number: usize) -> f64 {
        self.clients[number].longest_wait_ns as f64 / 1e9
    }

    pub fn yields(&self, number: usize) -> u32 {
        let control = self.clients[number].control.as_ref();
        control.map_or(0, |control| control.report().yields)
    }

    fn server_clock_ms(&self, number: usize) -> u32 {
        let ppm = self.servers[number].wanted.clock_ppm;
        let elapsed = i128::from(self.now_ns) * i128::from(1_000_000 + ppm) / 1_000_000;
        ((elapsed / i128::from(MILLISECOND)) as u32).wrapping_add(4_000_000_000)
    }

    /// Our own clock, which wraps soon after the start.
    fn clock_us(&self) -> u32 {
        ((self.now_ns / 1000) as u32).wrapping_add(4_290_000_000)
    }

    fn start(&mut self, number: usize) {
        let now_us = self.clock_us();
        // The request left half a round trip ago.
        let asked_us = now_us.wrapping_sub((self.link.base_rtt_ns / 2000) as u32);
        self.servers[number].echo = asked_us / 1000;
        if self.servers[number].wanted.low_priority {
            let control = Receiver::new(&Parameters::default(), FIRST_WINDOW, MSS as u32, now_us);
            self.clients[number].control = Some(control);
        }
        self.send(number);
        if self.servers[number].wanted.lie.probes_ns > 0 {
            self.at(self.now_ns, Event::Probe(number));
        }
    }

    /// The stamps of the server's next segment.
    fn stamps(&self, number: usize) -> (u32, u32) {
        let server = &self.servers[number];
        let lie = &server.wanted.lie;
        let clock_ms = self.server_clock_ms(number);
        (
            (lie.tsval)(clock_ms, server.echo, server.sent),
            (lie.tsecr)(server.echo, server.sent),
        )
    }

    fn probe(&mut self, number: usize) {
        let (tsval, tsecr) = self.stamps(number);
        let wanted = self.servers[number].wanted;
        let way_ns = self.free_ns.saturating_sub(self.now_ns) + self.link.base_rtt_ns / 2;
        self.at(self.now_ns + way_ns, Event::Probed(number, tsval, tsecr));
        if self.now_ns < wanted.to_ns {
            self.at(self.now_ns + wanted.lie.probes_ns, Event::Probe(number));
        }
    }

    fn in_flight(&self, number: usize) -> usize {
        let out = self.servers[number].out.values();
        out.filter(|packet| !packet.lost).count()
    }

    fn send(&mut self, number: usize) {
        while (self.in_flight(number) as f64) < self.servers[number].cwnd {
            let server = &self.servers[number];
            let lost = server.out.iter().find(|(_, packet)| packet.lost);
            if let Some((&from, packet)) = lost {
                let to = packet.to;
                self.transmit(number, from, to);
                continue;
            }
            let end = match server.wanted.lie.heeds_window {
                true => server.wanted.size.min(server.edge),
                false => server.wanted.size,
            };
            let to = (server.next + server.wanted.lie.segment).min(server.wanted.size);
            // A sender waits for room for a full packet (RFC 1122, 4.2.3.4).
            if self.now_ns >= server.wanted.to_ns || to > end || to == server.next {
                break;
            }
            let from = server.next;
            self.servers[number].next = to;
            self.transmit(number, from, to);
        }
        self.set_timer(number);
    }

    fn transmit(&mut self, number: usize, from: u64, to: u64) {
        self.servers[number].sent += 1;
        let (tsval, tsecr) = self.stamps(number);
        let server = &mut self.servers[number];
        let sent = server.sent;
        let marks = server.wanted.lie.marks_one_in;
        server.sent_ns.push_back((sent, self.now_ns));
        server.out.insert(
            from,
            Out {
                to,
                sent,
                lost: false,
            },
        );
        let start_ns = self.free_ns.max(self.now_ns);
        let queued = (start_ns - self.now_ns) / self.link.packet_ns;
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let odds = self.link.loses_one_in;
        let by_chance = odds > 0 && self.random % odds == 0;
        if queued > self.link.queue_packets || by_chance {
            return;
        }
        let header = 66;
        let takes_ns = self.link.packet_ns * (to - from + header) / (MSS + header);
        self.free_ns = start_ns + takes_ns;
        let packet = Packet {
            from,
            to,
            tsval,
            tsecr,
            sent,
            marked: marks > 0 && sent % marks == 0,
        };
        self.at(
            self.free_ns + self.link.base_rtt_ns / 2,
            Event::Data(number, packet),
        );
    }

    fn rto_ns(&self, number: usize) -> u64 {
        self.servers[number].rtt_ns + LEAST_RTO_NS
    }

    fn set_timer(&mut self, number: usize) {
        let rto_ns = self.rto_ns(number);
        let server = &mut self.servers[number];
        server.timer += 1;
        let timer = server.timer;
        let after_ns = match server.out.is_empty() {
            true => rto_ns.max(server.wanted.persist_ns),
            false => rto_ns,
        };
        self.at(self.now_ns + after_ns, Event::Timer(number, timer));
    }

    /// Handles the retransmission timer or, if nothing is in flight, the persist timer.
    fn time_out(&mut self, number: usize) {
        let server = &mut self.servers[number];
        if let Some(first) = server.out.values_mut().next() {
            first.lost = true;
            server
                .out
                .values_mut()
                .for_each(|packet| packet.lost = true);
            server.ssthresh = (server.cwnd / 2.0).max(2.0);
            server.cwnd = 1.0;
            server.recovery_end = server.sent;
            return self.send(number);
        }
        let to = (server.next + MSS).min(server.edge).min(server.wanted.size);
        if to > server.next && self.now_ns < server.wanted.to_ns {
            let from = server.next;
            server.next = to;
            self.transmit(number, from, to);
        }
        self.set_timer(number);
    }

    fn receive(&mut self, number: usize, packet: Packet) {
        let client = &mut self.clients[number];
        let waited_ns = self.now_ns - client.arrived_ns;
        client.longest_wait_ns = client.longest_wait_ns.max(waited_ns);
        client.arrived_ns = self.now_ns;
        client.newest = packet;
        client.beyond.insert(packet.from, packet.to);
        let before = client.next;
        while let Some((&from, &to)) = client.beyond.first_key_value() {
            if from > client.next {
                break;
            }
            client.next = client.next.max(to);
            client.beyond.pop_first();
        }
        let bin = (self.now_ns / 1_000_000_000) as usize;
        if client.bins.len() <= bin {
            client.bins.resize(bin + 1, 0);
        }
        client.bins[bin] += client.next - before;
        client.unacked += client.next - before;
        let in_order = client.beyond.is_empty() && client.next - before == packet.to - packet.from;
        // Linux acknowledges at once data that arrives after a long time.
        if client.unacked >= 2 * MSS || !in_order || waited_ns > LEAST_RTO_NS {
            self.answer(number, false);
        } else {
            let delayed_ack = client.delayed_ack;
            self.at(
                self.now_ns + DELAYED_ACK_NS,
                Event::DelayedAck(number, delayed_ack),
            );
        }
    }

    fn answer(&mut self, number: usize, delayed_ack: bool) {
        let now_us = self.clock_us();
        let client = &mut self.clients[number];
        client.delayed_ack += 1;
        client.unacked = 0;
        let window = match &mut client.control {
            None => PLAIN_WINDOW,
            Some(control) => {
                let segment = Segment {
                    now_us,
                    rtt_us: now_us.wrapping_sub(client.newest.tsecr.wrapping_mul(1000)),
                    tsval: client.newest.tsval,
                    bytes: (client.next - client.reported) as u32,
                    mss: MSS as u32,
                    limit_bytes: LAST_WINDOW,
                    gap: !client.beyond.is_empty(),
                    ce: client.newest.marked,
                    delayed_ack,
                    ..Segment::default()
                };
                control.window(&segment).into()
            }
        };
        client.reported = client.next;
        // The receiver does not shrink an offered window (RFC 9293, 3.8.6).
        client.edge = client
            .edge
            .max(client.next + window.next_multiple_of(GRAIN));
        let ack = Ack {
            next: client.next,
            edge: client.edge,
            tsval: now_us / 1000,
            newest: client.newest.sent,
            newest_from: client.newest.from,
        };
        self.at(
            self.now_ns + self.link.base_rtt_ns / 2,
            Event::Ack(number, ack),
        );
    }

    fn acknowledge(&mut self, number: usize, ack: Ack) {
        let limited = self.in_flight(number) as f64 + 1.0 >= self.servers[number].cwnd;
        let server = &mut self.servers[number];
        server.echo = ack.tsval;
        server.edge = server.edge.max(ack.edge);
        while let Some(&(sent, sent_ns)) = server.sent_ns.front() {
            if sent > ack.newest {
                break;
            }
            server.rtt_ns = (7 * server.rtt_ns + self.now_ns - sent_ns) / 8;
            server.sent_ns.pop_front();
        }
        let before = server.out.len();
        server
            .out
            .retain(|&from, packet| packet.to > ack.next && from != ack.newest_from);
        let acked = before - server.out.len();
        // Packets stay in order: a packet sent before the newest arrival is lost.
        let mut losses = false;
        for packet in server.out.values_mut() {
            if packet.sent < ack.newest && !packet.lost {
                packet.lost = true;
                losses |= packet.sent > server.recovery_end;
            }
        }
        if losses {
            server.recovery_end = server.sent;
            server.ssthresh = (server.cwnd / 2.0).max(2.0);
            server.cwnd = server.ssthresh;
        } else if limited {
            for _ in 0..acked {
                server.cwnd += match server.cwnd < server.ssthresh {
                    true => 1.0,
                    false => 1.0 / server.cwnd,
                };
            }
        }
        self.send(number);
    }
}
