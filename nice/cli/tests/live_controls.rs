// SPDX-License-Identifier: MIT OR Apache-2.0
//! Effects of controls and their options on transfers over an emulated link, live: needs root. Flows are
//! only compared with others of the same run, and margins are wide, since the machine may be busy.

mod program;

use program::{measure_until, run, stderr, stdout};

/// Sends for some seconds over a connection whose name is its first byte: NAME SECONDS [CONTROL].
const SENDER: &str = "
import os, socket, sys, time
sender = socket.socket()
if len(sys.argv) > 3:
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[3].encode())
sender.connect((os.environ['NETNICE_FAR'], 5001))
sender.sendall(sys.argv[1].encode())
end = time.monotonic() + float(sys.argv[2])
sender.settimeout(0.2)
while time.monotonic() < end:
    try:
        sender.send(bytes(65536))
    except TimeoutError:
        pass
info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 128)
cwnd, acknowledged = (int.from_bytes(info[at], 'little') for at in (slice(80, 84), slice(120, 128)))
# In one write: others write to the same pipe.
os.write(1, f'{sys.argv[1]} cwnd {cwnd}\\n{sys.argv[1]} acknowledged {acknowledged}\\n'.encode())
";

/// Counts what arrives of each connection between the two times, in seconds since the first came.
const RECEIVER: &str = "
import socket, sys, threading, time
first, last = float(sys.argv[1]), float(sys.argv[2])
server = socket.create_server(('', 5001))
start = None
counts = {}
def receive(connection):
    name = connection.recv(1).decode()
    counts[name] = 0
    while data := connection.recv(1 << 18):
        if first <= time.monotonic() - start < last:
            counts[name] = counts.get(name, 0) + len(data)
def accept():
    global start
    while True:
        connection, _ = server.accept()
        start = start or time.monotonic()
        threading.Thread(target=receive, args=(connection,), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
while not start or time.monotonic() - start < last:
    time.sleep(0.02)
for name, count in counts.items():
    print(name, 'received', count, file=sys.stderr, flush=True)
time.sleep(60) # until the link ends
";

/// A transfer: options of `netnice run`, or none of that; and the control that it asks for itself.
struct Transfer {
    run: Option<&'static str>,
    control: &'static str,
}

const RENO: Transfer = Transfer {
    run: None,
    control: "reno",
};

fn under(options: &'static str) -> Transfer {
    Transfer {
        run: Some(options),
        control: "",
    }
}

/// Outcome of a transfer.
#[derive(Debug)]
struct Sent {
    /// Arrived after the time to settle, in bytes.
    received: f64,
    /// The last congestion window, in packets.
    cwnd: f64,
    /// Acknowledged from the beginning on, in packets.
    acknowledged: f64,
}

/// Transfers together over a link for `seconds`, of which the first `settled` do not count.
fn together(
    link: &[&str],
    setup: &str,
    transfers: &[Transfer],
    settled: u32,
    seconds: u32,
) -> Vec<Sent> {
    let netnice = env!("CARGO_BIN_EXE_netnice");
    let files = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| files.path().join(name).display().to_string();
    std::fs::write(path("sender"), SENDER).expect("the sender is written");
    std::fs::write(path("receiver"), RECEIVER).expect("the receiver is written");
    let far = format!("python3 {} {settled} {seconds}", path("receiver"));
    let mut near = format!("{setup}\nsleep 0.5\n");
    for (number, transfer) in transfers.iter().enumerate() {
        let run = transfer.run.map_or(String::new(), |options| {
            format!("{netnice} run {options} --")
        });
        let (sender, control) = (path("sender"), transfer.control);
        near += &format!("{run} python3 {sender} {number} {seconds} {control} &\n");
    }
    near += "wait\nsleep 0.5\n";
    let output = run(&[&["link", "--far", &far], link, &["--", "sh", "-c", &near]].concat());
    let printed = stdout(&output) + &stderr(&output);
    assert!(output.status.success(), "{printed}");
    let value = |number: usize, name: &str| -> f64 {
        let start = format!("{number} {name} ");
        let line = printed.lines().find_map(|line| line.strip_prefix(&start));
        let value = line.and_then(|value| value.parse().ok());
        value.unwrap_or_else(|| panic!("no {name} of {number}: {printed}"))
    };
    let sent = |number| Sent {
        received: value(number, "received"),
        cwnd: value(number, "cwnd"),
        acknowledged: value(number, "acknowledged") / 1448.0,
    };
    (0..transfers.len()).map(sent).collect()
}

/// A path like that of the paper's testbed, Table 4.
const TESTBED: [&str; 6] = ["--rate", "5mbit", "--delay", "40ms", "--queue", "1bdp"];

#[test]
fn dstcp_with_a_target_gets_more_than_reno() {
    let measure = || {
        let assured = under("--control dstcp --target 3500kbit");
        together(&TESTBED, "", &[assured, RENO], 2, 9)
    };
    measure_until(measure, |sent| sent[0].received > 1.3 * sent[1].received);
}

#[test]
fn dstcp_gets_more_the_larger_its_constant_is() {
    let measure = || {
        let large = under("--control dstcp --c 1000");
        let small = under("--control dstcp --c 20");
        together(&TESTBED, "", &[large, small], 2, 9)
    };
    measure_until(measure, |sent| sent[0].received > 1.5 * sent[1].received);
}

#[test]
fn windows_below_a_packet_weigh_less_than_one_packet() {
    // 2.5 bandwidth-delay products of 40 ms. One packet each 1 / 0.044 round trips, or one each
    // round trip.
    let link = ["--rate", "10mbit", "--delay", "20ms", "--queue", "83p"];
    let measure = || {
        let paced = || under("--control tcplp --minimum-cwnd 0.044");
        let one_packet = || under("--control tcplp");
        let flows = [
            [RENO, RENO, RENO],
            [paced(), paced(), paced()],
            [one_packet(), one_packet(), one_packet()],
        ];
        together(&link, "", flows.as_flattened(), 8, 20)
    };
    measure_until(measure, |sent| {
        let received = |flows: std::ops::Range<usize>| -> f64 {
            sent[flows].iter().map(|sent| sent.received).sum()
        };
        received(3..6) < 0.5 * received(6..9) && received(3..6) < 0.03 * received(0..3)
    });
}

#[test]
fn hstcplp_opens_large_windows_faster_than_tcplp() {
    // A path without a queue, slow start to 400 packets, and no indication: the smoothed delay
    // never exceeds the largest. A first connection puts the route's threshold into the cache of
    // metrics. From there RFC 3649 adds 4 packets a round trip, and TCP-LP one.
    let setup = "\
        echo 0 >/proc/sys/net/ipv4/tcp_no_ssthresh_metrics_save
        device=$(ip -o route get $NETNICE_FAR | sed 's/.* dev \\([^ ]*\\).*/\\1/')
        ip route add $NETNICE_FAR dev $device ssthresh 400
        sleep 0.3; python3 -c 'import os, socket
socket.create_connection((os.environ[\"NETNICE_FAR\"], 5001))'";
    let measure = || {
        let flows = ["--control hstcplp --delta 1", "--control tcplp --delta 1"].map(under);
        together(&["--delay", "50ms"], setup, &flows, 1, 4)
    };
    // Packets by which the window has grown, for each packet acknowledged: a(w) / w.
    let growth = |sent: &Sent| (sent.cwnd - 400.0) / (sent.acknowledged - 400.0);
    measure_until(measure, |sent| {
        sent.iter().all(|sent| sent.acknowledged > 1200.0)
            && (0.001..0.004).contains(&growth(&sent[1]))
            && growth(&sent[0]) > 2.0 * growth(&sent[1])
    });
}

#[test]
fn netnice_fills_a_link_that_was_slow_at_first() {
    let path = ["--rate", "120kbit", "--delay", "20ms", "--queue", "50p"];
    let faster = ["--down", "rate=100mbit", "--at", "4s", "rate=10mbit"];
    let link = [&path[..], &faster].concat();
    let measure = || together(&link, "", &[under("")], 12, 17);
    // Five seconds of 10 Mb/s are 6 MB.
    measure_until(measure, |sent| sent[0].received > 4.5e6);
}
