// SPDX-License-Identifier: MIT OR Apache-2.0
//! The emulated link, live: needs root and /dev/net/tun, and fails without them.
//!
//! Margins are wide enough for a busy machine, and narrow enough to notice what is wrong.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use netnice_link::{Direction, EmulatedLink, EmulatedLinkSpec, LinkReport, Namespace, Verdict};
use netnice_measure::quantile;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn spec(text: &str) -> EmulatedLinkSpec {
    EmulatedLinkSpec::symmetric(text.parse().expect("a valid link"))
}

fn start(text: &str) -> EmulatedLink {
    EmulatedLink::start(&spec(text)).expect("a link (these tests need root)")
}

/// Repeats a run, at most four times, while the link reports that it was late: its figures then do not describe the
/// link. The figures themselves do not decide.
fn punctual<T>(run: impl Fn() -> (T, LinkReport)) -> (T, LinkReport) {
    (0..4)
        .map(|_| run())
        .find(|(_, report)| report.verdict != Verdict::NotTrustworthy)
        .unwrap_or_else(run)
}

/// Sends over TCP for `length`; returns the goodput after `warm_up`, in bits per second.
fn transfer(
    (from, to): (&Namespace, &Namespace),
    address: impl Into<IpAddr>,
    length: Duration,
    warm_up: Duration,
) -> f64 {
    let address = address.into();
    let listener = to.run(|| TcpListener::bind((address, 0))).unwrap().unwrap();
    let to_address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let socket = from.run(|| TcpStream::connect(to_address)).unwrap();
            let mut socket = socket.expect("connect");
            let began = Instant::now();
            while began.elapsed() < length {
                // The receiver may have closed the connection.
                if socket.write_all(&[0; 8192]).is_err() {
                    break;
                }
            }
        });
        let (mut socket, _) = listener.accept().unwrap();
        let (began, mut bytes, mut buffer) = (Instant::now(), 0, vec![0; 65536]);
        while began.elapsed() < length {
            let count = socket.read(&mut buffer).unwrap();
            if began.elapsed() >= warm_up {
                bytes += count;
            }
        }
        bytes as f64 * 8.0 / (length - warm_up).as_secs_f64()
    })
}

/// Sends `count` datagrams of `length` bytes, IPv4 and UDP headers included, one each `interval`. Returns the delays of
/// those that arrived, in seconds.
fn datagrams(
    (from, to): (&Namespace, &Namespace),
    address: impl Into<IpAddr>,
    (count, length, interval): (u32, usize, Duration),
) -> Vec<f64> {
    let address = address.into();
    let receiver = to.run(|| UdpSocket::bind((address, 0))).unwrap().unwrap();
    receiver.set_read_timeout(Some(ms(500))).unwrap();
    let any: IpAddr = "0.0.0.0".parse().unwrap();
    let sender = from.run(|| UdpSocket::bind((any, 0))).unwrap().unwrap();
    sender.connect(receiver.local_addr().unwrap()).unwrap();
    let began = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut datagram = vec![0; length - 28];
            for number in 0..count {
                thread::sleep((interval * number).saturating_sub(began.elapsed()));
                let sent = began.elapsed().as_nanos() as u64;
                datagram[..8].copy_from_slice(&sent.to_le_bytes());
                sender.send(&datagram).unwrap();
            }
        });
        let mut datagram = vec![0; length];
        let mut delays = Vec::new();
        while receiver.recv(&mut datagram).is_ok() {
            let sent = u64::from_le_bytes(datagram[..8].try_into().unwrap());
            let delay = began.elapsed() - Duration::from_nanos(sent);
            delays.push(delay.as_secs_f64());
        }
        delays
    })
}

/// Returns the shortest time of fifteen TCP handshakes, which kernels answer, in milliseconds: the round-trip time.
/// Tries up to a hundred while none took `most` or less, since the machine may stall.
fn round_trip_ms(from: &Namespace, to: &Namespace, address: impl Into<IpAddr>, most: f64) -> f64 {
    let address = address.into();
    let listener = to
        .run(|| TcpListener::bind((address, 0)))
        .unwrap()
        .expect("bind");
    let port = listener.local_addr().unwrap().port();
    let connect = || {
        let began = Instant::now();
        TcpStream::connect_timeout(&(address, port).into(), Duration::from_secs(5))
            .expect("connect");
        began.elapsed().as_secs_f64() * 1e3
    };
    from.run(|| {
        let mut least = f64::MAX;
        for made in 0..100 {
            if made >= 15 && least <= most {
                break;
            }
            least = least.min(connect());
        }
        least
    })
    .unwrap()
}

fn assert_between(what: &str, value: f64, low: f64, high: f64) {
    assert!(
        (low..=high).contains(&value),
        "{what} is {value}, expected {low} to {high}"
    );
}

fn assert_link_lost_nothing_unseen(report: &LinkReport) {
    for direction in [Direction::Up, Direction::Down] {
        let lane = report.direction(direction);
        assert_eq!((lane.device_drops, lane.refused), (0, 0), "{report}");
        assert_eq!(
            lane.offered,
            lane.delivered
                + lane.dropped_queue_full
                + lane.dropped_random_loss
                + lane.dropped_early
                + lane.dropped_pushed_out
                + lane.dropped_policed
                + lane.inside,
            "{report}"
        );
    }
}

#[test]
fn one_flow_gets_the_rate_in_either_direction_and_family() {
    let run = || {
        let link = start("rate=10mbit,delay=20ms,queue=100ms");
        let (near, far) = (link.near(), link.far());
        let up = transfer((near, far), link.far_ipv4(), ms(3000), ms(1000));
        let ipv6 = link.near_ipv6().expect("IPv6");
        let down = transfer((far, near), ipv6, ms(3000), ms(1000));
        ([up, down], link.stop().unwrap())
    };
    let ([up, down], report) = punctual(run);
    // 1448 of 1500 bytes are payload, and 20 fewer in IPv6.
    assert_between("up", up / (10e6 * 1448.0 / 1500.0), 0.97, 1.02);
    assert_between("down", down / (10e6 * 1428.0 / 1500.0), 0.97, 1.02);
    assert!(report.up.max_queue_wait <= ms(100), "{:?}", report.up);
    assert_link_lost_nothing_unseen(&report);
}

#[test]
fn the_delay_is_what_was_asked_for() {
    let mut link = spec("delay=20ms");
    link.change(Direction::Down, "delay=5ms".parse().unwrap());
    let link = EmulatedLink::start(&link).unwrap();
    let ipv6 = link.far_ipv6().expect("IPv6");
    for address in [IpAddr::from(link.far_ipv4()), ipv6.into()] {
        let rtt = round_trip_ms(link.near(), link.far(), address, 26.0);
        assert_between("round-trip time in ms", rtt, 25.0, 26.0);
    }
    let (near, far) = (link.near(), link.far());
    let sent = (125, 100, ms(8));
    let up = datagrams((near, far), link.far_ipv4(), sent);
    let down = datagrams((far, near), link.near_ipv4(), sent);
    for (delays, expected) in [(up, 0.020), (down, 0.005)] {
        assert_eq!(delays.len(), 125);
        for q in [0.0, 0.5] {
            let delay = quantile(&delays, q).unwrap();
            assert_between("one-way delay", delay, expected, expected + 0.001);
        }
    }
}

#[test]
fn the_queue_holds_no_more_than_its_limit() {
    // 20 packets of 1500 bytes at 5 Mb/s take 2.4 ms each: 48 ms of queue, and half of 10 Mb/s is too much.
    let run = || {
        let link = start("rate=5mbit,delay=10ms,queue=20p");
        let sent = (2500, 1500, Duration::from_micros(1200));
        let delays = datagrams((link.near(), link.far()), link.far_ipv4(), sent);
        (delays, link.stop().unwrap())
    };
    let (delays, report) = punctual(run);
    let loss = 1.0 - delays.len() as f64 / 2500.0;
    assert_between("loss", loss, 0.48, 0.52);
    // Propagation, own transmission, and the queue behind a packet in transmission.
    let median = quantile(&delays, 0.5).unwrap();
    assert_between("median delay", median, 0.058, 0.065);
    let up = report.up;
    assert_eq!(up.max_queue_packets, 20);
    // A packet that the machine takes in late has waited for less.
    assert_between(
        "longest wait in ms",
        up.max_queue_wait.as_secs_f64() * 1e3,
        47.5,
        50.4,
    );
    assert_eq!(up.dropped_queue_full as usize, 2500 - delays.len());
    assert_link_lost_nothing_unseen(&report);
}

#[test]
fn the_loss_is_what_was_asked_for_and_repeats_with_the_seed() {
    let run = || {
        let link = start("rate=100mbit,delay=1ms,loss=5%");
        let sent = (5000, 100, Duration::from_micros(200));
        let received = datagrams((link.near(), link.far()), link.far_ipv4(), sent).len();
        let lost = link.stop().unwrap().up.dropped_random_loss;
        assert_eq!(lost as usize, 5000 - received);
        lost
    };
    let lost = run();
    // 5,000 packets: standard deviation 0.3 %.
    assert_between("loss", lost as f64 / 5000.0, 0.035, 0.065);
    assert_eq!(run(), lost);
}

#[test]
fn links_run_side_by_side() {
    let run = || {
        let link = start("rate=10mbit,delay=10ms");
        let ends = (link.near(), link.far());
        let goodput = transfer(ends, link.far_ipv4(), ms(3000), ms(1000));
        (goodput, link.stop().unwrap())
    };
    let goodputs: Vec<f64> = thread::scope(|scope| {
        let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| punctual(run).0)).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    for goodput in goodputs {
        let of_rate = goodput / (10e6 * 1448.0 / 1500.0);
        assert_between("goodput over rate", of_rate, 0.95, 1.03);
    }
}

#[test]
fn links_nest_and_add_their_delays() {
    let outer = EmulatedLink::start(&spec("delay=20ms")).unwrap();
    let inner = outer
        .near()
        .run(|| EmulatedLink::start(&spec("rate=10mbit,delay=5ms")))
        .unwrap()
        .unwrap();
    let sibling = outer
        .near()
        .run(|| EmulatedLink::start(&spec("delay=1ms")))
        .unwrap()
        .unwrap();
    let innermost = inner
        .near()
        .run(|| EmulatedLink::start(&spec("delay=2ms")))
        .unwrap()
        .unwrap();

    for (link, expected) in [
        (&outer, 40.0),
        (&inner, 50.0),
        (&sibling, 42.0),
        (&innermost, 54.0),
    ] {
        let rtt = round_trip_ms(link.near(), outer.far(), link.server(), expected + 3.0);
        assert_between("round-trip time in ms", rtt, expected, expected + 3.0);
    }
    assert!(inner.is_nested() && !outer.is_nested());
    let variables: std::collections::HashMap<_, _> = innermost.environment().into_iter().collect();
    assert_eq!(variables["NETNICE_FAR"], outer.far_ipv4().to_string());
    assert_ne!(variables["NETNICE_NEAR"], outer.near_ipv4().to_string());
    let far: IpAddr = variables["NETNICE_FAR6"].parse().unwrap();
    let rtt = round_trip_ms(innermost.near(), outer.far(), far, 57.0);
    assert_between("round-trip time over IPv6 in ms", rtt, 54.0, 57.0);

    // A netnice address that no link has yet is answered at once, rather than forwarded in a loop.
    let began = Instant::now();
    let nobody: IpAddr = "10.77.240.1".parse().unwrap();
    let refused = innermost
        .near()
        .run(|| TcpStream::connect_timeout(&(nobody, 1).into(), ms(2000)))
        .unwrap();
    assert!(
        refused.is_err() && began.elapsed() < ms(1000),
        "{refused:?} after {:?}",
        began.elapsed()
    );
}

#[test]
fn without_privilege_there_is_one_clear_line() {
    std::thread::spawn(|| {
        // SAFETY: the bare system call changes the user of this thread only, which ends with the test.
        let result = unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) };
        assert_eq!(result, 0);
        let error = EmulatedLink::start(&spec("delay=1ms"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("needs root") && error.lines().count() == 1,
            "{error}"
        );
    })
    .join()
    .unwrap();
}
