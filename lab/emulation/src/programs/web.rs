// SPDX-License-Identifier: MIT OR Apache-2.0
//! Web traffic over HTTP/1.0: sessions that fetch pages of objects, each over a connection of its own, and their servers.

use std::io::{self, Read, Write as _};

use netnice_queue::{Bytes, Time};
use netnice_scenario::model;
use netnice_sim::random::Stream;
use netnice_sim::traffic::{Clients, Session, Web};
use nix::sys::epoll::EpollFlags;

use super::connections::{WebClient, WebServer, WebSession};
use super::sockets::{clamp_window, socket_address};
use super::state::{Entry, Programs, Timer};
use crate::error::LabError;
use crate::plan;

const HTTP_PORT: u16 = 80;
/// Bytes read or written in one call.
const CHUNK: usize = 64 * 1024;
/// Start of a successful response.
const OK: &[u8] = b"HTTP/1.0 200 ";

/// The head of an answer with so many bytes.
fn head(bytes: u64) -> Vec<u8> {
    format!("HTTP/1.0 200 OK\r\nContent-Length: {bytes}\r\n\r\n").into_bytes()
}

/// Returns a request for `bytes`, padded to `length` bytes unless it is longer already.
fn request(bytes: u64, length: usize) -> Vec<u8> {
    let line = format!("GET /{bytes} HTTP/1.0\r\n");
    let field = "Cookie: ";
    let padding = length.saturating_sub(line.len() + field.len() + 4);
    match padding {
        0 => format!("{line}\r\n"),
        _ => format!("{line}{field}{}\r\n\r\n", "x".repeat(padding)),
    }
    .into_bytes()
}

/// Returns the number of bytes that a request asks for.
fn asked_for(request: &[u8]) -> Option<u64> {
    let path = request.split(|&byte| byte == b' ').nth(1)?;
    std::str::from_utf8(path)
        .ok()?
        .strip_prefix('/')?
        .parse()
        .ok()
}

impl Programs<'_> {
    /// Adds the servers and sessions of a flow of web traffic.
    pub(super) fn add_web(
        &mut self,
        flow: usize,
        web: &model::Web,
        start: Time,
        seed: u64,
    ) -> Result<(), LabError> {
        self.add_sessions(flow, (&Web::of(web), web.request_size), start, seed, None)
    }

    /// Adds the servers of arriving transfers, and the one session that begins them.
    pub(super) fn add_arrivals(
        &mut self,
        flow: usize,
        arrivals: &model::Arrivals,
        start: Time,
        seed: u64,
    ) -> Result<(), LabError> {
        let requests = (&Web::of_arrivals(arrivals), arrivals.request_size);
        self.add_sessions(flow, requests, start, seed, Some(arrivals))
    }

    fn add_sessions(
        &mut self,
        flow: usize,
        (web, request_size): (&Web, Bytes),
        start: Time,
        seed: u64,
        arrivals: Option<&model::Arrivals>,
    ) -> Result<(), LabError> {
        let (servers, clients) = self.plan.ends[flow].clone();
        for server in servers.clone() {
            let socket = self.listener(server, HTTP_PORT, true)?;
            self.add(Entry::WebListener(flow, socket))?;
        }
        let name = &self.plan.network.flows[flow].name;
        for number in 0..web.sessions {
            // Draws as in the simulator.
            let stream = Stream::new(seed, &format!("{name} session {number}"));
            let clients = match arrivals {
                Some(_) => Clients::Any(clients.len()),
                None => Clients::One(number as usize % clients.len()),
            };
            let network = &self.plan.network;
            let mut session = WebSession {
                session: Session::new(servers.len(), clients, stream),
                web: web.clone(),
                flow,
                unloaded: arrivals.map_or_else(Vec::new, |arrivals| {
                    network.unloaded_paths(&network.flows[flow], arrivals)
                }),
                request_bytes: usize::try_from(request_size.get())
                    .unwrap_or(CHUNK)
                    .min(CHUNK),
            };
            let first = session.session.next_page(&session.web, start);
            self.at(first, Timer::Session(self.sessions.len()));
            self.sessions.push(session);
        }
        Ok(())
    }

    /// Requests the next object of a session.
    pub(super) fn request_object(&mut self, index: usize) -> Result<(), LabError> {
        let now = self.clock.now();
        let state = &mut self.sessions[index];
        let flow = state.flow;
        if now >= self.sources[flow].stop {
            return Ok(());
        }
        let (object, next) = state.session.request(&state.web, now);
        let request_bytes = state.request_bytes;
        let unloaded = state
            .unloaded
            .get(object.client)
            .and_then(|paths| paths.get(object.server))
            .map(|path| path.completion(object.bytes).as_nanos() as u64);
        if let Some(next) = next {
            self.at(next, Timer::Session(index));
        }
        if let Some(responses) = &mut self.report.flows[flow].responses {
            responses.object_begins(object.bytes);
        }
        let (servers, clients) = self.plan.ends[flow].clone();
        let socket = self.tcp_socket(clients.start + object.client, 0, false)?;
        let server = plan::address(servers.start + object.server);
        if let Err(error) = socket.connect(&socket_address(server, HTTP_PORT)) {
            if error.raw_os_error() != Some(libc::EINPROGRESS) {
                self.report.flows[flow].failure = Some(format!("cannot connect: {error}"));
                return Ok(());
            }
        }
        self.add(Entry::WebClient(WebClient {
            session: index,
            socket,
            asked: now,
            unloaded,
            request: request(object.bytes, request_bytes),
            bytes: object.bytes,
            left: head(object.bytes).len() as u64 + object.bytes,
            good: false,
        }))?;
        Ok(())
    }

    /// Sends the request and reads the response; returns `None` when the connection is finished.
    pub(super) fn serve_client(
        &mut self,
        mut client: WebClient,
        events: EpollFlags,
    ) -> Result<Option<WebClient>, LabError> {
        if !client.request.is_empty() && events.contains(EpollFlags::EPOLLOUT) {
            // One write suffices: a request is much smaller than any socket buffer.
            match client.socket.write(&client.request) {
                Ok(_) => client.request.clear(),
                Err(error) if is_not_yet(&error) => {}
                // The server cannot be reached: the object, and with it its page, stays unfinished.
                Err(_) => return Ok(None),
            }
        }
        let flow = self.sessions[client.session].flow;
        clamp_window(&client.socket, self.group(flow));
        let mut buffer = [0u8; CHUNK];
        loop {
            match client.socket.read(&mut buffer) {
                Ok(0) => return Ok(None),
                Ok(count) => {
                    client.good |= buffer[..count].starts_with(OK);
                    client.left = client.left.saturating_sub(count as u64);
                    if client.left == 0 && client.good {
                        self.object_has_come(&client);
                        // At a client, these are the counts of its SYNs and requests.
                        self.probe_last(flow, &client.socket, client.asked);
                        return Ok(None);
                    }
                }
                Err(error) if is_not_yet(&error) => return Ok(Some(client)),
                Err(_) => return Ok(None),
            }
        }
    }

    fn object_has_come(&mut self, client: &WebClient) {
        let now = self.clock.now();
        let state = &mut self.sessions[client.session];
        if let Some(responses) = &mut self.report.flows[state.flow].responses {
            responses.object_ends(client.bytes);
            if client.asked >= self.schedule.warm_up {
                let taken = (now - client.asked).as_nanos() as u64;
                responses.record(client.bytes, taken, client.unloaded);
            }
        }
        if let Some(next) = state.session.object_has_come(&state.web, now) {
            self.at(next, Timer::Session(client.session));
        }
    }

    /// Reads a request and sends the response; returns `None` when the connection is finished.
    pub(super) fn serve_web(&mut self, mut server: WebServer) -> Option<WebServer> {
        let begun = *server.begun.get_or_insert(self.clock.now());
        if !server.request.ends_with(b"\r\n\r\n") {
            let mut buffer = [0u8; 4096];
            loop {
                match server.socket.read(&mut buffer) {
                    Ok(0) => return None,
                    Ok(count) => server.request.extend_from_slice(&buffer[..count]),
                    Err(error) if is_not_yet(&error) => break,
                    Err(_) => return None,
                }
            }
            if !server.request.ends_with(b"\r\n\r\n") {
                return Some(server);
            }
            server.body = asked_for(&server.request).unwrap_or_default();
            server.head = head(server.body);
        }
        while !server.head.is_empty() || server.body > 0 {
            // Writes the head and the start of the body in one piece.
            let body = server.body.min(CHUNK as u64) as usize;
            let mut piece = std::mem::take(&mut server.head);
            let head = piece.len();
            piece.resize(head + body, b'.');
            match server.socket.write(&piece) {
                Ok(count) => {
                    server.body -= count.saturating_sub(head) as u64;
                    server.head = piece[count.min(head)..head].to_vec();
                }
                Err(error) if is_not_yet(&error) => {
                    piece.truncate(head);
                    server.head = piece;
                    return Some(server);
                }
                Err(_) => return None,
            }
        }
        if !server.shut {
            server.shut = true;
            let _ = server.socket.shutdown(std::net::Shutdown::Write);
        }
        // The client closes when it has everything.
        let mut buffer = [0u8; 64];
        loop {
            match server.socket.read(&mut buffer) {
                Ok(1..) => {}
                Err(error) if is_not_yet(&error) => return Some(server),
                Ok(0) | Err(_) => {
                    self.probe_last(server.flow, &server.socket, begun);
                    return None;
                }
            }
        }
    }
}

fn is_not_yet(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_its_length_and_says_what_it_wants() {
        let long = request(12_345, 300);
        assert_eq!((long.len(), asked_for(&long)), (300, Some(12_345)));
        assert!(long.ends_with(b"\r\n\r\n"));
        let short = request(7, 1);
        assert_eq!(asked_for(&short), Some(7));
        assert!(short.ends_with(b"\r\n\r\n"));
        assert_eq!(asked_for(b"GET HTTP/1.0"), None);
    }
}
