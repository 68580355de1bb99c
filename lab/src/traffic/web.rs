// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small fetches over HTTP/1.0, a new connection each: what a person waiting for a page sees.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use netnice_queue::Bytes;
use serde::{Deserialize, Serialize};
use socket2::Socket;

use super::{Clock, End, Path, address_of, join, listen, set_congestion, spawn_inside, tcp_socket};
use crate::error::Attempted;
use crate::link::scheduling;
use crate::statistics::quantile;
use crate::{Direction, LabError};

/// As for UDP sources: what is measured is the network's delay, not the wait for a processor.
const PRIORITY: u32 = 10;
/// How often the server looks whether the run is over.
const SERVER_TICK: Duration = Duration::from_millis(50);

/// A client that fetches a file of `size` every `interval`, whether or not the one before has arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Web {
    size: Bytes,
    interval: Duration,
    direction: Direction,
    congestion: Option<String>,
    start: Duration,
    stop: Option<Duration>,
    ipv6: bool,
}

impl Web {
    /// Fetches of `size` every `interval`; replies travel down (the server is on the far side), from the beginning of
    /// the run to its end.
    pub fn new(size: Bytes, interval: Duration) -> Web {
        let direction = Direction::Down;
        Web {
            size,
            interval,
            direction,
            congestion: None,
            start: Duration::ZERO,
            stop: None,
            ipv6: false,
        }
    }

    /// Replies travel in this direction; the client is where they arrive.
    pub fn direction(mut self, direction: Direction) -> Web {
        self.direction = direction;
        self
    }

    /// The server uses this congestion control rather than the namespace's default.
    pub fn congestion(mut self, name: impl Into<String>) -> Web {
        self.congestion = Some(name.into());
        self
    }

    /// The first fetch is at this time.
    pub fn from(mut self, start: Duration) -> Web {
        self.start = start;
        self
    }

    /// No fetch begins at or after this time, rather than the end of the run.
    pub fn until(mut self, stop: Duration) -> Web {
        self.stop = Some(stop);
        self
    }

    /// Runs over IPv6.
    pub fn ipv6(mut self) -> Web {
        self.ipv6 = true;
        self
    }

    pub(crate) fn prepare(self, path: &Path) -> Result<Prepared, LabError> {
        if self.interval.is_zero() {
            return Err(LabError::Testbed(
                "web fetches every 0 s; give an interval".into(),
            ));
        }
        let (server, client) = path.ends(self.direction);
        let listener = listen(server, self.ipv6)?;
        if let Some(name) = &self.congestion {
            // Accepted connections inherit it.
            set_congestion(&listener, name)?;
        }
        listener
            .set_read_timeout(Some(SERVER_TICK))
            .attempted("set a socket's timeout")?;
        let address = address_of(&listener)?;
        Ok(Prepared {
            server: server.clone(),
            client: client.clone(),
            listener,
            address,
            web: self,
        })
    }
}

/// What became of the fetches.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WebReport {
    /// Response times in seconds, from the connect to the last byte, in the order in which fetches began.
    pub response_times: Vec<f64>,
    /// Fetches that had not completed at the end of the run.
    pub failed: u64,
}

impl WebReport {
    /// Mean response time in seconds; `None` where nothing was fetched.
    pub fn mean(&self) -> Option<f64> {
        let count = self.response_times.len();
        (count > 0).then(|| self.response_times.iter().sum::<f64>() / count as f64)
    }

    /// 95 % of the fetches took at most this many seconds; `None` where nothing was fetched.
    pub fn p95(&self) -> Option<f64> {
        quantile(&self.response_times, 0.95)
    }
}

pub(crate) struct Prepared {
    web: Web,
    server: End,
    client: End,
    listener: Socket,
    address: SocketAddr,
}

impl Prepared {
    pub(crate) fn run(self, clock: Clock) -> Result<WebReport, LabError> {
        thread::scope(|scope| {
            let server = spawn_inside(scope, &self.server.namespace, "web-server", || {
                self.serve(clock)
            })?;
            let client = spawn_inside(scope, &self.client.namespace, "web-client", || {
                self.fetch_all(clock)
            })?;
            let report = join(client);
            join(server)?;
            report
        })
    }

    /// Answers until the run is over, each connection on a thread of its own.
    fn serve(&self, clock: Clock) -> Result<(), LabError> {
        scheduling::make_fifo(PRIORITY);
        let deadline = clock.end + clock.grace;
        thread::scope(|scope| {
            while clock.now() < deadline {
                let socket = match self.listener.accept() {
                    Ok((socket, _)) => socket,
                    Err(error)
                        if matches!(
                            error.kind(),
                            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                        ) =>
                    {
                        continue;
                    }
                    Err(error) => return Err(error).attempted("accept a web request"),
                };
                let answer = move || {
                    scheduling::make_fifo(PRIORITY);
                    // A client that went away has already counted its fetch as failed.
                    let _ = answer(socket, deadline.saturating_sub(clock.now()));
                };
                thread::Builder::new()
                    .name("web-answer".into())
                    .spawn_scoped(scope, answer)
                    .attempted("start a thread")?;
            }
            Ok(())
        })
    }

    fn fetch_all(&self, clock: Clock) -> Result<WebReport, LabError> {
        scheduling::make_fifo(PRIORITY);
        let stop = clock.stop(self.web.stop);
        thread::scope(|scope| {
            let mut fetches = Vec::new();
            let mut due = self.web.start;
            while due < stop {
                clock.sleep_until(due);
                // A thread inherits the namespace of its maker.
                let fetch = move || {
                    scheduling::make_fifo(PRIORITY);
                    self.fetch(clock)
                };
                let thread = thread::Builder::new()
                    .name("web-fetch".into())
                    .spawn_scoped(scope, fetch);
                fetches.push(thread.attempted("start a thread")?);
                due += self.web.interval;
            }
            let mut report = WebReport::default();
            for fetch in fetches {
                match fetch
                    .join()
                    .map_err(|_| LabError::Panicked("web-fetch".into()))?
                {
                    Ok(time) => report.response_times.push(time.as_secs_f64()),
                    Err(_) => report.failed += 1,
                }
            }
            Ok(report)
        })
    }

    /// Fetches once; an error where it did not complete before the run's end.
    fn fetch(&self, clock: Clock) -> io::Result<Duration> {
        let began = clock.now();
        let deadline = clock.end + clock.grace;
        let left = || {
            deadline
                .saturating_sub(clock.now())
                .max(Duration::from_millis(1))
        };
        let mut socket = tcp_socket(self.address).map_err(io::Error::other)?;
        socket.connect_timeout(&self.address.into(), left())?;
        socket.set_read_timeout(Some(left()))?;
        // In one piece, or Nagle's algorithm waits a round trip between the pieces.
        let request = format!("GET /{} HTTP/1.0\r\n\r\n", self.web.size.get());
        socket.write_all(request.as_bytes())?;
        let mut answer = Vec::with_capacity(self.web.size.get() as usize + 256);
        socket.read_to_end(&mut answer)?;
        let time = clock.now() - began;
        let body = answer
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .map(|head| answer.len() - head - 4);
        if body != Some(self.web.size.get() as usize) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(time)
    }
}

/// Reads a request for `/SIZE` and answers with that many bytes.
fn answer(mut socket: Socket, patience: Duration) -> io::Result<()> {
    let patience = patience.max(Duration::from_millis(1));
    socket.set_read_timeout(Some(patience))?;
    socket.set_write_timeout(Some(patience))?;
    let mut request = Vec::new();
    let mut buffer = [0u8; 1024];
    while !request.ends_with(b"\r\n\r\n") {
        match socket.read(&mut buffer)? {
            0 => return Ok(()),
            length => request.extend_from_slice(&buffer[..length]),
        }
    }
    let path = request
        .split(|&byte| byte == b' ')
        .nth(1)
        .unwrap_or_default();
    let size: usize = std::str::from_utf8(path)
        .ok()
        .and_then(|path| path.strip_prefix('/')?.parse().ok())
        .unwrap_or(0);
    let mut reply = format!("HTTP/1.0 200 OK\r\nContent-Length: {size}\r\n\r\n").into_bytes();
    reply.resize(reply.len() + size, b'.');
    socket.write_all(&reply)
}
