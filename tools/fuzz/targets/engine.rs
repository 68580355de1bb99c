// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any valid scenario runs to its end without a panic, and loses no packet.

#![no_main]

use std::fmt::Write;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use netnice_scenario::ScenarioFile;

/// A run that takes more events than this is left at that: so many questions, each after 65,536 events.
const MOST_QUESTIONS: u32 = 20;

#[derive(Debug, Arbitrary)]
struct Input {
    seed: u8,
    duration_ms: u16,
    links: [Link; 2],
    flows: Vec<Flow>,
}

#[derive(Debug, Arbitrary)]
struct Link {
    kilobits: Option<u16>,
    delay_us: u16,
    queue: Queue,
    limit: u8,
    loss_permille: u8,
    jitter_us: u16,
    reordering: bool,
    tagged: bool,
    back_kilobits: Option<u16>,
}

#[derive(Debug, Arbitrary)]
enum Queue {
    DropTail,
    Bytes,
    Time,
    Red {
        ecn: u8,
        gentle: bool,
        wait: bool,
        bytes: bool,
    },
    Rio {
        ecn: u8,
        gentle: bool,
        wait: bool,
        bytes: bool,
        decoupled: bool,
    },
    Sfq {
        buckets: u8,
        perturbation_ms: Option<u8>,
        fair_share: bool,
    },
    Priority {
        quantum: u16,
    },
}

#[derive(Debug, Arbitrary)]
struct Flow {
    reverse: bool,
    count: u8,
    packet_bytes: u16,
    start_ms: u8,
    stop_ms: Option<u16>,
    bytes: Option<u16>,
    low: bool,
    sends: Sends,
}

#[derive(Debug, Arbitrary)]
enum Sends {
    Udp(Application),
    Tcp(Application, Tcp),
    Ftp(Tcp),
    Web {
        sessions: u8,
        mean_bytes: u16,
        multiplexing: u8,
        tcp: Tcp,
    },
}

#[derive(Debug, Arbitrary)]
struct Application {
    kind: u8,
    kilobits: u16,
    period_ms: u16,
}

#[derive(Debug, Arbitrary)]
struct Tcp {
    control: u8,
    recovery: u8,
    initial_window: u8,
    initial_ssthresh: Option<u8>,
    receiver_kilobytes: Option<u8>,
    delayed_ack_ms: u8,
    ecn: bool,
    timestamps: bool,
    handshake: bool,
    initial_rto_ms: u16,
    min_rto_ms: u16,
    rtt_tick_ms: u8,
}

const CONTROLS: [&str; 11] = [
    "reno",
    "cubic",
    "vegas",
    "highspeed",
    "tcplp",
    "tcplp_ecn",
    "hstcplp",
    "netnice",
    "dstcp",
    "bbr",
    "bbr3",
];

impl Queue {
    /// As a value in the file; thresholds lie within the limit of at least two packets.
    fn text(&self, limit: u8) -> String {
        let limit = u32::from(limit) + 2;
        match self {
            Queue::DropTail => format!("\"{limit}p\""),
            Queue::Bytes => format!("\"{limit}kB\""),
            Queue::Time => format!("\"{limit}ms\""),
            Queue::Red {
                ecn,
                gentle,
                wait,
                bytes,
            } => {
                let ecn = ["off", "mark", "mark_always", "mark_low_class"][usize::from(*ecn) % 4];
                let count_in = if *bytes { "bytes" } else { "packets" };
                format!(
                    "{{ discipline = \"red\", limit = \"{limit}p\", min_threshold = \"20%\", max_threshold = \"60%\", \
                     ecn = \"{ecn}\", gentle = {gentle}, wait = {wait}, count_in = \"{count_in}\" }}"
                )
            }
            Queue::Rio {
                ecn,
                gentle,
                wait,
                bytes,
                decoupled,
            } => {
                let ecn = ["off", "mark", "mark_always"][usize::from(*ecn) % 3];
                let count_in = if *bytes { "bytes" } else { "packets" };
                let coupling = if *decoupled { "decoupled" } else { "coupled" };
                format!(
                    "{{ discipline = \"rio\", limit = \"{limit}p\", ecn = \"{ecn}\", coupling = \"{coupling}\", \
                     gentle = {gentle}, wait = {wait}, count_in = \"{count_in}\", \
                     in = {{ min_threshold = \"40%\", max_threshold = \"80%\", max_probability = \"2%\" }}, \
                     out = {{ min_threshold = \"20%\", max_threshold = \"40%\", max_probability = \"50%\" }} }}"
                )
            }
            Queue::Sfq {
                buckets,
                perturbation_ms,
                fair_share,
            } => {
                let drop = if *fair_share { "fair_share" } else { "longest" };
                let buckets = u32::from(*buckets) + 1;
                let perturbation = perturbation_ms.map_or(String::new(), |time| {
                    format!(", perturbation = \"{}ms\"", u32::from(time) + 1)
                });
                format!(
                    "{{ discipline = \"sfq\", limit = \"{limit}p\", buckets = {buckets}, drop = \"{drop}\"{perturbation} }}"
                )
            }
            Queue::Priority { quantum } => format!(
                "{{ discipline = \"priority\", limit = \"{limit}p\", quantum = \"{}B\" }}",
                u32::from(*quantum) + 1
            ),
        }
    }
}

impl Application {
    fn text(&self) -> String {
        let (rate, period) = (
            u32::from(self.kilobits) % 5000 + 8,
            u32::from(self.period_ms) + 2,
        );
        let (kind, fields) = match self.kind % 5 {
            0 => ("cbr", String::new()),
            1 => ("square_wave", format!(", period = \"{period}ms\"")),
            2 => (
                "pareto_on_off",
                format!(", mean_on = \"{period}ms\", mean_off = \"{period}ms\""),
            ),
            3 => (
                "exponential_on_off",
                format!(", mean_on = \"{period}ms\", mean_off = \"{period}ms\""),
            ),
            _ => ("poisson", ", size = \"exponential\"".to_owned()),
        };
        format!("{{ kind = \"{kind}\", rate = \"{rate}kbit\"{fields} }}")
    }
}

impl Tcp {
    fn text(&self, packet_bytes: u32) -> String {
        let control = CONTROLS[usize::from(self.control) % CONTROLS.len()];
        let recovery = ["reno", "newreno", "sack"][usize::from(self.recovery) % 3];
        let mut text =
            format!("congestion_control = \"{control}\"\n[flows.tcp]\nrecovery = \"{recovery}\"\n");
        let _ = write!(
            text,
            "initial_window = {}\necn = {}\ntimestamps = {}\nhandshake = {}\ninitial_rto = \"{}ms\"\nmin_rto = \"{}ms\"\nrtt_tick = \"{}ms\"\n",
            u32::from(self.initial_window) + 1,
            self.ecn,
            self.timestamps,
            self.handshake,
            u32::from(self.initial_rto_ms) + 1,
            u32::from(self.min_rto_ms) + 1,
            self.rtt_tick_ms,
        );
        if let Some(ssthresh) = self.initial_ssthresh {
            let _ = writeln!(text, "initial_ssthresh = {}.5", u32::from(ssthresh) + 1);
        }
        if let Some(kilobytes) = self.receiver_kilobytes {
            let _ = writeln!(
                text,
                "receiver_window = \"{}B\"",
                u32::from(kilobytes) * 1000 + packet_bytes
            );
        }
        if self.delayed_ack_ms > 0 {
            let _ = writeln!(text, "delayed_ack = \"{}ms\"", self.delayed_ack_ms);
        }
        text
    }
}

impl Flow {
    fn text(&self, index: usize, duration_ms: u32) -> String {
        let packet_bytes = u32::from(self.packet_bytes) % 9000 + 100;
        let start_ms = u32::from(self.start_ms) % duration_ms;
        let mut text = format!(
            "[[flows]]\nname = \"flow{index}\"\nfrom = \"near\"\nto = \"far\"\nreverse = {}\npacket_size = \"{packet_bytes}B\"\nstart = \"{start_ms}ms\"\n",
            self.reverse
        );
        let _ = writeln!(
            text,
            "class = \"{}\"",
            if self.low { "low" } else { "best_effort" }
        );
        if let Some(stop_ms) = self.stop_ms {
            let _ = writeln!(text, "stop = \"{}ms\"", u32::from(stop_ms) + start_ms + 1);
        }
        let web = matches!(self.sends, Sends::Web { .. });
        if !web {
            let _ = writeln!(text, "count = {}", self.count % 4 + 1);
            if let Some(bytes) = self.bytes {
                let _ = writeln!(text, "bytes = \"{}B\"", u32::from(bytes) + 1);
            }
        }
        text += &match &self.sends {
            Sends::Udp(application) => format!(
                "transport = \"udp\"\napplication = {}\n",
                application.text()
            ),
            Sends::Tcp(application, tcp) => {
                format!(
                    "application = {}\n{}",
                    application.text(),
                    tcp.text(packet_bytes)
                )
            }
            Sends::Ftp(tcp) => tcp.text(packet_bytes),
            Sends::Web {
                sessions,
                mean_bytes,
                multiplexing,
                tcp,
            } => format!(
                "application = {{ kind = \"web\", sessions = {}, object_size = {{ mean = \"{}B\", shape = 1.2, max = \"1MB\" }}, multiplexing = \"{}\" }}\n{}",
                sessions % 8 + 1,
                u32::from(*mean_bytes) + 1,
                ["none", "http2", "quic"][usize::from(multiplexing % 3)],
                tcp.text(packet_bytes)
            ),
        };
        text
    }
}

impl Input {
    /// The scenario file: two groups of hosts, two links one after the other.
    fn text(&self) -> String {
        let duration_ms = u32::from(self.duration_ms) % 10_000 + 1;
        let mut text = format!(
            "name = \"fuzz\"\nduration = \"{duration_ms}ms\"\nsampling = {{ interval = \"100ms\" }}\n"
        );
        text += "[[nodes]]\nname = \"near\"\ncount = 3\n[[nodes]]\nname = \"far\"\ncount = 2\n";
        text += "[[links]]\nfrom = \"near\"\nto = \"left\"\ndelay = \"1ms\"\n[[links]]\nfrom = \"right\"\nto = \"far\"\ndelay = \"1ms\"\n";
        for (link, (from, to)) in self
            .links
            .iter()
            .zip([("left", "middle"), ("middle", "right")])
        {
            let _ = write!(
                text,
                "[[links]]\nname = \"{from}\"\nfrom = \"{from}\"\nto = \"{to}\"\ndelay = \"{}us\"\nloss = \"{}.{}%\"\nqueue = {}\njitter = {{ size = \"{}us\", reordering = {} }}\nrate = \"{}kbit\"\n",
                link.delay_us,
                link.loss_permille / 10,
                link.loss_permille % 10,
                link.queue.text(link.limit),
                u32::from(link.jitter_us) + 1,
                link.reordering,
                link.kilobits
                    .map_or(10_000, |kilobits| u32::from(kilobits) % 20_000 + 8),
            );
            if link.tagged {
                text += "marker = { kind = \"tsw\", target = \"1mbit\" }\n";
            }
            if let Some(kilobits) = link.back_kilobits {
                let _ = writeln!(
                    text,
                    "reverse = {{ rate = \"{}kbit\" }}",
                    u32::from(kilobits) % 20_000 + 8
                );
            }
        }
        for (index, flow) in self.flows.iter().take(6).enumerate() {
            text += &flow.text(index, duration_ms);
        }
        text
    }
}

fuzz_target!(|input: Input| {
    if input.flows.is_empty() {
        return;
    }
    let text = input.text();
    let file = ScenarioFile::parse("fuzz.toml", &text, &[], None)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut simulation = netnice_sim::simulation(file.scenario(), input.seed.into())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut questions = 0;
    simulation.run_while(|_| {
        questions += 1;
        questions < MOST_QUESTIONS
    });
    if let Err(what) = simulation.check_conservation() {
        panic!("{what}\n{text}");
    }
});
