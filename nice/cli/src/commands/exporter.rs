// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice exporter`: figures for Prometheus, over HTTP or in a file for node_exporter.

mod account;
mod metrics;
mod serve;
mod textfile;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use netnice_kernel::attach;
use netnice_kernel::cgroup::paths::Paths;
use netnice_kernel::connections;
use netnice_kernel::control::Control;
use nix::sys::signal::Signal;
use nix::unistd::geteuid;

use account::{Account, Reading, lock};
use metrics::Health;
use netnice_terminal::signals::{Arrived, HeldSignals};
use netnice_terminal::text::{self, say};
use textfile::Textfile;

const EXAMPLES: &str = "\
Examples:
  sudo netnice exporter
  curl http://127.0.0.1:9771/metrics
  sudo netnice exporter --listen 192.0.2.1:9771
  sudo netnice exporter --textfile /var/lib/prometheus/node-exporter/netnice.prom

Metrics:
  Each group of connections has the labels `cgroup`, `unit` and `control`. The cgroup is the one whose settings govern \
  the connections, or else the socket's; cgroups of `netnice run` and `renice` count as their parent. `control` is \
  empty if only received data is governed.
  netnice_connections                   open connections, by direction (sending,
                                        receiving)
  netnice_started_connections_total     connections governed so far, by
                                        direction
  netnice_sent_bytes_total              bytes that the peers have acknowledged
  netnice_received_bytes_total          bytes received
  netnice_utp_sent_bytes_total          bytes of data sent over governed uTP
  netnice_utp_received_bytes_total      bytes of data received over governed
                                        uTP
  netnice_udp_sent_bytes_total          bytes of large packets that left over other UDP
  netnice_udp_received_bytes_total      bytes of large packets that arrived over other UDP
  netnice_udp_sent_packets_total        packets that left over other UDP, whether or not it is governed
  netnice_yields_total                  number of times that connections
                                        yielded, by direction
  netnice_gave_way_total                the same for netnice, by direction and
                                        cause (queue, losses, fair_queue,
                                        unmeasured)
  netnice_ungoverned_connections_total  times that connections had another
                                        control
  netnice_retransmitted_packets_total   packets retransmitted
  netnice_state_seconds_total           time that connections spent in each
                                        state, by direction
  netnice_queueing_delay_seconds        histogram of the delay above the
                                        smallest one, by direction
  and without these labels:
  netnice_build_info, netnice_control_registered, netnice_attached_cgroups, netnice_lost_cgroups, \
  netnice_unreadable_connections, netnice_readings_total, netnice_failed_readings_total, \
  netnice_reading_duration_seconds

  State and delay come from readings. Bytes, yields and numbers of connections include connections that end between \
  two readings, if a cgroup governs them and the exporter runs as root. rate(netnice_sent_bytes_total[1m]) is the rate \
  in bytes per second.

Privileges:
  root with only CAP_BPF sees the connections of its own network namespace; CAP_SYS_ADMIN and CAP_SYS_PTRACE add those \
  of other namespaces (containers). Other users see fewer figures: see netnice_unreadable_connections. The metrics \
  name cgroups and units, but no addresses. Anybody who reaches the address may read them: there is no password.";

/// Offer figures to Prometheus.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Address and port for HTTP; the path is /metrics [default: 127.0.0.1:9771, unless --textfile is given]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Write a file for node_exporter's textfile collector every 15 seconds; its name must end in .prom. The exporter
    /// removes it when it ends
    #[arg(long, value_name = "FILE", value_parser = textfile::parse)]
    textfile: Option<Textfile>,
    /// Time between two readings of the kernel, in seconds: 0.1 to 60
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    interval: Duration,
}

const DEFAULT_ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9771);

/// Time between two writes of the file, at least: node_exporter reads it when it is scraped.
const WRITE_EVERY: Duration = Duration::from_secs(15);

fn address(text: &str) -> Result<SocketAddr, String> {
    let wanted = "give an address and a port, such as 127.0.0.1:9771 or [::1]:9771";
    text.parse().map_err(|_| wanted.to_owned())
}

fn interval(text: &str) -> Result<Duration, String> {
    text::seconds(text, 0.1..=60.0)
}

/// Reads the kernel until a signal ends it.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let signals = HeldSignals::hold()?;
    let account = Arc::new(Mutex::new(Account::new()));
    let textfile = arguments.textfile.as_ref();
    let listen = match (arguments.listen, textfile) {
        (None, Some(_)) => None,
        (given, _) => Some(given.unwrap_or(DEFAULT_ADDRESS)),
    };
    let mut reader = Reader::default();
    // The first answer has figures, and an error that lasts ends the command here.
    reader.read(&account)?;
    if let Some(address) = listen {
        let address = serve::start(address, Arc::clone(&account))?;
        say!("netnice: metrics at http://{address}/metrics");
        if !address.ip().is_loopback() {
            say!("netnice: whoever reaches {address} may read them: there is no password");
        }
    }
    if !geteuid().is_root() {
        say!(
            "netnice: without root states, delays and short connections may be missing: see \
             `netnice exporter --help`, Privileges"
        );
    }
    let ended = watch(arguments, &signals, &mut reader, &account, textfile);
    if let Some(textfile) = textfile {
        // Figures that nobody updates would be taken for current ones.
        textfile.remove();
    }
    ended
}

fn watch(
    arguments: &Arguments,
    signals: &HeldSignals,
    reader: &mut Reader,
    account: &Mutex<Account>,
    textfile: Option<&Textfile>,
) -> Result<ExitCode> {
    let mut next = Instant::now();
    let mut write = next;
    loop {
        if let Some(textfile) = textfile.filter(|_| Instant::now() >= write) {
            textfile.write(&lock(account).classic())?;
            write = Instant::now() + WRITE_EVERY;
        }
        next += arguments.interval;
        // After a suspension, or where a reading takes longer than the interval, none is made up for.
        next = next.max(Instant::now());
        while let Some(left) = next.checked_duration_since(Instant::now()) {
            match signals.wait(Some(left)) {
                Some(Arrived::FromTerminal(signal) | Arrived::FromProcess(signal)) => {
                    return Ok(end(signal));
                }
                Some(Arrived::Child) | None => {}
            }
        }
        if let Err(error) = reader.read(account) {
            lock(account).fail();
            reader.report_once(&error);
        }
    }
}

/// A service manager ends the command by SIGTERM, and that is no failure.
fn end(signal: Signal) -> ExitCode {
    match signal {
        Signal::SIGTERM => ExitCode::SUCCESS,
        other => ExitCode::from(128 + other as u8),
    }
}

/// Reads what the kernel knows.
#[derive(Default)]
struct Reader {
    paths: Paths,
    last: Option<Instant>,
    reported: bool,
}

impl Reader {
    fn read(&mut self, account: &Mutex<Account>) -> Result<()> {
        let begin = Instant::now();
        // In this order: a connection that ends between the two is missing once, and none is counted twice.
        let finished = connections::finished_groups();
        let open = connections::list()?;
        let groups = finished.iter().map(|group| group.id);
        let cgroups = open.iter().map(connections::Connection::cgroup_of_settings);
        self.paths.find(groups.chain(cgroups).collect());
        let registered = |control: Control| (control.name(), control.is_registered());
        let root = geteuid().is_root();
        let health = Health {
            controls: Control::all().map(registered).collect(),
            attached: root.then(|| attach::attached().len()),
            lost: root.then(|| attach::lost().len()),
            reading: begin.elapsed(),
        };
        let elapsed = self.last.map_or(Duration::ZERO, |last| begin - last);
        self.last = Some(begin);
        self.reported = false;
        lock(account).take(
            &Reading {
                elapsed,
                open: &open,
                finished: &finished,
                paths: &self.paths,
            },
            &health,
        );
        Ok(())
    }

    /// Prints an error that lasts once.
    fn report_once(&mut self, error: &anyhow::Error) {
        if !self.reported {
            say!("netnice: {error:#}");
        }
        self.reported = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_or_interval_is_refused() {
        assert_eq!(address("127.0.0.1:9771"), Ok(DEFAULT_ADDRESS));
        for wrong in [
            "9771",
            "localhost:9771",
            "127.0.0.1",
            ":9771",
            "127.0.0.1:99999",
        ] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
        assert_eq!(interval("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["0", "-1", "nan", "inf", "61", "1s", ""] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }
}
