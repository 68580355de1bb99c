// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of a scenario: the parts that a kernel cannot run, and those that it only approximates.

use netnice_queue::Bytes;
use netnice_scenario::model::{
    Application, CongestionControl, DelayedAck, Flow, Multiplexing, ReceiverControl, Recovery, Tcp,
    TimeSpan, Transport,
};
use netnice_scenario::network::{Place, Problem};
use netnice_scenario::{Layout, Scenario};

use super::controls;

/// Smallest TCP packet: Linux sends no segments with less than 48 bytes of options and data.
const MIN_TCP_PACKET: Bytes = Bytes::new(96);
/// Largest number of flows that one machine can serve.
const MAX_FLOWS: usize = 10_000;
/// Initial delayed-ACK time of Linux.
const LINUX_DELAYED_ACK: TimeSpan = TimeSpan::from_millis(40);
/// Linux's RTO before the first measurement.
const LINUX_INITIAL_RTO: TimeSpan = TimeSpan::from_secs(1);

/// Web traffic whose servers and clients only the simulator has.
fn has_shared_connections(application: &Application) -> bool {
    match application {
        Application::Web(web) => web.multiplexing.unwrap_or_default() != Multiplexing::None,
        _ => false,
    }
}

/// The parts of a scenario, laid out as `layout`, that this kernel cannot run.
pub fn check(scenario: &Scenario, layout: &Layout) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, node) in scenario.nodes.iter().enumerate() {
        if node.clock.drift_ppm != 0.0 {
            let place = Place::key("nodes").at(index).at("clock").at("drift_ppm");
            problems.push(place.problem(
                "all hosts of a lab have this machine's clock, which does not drift; leave it out, or simulate it",
            ));
        }
    }
    for (index, flow) in scenario.flows.iter().enumerate() {
        let place = Place::key("flows").at(index);
        if let Application::Call(_) = flow.application {
            let text = "a lab plays no calls; simulate it by `netnice sim`, or send as many packets by cbr";
            problems.push(place.at("application").problem(text));
        }
        if let Application::Video(_) = flow.application {
            let text = "a lab plays no video; simulate it by `netnice sim`";
            problems.push(place.at("application").problem(text));
        }
        if has_shared_connections(&flow.application) {
            let text = "a lab has a connection for each object: write \"none\", or simulate it by `netnice sim`";
            let place = place.at("application").at("multiplexing");
            problems.push(place.problem(text));
        }
        if flow.transport == Transport::Udp {
            continue;
        }
        if flow.packet_size < MIN_TCP_PACKET {
            let text = format!(
                "{} is too small for TCP of this kernel; at least {MIN_TCP_PACKET} is allowed",
                flow.packet_size
            );
            problems.push(place.at("packet_size").problem(text));
        }
        if flow.tcp.pacing && matches!(flow.application, Application::Command(_)) {
            let text = "a lab cannot set options of a command's sockets; leave it out, or let the command set SO_MAX_PACING_RATE";
            problems.push(place.at("tcp").at("pacing").problem(text));
        }
        if flow.by.is_some() {
            let text = "a lab keeps no deadline; simulate it, or let a command be run by `netnice run --by`";
            problems.push(place.at("by").problem(text));
        }
        if let Some(receiver) = flow.receiver.at_low_priority() {
            problems.extend(check_receiver(flow, receiver, &place));
        }
        let control = &flow.congestion_control;
        let is_command = matches!(flow.application, Application::Command(_));
        let refusal = match controls::refuse(control) {
            Ok(()) if is_command && control.is_file() => Err((
                None,
                "the control of a command's sockets is one of a kernel; let the command use the file, by `netnice run --control-file`"
                    .to_owned(),
            )),
            Ok(()) if is_command && !control.parameters.is_empty() => Err((
                None,
                "the control of a command's sockets takes no parameters here; let the command set them, as `netnice run` does"
                    .to_owned(),
            )),
            other => other,
        };
        if let Err((parameter, text)) = refusal {
            let text = format!("{text}: --set flows.{}.congestion_control=reno", flow.name);
            let control = place.at("congestion_control");
            let place = parameter.map_or(control.clone(), |name| control.at(name.as_str()));
            problems.push(place.problem(text));
        }
    }
    let flows = layout.flows.len();
    if flows > MAX_FLOWS {
        let text = format!("{flows} flows are more than the {MAX_FLOWS} that a lab can run");
        problems.push(Place::key("flows").problem(text));
    }
    problems
}

/// Refuses keys that a flow governed from its receiving end cannot have.
fn check_receiver(flow: &Flow, control: &CongestionControl, place: &Place) -> Option<Problem> {
    if !flow.receiver.is_in_kernel() {
        let allowed: Vec<&str> = ReceiverControl::names_in_kernel().collect();
        let text = format!(
            "no kernel has the receiver `{}`; allowed in a lab: {}. Simulate it, or --set flows.{}.receiver={}",
            control.name,
            allowed.join(", "),
            flow.name,
            allowed[0]
        );
        return Some(place.at("receiver").problem(text));
    }
    let text = match flow.application {
        Application::Web(_) | Application::Arrivals(_) => {
            "a lab governs the receivers of transfers, not the clients of web traffic and arrivals; simulate it"
        }
        _ if flow.tcp.receiver_window.is_some() => {
            let text = "a kernel has one limit on the window, which `receiver` sets; leave receiver_window out, or simulate it";
            return Some(place.at("tcp").at("receiver_window").problem(text));
        }
        _ => return None,
    };
    Some(place.at("receiver").problem(text))
}

/// The parts of a scenario that this kernel only approximates, each in a line.
pub fn notes(scenario: &Scenario) -> Vec<String> {
    let mut notes = Vec::new();
    for node in &scenario.nodes {
        let clock = node.clock;
        if clock.tick != TimeSpan::from_millis(1) && clock.tick.as_nanos() != 1_000 {
            notes.push(format!(
                "nodes.{}.clock.tick is {}: stamps of a kernel count 1ms, or 1us for a tick up to that",
                node.name, clock.tick
            ));
        }
        if clock.offset != TimeSpan::default() {
            notes.push(format!(
                "nodes.{}.clock.offset: a kernel's stamps have a random offset for each connection",
                node.name
            ));
        }
    }
    // A note that holds for several flows is given once.
    let mut of_flows: Vec<(String, Vec<&str>)> = Vec::new();
    for flow in &scenario.flows {
        for note in notes_on_flow(flow) {
            match of_flows.iter_mut().find(|(known, _)| *known == note) {
                Some((_, names)) => names.push(&flow.name),
                None => of_flows.push((note, vec![&flow.name])),
            }
        }
    }
    notes.extend(of_flows.into_iter().map(|(note, names)| match names[..] {
        [name] => format!("flows.{name}.{note}"),
        _ => format!("flows.{{{}}}.{note}", names.join(",")),
    }));
    notes
}

fn notes_on_flow(flow: &Flow) -> Vec<String> {
    if flow.transport == Transport::Udp || matches!(flow.application, Application::Command(_)) {
        return Vec::new();
    }
    let mut notes: Vec<String> = notes_on_tcp(&flow.tcp)
        .map(|note| format!("tcp.{note}"))
        .collect();
    let headers = if flow.tcp.timestamps { 52 } else { 40 };
    if let Some(given) = flow.header_size.filter(|size| size.get() != headers) {
        notes.push(format!(
            "header_size is {given}: packets are as large as the scenario says, but have {headers} bytes of headers"
        ));
    }
    notes
}

fn notes_on_tcp(tcp: &Tcp) -> impl Iterator<Item = String> + use<> {
    let mut notes = Vec::new();
    if tcp.recovery == Recovery::Reno {
        notes.push("recovery is reno: Linux without SACK recovers as NewReno".to_owned());
    }
    if let DelayedAck::After(time) = tcp.delayed_ack {
        if time != LINUX_DELAYED_ACK {
            notes.push(format!(
                "delayed_ack is {time}: Linux chooses the time itself, from {LINUX_DELAYED_ACK}"
            ));
        }
    }
    if tcp.packets_per_ack != Tcp::default().packets_per_ack {
        notes.push(format!(
            "packets_per_ack is {}: Linux acknowledges every second packet",
            tcp.packets_per_ack
        ));
    }
    if tcp.quick_acks == Some(false) {
        notes.push(
            "quick_acks is false: Linux delays no ACK at the beginning and after a gap".to_owned(),
        );
    }
    if tcp.accurate_ecn {
        notes.push(
            "accurate_ecn: Linux also sends AccECN's TCP option, which the simulator does not"
                .to_owned(),
        );
    }
    if tcp.initial_rto != LINUX_INITIAL_RTO {
        notes.push(format!(
            "initial_rto is {}: that of Linux is {LINUX_INITIAL_RTO}, which counts where SYNs are lost",
            tcp.initial_rto
        ));
    }
    if tcp.rtt_tick != TimeSpan::default() {
        notes.push(format!(
            "rtt_tick is {}: Linux counts round-trip times in microseconds",
            tcp.rtt_tick
        ));
    }
    if tcp.initial_ssthresh.is_some() {
        notes.push("initial_ssthresh: Linux has none at the beginning".to_owned());
    }
    if !tcp.handshake {
        notes.push("handshake is false: Linux always has one".to_owned());
    }
    notes.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use netnice_scenario::{Point, ScenarioFile};

    fn point(flow: &str) -> Point {
        let text = format!(
            "name = \"n\"\nduration = \"1s\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\n[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
        );
        let file = ScenarioFile::parse("n.toml", &text, &[], None).unwrap();
        file.points[0].clone()
    }

    fn problems(flow: &str) -> Vec<String> {
        let point = point(flow);
        check(&point.scenario, &point.layout().unwrap())
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn what_a_kernel_lacks_is_named() {
        let web = |multiplexing: &str| {
            format!(
                "application = {{ kind = \"web\", sessions = 1, object_size = {{ mean = \"1kB\" }}{multiplexing} }}"
            )
        };
        for flow in ["", &web(""), &web(", multiplexing = \"none\"")] {
            assert_eq!(problems(flow), [""; 0]);
        }
        for (flow, expected) in [
            (
                &*web(", multiplexing = \"http2\""),
                "flows[0].application.multiplexing: a lab has a connection for each object",
            ),
            (
                &*web(", multiplexing = \"quic\""),
                "flows[0].application.multiplexing: a lab has a connection for each object",
            ),
            (
                "congestion_control = \"bbr3\"",
                "flows[0].congestion_control: this kernel has no congestion control `bbr3`",
            ),
            (
                "congestion_control = { name = \"dstcp\", packet_bytes = 500 }",
                "flows[0].congestion_control.packet_bytes: packet_bytes of congestion control dstcp is for simulations",
            ),
            (
                "congestion_control = { name = \"cubic\", beta = 0.5 }",
                "flows[0].congestion_control.beta: beta of congestion control cubic is for simulations",
            ),
            (
                "receiver = \"rledbat\"",
                "flows[0].receiver: no kernel has the receiver `rledbat`; allowed in a lab: netnice, tcplp, hstcplp, plain",
            ),
            (
                "application = { kind = \"command\", command = \"true\" }\ntcp = { pacing = true }",
                "flows[0].tcp.pacing: a lab cannot set options of a command's sockets",
            ),
            (
                "bytes = \"1MB\"\nby = \"9s\"\ncongestion_control = \"netnice\"",
                "flows[0].by: a lab keeps no deadline",
            ),
            (
                "packet_size = \"80B\"",
                "flows[0].packet_size: 80B is too small",
            ),
            (
                "[[nodes]]\nname = \"a\"\nclock = { drift_ppm = 50.0 }",
                "nodes[0].clock.drift_ppm: all hosts of a lab have this machine's clock",
            ),
        ] {
            let problems = problems(flow);
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(problems[0].starts_with(expected), "{problems:?}");
        }
    }

    #[test]
    fn what_is_nearly_so_is_noted() {
        assert_eq!(notes(&point("").scenario), [""; 0]);
        for (flow, expected) in [
            (
                "tcp = { recovery = \"reno\" }",
                "flows.f.tcp.recovery is reno",
            ),
            (
                "tcp = { initial_rto = \"3s\" }",
                "flows.f.tcp.initial_rto is 3s",
            ),
            (
                "tcp = { delayed_ack = \"200ms\" }",
                "flows.f.tcp.delayed_ack is 200ms",
            ),
            (
                "tcp = { delayed_ack = true, packets_per_ack = 16 }",
                "flows.f.tcp.packets_per_ack is 16",
            ),
            (
                "tcp = { delayed_ack = true, quick_acks = false }",
                "flows.f.tcp.quick_acks is false",
            ),
            ("header_size = \"40B\"", "flows.f.header_size is 40B"),
            (
                "[[nodes]]\nname = \"a\"\nclock = { offset = \"3s\" }",
                "nodes.a.clock.offset",
            ),
        ] {
            let notes = notes(&point(flow).scenario);
            assert_eq!(notes.len(), 1, "{notes:?}");
            assert!(notes[0].starts_with(expected), "{notes:?}");
        }
        let two = "tcp = { recovery = \"reno\" }\n[[flows]]\nname = \"g\"\nfrom = \"b\"\nto = \"a\"\ntcp = { recovery = \"reno\" }";
        let notes = notes(&point(two).scenario);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(
            notes[0].starts_with("flows.{f,g}.tcp.recovery"),
            "{notes:?}"
        );
    }
}
