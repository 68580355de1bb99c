// SPDX-License-Identifier: MIT OR Apache-2.0
//! `quinn-bench CONTROL serve WAY LOG`, or `quinn-bench CONTROL connect ADDRESS WAY LOG SECONDS CONNECTIONS`; CONTROL is cubic or bbr:
//! see tools/bench/quic.

use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quinn::congestion::{BbrConfig, CubicConfig};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{
    ClientConfig, Connection, Endpoint, RecvStream, SendStream, ServerConfig, TransportConfig,
};
use rustls::DigitallySignedStruct;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};

const PORT: u16 = 4433;

static MOVED: AtomicU64 = AtomicU64::new(0);

fn transport(control: &str) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    match control {
        "bbr" => transport.congestion_controller_factory(Arc::new(BbrConfig::default())),
        _ => transport.congestion_controller_factory(Arc::new(CubicConfig::default())),
    };
    transport.keep_alive_interval(Some(Duration::from_secs(5)));
    Arc::new(transport)
}

/// The clock of `time.monotonic()` in Python.
fn seconds() -> f64 {
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    }
    let mut time = [0; 2];
    // SAFETY: this is what the function writes on 64-bit Linux.
    unsafe { clock_gettime(1, &mut time) };
    time[0] as f64 + time[1] as f64 / 1e9
}

fn sample(path: &str) {
    let mut file = File::create(path).unwrap();
    std::thread::spawn(move || {
        loop {
            writeln!(file, "{:.3} {}", seconds(), MOVED.load(Ordering::Relaxed)).unwrap();
            std::thread::sleep(Duration::from_millis(50));
        }
    });
}

/// The connection is there for as long as this runs.
async fn relay(_connection: Connection, mut to: SendStream, mut from: RecvStream, sends: bool) {
    let mut data = vec![0; 1 << 16];
    while sends {
        if let Err(error) = to.write_all(&data).await {
            return eprintln!("quinn: a connection has ended: {error}");
        }
    }
    loop {
        match from.read(&mut data).await {
            Ok(Some(bytes)) => MOVED.fetch_add(bytes as u64, Ordering::Relaxed),
            other => return eprintln!("quinn: a connection has ended: {other:?}"),
        };
    }
}

/// Believes every certificate.
#[derive(Debug)]
struct Anybody(CryptoProvider);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        unreachable!("QUIC has TLS 1.3")
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

async fn serve(control: &str, sends: bool) {
    let made = rcgen::generate_simple_self_signed(vec!["bench".into()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut settings = ServerConfig::with_single_cert(vec![made.cert.into()], key.into()).unwrap();
    settings.transport_config(transport(control));
    let endpoint = Endpoint::server(settings, (Ipv4Addr::UNSPECIFIED, PORT).into()).unwrap();
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            let connection = incoming.await.unwrap();
            let (to, from) = connection.accept_bi().await.unwrap();
            relay(connection, to, from, sends).await;
        });
    }
}

async fn connect(control: &str, peer: SocketAddr, sends: bool, connections: u32) {
    let anybody = Arc::new(Anybody(rustls::crypto::ring::default_provider()));
    let tls = rustls::ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(anybody);
    let tls = QuicClientConfig::try_from(tls.with_no_client_auth()).unwrap();
    let mut settings = ClientConfig::new(Arc::new(tls));
    settings.transport_config(transport(control));
    let mut endpoint = Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into()).unwrap();
    endpoint.set_default_client_config(settings);
    for _ in 0..connections {
        let connection = endpoint.connect(peer, "bench").unwrap().await.unwrap();
        let (mut to, from) = connection.open_bi().await.unwrap();
        to.write_all(b"begin").await.unwrap();
        tokio::spawn(relay(connection, to, from, sends));
    }
}

#[tokio::main]
async fn main() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .unwrap();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [control, "serve", way, log] => {
            if way == "up" {
                sample(log);
            }
            serve(control, way == "down").await;
        }
        [control, "connect", address, way, log, seconds, connections] => {
            if way == "down" {
                sample(log);
            }
            let peer = SocketAddr::new(address.parse().unwrap(), PORT);
            connect(control, peer, way == "up", connections.parse().unwrap()).await;
            tokio::time::sleep(Duration::from_secs(seconds.parse().unwrap())).await;
        }
        _ => panic!("see the top of main.rs"),
    }
}
