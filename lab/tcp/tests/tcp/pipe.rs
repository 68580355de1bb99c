// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sender and a receiver with a delay between them, and a scripted fate of every segment.

use std::collections::BTreeMap;
use std::time::Duration;

use netnice_congestion::congestion_control::{Ack, Congestion, CongestionControl, Window};
use netnice_queue::Time;
use netnice_tcp::{
    Mark, Opener, Receiver, ReceiverConfig, Recovery, Segment, Sender, SenderConfig,
};

/// Plain Reno: RFC 5681, an increase for each ACK.
#[derive(Debug)]
pub struct PlainReno;

impl CongestionControl for PlainReno {
    fn name(&self) -> &'static str {
        "plain reno"
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if !ack.may_grow {
            return;
        }
        window.cwnd += if window.in_slow_start() {
            1.0
        } else {
            1.0 / window.cwnd
        };
    }

    fn on_loss(&mut self, _: &Congestion, window: &mut Window) {
        window.ssthresh = (window.cwnd / 2.0).floor().max(2.0);
    }

    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window) {
        self.on_loss(congestion, window);
    }
}

/// Fate of a segment on its way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate {
    Arrives(Mark),
    Lost,
    /// Arrives later than others by this time.
    Late(Duration),
    Twice,
}

pub const ARRIVES: Fate = Fate::Arrives(Mark::NONE);

#[derive(Debug)]
enum Arrival {
    Data(Segment, Mark),
    Ack(Segment),
}

/// A segment as it was sent, and when, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sent {
    pub at_ms: f64,
    pub segment: Segment,
}

type Script<'a> = Box<dyn FnMut(usize, &Segment) -> Fate + 'a>;

/// Each direction takes `one_way`; nothing queues. The fates of data and ACKs are scripted by their numbers in the order
/// sent, from 0, SYNs and requests counted.
pub struct Pipe<'a> {
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Time,
    pub data: Vec<Sent>,
    pub acks: Vec<Sent>,
    /// Bytes that may be sent beyond what the receiver has.
    pub limit: Option<u64>,
    /// The bytes that have arrived, whatever their order, and how many there are without a gap.
    arrived: Vec<bool>,
    in_order: u64,
    one_way: Duration,
    data_fate: Script<'a>,
    ack_fate: Script<'a>,
    travelling: BTreeMap<(Time, u64), Arrival>,
    sent: [usize; 2],
    serial: u64,
}

impl<'a> Pipe<'a> {
    pub fn new(sender: SenderConfig, receiver: ReceiverConfig, one_way_ms: u64) -> Pipe<'a> {
        Pipe::governed_by(Box::new(PlainReno), sender, receiver, one_way_ms)
    }

    pub fn governed_by(
        control: Box<dyn CongestionControl>,
        sender: SenderConfig,
        receiver: ReceiverConfig,
        one_way_ms: u64,
    ) -> Pipe<'a> {
        Pipe {
            sender: Sender::new(sender, control),
            receiver: Receiver::new(receiver),
            now: Time::ZERO,
            data: vec![],
            acks: vec![],
            limit: None,
            arrived: vec![],
            in_order: 0,
            one_way: Duration::from_millis(one_way_ms),
            data_fate: Box::new(|_, _| ARRIVES),
            ack_fate: Box::new(|_, _| ARRIVES),
            travelling: BTreeMap::new(),
            sent: [0; 2],
            serial: 0,
        }
    }

    pub fn data_fate(mut self, fate: impl FnMut(usize, &Segment) -> Fate + 'a) -> Pipe<'a> {
        self.data_fate = Box::new(fate);
        self
    }

    pub fn ack_fate(mut self, fate: impl FnMut(usize, &Segment) -> Fate + 'a) -> Pipe<'a> {
        self.ack_fate = Box::new(fate);
        self
    }

    /// Data segments of these numbers are lost.
    pub fn losing(self, numbers: &'a [usize]) -> Pipe<'a> {
        self.data_fate(|number, _| {
            if numbers.contains(&number) {
                Fate::Lost
            } else {
                ARRIVES
            }
        })
    }

    pub fn open(&mut self) {
        self.receiver.open(self.now);
        self.sender.open(self.now);
        self.pump();
    }

    /// Both ends send what they can.
    pub fn pump(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            self.transmit(segment, true);
        }
        while let Some(segment) = self.receiver.poll_transmit(self.now) {
            self.transmit(segment, false);
        }
    }

    fn transmit(&mut self, segment: Segment, is_data: bool) {
        let sent = Sent {
            at_ms: self.now.as_nanos() as f64 / 1e6,
            segment,
        };
        let (log, script) = if is_data {
            (&mut self.data, &mut self.data_fate)
        } else {
            (&mut self.acks, &mut self.ack_fate)
        };
        let count = &mut self.sent[usize::from(is_data)];
        let fate = script(*count, &segment);
        *count += 1;
        log.push(sent);
        if let (true, Some(limit)) = (is_data, self.limit) {
            let end = segment.sequence + u64::from(segment.length);
            assert!(
                end <= self.receiver.goodput_bytes() + limit,
                "beyond the window: {segment:?}"
            );
        }
        let (mark, delay, copies) = match fate {
            Fate::Lost => return,
            Fate::Arrives(mark) => (mark, Duration::ZERO, 1),
            Fate::Late(delay) => (Mark::NONE, delay, 1),
            Fate::Twice => (Mark::NONE, Duration::ZERO, 2),
        };
        for _ in 0..copies {
            self.serial += 1;
            let arrival = if is_data {
                Arrival::Data(segment, mark)
            } else {
                Arrival::Ack(segment)
            };
            self.travelling
                .insert((self.now + self.one_way + delay, self.serial), arrival);
        }
    }

    /// Time of the next event.
    pub fn next_event(&self) -> Option<Time> {
        let arrival = self.travelling.first_key_value().map(|(key, _)| key.0);
        let timers = [self.sender.next_timer(), self.receiver.next_timer()];
        let timers = timers.into_iter().flatten();
        arrival.into_iter().chain(timers).min()
    }

    /// A program sees the bytes in order: as many as have arrived without a gap.
    fn check_arrival(&mut self, segment: &Segment) {
        let start = segment.sequence as usize;
        let end = start + segment.length as usize;
        if self.arrived.len() < end {
            self.arrived.resize(end, false);
        }
        self.arrived[start..end].fill(true);
        while self.arrived.get(self.in_order as usize) == Some(&true) {
            self.in_order += 1;
        }
        assert_eq!(self.receiver.goodput_bytes(), self.in_order);
    }

    /// Handles the next event; returns false if there is none.
    pub fn step(&mut self) -> bool {
        let arrival = self.travelling.first_key_value().map(|(key, _)| key.0);
        let Some(next) = self.next_event() else {
            return false;
        };
        assert!(next >= self.now, "time runs backwards");
        self.now = next;
        if arrival == Some(next) {
            match self.travelling.pop_first().unwrap().1 {
                Arrival::Data(segment, mark) => {
                    self.receiver.on_segment(next, &segment, mark);
                    self.check_arrival(&segment);
                }
                Arrival::Ack(segment) => self.sender.on_segment(next, &segment),
            }
        } else {
            self.sender.on_timer(next);
            self.receiver.on_timer(next);
        }
        self.pump();
        true
    }

    pub fn run(&mut self, until: Time) {
        while self.now < until && self.step() {}
    }

    /// Opens, and sends `bytes` until `until_ms`.
    pub fn send(&mut self, bytes: u64, until_ms: u64) {
        self.sender.supply(bytes);
        self.open();
        self.run(Time::from_millis(until_ms));
    }

    /// Opens, and sends without an end until `until_ms`.
    pub fn send_all_the_time(&mut self, until_ms: u64) {
        self.sender.supply_unlimited();
        self.open();
        self.run(Time::from_millis(until_ms));
    }

    /// Transfers `bytes` to the end.
    pub fn transfer(&mut self, bytes: u64) {
        self.sender.supply(bytes);
        self.sender.close();
        self.open();
        self.run_until_finished();
    }

    pub fn run_until_finished(&mut self) {
        while !(self.sender.finished() && self.receiver.finished()) {
            assert!(self.step(), "it hangs: {:?}", self.sender);
            assert!(
                self.now < Time::from_millis(100_000_000),
                "it takes for ever"
            );
        }
    }

    /// (milliseconds, packet number) of the data segments sent, in packets of `mss`.
    pub fn data_times(&self) -> Vec<(f64, u64)> {
        let mss = u64::from(self.sender.config().mss);
        self.data
            .iter()
            .map(|sent| (sent.at_ms, sent.segment.sequence / mss))
            .collect()
    }
}

/// ns-2's agents without a SYN.
pub fn one_way(mss: u32) -> (SenderConfig, ReceiverConfig) {
    (
        SenderConfig {
            handshake: false,
            ..SenderConfig::ns2(mss)
        },
        ReceiverConfig {
            handshake: false,
            ..ReceiverConfig::ns2()
        },
    )
}

/// As [`one_way`] with packets of 1000 bytes, and these: how losses are recovered from, and the first window in packets.
pub fn recovering(recovery: Recovery, initial_window: u32) -> (SenderConfig, ReceiverConfig) {
    let (sender, receiver) = one_way(1000);
    (
        SenderConfig {
            recovery,
            initial_window,
            ..sender
        },
        ReceiverConfig {
            sack: recovery == Recovery::Sack,
            ..receiver
        },
    )
}

/// Both ends of a transfer that the receiver opens.
pub fn opened_by_receiver() -> (SenderConfig, ReceiverConfig) {
    (
        SenderConfig {
            opener: Opener::Receiver,
            ..SenderConfig::default()
        },
        ReceiverConfig {
            opener: Opener::Receiver,
            ..ReceiverConfig::default()
        },
    )
}
