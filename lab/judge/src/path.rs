// SPDX-License-Identifier: MIT OR Apache-2.0
//! The paths of the grid: a line each.

use std::time::Duration;

use netnice_queue::Rate;

/// A path: one bottleneck between two hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// Name on the command line and in results.
    pub name: &'static str,
    /// Rate of the bottleneck, as scenario files have it.
    rate: &'static str,
    /// Round-trip propagation delay in milliseconds.
    pub rtt_ms: u64,
    /// The bottleneck's queue in TOML: a limit, or a table with `discipline`.
    queue: &'static str,
    /// Further keys of the link in TOML: impairments.
    rest: &'static str,
    /// Part of `--quick`.
    pub quick: bool,
}

const fn path(
    name: &'static str,
    rate: &'static str,
    rtt_ms: u64,
    queue: &'static str,
    rest: &'static str,
    quick: bool,
) -> Path {
    Path {
        name,
        rate,
        rtt_ms,
        queue,
        rest,
        quick,
    }
}

const RED: &str =
    r#"{ discipline = "red", limit = "5bdp", min_threshold = "5ms", max_threshold = "15ms" }"#;
const SFQ: &str = r#"{ discipline = "sfq", limit = "2.5bdp" }"#;
const CODEL: &str = r#"{ discipline = "codel" }"#;
const FQ_CODEL: &str = r#"{ discipline = "fq_codel" }"#;
const PIE: &str = r#"{ discipline = "pie" }"#;

/// All paths; a new one is a line.
#[rustfmt::skip]
pub const PATHS: &[Path] = &[
    path("base", "10mbit", 40, r#""2.5bdp""#, "", true),
    path("slow", "1.5mbit", 40, r#""2.5bdp""#, "", true),
    path("fast", "100mbit", 40, r#""1bdp""#, "", false),
    path("gigabit", "1gbit", 10, r#""1bdp""#, "", false),
    path("short", "10mbit", 4, r#""5bdp""#, "", true),
    path("long", "10mbit", 200, r#""1bdp""#, "", true),
    path("queue-0.1", "50mbit", 40, r#""0.1bdp""#, "", false),
    path("queue-0.25", "10mbit", 40, r#""0.25bdp""#, "", true),
    path("queue-1", "10mbit", 40, r#""1bdp""#, "", false),
    path("queue-10", "10mbit", 40, r#""10bdp""#, "", true),
    path("red", "10mbit", 40, RED, "", false),
    path("sfq", "10mbit", 40, SFQ, "", false),
    path("codel", "10mbit", 40, CODEL, "", true),
    path("fq_codel", "10mbit", 40, FQ_CODEL, "", true),
    path("pie", "10mbit", 40, PIE, "", false),
    path("loss", "10mbit", 40, r#""2.5bdp""#, r#"loss = "0.5%""#, false),
    path("jitter", "10mbit", 40, r#""2.5bdp""#, r#"jitter = "5ms""#, true),
    path("asymmetric", "10mbit", 40, r#""2.5bdp""#, r#"reverse = { rate = "500kbit", queue = "50p" }"#, false),
];

impl Path {
    /// Rate of the bottleneck in bits per second.
    pub fn rate_bps(&self) -> f64 {
        let rate: Rate = self.rate.parse().expect("a test parses every path");
        rate.as_f64()
    }

    /// Round-trip propagation delay.
    pub fn rtt(&self) -> Duration {
        Duration::from_millis(self.rtt_ms)
    }

    /// The path in a line of text, for people.
    pub fn describe(&self) -> String {
        let queue = self.queue.trim_matches('"');
        let rest = match self.rest {
            "" => String::new(),
            rest => format!(", {rest}"),
        };
        format!("{}, {} ms, queue {queue}{rest}", self.rate, self.rtt_ms)
    }

    /// The link as a table of a scenario file.
    pub(crate) fn toml(&self) -> String {
        format!(
            "[[links]]\nname = \"bottleneck\"\nfrom = \"near\"\nto = \"far\"\nrate = \"{}\"\ndelay = \"{}us\"\n\
             queue = {}\n{}\n",
            self.rate,
            self.rtt_ms * 500,
            self.queue,
            self.rest
        )
    }
}
