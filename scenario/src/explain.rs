// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scenario in words, for `netnice sim --explain`.

use std::fmt::Write;
use std::time::Duration;

use netnice_queue::{
    Bytes, DisciplineConfig, LinkConditions, LossModel, MarkerConfig, QueueBound, Rate,
    format_delay,
};

use crate::model::{
    Application, Arrivals, CongestionControl, DelayedAck, Multiplexing, Parameter, Recovery,
    Scenario, Tcp, TransferSize, Transport,
};
use crate::network::{FlowGroup, Layout, NetworkFlow, NetworkLink};
use crate::parse::ScenarioFile;

/// The scenario, its topology and its flows in words.
pub fn explain(file: &ScenarioFile) -> String {
    let scenario = file.scenario();
    let Ok(network) = Layout::new(scenario) else {
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
        write_link(text, network, first, members)?;
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
    Ok(())
}

fn write_link(
    text: &mut String,
    network: &Layout,
    first: usize,
    members: usize,
) -> std::fmt::Result {
    let (there, back) = (&network.links[first], &network.links[first + 1]);
    let ends = |link: &NetworkLink| {
        let name = |node: usize| network.nodes[node].name.as_str();
        format!("{} to {}", name(link.from), name(link.to))
    };
    write!(text, "  {}: {}", there.name, ends(there))?;
    if members > 1 {
        write!(text, ", and {} more alike", members - 1)?;
        if there.marker.is_some() || back.marker.is_some() {
            write!(text, ", each with a profile of its own")?;
        }
    }
    writeln!(text)?;
    let alike = there.rate == back.rate
        && there.delay == back.delay
        && there.queue == back.queue
        && there.loss == back.loss
        && there.jitter == back.jitter
        && there.marker == back.marker
        && there.conditions == back.conditions
        && there.base_rtt == back.base_rtt;
    match alike {
        true => writeln!(text, "    both ways: {}", link_words(there)),
        false => {
            writeln!(text, "    there: {}", link_words(there))?;
            writeln!(text, "    back:  {}", link_words(back))
        }
    }
}

fn link_words(link: &NetworkLink) -> String {
    let mut words = vec![match link.rate {
        Some(rate) => match &link.conditions.trace {
            Some(trace) => format!(
                "{rate} on average by a trace of {} packets in {}",
                trace.opportunities(),
                format_delay(Duration::from_millis(trace.period_ms()))
            ),
            None => rate.to_string(),
        },
        None => "no limit of rate".to_owned(),
    }];
    words.push(format!("{} propagation", format_delay(link.delay)));
    if let Some(rate) = link.rate {
        let packets =
            rate.as_f64() * link.base_rtt.as_secs_f64() / (8.0 * link.packet_size.get() as f64);
        words.push(format!(
            "bandwidth-delay product {packets:.1} packets of {} ({} round trip)",
            link.packet_size,
            format_delay(link.base_rtt)
        ));
        words.push(queue_words(link));
    }
    if link.loss.as_f64() > 0.0 {
        words.push(format!("random loss {}", link.loss));
    }
    if let Some(jitter) = link.jitter {
        let order = match jitter.reordering {
            true => "packets may overtake",
            false => "in order",
        };
        words.push(format!("jitter {} ({order})", jitter.size));
    }
    words.extend(conditions_words(&link.conditions));
    match &link.marker {
        None => {}
        Some(MarkerConfig::TokenBucket(bucket)) => words.push(format!(
            "packets tagged IN up to {} with bursts of {}, OUT beyond",
            bucket.rate, bucket.burst
        )),
        Some(MarkerConfig::SrTcm(meter)) => words.push(format!(
            "packets tagged green up to {} with bursts of {}, yellow with {} more, red beyond",
            meter.rate, meter.burst, meter.excess_burst
        )),
        Some(MarkerConfig::TrTcm(meter)) => words.push(format!(
            "packets tagged green up to {} with bursts of {}, yellow up to {} with bursts of {}, red beyond",
            meter.rate, meter.burst, meter.peak_rate, meter.peak_burst
        )),
        Some(MarkerConfig::Tsw(tsw)) => words.push(format!(
            "packets tagged OUT by the excess of their rate over {} (time sliding window of {})",
            tsw.target,
            format_delay(tsw.window)
        )),
    }
    words.join(", ")
}

fn conditions_words(conditions: &LinkConditions) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(shaper) = conditions.shaper {
        let peak = match shaper.peak_rate {
            Some(rate) => format!("{rate}"),
            None => "once".to_owned(),
        };
        words.push(format!("bursts of {} at {peak}", shaper.burst));
    }
    if let Some(policer) = conditions.policer {
        words.push(format!(
            "policed to {} with bursts of {}",
            policer.rate, policer.burst
        ));
    }
    match &conditions.loss_model {
        Some(LossModel::GilbertElliott {
            to_bad,
            to_good,
            loss_in_bad,
            loss_in_good,
        }) => {
            let (bad, good) = (to_bad.as_f64(), to_good.as_f64());
            let in_bad = bad / (bad + good);
            let mean = in_bad * loss_in_bad.as_f64() + (1.0 - in_bad) * loss_in_good.as_f64();
            words.push(format!(
                "loss {:.3} % in bursts (bad state for {:.1} packets on average)",
                mean * 100.0,
                1.0 / good
            ));
        }
        Some(LossModel::Periodic { every }) => words.push(format!("one packet of {every} lost")),
        Some(LossModel::Listed { packets }) => {
            let numbers: Vec<String> = packets.iter().map(u64::to_string).collect();
            words.push(match &numbers[..] {
                [number] => format!("packet {number} lost"),
                _ => format!("packets {} lost", numbers.join(", ")),
            });
        }
        None => {}
    }
    if !conditions.batch_interval.is_zero() {
        let interval = format_delay(conditions.batch_interval);
        words.push(format!("packets come out in batches every {interval}"));
    }
    for outage in &conditions.outages {
        let (at, duration) = (format_delay(outage.at), format_delay(outage.duration));
        words.push(match outage.every {
            Some(every) => format!(
                "outages of {duration} every {} from {at}",
                format_delay(every)
            ),
            None => format!("outage of {duration} at {at}"),
        });
    }
    for change in &conditions.changes {
        let rate = change.rate.map(|rate| rate.to_string());
        let delay = change
            .delay
            .map(|delay| format!("{} propagation", format_delay(delay)));
        let loss = change.loss.map(|loss| format!("random loss {loss}"));
        let all: Vec<String> = [rate, delay, loss].into_iter().flatten().collect();
        words.push(format!(
            "from {} on {}",
            format_delay(change.at),
            all.join(" and ")
        ));
    }
    words
}

fn queue_words(link: &NetworkLink) -> String {
    let words = limit_words(link);
    let DisciplineConfig::WeightedDrr(config) = &*link.queue else {
        return words;
    };
    let weights: u32 = config.classes.iter().map(|class| class.weight).sum();
    let classes = config.classes.iter().map(|class| {
        let names: Vec<String> = class.dscp.iter().map(ToString::to_string).collect();
        let names = match names.is_empty() {
            true => "all others".to_owned(),
            false => names.join(" "),
        };
        let percent = f64::from(class.weight) * 100.0 / f64::from(weights);
        let discipline = class.queue.name().replace('_', "-");
        let limit = class.queue.limit();
        format!("{names} {percent:.1} % ({discipline} queue of {limit})")
    });
    let classes: Vec<String> = classes.collect();
    format!("{words}, by class: {}", classes.join("; "))
}

fn limit_words(link: &NetworkLink) -> String {
    let discipline = link.queue.name().replace('_', "-");
    let Ok(bound) = link.discipline_context().bound(link.queue.limit()) else {
        return format!("{discipline} queue of {}", link.queue.limit());
    };
    let packet = link.packet_size.get();
    let (length, bytes) = match bound {
        QueueBound::Packets(packets) => (count(packets, "packet"), packets as u64 * packet),
        QueueBound::Bytes(bytes) => (format!("{bytes} bytes ({} packets)", bytes / packet), bytes),
    };
    let time = link.rate.map(|rate| {
        let time = rate.time_to_send(Bytes::new(bytes));
        format!(" = {} when full", milliseconds(time))
    });
    format!("{discipline} queue of {length}{}", time.unwrap_or_default())
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
            web.object_size.mean,
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

fn arrivals_words(arrivals: &Arrivals) -> String {
    let mean = Bytes::new(arrivals.size.mean_bytes().round() as u64);
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
