// SPDX-License-Identifier: MIT OR Apache-2.0
//! Videos on an idle line, over lossy ones, and beside bulk transfers.

use netnice_results::{RunResults, VideoQuality};
use netnice_scenario::ScenarioFile;
use netnice_sim::run;

/// A line to a viewer, with a video and these other parts.
fn line(rate: &str, link: &str, others: &str) -> RunResults {
    let text = format!(
        r#"
name = "line"
duration = "200s"
warm_up = "60s"

[[links]]
name = "line"
from = "server"
to = "viewer"
rate = "{rate}"
delay = "20ms"
{link}

[[flows]]
name = "video"
from = "server"
to = "viewer"
congestion_control = "cubic"
application = {{ kind = "video", ladder = ["500kbit", "1mbit", "2mbit", "4mbit"] }}
{others}
"#
    );
    let file = ScenarioFile::parse("line.toml", &text, &[], None);
    let file = file.unwrap_or_else(|error| panic!("{error}"));
    run(file.scenario(), 1, || true).unwrap().unwrap()
}

fn video(results: &RunResults) -> VideoQuality {
    assert_eq!(results.videos.len(), 1);
    results.videos[0].quality
}

/// The buffer of 30 s is full at most with 26 s as the player asks, so it asks each 4 s: 35 chunks in 140 s.
#[test]
fn a_video_on_an_idle_line_has_its_highest_rate() {
    let results = line("10mbit", "queue = \"100p\"", "");
    let quality = video(&results);
    assert_eq!(quality.mean_rate_bps, 4e6, "{quality:?}");
    assert_eq!((quality.stalls, quality.switches), (0, 0));
    assert!((34..=35).contains(&quality.chunks), "{quality:?}");
    // Handshake, request and 250 kB at 10 Mb/s: 80 ms and 0.2 s, and slow start.
    let start_up = quality.start_up_s.unwrap();
    assert!((0.28..0.6).contains(&start_up), "{start_up}");
    // 4 Mb/s of data.
    assert!((results.flows[0].goodput_bps / 4e6 - 1.0).abs() < 0.03);
}

/// A line of 1.5 Mb/s carries the second rate of four, and not the third.
#[test]
fn a_narrow_line_has_the_rates_around_its_own() {
    let quality = video(&line("1.5mbit", "queue = \"50p\"", ""));
    assert!((1e6..1.5e6).contains(&quality.mean_rate_bps), "{quality:?}");
    assert_eq!(quality.stalls, 0);
}

/// Requests and ACKs are lost on the way back, and chunks on the way there: each is asked for until it comes.
#[test]
fn lost_requests_are_retransmitted() {
    let lossy = "queue = \"100p\"\nloss = \"1%\"\nreverse = { loss = \"20%\" }";
    let results = line("10mbit", lossy, "");
    let quality = video(&results);
    assert!(quality.chunks >= 30 && quality.stalls == 0, "{quality:?}");
    assert!(results.flows[0].packets_lost > 0);
}

/// The video on a line of this rate, beside a bulk transfer by this control.
fn beside(rate: &str, control: &str) -> VideoQuality {
    let bulk = format!(
        "[[flows]]\nname = \"bulk\"\nfrom = \"server\"\nto = \"viewer\"\nstart = \"30s\"\ncongestion_control = \"{control}\"\n"
    );
    video(&line(rate, "queue = \"200ms\"", &bulk))
}

#[test]
fn cubic_halves_the_bit_rate_and_netnice_does_not() {
    let (spared, shared) = (beside("5mbit", "netnice"), beside("5mbit", "cubic"));
    assert_eq!(spared.stalls, 0, "{spared:?}");
    assert!(
        spared.mean_rate_bps > 1.4 * shared.mean_rate_bps,
        "{spared:?} {shared:?}"
    );
}

/// The lowest rate is 500 kb/s, and half of the line is 350 kb/s: CUBIC leaves too little.
#[test]
fn beside_cubic_on_a_narrow_line_a_video_stalls() {
    let (spared, shared) = (beside("700kbit", "netnice"), beside("700kbit", "cubic"));
    assert_eq!((spared.stalls, spared.stalled_s), (0, 0.0), "{spared:?}");
    assert!(shared.stalls >= 5 && shared.stalled_s > 20.0, "{shared:?}");
}

/// The program of the server ends at 100 s: what it has sent is played, and nothing is asked for any more.
#[test]
fn a_stopped_video_ends() {
    let text = line("10mbit", "queue = \"100p\"", "stop = \"100s\"");
    let quality = video(&text);
    assert!((9..=11).contains(&quality.chunks), "{quality:?}");
    assert_eq!(quality.stalls, 0);
    assert!(text.flows[0].completion_s.is_some());
}
