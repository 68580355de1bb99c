// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scenario in words, for `netnice sim --explain`.

mod link;
mod passing;

use std::fmt::Write;
use std::time::Duration;

use netnice_queue::{Bytes, Rate, format_delay};

use crate::model::{
    Application, Arrivals, CongestionControl, DelayedAck, Multiplexing, Parameter, Recovery,
    Scenario, Tcp, TransferSize, Transport,
};
use crate::network::{FlowGroup, Layout, NetworkFlow};
use crate::parse::ScenarioFile;
use crate::warnings::warnings;
use link::write_link;
use passing::Passing;

/// The scenario, its topology and its flows in words.
pub fn explain(file: &ScenarioFile) -> String {
    let scenario = file.scenario();
    let Ok(network) = file.points[0].layout() else {
        // A file that was read has been laid out once already.
        return String::new();
    };
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_all(&mut text, file, scenario, &network);
    text
}

fn write_all(
    text: &mut String,
    file: &ScenarioFile,
    scenario: &Scenario,
    network: &Layout,
) -> std::fmt::Result {
    writeln!(text, "{}", scenario.name)?;
    if !scenario.description.is_empty() {
        writeln!(text, "  {}", scenario.description.trim())?;
    }
    write!(text, "  Runs of {}", scenario.duration)?;
    if !scenario.warm_up.get().is_zero() {
        write!(text, ", measured after {}", scenario.warm_up)?;
    }
    write!(text, "; {}", count(scenario.seeds.0.len(), "seed"))?;
    match file.axes.len() {
        0 => writeln!(text)?,
        _ => writeln!(
            text,
            " for each of {} of {}: {} in all. In words, the first:",
            count(file.points.len(), "point"),
            file.axes.join(" x "),
            count(file.runs().len(), "run")
        )?,
    }
    for (key, value) in file.points.iter().take(1).flat_map(|point| &point.settings) {
        writeln!(text, "  {key} = {value}")?;
    }
    for phase in &scenario.phases {
        writeln!(
            text,
            "  Phase {}: {} to {}",
            phase.name, phase.from, phase.to
        )?;
    }
    writeln!(text, "\nTopology: {}", count(network.nodes.len(), "node"))?;
    let passing = Passing::new(network);
    let mut first = 0;
    for link in &scenario.links {
        let label = link.label();
        let members = network.links[first..]
            .iter()
            .step_by(2)
            .take_while(|member| {
                member.name == label || member.name.starts_with(&format!("{label}["))
            })
            .count();
        write_link(text, network, &passing, first, members)?;
        first += 2 * members;
    }
    writeln!(text, "\nFlows: {}", network.flows.len())?;
    let mut flows = &network.flows[..];
    while let Some(flow) = flows.first() {
        let members = flows
            .iter()
            .take_while(|other| other.group.name == flow.group.name)
            .count();
        write_flow(text, network, &flows[..members])?;
        flows = &flows[members..];
    }
    let warnings = warnings(file);
    if !warnings.is_empty() {
        writeln!(text, "\nWarnings:")?;
    }
    for warning in warnings {
        writeln!(text, "  {warning}")?;
    }
    Ok(())
}

fn write_flow(text: &mut String, network: &Layout, flows: &[NetworkFlow]) -> std::fmt::Result {
    let Some(flow) = flows.first() else {
        return Ok(());
    };
    let group = &flow.group;
    let name = |nodes: &[usize]| match nodes {
        [node] => network.nodes[*node].name.clone(),
        [first, .., last] => format!(
            "{} ... {}",
            network.nodes[*first].name, network.nodes[*last].name
        ),
        [] => String::new(),
    };
    write!(
        text,
        "  {}: {}, from {} to {}",
        group.name,
        application_words(&group.application),
        name(&flow.senders),
        name(&flow.receivers)
    )?;
    match flows.len() {
        1 => writeln!(text)?,
        more => writeln!(text, ", and {} more alike", more - 1)?,
    }
    writeln!(text, "    {}", transport_words(group))?;
    let rtts: Vec<Duration> = flows
        .iter()
        .filter_map(|flow| network.base_rtt(*flow.senders.first()?, *flow.receivers.first()?))
        .collect();
    if let (Some(least), Some(most)) = (rtts.iter().min(), rtts.iter().max()) {
        let range = match least == most {
            true => format_delay(*least),
            false => format!("{} to {}", format_delay(*least), format_delay(*most)),
        };
        write!(text, "    base RTT {range}; ")?;
    }
    write!(text, "{} priority", group.class.name().replace('_', " "))?;
    write!(text, ", DSCP {}", group.dscp)?;
    write!(text, "; from {}", format_delay(group.start))?;
    if !group.start_spread.is_zero() {
        write!(
            text,
            " and up to {} later",
            format_delay(group.start_spread)
        )?;
    }
    match group.bytes {
        Some(bytes) => writeln!(text, " until {bytes} are sent"),
        None => writeln!(text, " until {}", format_delay(group.stop)),
    }
}

fn application_words(application: &Application) -> String {
    match application {
        Application::Ftp => "always has data to send".to_owned(),
        Application::Cbr { rate } => format!("constant {rate}"),
        Application::SquareWave { rate, period, duty } => format!(
            "square wave of {rate}, on for {} % of each {period}",
            duty * 100.0
        ),
        Application::ParetoOnOff {
            rate,
            mean_on,
            mean_off,
            shape,
        } => format!(
            "Pareto on/off: {rate} for {mean_on} on average, off for {mean_off}, shape {shape}"
        ),
        Application::ExponentialOnOff {
            rate,
            mean_on,
            mean_off,
        } => format!("exponential on/off: {rate} for {mean_on} on average, off for {mean_off}"),
        Application::Poisson { rate, .. } => format!("Poisson arrivals, {rate} on average"),
        Application::Web(web) => format!(
            "web: {} of pages of {}, {} on average{}{}",
            count(web.sessions as usize, "session"),
            count(web.objects_per_page as usize, "object"),
            in_whole_bytes(web.object_size.mean_bytes()),
            if web.open_loop {
                ", however long pages take"
            } else {
                ""
            },
            match web.multiplexing {
                None => "",
                Some(Multiplexing::None) => ", a connection for each object",
                Some(Multiplexing::Http2) =>
                    ", over one TCP connection to each server, which delivers in order (HTTP/2)",
                Some(Multiplexing::Quic) =>
                    ", over one connection to each server, a stream for each object (QUIC)",
            }
        ),
        Application::Arrivals(arrivals) => arrivals_words(arrivals),
        Application::Call(call) => format!(
            "call: {} of speech every {}, played {} after the first packet",
            call.payload, call.interval, call.playout_delay
        ),
        Application::Video(video) => {
            let (lowest, highest) = (video.ladder.first(), video.ladder.last());
            let rate = |rate: Option<&Rate>| rate.map(Rate::to_string).unwrap_or_default();
            format!(
                "video: chunks of {} at {} from {} to {}, buffer of {} with a reservoir of {} and a cushion of {}",
                video.chunk,
                count(video.ladder.len(), "bit rate"),
                rate(lowest),
                rate(highest),
                video.max_buffer,
                format_delay(video.reservoir()),
                format_delay(video.cushion())
            )
        }
        Application::Command(command) => format!("`{}`", command.command),
        Application::Trace { entries, .. } => {
            format!("a trace of {}", count(entries.len(), "write"))
        }
    }
}

fn in_whole_bytes(bytes: f64) -> Bytes {
    Bytes::new(bytes.round() as u64)
}

fn arrivals_words(arrivals: &Arrivals) -> String {
    let mean = in_whole_bytes(arrivals.size.mean_bytes());
    let size = match &arrivals.size {
        TransferSize::Fixed { bytes } => format!("of {bytes}"),
        TransferSize::Exponential { .. } => format!("of {mean} on average (exponential)"),
        TransferSize::Pareto { shape, .. } => {
            format!("of {mean} on average (Pareto, shape {shape})")
        }
        TransferSize::Lognormal { sigma, .. } => {
            format!("of {mean} on average (lognormal, sigma {sigma})")
        }
        TransferSize::WebSearch => format!("of {mean} on average (web search)"),
        TransferSize::DataMining => format!("of {mean} on average (data mining)"),
        TransferSize::File { file, .. } => format!("of {mean} on average (`{file}`)"),
    };
    let gap = arrivals.mean_gap().unwrap_or_default();
    let mut words = format!(
        "transfers {size}, one every {} on average, {:.3} Mb/s of data",
        format_delay(gap),
        8e-6 * arrivals.size.mean_bytes() / gap.as_secs_f64()
    );
    if let (Some(on), Some(off)) = (arrivals.mean_on, arrivals.mean_off) {
        // Writing to a String cannot fail.
        let _ = write!(words, ", in bursts of {on} with pauses of {off}");
    }
    words
}

fn transport_words(group: &FlowGroup) -> String {
    let packets = format!("packets of {}", group.packet_size);
    if group.transport == Transport::Udp {
        return format!("UDP, {packets}");
    }
    let mut words = vec![format!("TCP {}", control_words(&group.congestion_control))];
    words.push(packets);
    let tcp = &group.tcp;
    let recovery = format!("{:?} recovery", tcp.recovery).to_lowercase();
    let with = match (tcp.prr, tcp.rack) {
        _ if tcp.recovery == Recovery::Linux => " (RACK-TLP, PRR)",
        (false, false) => "",
        (true, false) => " and PRR",
        (false, true) => " and RACK-TLP",
        (true, true) => ", PRR and RACK-TLP",
    };
    words.push(format!("{recovery}{with}"));
    if tcp.pacing {
        words.push("paced".to_owned());
    }
    words.push(match tcp.delayed_ack {
        DelayedAck::Off => "an ACK per packet".to_owned(),
        DelayedAck::After(time) if tcp.packets_per_ack == Tcp::default().packets_per_ack => {
            format!("delayed ACKs ({time})")
        }
        DelayedAck::After(time) => {
            format!("an ACK for {} packets or after {time}", tcp.packets_per_ack)
        }
    });
    if tcp.has_quick_acks() {
        words.push("none delayed at first and after gaps".to_owned());
    }
    words.push(format!("minimum RTO {}", tcp.least_rto()));
    if !tcp.rtt_tick.get().is_zero() {
        words.push(format!("RTT counted in units of {}", tcp.rtt_tick));
    }
    if tcp.accurate_ecn {
        words.push("accurate ECN".to_owned());
    } else if tcp.ecn {
        words.push("ECN".to_owned());
    }
    if let Some(window) = tcp.receiver_window {
        words.push(format!("receive window {window}"));
    }
    if let Some(control) = group.receiver.at_low_priority() {
        words.push(format!("window advertised by {}", control_words(control)));
    }
    words.join(", ")
}

/// A control and its parameters.
fn control_words(control: &CongestionControl) -> String {
    let parameters = control.parameters.iter().map(|(name, value)| match value {
        Parameter::Switch(switch) => format!(", {name} {switch}"),
        Parameter::Number(number) => format!(", {name} {number}"),
        Parameter::Text(text) => format!(", {name} {text}"),
    });
    std::iter::once(control.name.clone())
        .chain(parameters)
        .collect()
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn count(number: usize, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {one}{plural}")
}
