// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scalable and classic flows under DualPI2.

use netnice_results::FlowResult;
use netnice_scenario::ScenarioFile;
use netnice_sim::run;

/// The flows that share 40 Mb/s with a round trip of 20 ms.
fn flows(queue: &str, scalable: &str, ecn_of_classic: bool) -> Vec<FlowResult> {
    flows_with(queue, scalable, "", ecn_of_classic)
}

/// With more settings of the scalable flow's TCP.
fn flows_with(queue: &str, scalable: &str, tcp: &str, ecn_of_classic: bool) -> Vec<FlowResult> {
    let text = format!(
        r#"
name = "l4s"
duration = "40s"
warm_up = "15s"

[[links]]
name = "bottleneck"
from = "left"
to = "right"
rate = "40mbit"
delay = "9ms"
queue = {queue}

[[links]]
from = "sender"
to = "left"
rate = "1gbit"
delay = "500us"

[[links]]
from = "right"
to = "receiver"
rate = "1gbit"
delay = "500us"

[defaults.flows]
from = "sender"
to = "receiver"
start_spread = "1s"

[[flows]]
name = "scalable"
congestion_control = "{scalable}"
tcp = {{ ecn = true{tcp} }}

[[flows]]
name = "classic"
congestion_control = "cubic"
tcp = {{ ecn = {ecn_of_classic} }}
"#
    );
    let file = ScenarioFile::parse("l4s.toml", &text, &[], None);
    let file = file.unwrap_or_else(|error| panic!("{error}"));
    run(file.scenario(), 1, || true).unwrap().unwrap().flows
}

/// Mean time in queues, in seconds: an empty path takes 10 ms and 0.3 ms for a packet.
fn queued(flow: &FlowResult) -> f64 {
    flow.one_way_delay.mean_s - 10.3e-3
}

#[test]
fn prague_and_cubic_share_under_dual_pi2() {
    for ecn_of_classic in [false, true] {
        let flows = flows("{ discipline = \"dual_pi2\" }", "prague", ecn_of_classic);
        let ratio = flows[0].goodput_bps / flows[1].goodput_bps;
        assert!((0.4..2.5).contains(&ratio), "{ratio}");
        // The target of classic traffic is 15 ms, the step of scalable traffic 1 ms.
        assert!(queued(&flows[0]) < 2e-3, "{}", queued(&flows[0]));
        assert!(queued(&flows[1]) > 5e-3, "{}", queued(&flows[1]));
        assert_eq!(flows[0].packets_lost, 0);
        assert_eq!(flows[1].packets_lost > 0, !ecn_of_classic);
    }
}

/// AccECN tells as much as DCTCP's feedback does, with an ACK for each packet and for two.
#[test]
fn accurate_feedback_is_as_good_as_that_of_dctcp() {
    for delayed in ["", ", delayed_ack = true"] {
        let prague = |feedback: &str| {
            let tcp = format!("{delayed}{feedback}");
            let flows = flows_with("{ discipline = \"dual_pi2\" }", "prague", &tcp, true);
            assert!(queued(&flows[0]) < 2e-3, "{tcp}: {}", queued(&flows[0]));
            assert_eq!(flows[0].packets_lost, 0);
            assert!(flows[0].ecn_reactions > 100, "{tcp}");
            flows[0].goodput_bps
        };
        let (accurate, each_packet) = (prague(", accurate_ecn = true"), prague(""));
        let ratio = accurate / each_packet;
        assert!(
            (0.9..1.1).contains(&ratio),
            "{delayed}: {accurate} {each_packet}"
        );
    }
}

#[test]
fn dctcp_takes_most_from_cubic_in_one_queue() {
    // Without the square and the coupling a scalable flow answers each mark too little.
    let flows = flows("{ discipline = \"pie\", ecn = true }", "dctcp", true);
    let ratio = flows[0].goodput_bps / flows[1].goodput_bps;
    assert!(ratio > 3.0, "{ratio}");
}
