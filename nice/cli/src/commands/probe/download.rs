// SPDX-License-Identifier: MIT OR Apache-2.0
//! A download by HTTP whose connection is sampled while it runs.
//!
//! The library asks [`Watched`] for the bytes of the connection, below TLS. There the kernel's counters and the state of
//! the receiving side are read, also while nothing arrives.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use netnice_kernel::connections::{OwnReceptions, ReceivingPhase};
use ureq::http::{StatusCode, Uri};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, RustlsConnector, Transport,
};
use ureq::{Agent, Error, ResponseExt};

use super::estimate::{Sample, Trace};

/// Time between two samples.
const TICK: Duration = Duration::from_millis(20);
/// Time for one address of a server to answer, and for a name to be looked up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for a server to answer the request.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Limits of a download.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Time from the first byte of the response on.
    pub time: Duration,
    /// Bytes of data, headers and TLS included.
    pub bytes: Option<u64>,
}

/// Reason a download ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It lasted as long as it was to.
    Time,
    /// It received as much as it was to.
    Bytes,
    /// The file is shorter than the probe.
    File,
    /// The user, or another process, ended netnice.
    Interrupted,
}

/// Findings about one URL, complete once `end` or `error` is set.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// URL that was given.
    pub url: String,
    /// URL that answered, if redirects led elsewhere.
    pub redirected_to: Option<String>,
    /// Smallest round-trip time that the kernel has measured.
    pub rtt: Option<Duration>,
    /// Time from the beginning, name lookup included, to the first byte of the response.
    pub first_byte: Option<Duration>,
    /// Samples of the connection that answered.
    pub trace: Trace,
    /// Bytes of data received, over all connections.
    pub bytes_used: u64,
    /// Reason the download ended.
    pub end: Option<End>,
    /// Description of what failed.
    pub error: Option<String>,
}

/// A probe in progress, shared with the thread that waits for signals.
#[derive(Debug)]
pub struct Probe {
    receptions: Arc<OwnReceptions>,
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    findings: Findings,
    /// Time at which the latest connection was opened.
    opened: Instant,
    /// Bytes that connections before it received.
    bytes_before: u64,
    /// Time at which the response began.
    answered: Option<Instant>,
}

impl Probe {
    /// Prepares the probe of a URL.
    pub fn new(url: &str, receptions: Arc<OwnReceptions>, limits: Limits) -> Arc<Probe> {
        let findings = Findings {
            url: url.to_owned(),
            ..Findings::default()
        };
        Arc::new(Probe {
            receptions,
            limits,
            state: Mutex::new(State {
                findings,
                opened: Instant::now(),
                bytes_before: 0,
                answered: None,
            }),
        })
    }

    /// Returns the URL that was given.
    pub fn url(&self) -> String {
        self.state().findings.url.clone()
    }

    /// Returns the findings so far.
    pub fn findings(&self) -> Findings {
        self.state().findings.clone()
    }

    /// Downloads until a limit is reached.
    pub fn run(self: &Arc<Self>) {
        let outcome = self.download();
        let findings = &mut self.state().findings;
        match outcome {
            Ok(end) => findings.end = Some(end),
            Err(error) => findings.error = Some(in_words(&error)),
        }
    }

    fn download(self: &Arc<Self>) -> Result<End, Error> {
        let connector = ().chain(Watching(Arc::clone(self)));
        let connector = connector.chain(RustlsConnector::default());
        let crypto = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::PlatformVerifier)
            .unversioned_rustls_crypto_provider(crypto);
        let config = Agent::config_builder()
            .tls_config(tls.build())
            // The path that is probed is the one to the server.
            .proxy(None)
            .http_status_as_error(false)
            .accept_encoding("identity")
            .user_agent(concat!("netnice/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(CONNECT_TIMEOUT))
            .timeout_connect(Some(2 * CONNECT_TIMEOUT))
            .timeout_recv_response(Some(RESPONSE_TIMEOUT))
            .max_idle_connections(0);
        let agent = Agent::with_parts(config.build(), connector, DefaultResolver::default());

        let begun = Instant::now();
        let url = self.url();
        let response = agent.get(&url).call()?;
        self.answered(begun, response.get_uri(), &url);
        if response.status() != StatusCode::OK {
            return Err(Error::Other(Box::new(Refused::Status(response.status()))));
        }
        let body = response.into_body().into_with_config().limit(u64::MAX);
        let mut body = body.reader();
        let mut buffer = vec![0; 64 << 10];
        loop {
            if let Some(end) = self.end() {
                return Ok(end);
            }
            match body.read(&mut buffer) {
                Ok(0) => return Ok(End::File),
                Ok(_) => {}
                Err(error) => match self.end() {
                    Some(end) => return Ok(end),
                    None => return Err(Error::Io(error)),
                },
            }
        }
    }

    fn answered(&self, begun: Instant, answering: &Uri, url: &str) {
        let now = Instant::now();
        let mut state = self.state();
        state.answered = Some(now);
        state.findings.first_byte = Some(now - begun);
        state.findings.trace.begins = now - state.opened;
        let same = url.parse::<Uri>().is_ok_and(|url| url == *answering);
        state.findings.redirected_to = (!same).then(|| answering.to_string());
    }

    /// Returns the limit that has been reached, if any.
    fn end(&self) -> Option<End> {
        let state = self.state();
        let answered = state.answered?;
        if answered.elapsed() >= self.limits.time {
            return Some(End::Time);
        }
        let used = state.findings.bytes_used;
        let limit = self.limits.bytes;
        limit
            .is_some_and(|limit| used >= limit)
            .then_some(End::Bytes)
    }

    /// Begins the samples of a new connection; fails if received data of it is not governed.
    fn opened(&self, socket: &TcpStream, since: Instant) -> Result<(), Error> {
        let seen = self.receptions.read(socket)?;
        if seen.governed.is_none() {
            let local = socket.local_addr()?.ip() == socket.peer_addr()?.ip();
            let refused = match local {
                true => Refused::ThisHost,
                false => Refused::NotGoverned,
            };
            return Err(Error::Other(Box::new(refused)));
        }
        let mut state = self.state();
        state.bytes_before = state.findings.bytes_used;
        state.opened = since;
        state.findings.trace = Trace::default();
        drop(state);
        self.sample(socket, Duration::ZERO)
    }

    /// Takes a sample, unless the latest one is younger than `after`.
    fn sample(&self, socket: &TcpStream, after: Duration) -> Result<(), Error> {
        let mut state = self.state();
        let at = state.opened.elapsed();
        let latest = state.findings.trace.samples.last();
        if latest.is_some_and(|latest| at < latest.at + after) {
            return Ok(());
        }
        let seen = self.receptions.read(socket)?;
        // A socket that closes has no record any more.
        let Some(governed) = seen.governed else {
            return Ok(());
        };
        state.findings.rtt = seen.minimum_rtt;
        state.findings.bytes_used = state.bytes_before + seen.bytes_received;
        state.findings.trace.samples.push(Sample {
            at,
            bytes: seen.bytes_received,
            gave_way: matches!(
                governed.phase,
                ReceivingPhase::Yielding | ReceivingPhase::Paused
            ),
            queueing_delay: governed.delay_over_minimum,
        });
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reason no download from a server is tried, or its response is not measured.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("it is this host itself, and no link lies between")]
    ThisHost,
    #[error("received data of the connection could not be governed: it is left out")]
    NotGoverned,
    #[error("the server answered {}, not 200 OK: give the URL of a file", in_full(.0))]
    Status(StatusCode),
}

fn in_full(status: &StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_str()),
        None => status.as_str().to_owned(),
    }
}

fn in_words(error: &Error) -> String {
    match error {
        Error::HostNotFound => "there is no host of that name".to_owned(),
        Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            "the server refuses connections".to_owned()
        }
        Error::Io(error) => error.to_string(),
        Error::Timeout(when) => format!("the server did not answer in time ({when})"),
        Error::Other(refused) => refused.to_string(),
        Error::TooManyRedirects => "the server redirects in a circle".to_owned(),
        other => other.to_string(),
    }
}

/// Opens connections of type [`Watched`].
struct Watching(Arc<Probe>);

impl fmt::Debug for Watching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watching")
    }
}

impl Connector<()> for Watching {
    type Out = Watched;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> Result<Option<Watched>, Error> {
        let mut failed = Error::ConnectionFailed;
        for address in &details.addrs {
            let since = Instant::now();
            match TcpStream::connect_timeout(address, CONNECT_TIMEOUT) {
                Ok(stream) => {
                    self.0.opened(&stream, since)?;
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(TICK))?;
                    stream.set_write_timeout(Some(RESPONSE_TIMEOUT))?;
                    let config = details.config;
                    let sizes = (config.input_buffer_size(), config.output_buffer_size());
                    return Ok(Some(Watched {
                        probe: Arc::clone(&self.0),
                        stream,
                        buffers: LazyBuffers::new(sizes.0, sizes.1),
                    }));
                }
                Err(error) => failed = Error::Io(error),
            }
        }
        Err(failed)
    }
}

/// A TCP connection that is sampled as it is read.
struct Watched {
    probe: Arc<Probe>,
    stream: TcpStream,
    buffers: LazyBuffers,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watched").field(&self.stream).finish()
    }
}

impl Transport for Watched {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        let output = &self.buffers.output()[..amount];
        Ok(self.stream.write_all(output)?)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let timeout = timeout.for_read();
        let begun = Instant::now();
        loop {
            self.probe.sample(&self.stream, TICK)?;
            if self.probe.end().is_some() {
                // Not `Interrupted`, after which TLS would read again.
                return Err(Error::Io(io::Error::other("the probe is over")));
            }
            match self.stream.read(self.buffers.input_append_buf()) {
                Ok(amount) => {
                    self.buffers.input_appended(amount);
                    return Ok(amount > 0);
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => {}
                    _ => return Err(Error::Io(error)),
                },
            }
            if timeout
                .not_zero()
                .is_some_and(|limit| begun.elapsed() >= *limit)
            {
                return Err(Error::Timeout(timeout.reason));
            }
        }
    }

    fn is_open(&mut self) -> bool {
        // Connections are used once.
        false
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // The last sample, with which the last bin may be complete.
        let _ = self.probe.sample(&self.stream, Duration::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_to_do_in_one_line() {
        let refused = Error::Other(Box::new(Refused::Status(StatusCode::NOT_FOUND)));
        assert_eq!(
            in_words(&refused),
            "the server answered 404 Not Found, not 200 OK: give the URL of a file"
        );
        let unknown = StatusCode::from_u16(599).unwrap();
        assert_eq!(in_full(&unknown), "599");
        let refused = Error::Io(io::ErrorKind::ConnectionRefused.into());
        assert_eq!(in_words(&refused), "the server refuses connections");
    }
}
