// SPDX-License-Identifier: MIT OR Apache-2.0
//! HTTP, on a thread of its own: `/metrics` in the format that the client asks for, and `/`, which names it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::task::AbortHandle;

use super::account::{Account, lock};

/// Connections served at the same time.
const MOST_CONNECTIONS: usize = 16;
/// Connections of one address served at the same time: some are left for others.
const MOST_OF_A_PEER: usize = 8;

/// How long a client is waited for.
#[derive(Clone, Copy)]
struct Patience {
    /// Until its request is there.
    header: Duration,
    /// Until it has the answer.
    whole: Duration,
}

const PATIENCE: Patience = Patience {
    header: Duration::from_secs(2),
    whole: Duration::from_secs(10),
};

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const CLASSIC: &str = "text/plain; version=0.0.4; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// Starts to listen; returns the address, whose port the kernel chose if it was 0.
pub fn start(address: SocketAddr, account: Arc<Mutex<Account>>) -> Result<SocketAddr> {
    start_with(address, account, PATIENCE)
}

fn start_with(
    address: SocketAddr,
    account: Arc<Mutex<Account>>,
    patience: Patience,
) -> Result<SocketAddr> {
    let listening = || {
        format!("listening on {address} (--listen ADDRESS:PORT chooses another address or port)")
    };
    let listener = TcpListener::bind(address).with_context(listening)?;
    listener.set_nonblocking(true).with_context(listening)?;
    let address = listener.local_addr().with_context(listening)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting the HTTP server")?;
    std::thread::spawn(move || runtime.block_on(accept(listener, account, patience)));
    Ok(address)
}

async fn accept(listener: TcpListener, account: Arc<Mutex<Account>>, patience: Patience) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    let mut places = Places::default();
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // As when there are too many open files: others may close some.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        places.make_room(peer.ip());
        let account = Arc::clone(&account);
        let task = tokio::spawn(async move {
            let service = service_fn(|request: Request<hyper::body::Incoming>| {
                let answer = answer(request.method(), request.uri().path(), &request, &account);
                async move { Ok::<_, Infallible>(answer) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(patience.header)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // A client that goes away is not our failure.
            let _ = tokio::time::timeout(patience.whole, connection).await;
        });
        places.taken.push_back((peer.ip(), task.abort_handle()));
    }
}

/// The connections that are served, the oldest first. An answer is made at once, so that the oldest is one that waits for its
/// client: where there is no place it goes, and who comes is never kept waiting by those who say nothing.
#[derive(Default)]
struct Places {
    taken: VecDeque<(IpAddr, AbortHandle)>,
}

impl Places {
    /// Closes the oldest connection of a peer that has too many, or of all peers.
    fn make_room(&mut self, peer: IpAddr) {
        self.taken.retain(|(_, task)| !task.is_finished());
        let own = self.taken.iter().filter(|(of, _)| *of == peer).count();
        let goes = match self.taken.len() {
            _ if own >= MOST_OF_A_PEER => self.taken.iter().position(|(of, _)| *of == peer),
            MOST_CONNECTIONS.. => Some(0),
            _ => None,
        };
        if let Some((_, task)) = goes.and_then(|at| self.taken.remove(at)) {
            task.abort();
        }
    }
}

fn answer<B>(
    method: &Method,
    path: &str,
    request: &Request<B>,
    account: &Mutex<Account>,
) -> Response<Full<Bytes>> {
    // hyper leaves out the body of an answer to HEAD.
    if method != Method::GET && method != Method::HEAD {
        let mut refused = response(
            StatusCode::METHOD_NOT_ALLOWED,
            PLAIN,
            "use GET\n".to_owned(),
        );
        let allowed = HeaderValue::from_static("GET, HEAD");
        refused.headers_mut().insert(ALLOW, allowed);
        return refused;
    }
    match path {
        "/metrics" => {
            let accepted = request.headers().get_all(ACCEPT).iter();
            let mut accepted = accepted.filter_map(|value| value.to_str().ok());
            let account = lock(account);
            match accepted.any(|formats| formats.contains("application/openmetrics-text")) {
                true => response(StatusCode::OK, OPENMETRICS, account.openmetrics()),
                false => response(StatusCode::OK, CLASSIC, account.classic()),
            }
        }
        "/" => response(
            StatusCode::OK,
            PLAIN,
            "netnice exporter: the metrics are at /metrics\n".to_owned(),
        ),
        _ => response(
            StatusCode::NOT_FOUND,
            PLAIN,
            "the metrics are at /metrics\n".to_owned(),
        ),
    }
}

fn response(status: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn each_client_gets_the_format_that_it_asks_for() {
        let account = Arc::new(Mutex::new(Account::new()));
        let address = start("127.0.0.1:0".parse().unwrap(), account).unwrap();
        let accept = "Accept: application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1\r\n";
        for (line, headers, status, kind, body) in [
            (
                "GET /metrics",
                "",
                "200 OK",
                CLASSIC,
                "# TYPE netnice_readings_total counter\n",
            ),
            ("GET /metrics?x=1", accept, "200 OK", OPENMETRICS, "# EOF\n"),
            ("GET /", "", "200 OK", PLAIN, "/metrics\n"),
            ("GET /other", "", "404 Not Found", PLAIN, "/metrics\n"),
            (
                "POST /metrics",
                "",
                "405 Method Not Allowed",
                PLAIN,
                "use GET\n",
            ),
            ("HEAD /metrics", "", "200 OK", CLASSIC, ""),
        ] {
            let request = format!("{line} HTTP/1.1\r\nHost: netnice\r\n{headers}\r\n");
            let answer = ask(address, &request);
            let (head, found) = answer.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
            assert!(head.contains(&format!("content-type: {kind}")), "{answer}");
            assert!(found.contains(body), "{line}: {answer}");
            assert_eq!(found.is_empty(), body.is_empty(), "{line}: {answer}");
        }
        // Bytes that are no HTTP get an answer, and harm nobody.
        assert!(ask(address, "\r\n\0\x01 nonsense\r\n\r\n").contains("400"));
        assert!(ask(address, "GET / HTTP/1.0\r\n\r\n").contains("200"));
    }

    #[test]
    fn clients_that_say_nothing_keep_nobody_waiting() {
        let account = Arc::new(Mutex::new(Account::new()));
        let long = Patience {
            header: Duration::from_secs(3600),
            whole: Duration::from_secs(3600),
        };
        let address = start_with("127.0.0.1:0".parse().unwrap(), account, long).unwrap();
        let half = |_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost:").unwrap();
            stream
        };
        let mut silent: Vec<TcpStream> = (0..145).map(half).collect();
        assert!(ask(address, "GET / HTTP/1.0\r\n\r\n").contains("200"));
        // The oldest went, and the newest waits on.
        let oldest = silent[0].read(&mut [0]);
        // Closed before its bytes were read, it may be reset.
        assert!(!oldest.is_ok_and(|length| length > 0));
        let newest = silent.last_mut().unwrap();
        newest.write_all(b" netnice\r\n\r\n").unwrap();
        let mut answer = [0; 15];
        newest.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200 OK");
    }

    #[test]
    fn an_address_in_use_is_named() {
        let holder = TcpListener::bind("127.0.0.1:0").unwrap();
        let account = Arc::new(Mutex::new(Account::new()));
        let error = start(holder.local_addr().unwrap(), account).unwrap_err();
        let words = format!("{error:#}");
        assert!(
            words.contains("--listen") && words.contains("in use"),
            "{words}"
        );
    }
}
