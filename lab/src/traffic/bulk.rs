// SPDX-License-Identifier: MIT OR Apache-2.0
//! A TCP flow that always has something to send.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::{Deserialize, Serialize};
use socket2::Socket;

use super::{
    Clock, End, Goodput, Path, address_of, join, listen, set_congestion, spawn_inside, tcp_socket,
};
use crate::error::Attempted;
use crate::{Direction, LabError, serde_seconds};

/// Bytes written or read in one call.
const CHUNK: usize = 128 * 1024;

/// A TCP flow from one side to the other that always has something to send. At its stop it is aborted: what its sender
/// still held is never sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Bulk {
    congestion: Option<String>,
    direction: Direction,
    start: Duration,
    stop: Option<Duration>,
    ipv6: bool,
    sample_every: Option<Duration>,
}

impl Bulk {
    /// A flow under this congestion control, up, from the beginning of the run to its end.
    pub fn new(congestion: impl Into<String>) -> Bulk {
        Bulk {
            congestion: Some(congestion.into()),
            ..Bulk::system_default()
        }
    }

    /// A flow under whatever congestion control the namespace has by default.
    pub fn system_default() -> Bulk {
        Bulk {
            congestion: None,
            direction: Direction::Up,
            start: Duration::ZERO,
            stop: None,
            ipv6: false,
            sample_every: None,
        }
    }

    /// Connects at this time.
    pub fn from(mut self, start: Duration) -> Bulk {
        self.start = start;
        self
    }

    /// Is aborted at this time, rather than at the end of the run.
    pub fn until(mut self, stop: Duration) -> Bulk {
        self.stop = Some(stop);
        self
    }

    /// Sends in this direction.
    pub fn direction(mut self, direction: Direction) -> Bulk {
        self.direction = direction;
        self
    }

    /// Runs over IPv6.
    pub fn ipv6(mut self) -> Bulk {
        self.ipv6 = true;
        self
    }

    /// Records the sender's `TCP_INFO` with this period.
    pub fn sample_every(mut self, period: Duration) -> Bulk {
        self.sample_every = Some(period);
        self
    }

    pub(crate) fn prepare(self, path: &Path) -> Result<Prepared, LabError> {
        let (from, to) = path.ends(self.direction);
        let listener = listen(to, self.ipv6)?;
        let address = address_of(&listener)?;
        if let Some(name) = &self.congestion {
            // Found out now rather than in the middle of a run.
            from.namespace
                .run(|| set_congestion(&tcp_socket(address)?, name))??;
        }
        Ok(Prepared {
            from: from.clone(),
            to: to.clone(),
            listener,
            address,
            bulk: self,
        })
    }
}

/// The sender's view of its connection (`TCP_INFO`) at one time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct TcpSample {
    /// Since the beginning of the run, in seconds when serialised.
    #[serde(with = "serde_seconds")]
    pub time: Duration,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow-start threshold in segments.
    pub ssthresh: u32,
    /// Smoothed round-trip time, in seconds when serialised.
    #[serde(with = "serde_seconds")]
    pub rtt: Duration,
    /// Smallest round-trip time lately, in seconds when serialised.
    #[serde(with = "serde_seconds")]
    pub min_rtt: Duration,
    /// Segments retransmitted so far.
    pub retransmits: u32,
    /// Bytes acknowledged so far.
    pub bytes_acked: u64,
}

/// What became of a bulk flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BulkReport {
    /// What arrived.
    pub goodput: Goodput,
    /// The sender's view just before its end; all zero where it could not connect in all its time.
    pub last: TcpSample,
    /// The sender's view over time, where asked for.
    pub samples: Vec<TcpSample>,
}

pub(crate) struct Prepared {
    bulk: Bulk,
    from: End,
    to: End,
    listener: Socket,
    address: SocketAddr,
}

impl Prepared {
    pub(crate) fn run(self, clock: Clock) -> Result<BulkReport, LabError> {
        thread::scope(|scope| {
            let receiver = spawn_inside(scope, &self.to.namespace, "bulk-receiver", || {
                self.receive(clock)
            })?;
            let sender = spawn_inside(scope, &self.from.namespace, "bulk-sender", || {
                self.send(clock)
            })?;
            let sent = join(sender);
            let goodput = join(receiver)?;
            let (last, samples) = sent?;
            Ok(BulkReport {
                goodput,
                last,
                samples,
            })
        })
    }

    fn send(&self, clock: Clock) -> Result<(TcpSample, Vec<TcpSample>), LabError> {
        let stop = clock.stop(self.bulk.stop);
        clock.sleep_until(self.bulk.start);
        let mut socket = tcp_socket(self.address)?;
        if let Some(name) = &self.bulk.congestion {
            set_congestion(&socket, name)?;
        }
        // The end of the flow must be its end: nothing lingers in the send buffer.
        socket
            .set_linger(Some(Duration::ZERO))
            .attempted("set SO_LINGER")?;
        let patience = stop
            .saturating_sub(clock.now())
            .max(Duration::from_millis(1));
        match socket.connect_timeout(&self.address.into(), patience) {
            // Starved from beginning to end: a result, not a mistake.
            Err(error) if error.kind() == io::ErrorKind::TimedOut => return Ok(Default::default()),
            connected => connected.attempted(format!("connect to {}", self.address))?,
        }
        socket
            .set_nonblocking(true)
            .attempted("make a socket non-blocking")?;

        let data = vec![0u8; CHUNK];
        let mut samples = Vec::new();
        let mut next_sample = self.bulk.sample_every.map(|_| clock.now());
        loop {
            let now = clock.now();
            if now >= stop {
                break;
            }
            if next_sample.is_some_and(|due| due <= now) {
                samples.push(sample(&socket, now)?);
                next_sample = self.bulk.sample_every.map(|period| now + period);
            }
            match socket.write(&data) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait(
                        &socket,
                        PollFlags::POLLOUT,
                        next_sample.map_or(stop, |due| due.min(stop)) - now,
                    )?;
                }
                Err(error) => return Err(error).attempted("send on a bulk flow"),
            }
        }
        Ok((sample(&socket, clock.now())?, samples))
    }

    fn receive(&self, clock: Clock) -> Result<Goodput, LabError> {
        let deadline = clock.stop(self.bulk.stop) + clock.grace;
        let mut goodput = Goodput::default();
        let left = || {
            deadline
                .checked_sub(clock.now())
                .filter(|left| !left.is_zero())
        };
        let Some(patience) = left() else {
            return Ok(goodput);
        };
        if !wait(&self.listener, PollFlags::POLLIN, patience)? {
            return Ok(goodput);
        }
        let (mut socket, _) = self.listener.accept().attempted("accept a bulk flow")?;
        socket
            .set_nonblocking(true)
            .attempted("make a socket non-blocking")?;
        let mut buffer = vec![0u8; CHUNK];
        while let Some(patience) = left() {
            match socket.read(&mut buffer) {
                Ok(0) => break,
                Ok(bytes) => goodput.record(clock.now(), bytes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait(&socket, PollFlags::POLLIN, patience)?;
                }
                // The sender's abort.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
                Err(error) => return Err(error).attempted("receive a bulk flow"),
            }
        }
        Ok(goodput)
    }
}

/// Waits until the socket is ready, at most for `patience`, rounded up to the millisecond. Whether it is.
fn wait(socket: &Socket, flags: PollFlags, patience: Duration) -> Result<bool, LabError> {
    let milliseconds = patience.as_nanos().div_ceil(1_000_000);
    let timeout = PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX);
    match poll(&mut [PollFd::new(socket.as_fd(), flags)], timeout) {
        Ok(ready) => Ok(ready > 0),
        Err(nix::Error::EINTR) => Ok(false),
        Err(errno) => Err(errno).attempted("wait for a socket"),
    }
}

fn sample(socket: &Socket, time: Duration) -> Result<TcpSample, LabError> {
    // SAFETY: tcp_info is a plain C structure for which all zeroes is a valid value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = std::mem::size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`; older kernels write fewer, the rest stays zero.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            std::ptr::from_mut(&mut info).cast(),
            &mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error()).attempted("read TCP_INFO");
    }
    Ok(TcpSample {
        time,
        cwnd: info.tcpi_snd_cwnd,
        ssthresh: info.tcpi_snd_ssthresh,
        rtt: Duration::from_micros(info.tcpi_rtt.into()),
        min_rtt: Duration::from_micros(info.tcpi_min_rtt.into()),
        retransmits: info.tcpi_total_retrans,
        bytes_acked: info.tcpi_bytes_acked,
    })
}
