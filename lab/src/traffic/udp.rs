// SPDX-License-Identifier: MIT OR Apache-2.0
//! UDP at a constant rate, or on and off.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use hdrhistogram::Histogram;
use netnice_queue::{Bytes, Rate};
use serde::{Deserialize, Serialize};
use socket2::SockRef;

use super::{Clock, End, Goodput, Path, join, spawn_inside};
use crate::error::Attempted;
use crate::link::scheduling;
use crate::{Direction, LabError, MTU, serde_seconds};

/// A sequence number and the time of sending, both 64 bits.
const HEADER: usize = 16;
/// Below the links' threads, above ordinary ones.
const PRIORITY: u32 = 10;

/// When a UDP source sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UdpPattern {
    /// Always.
    Constant,
    /// The first half of each period, beginning at the flow's start.
    SquareWave {
        /// On and off together.
        period: Duration,
    },
}

/// A UDP flow of evenly spaced packets.
#[derive(Debug, Clone, PartialEq)]
pub struct Udp {
    rate: Rate,
    pattern: UdpPattern,
    packet: usize,
    direction: Direction,
    start: Duration,
    stop: Option<Duration>,
    ipv6: bool,
}

impl Udp {
    /// A flow of packets of 1500 bytes at `rate` (network headers included, as on the link), up, from the beginning of
    /// the run to its end.
    pub fn constant(rate: Rate) -> Udp {
        Udp {
            rate,
            pattern: UdpPattern::Constant,
            packet: MTU,
            direction: Direction::Up,
            start: Duration::ZERO,
            stop: None,
            ipv6: false,
        }
    }

    /// The same, but silent in the second half of each period.
    pub fn square_wave(rate: Rate, period: Duration) -> Udp {
        Udp {
            pattern: UdpPattern::SquareWave { period },
            ..Udp::constant(rate)
        }
    }

    /// Sends packets of this size, network headers included: 64 bytes to the link's MTU.
    pub fn packet_size(mut self, bytes: Bytes) -> Udp {
        self.packet = bytes.get() as usize;
        self
    }

    /// Begins at this time.
    pub fn from(mut self, start: Duration) -> Udp {
        self.start = start;
        self
    }

    /// Ends at this time, rather than with the run.
    pub fn until(mut self, stop: Duration) -> Udp {
        self.stop = Some(stop);
        self
    }

    /// Sends in this direction.
    pub fn direction(mut self, direction: Direction) -> Udp {
        self.direction = direction;
        self
    }

    /// Runs over IPv6.
    pub fn ipv6(mut self) -> Udp {
        self.ipv6 = true;
        self
    }

    /// When the n-th packet is to be sent, since the flow's start.
    fn departure(&self, n: u64) -> Duration {
        let interval = self.rate.time_to_send(Bytes::new(self.packet as u64));
        match self.pattern {
            UdpPattern::Constant => nanoseconds(u128::from(n) * interval.as_nanos()),
            UdpPattern::SquareWave { period } => {
                let per_burst = (period / 2)
                    .as_nanos()
                    .div_ceil(interval.as_nanos().max(1))
                    .max(1);
                let (burst, within) = (u128::from(n) / per_burst, u128::from(n) % per_burst);
                nanoseconds(burst * period.as_nanos() + within * interval.as_nanos())
            }
        }
    }

    pub(crate) fn prepare(self, path: &Path) -> Result<Prepared, LabError> {
        if !(64..=MTU).contains(&self.packet) {
            return Err(LabError::Testbed(format!(
                "UDP packets of {} bytes; allowed are 64 to {MTU}, headers included",
                self.packet
            )));
        }
        let (from, to) = path.ends(self.direction);
        let bind = |end: &End| -> Result<UdpSocket, LabError> {
            let address = SocketAddr::new(end.address(self.ipv6)?, 0);
            end.namespace
                .run(|| UdpSocket::bind(address))?
                .attempted(format!("bind to {address}"))
        };
        let (sender, receiver) = (bind(from)?, bind(to)?);
        // The receiver's own buffer must drop nothing. Beyond the system's limit where permitted.
        let _ = SockRef::from(&receiver).set_recv_buffer_size(8 << 20);
        let address = receiver
            .local_addr()
            .attempted("find out a socket's address")?;
        sender
            .connect(address)
            .attempted(format!("connect to {address}"))?;
        let short = Duration::from_millis(50);
        receiver
            .set_read_timeout(Some(short))
            .attempted("set a socket's timeout")?;
        Ok(Prepared {
            from: from.clone(),
            to: to.clone(),
            sender,
            receiver,
            udp: self,
        })
    }
}

fn nanoseconds(nanoseconds: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

/// What became of a UDP flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UdpReport {
    /// Packets sent.
    pub sent: u64,
    /// Packets received; the rest was lost.
    pub received: u64,
    /// Payload received, by time.
    pub goodput: Goodput,
    /// Smallest one-way delay from program to program, in seconds when serialised.
    #[serde(with = "serde_seconds")]
    pub min_delay: Duration,
    /// Half of the packets took at most this long.
    #[serde(with = "serde_seconds")]
    pub p50_delay: Duration,
    /// Mean one-way delay.
    #[serde(with = "serde_seconds")]
    pub mean_delay: Duration,
    /// 99 % of the packets took at most this long.
    #[serde(with = "serde_seconds")]
    pub p99_delay: Duration,
    /// Largest one-way delay.
    #[serde(with = "serde_seconds")]
    pub max_delay: Duration,
}

impl UdpReport {
    /// Share of the packets that was lost, 0 to 1; zero where none was sent.
    pub fn loss_fraction(&self) -> f64 {
        if self.sent == 0 {
            0.0
        } else {
            1.0 - self.received as f64 / self.sent as f64
        }
    }
}

pub(crate) struct Prepared {
    udp: Udp,
    from: End,
    to: End,
    sender: UdpSocket,
    receiver: UdpSocket,
}

impl Prepared {
    pub(crate) fn run(self, clock: Clock) -> Result<UdpReport, LabError> {
        thread::scope(|scope| {
            let receiver = spawn_inside(scope, &self.to.namespace, "udp-receiver", || {
                self.receive(clock)
            })?;
            let sender = spawn_inside(scope, &self.from.namespace, "udp-sender", || {
                self.send(clock)
            })?;
            let sent = join(sender);
            let (delays, goodput) = join(receiver)?;
            let nonzero = |nanoseconds| {
                if delays.is_empty() {
                    Duration::ZERO
                } else {
                    nanoseconds
                }
            };
            Ok(UdpReport {
                sent: sent?,
                received: delays.len(),
                goodput,
                min_delay: nonzero(Duration::from_nanos(delays.min())),
                p50_delay: nonzero(Duration::from_nanos(delays.value_at_quantile(0.5))),
                mean_delay: nonzero(Duration::from_nanos(delays.mean() as u64)),
                p99_delay: nonzero(Duration::from_nanos(delays.value_at_quantile(0.99))),
                max_delay: nonzero(Duration::from_nanos(delays.max())),
            })
        })
    }

    fn send(&self, clock: Clock) -> Result<u64, LabError> {
        scheduling::make_responsive();
        scheduling::make_fifo(PRIORITY);
        let headers = if self.udp.ipv6 { 48 } else { 28 };
        let mut payload = vec![0u8; self.udp.packet - headers];
        let stop = clock.stop(self.udp.stop);
        let mut sent = 0;
        loop {
            let due = self.udp.start + self.udp.departure(sent);
            if due >= stop {
                return Ok(sent);
            }
            clock.sleep_until(due);
            payload[..8].copy_from_slice(&sent.to_le_bytes());
            payload[8..HEADER].copy_from_slice(&(clock.now().as_nanos() as u64).to_le_bytes());
            self.sender.send(&payload).attempted("send a UDP packet")?;
            sent += 1;
        }
    }

    fn receive(&self, clock: Clock) -> Result<(Histogram<u64>, Goodput), LabError> {
        scheduling::make_fifo(PRIORITY);
        let mut delays =
            Histogram::new_with_bounds(1, 100_000_000_000, 3).expect("the bounds are constants");
        let mut goodput = Goodput::default();
        let deadline = clock.stop(self.udp.stop) + clock.grace;
        let mut buffer = [0u8; MTU];
        while clock.now() < deadline {
            let length = match self.receiver.recv(&mut buffer) {
                Ok(length) if length >= HEADER => length,
                Ok(_) => continue,
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                    ) =>
                {
                    continue;
                }
                Err(error) => return Err(error).attempted("receive a UDP packet"),
            };
            let now = clock.now();
            let sent = u64::from_le_bytes(buffer[8..HEADER].try_into().expect("eight bytes"));
            delays.saturating_record((now.as_nanos() as u64).saturating_sub(sent).max(1));
            goodput.record(now, length);
        }
        Ok((delays, goodput))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_square_wave_sends_in_the_first_half_of_each_period() {
        let rate: Rate = "12mbit".parse().unwrap();
        // 1500 bytes at 12 Mb/s: one packet per millisecond.
        let constant = Udp::constant(rate);
        assert_eq!(constant.departure(7), Duration::from_millis(7));
        let wave = Udp::square_wave(rate, Duration::from_millis(20));
        assert_eq!(wave.departure(9), Duration::from_millis(9));
        assert_eq!(wave.departure(10), Duration::from_millis(20));
        assert_eq!(wave.departure(25), Duration::from_millis(45));
    }
}
