// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real traffic over a link: kernel sockets in the near and far namespaces, and what arrived when.
//!
//! Times are given and recorded since the beginning of the run.

mod bulk;
mod goodput;
mod udp;
mod web;

use std::net::{IpAddr, SocketAddr};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

pub(crate) use bulk::Prepared as PreparedBulk;
pub use bulk::{Bulk, BulkReport, TcpSample};
pub use goodput::Goodput;
use socket2::{Domain, Protocol, Socket, Type};
pub(crate) use udp::Prepared as PreparedUdp;
pub use udp::{Udp, UdpPattern, UdpReport};
pub(crate) use web::Prepared as PreparedWeb;
pub use web::{Web, WebReport};

use crate::error::Attempted;
use crate::{Direction, LabError, Namespace};

/// One end of a path.
#[derive(Debug, Clone)]
pub(crate) struct End {
    pub(crate) namespace: Namespace,
    pub(crate) ipv4: IpAddr,
    pub(crate) ipv6: Option<IpAddr>,
}

impl End {
    fn address(&self, ipv6: bool) -> Result<IpAddr, LabError> {
        match ipv6 {
            false => Ok(self.ipv4),
            true => {
                let advice =
                    "a flow asks for IPv6, which is disabled on this machine; leave .ipv6() out";
                self.ipv6.ok_or_else(|| LabError::Testbed(advice.into()))
            }
        }
    }
}

/// Both ends of a path.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) near: End,
    pub(crate) far: End,
}

impl Path {
    /// Where data in this direction comes from, and where it goes.
    fn ends(&self, direction: Direction) -> (&End, &End) {
        match direction {
            Direction::Up => (&self.near, &self.far),
            Direction::Down => (&self.far, &self.near),
        }
    }
}

/// When a run began and when it must be over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    pub(crate) origin: Instant,
    /// End of the traffic.
    pub(crate) end: Duration,
    /// How long after it what is still under way is awaited.
    pub(crate) grace: Duration,
}

impl Clock {
    /// Time since the run began; zero before.
    fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    fn sleep_until(&self, time: Duration) {
        thread::sleep((self.origin + time).saturating_duration_since(Instant::now()));
    }

    /// When a flow stops that was to stop at `stop`.
    fn stop(&self, stop: Option<Duration>) -> Duration {
        stop.unwrap_or(self.end).min(self.end)
    }
}

/// Starts a thread inside a namespace.
fn spawn_inside<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    namespace: &'scope Namespace,
    name: &str,
    work: impl FnOnce() -> Result<T, LabError> + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, Result<T, LabError>>, LabError> {
    let inside = move || {
        namespace.enter()?;
        work()
    };
    thread::Builder::new()
        .name(name.into())
        .spawn_scoped(scope, inside)
        .attempted("start a thread")
}

fn join<T>(thread: ScopedJoinHandle<'_, Result<T, LabError>>) -> Result<T, LabError> {
    let name = thread.thread().name().unwrap_or("traffic").to_owned();
    thread.join().unwrap_or(Err(LabError::Panicked(name)))
}

/// A listening TCP socket at a free port of `end`.
fn listen(end: &End, ipv6: bool) -> Result<Socket, LabError> {
    let address = SocketAddr::new(end.address(ipv6)?, 0);
    end.namespace.run(|| {
        let socket = tcp_socket(address)?;
        socket
            .bind(&address.into())
            .attempted(format!("bind to {address}"))?;
        socket
            .listen(128)
            .attempted(format!("listen at {address}"))?;
        Ok(socket)
    })?
}

/// A TCP socket for talking to `address`, in the namespace of the calling thread.
fn tcp_socket(address: SocketAddr) -> Result<Socket, LabError> {
    Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )
    .attempted("create a TCP socket")
}

/// The address a bound socket is known by.
fn address_of(socket: &Socket) -> Result<SocketAddr, LabError> {
    let address = socket
        .local_addr()
        .attempted("find out a socket's address")?;
    address
        .as_socket()
        .ok_or_else(|| LabError::Testbed("a socket has no IP address".into()))
}

/// Chooses the congestion control of a socket; an error that lists what the kernel has.
pub(crate) fn set_congestion(socket: &Socket, name: &str) -> Result<(), LabError> {
    socket
        .set_tcp_congestion(name.as_bytes())
        .map_err(|answer| {
            let list =
                std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
                    .unwrap_or_default();
            LabError::CongestionControl {
                name: name.into(),
                available: list.trim().into(),
                answer,
            }
        })
}
