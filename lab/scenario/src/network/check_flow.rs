// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of the values of a flow.

use std::time::Duration;

use netnice_congestion::congestion_control::MarkFeedback;
use netnice_congestion::{receivers, registry};
use netnice_parameters::policies::NETNICE;
use netnice_queue::Bytes;

use super::check::check_begin;
use super::findings::Findings;
use super::problem::Place;
use crate::model::{
    Application, Arrivals, Call, CongestionControl, DelayedAck, Flow, ReceiverControl, Scenario,
    Tcp, TimeSpan, TraceEntry, TransferSize, Transport, Video, Web,
};

/// The largest packet of IPv4.
const MAX_PACKET: u64 = 65_535;
/// The largest window of TCP: 16 bits, shifted by as many as 14.
const LARGEST_WINDOW: Bytes = Bytes::new(65_535 << 14);

/// Each class of sizes has histograms of its own.
const MAX_SIZE_CLASSES: usize = 16;
/// A packet each millisecond is more than any codec sends.
const LEAST_CALL_INTERVAL: Duration = Duration::from_millis(1);
const LONGEST_CALL_TIME: Duration = Duration::from_secs(10);

const MAX_LADDER: usize = 64;
const LEAST_CHUNK: Duration = Duration::from_millis(100);
const LONGEST_CHUNK: Duration = Duration::from_secs(60);
const LONGEST_BUFFER: Duration = Duration::from_secs(3600);

/// Of a lognormal distribution with more the mean is not seen within a billion draws.
const MAX_SIGMA: f64 = 5.0;

/// An RTO is at least two ticks and at most two minutes.
const MAX_RTT_TICK: Duration = Duration::from_secs(10);

pub(super) fn check_flow(scenario: &Scenario, flow: &Flow, place: &Place, findings: &mut Findings) {
    let start = flow.start.get().saturating_add(flow.start_spread.get());
    check_begin(scenario, flow.start, &place.at("start"), findings);
    if let Some(stop) = flow.stop.filter(|stop| stop.get() <= start) {
        let text = format!("{stop} is not after the start, which is up to {start:?}");
        findings.add(&place.at("stop"), text);
    }
    let (packet, headers) = (flow.packet_size.get(), flow.headers().get());
    let is_call = matches!(flow.application, Application::Call(_));
    if is_call {
        findings.require(
            !flow.gives_packet_size(),
            &place.at("packet_size"),
            "is not for calls; leave it out, and give the application its `payload`",
        );
    } else if packet <= headers || packet > MAX_PACKET {
        findings.add(
            &place.at("packet_size"),
            format!(
                "{packet}B is out of range; allowed are {}B (headers of {headers}B and data) to {MAX_PACKET}B",
                headers + 1
            ),
        );
    }
    findings.require(
        flow.bytes.is_none_or(|bytes| bytes.get() > 0),
        &place.at("bytes"),
        "is zero; leave it out for a flow without an end",
    );
    check_deadline(flow, place, findings);
    match flow.transport {
        Transport::Tcp => check_tcp(flow, &place.at("tcp"), findings),
        Transport::Udp => check_udp(flow, place, findings),
    }
    if let Err((parameter, message)) = flow.congestion_control.check() {
        let control = place.at("congestion_control");
        let place = parameter.map_or(control.clone(), |name| control.at(name.as_str()));
        findings.add(&place, message);
    }
    check_receiver(flow, &place.at("receiver"), findings);
    check_application(flow, &place.at("application"), findings);
}

fn check_deadline(flow: &Flow, place: &Place, findings: &mut Findings) {
    let Some(by) = flow.by else { return };
    let place = place.at("by");
    findings.require(
        by.get() > flow.start.get(),
        &place,
        "is before the flow begins; give a time of the run after `start`",
    );
    findings.require(
        flow.bytes.is_some(),
        &place,
        "needs `bytes`: how much is to be sent by then",
    );
    findings.require(
        flow.transport == Transport::Tcp && flow.congestion_control.name == NETNICE.name,
        &place,
        "is kept by `netnice`; give the flow `congestion_control = \"netnice\"`",
    );
}

fn check_receiver(flow: &Flow, place: &Place, findings: &mut Findings) {
    if flow.receiver == ReceiverControl::default() {
        return;
    }
    if flow.transport == Transport::Udp {
        findings.add(place, "is for TCP; this flow is UDP");
        return;
    }
    if let Err((parameter, message)) = flow.receiver.check() {
        let place = parameter.map_or(place.clone(), |name| place.at(name.as_str()));
        findings.add(&place, message);
    }
    if let Some(control) = flow.receiver.at_low_priority() {
        let name = &control.name;
        if !flow.tcp.timestamps && receivers::needs_timestamps(name) {
            let message = format!(
                "`{name}` reads timestamps (RFC 7323), which tcp.timestamps = false turns off; leave that out, or take `netnice`"
            );
            findings.add(place, message);
        }
    }
    findings.require(
        !matches!(flow.application, Application::Command(_)),
        place,
        "cannot govern the sockets of a command; give the command that receives as `netnice run --direction receive -- ...`",
    );
}

fn check_tcp(flow: &Flow, place: &Place, findings: &mut Findings) {
    let tcp = &flow.tcp;
    findings.above_zero(tcp.least_rto().get(), &place.at("min_rto"));
    findings.above_zero(tcp.initial_rto.get(), &place.at("initial_rto"));
    if tcp.rtt_tick.get() > MAX_RTT_TICK {
        let text = format!("{} is too coarse; at most 10s are allowed", tcp.rtt_tick);
        findings.add(&place.at("rtt_tick"), text);
    }
    if let Some(timeout) = tcp.delayed_ack.timeout() {
        findings.above_zero(timeout.get(), &place.at("delayed_ack"));
    }
    let packets_per_ack = place.at("packets_per_ack");
    findings.require(
        (2..=1000).contains(&tcp.packets_per_ack),
        &packets_per_ack,
        "must be from 2 to 1000; `delayed_ack = false` is an ACK for every packet",
    );
    findings.require(
        tcp.packets_per_ack == Tcp::default().packets_per_ack || tcp.delayed_ack != DelayedAck::Off,
        &packets_per_ack,
        "needs `delayed_ack`: without it a receiver acknowledges every packet",
    );
    findings.require(
        tcp.quick_acks != Some(true) || tcp.delayed_ack != DelayedAck::Off,
        &place.at("quick_acks"),
        "needs `delayed_ack`: without it no ACK is delayed",
    );
    findings.require(
        !tcp.prr || tcp.has_sack(),
        &place.at("prr"),
        "needs `recovery = \"sack\"`, whose blocks say how much was delivered",
    );
    findings.require(
        !tcp.rack || tcp.has_sack(),
        &place.at("rack"),
        "needs `recovery = \"sack\"`, whose blocks say which packets were delivered",
    );
    findings.require(
        tcp.initial_window > 0,
        &place.at("initial_window"),
        "0 is not allowed; at least 1 packet is",
    );
    findings.require(
        tcp.initial_ssthresh.is_none_or(|ssthresh| ssthresh >= 1.0),
        &place.at("initial_ssthresh"),
        "must be at least 1 packet",
    );
    findings.require(
        !tcp.accurate_ecn || tcp.ecn,
        &place.at("accurate_ecn"),
        "needs `ecn = true`, whose feedback it replaces",
    );
    let control = &flow.congestion_control;
    let needs_ecn = registry::create(&control.name, &control.control_parameters())
        .is_ok_and(|control| control.mark_feedback() == MarkFeedback::EachPacket);
    if needs_ecn && !tcp.ecn {
        let text = format!(
            "is false, but {} needs ECN: write `ecn = true`, and give the queue a discipline that marks",
            control.name
        );
        findings.add(&place.at("ecn"), text);
    }
    let data = flow.packet_size.get().saturating_sub(flow.headers().get());
    if let Some(window) = tcp.receiver_window.filter(|window| window.get() < data) {
        findings.add(
            &place.at("receiver_window"),
            format!("{window} is less than the data of one packet, {data}B"),
        );
    }
    if let Some(window) = tcp
        .receiver_window
        .filter(|&window| window > LARGEST_WINDOW)
    {
        findings.add(
            &place.at("receiver_window"),
            format!("{window} is more than TCP can tell, {LARGEST_WINDOW} (RFC 7323 section 2.3)"),
        );
    }
}

fn check_udp(flow: &Flow, place: &Place, findings: &mut Findings) {
    findings.require(
        flow.congestion_control == CongestionControl::default(),
        &place.at("congestion_control"),
        "is for TCP; this flow is UDP",
    );
    findings.require(
        flow.tcp == Tcp::default(),
        &place.at("tcp"),
        "is for TCP; this flow is UDP",
    );
    if matches!(
        flow.application,
        Application::Ftp | Application::Web(_) | Application::Arrivals(_) | Application::Video(_)
    ) {
        findings.add(
            &place.at("application"),
            "ftp, web, arrivals and video are for TCP; a UDP flow needs cbr, square_wave, pareto_on_off, exponential_on_off, poisson, call or trace",
        );
    }
}

fn check_application(flow: &Flow, place: &Place, findings: &mut Findings) {
    match &flow.application {
        Application::Ftp | Application::Cbr { .. } | Application::Poisson { .. } => {}
        Application::Command(command) => findings.require(
            !command.command.trim().is_empty(),
            &place.at("command"),
            "is empty; give a command for `sh -c`",
        ),
        Application::SquareWave { period, duty, .. } => {
            findings.above_zero(period.get(), &place.at("period"));
            findings.require(
                *duty > 0.0 && *duty <= 1.0,
                &place.at("duty"),
                "is out of range; allowed is more than 0, up to 1",
            );
        }
        Application::ParetoOnOff {
            mean_on,
            mean_off,
            shape,
            ..
        } => {
            check_on_off(mean_on.get(), mean_off.get(), place, findings);
            check_shape(*shape, &place.at("shape"), findings);
        }
        Application::ExponentialOnOff {
            mean_on, mean_off, ..
        } => check_on_off(mean_on.get(), mean_off.get(), place, findings),
        Application::Web(web) => check_web(flow, web, place, findings),
        Application::Arrivals(arrivals) => check_arrivals(flow, arrivals, place, findings),
        Application::Call(call) => check_call(flow, call, place, findings),
        Application::Video(video) => check_video(flow, video, place, findings),
        Application::Trace { file, entries } => {
            findings.require(
                file.is_some() || !entries.is_empty(),
                place,
                "a trace needs a `file` or `entries`",
            );
            check_trace(flow, entries, place, findings);
        }
    }
}

fn check_call(flow: &Flow, call: &Call, place: &Place, findings: &mut Findings) {
    findings.require(
        flow.transport == Transport::Udp,
        place,
        "a call is over UDP: write `transport = \"udp\"`",
    );
    for (key, time, least) in [
        ("interval", call.interval, LEAST_CALL_INTERVAL),
        ("playout_delay", call.playout_delay, Duration::ZERO),
    ] {
        if !(least..=LONGEST_CALL_TIME).contains(&time.get()) {
            let text = format!(
                "{time} is out of range; allowed are {} to 10s",
                TimeSpan(least)
            );
            findings.add(&place.at(key), text);
        }
    }
    let others = call.packet_size(flow.headers()).get() - call.payload.get();
    let most = MAX_PACKET.saturating_sub(others);
    if !(1..=most).contains(&call.payload.get()) {
        let text = format!(
            "{} is out of range; allowed are 1B to {most}B in a packet with headers of {others}B",
            call.payload
        );
        findings.add(&place.at("payload"), text);
    }
    findings.require(
        (0.0..=95.0).contains(&call.ie),
        &place.at("ie"),
        "is out of range; allowed is 0 (G.711) to 95",
    );
    findings.require(
        (0.1..=100.0).contains(&call.bpl),
        &place.at("bpl"),
        "is out of range; allowed is 0.1 to 100 (G.711: 4.3, with concealment 25.1)",
    );
}

fn check_video(flow: &Flow, video: &Video, place: &Place, findings: &mut Findings) {
    let ladder = &video.ladder;
    findings.require(
        (1..=MAX_LADDER).contains(&ladder.len()) && ladder.windows(2).all(|pair| pair[0] < pair[1]),
        &place.at("ladder"),
        "must be 1 to 64 bit rates in ascending order, none twice",
    );
    let (chunk, most) = (video.chunk.get(), video.most_when_asking());
    if !(LEAST_CHUNK..=LONGEST_CHUNK).contains(&chunk) {
        let text = format!("{} is out of range; allowed are 100ms to 60s", video.chunk);
        findings.add(&place.at("chunk"), text);
        return;
    }
    if !(chunk..=LONGEST_BUFFER).contains(&most) {
        let text = format!(
            "{} is out of range; allowed are {} (two chunks) to 1h and a chunk",
            video.max_buffer,
            TimeSpan(2 * chunk)
        );
        findings.add(&place.at("max_buffer"), text);
        return;
    }
    let most = TimeSpan(most);
    findings.above_zero(video.start_up.get(), &place.at("start_up"));
    findings.require(
        video.start_up <= most,
        &place.at("start_up"),
        &format!("is more than {most}, `max_buffer` less a chunk: the player would never begin"),
    );
    findings.above_zero(video.cushion(), &place.at("cushion"));
    let highest_from = video.reservoir().saturating_add(video.cushion());
    findings.require(
        highest_from <= most.get(),
        &place.at("cushion"),
        &format!(
            "and `reservoir` are more than {most}, `max_buffer` less a chunk: the highest rate would never be chosen"
        ),
    );
    check_request(flow, video.request_size, place, findings);
    findings.require(
        flow.bytes.is_none(),
        &place.at("kind"),
        "a video has no `bytes`; `ladder` and `chunk` say how much is sent",
    );
}

fn check_on_off(on: Duration, off: Duration, place: &Place, findings: &mut Findings) {
    findings.above_zero(on, &place.at("mean_on"));
    findings.above_zero(off, &place.at("mean_off"));
}

fn check_shape(shape: f64, place: &Place, findings: &mut Findings) {
    findings.require(
        shape > 1.0,
        place,
        "must be more than 1, or the distribution has no mean",
    );
}

fn check_web(flow: &Flow, web: &Web, place: &Place, findings: &mut Findings) {
    let size = place.at("object_size");
    findings.require(
        web.sessions > 0,
        &place.at("sessions"),
        "must be at least 1",
    );
    findings.require(
        web.objects_per_page > 0,
        &place.at("objects_per_page"),
        "must be at least 1",
    );
    check_request(flow, web.request_size, place, findings);
    findings.require(
        web.object_size.mean.get() > 0,
        &size.at("mean"),
        "is zero; an object has at least 1B",
    );
    if let Some(shape) = web.object_size.shape {
        check_shape(shape, &size.at("shape"), findings);
    }
    if let Some(max) = web
        .object_size
        .max
        .filter(|&max| max < web.object_size.mean)
    {
        let text = format!("{max} is less than the mean, {}", web.object_size.mean);
        findings.add(&size.at("max"), text);
    }
    findings.require(
        !web.open_loop
            || !web.between_pages.get().is_zero()
            || (web.objects_per_page > 1 && !web.between_objects.get().is_zero()),
        &place.at("between_pages"),
        "with `open_loop` pages would follow on one another without any time between",
    );
    findings.require(
        flow.count.is_none(),
        &place.at("kind"),
        "a flow of web traffic has no `count`; give `sessions`",
    );
    findings.require(
        flow.bytes.is_none(),
        &place.at("kind"),
        "a flow of web traffic has no `bytes`; its objects have sizes",
    );
}

fn check_request(flow: &Flow, request: Bytes, place: &Place, findings: &mut Findings) {
    let most = MAX_PACKET.saturating_sub(flow.headers().get());
    if !(1..=most).contains(&request.get()) {
        let text =
            format!("{request} is out of range; a request is one packet, of 1B to {most}B of data");
        findings.add(&place.at("request_size"), text);
    }
}

fn check_arrivals(flow: &Flow, arrivals: &Arrivals, place: &Place, findings: &mut Findings) {
    findings.require(
        arrivals.rate.is_some() != arrivals.between_flows.is_some(),
        place,
        "needs either `rate` or `between_flows`",
    );
    if let Some(gap) = arrivals.between_flows {
        findings.above_zero(gap.get(), &place.at("between_flows"));
    } else {
        findings.require(
            arrivals.rate.is_none() || arrivals.mean_gap().is_some_and(|gap| !gap.is_zero()),
            &place.at("rate"),
            "gives no time between transfers of this mean size; a nanosecond is the least, and 500 years the most",
        );
    }
    findings.require(
        arrivals.mean_on.is_some() == arrivals.mean_off.is_some(),
        place,
        "needs both `mean_on` and `mean_off`, or neither",
    );
    for (key, time) in [
        ("mean_on", arrivals.mean_on),
        ("mean_off", arrivals.mean_off),
    ] {
        if let Some(time) = time {
            findings.above_zero(time.get(), &place.at(key));
        }
    }
    let classes = &arrivals.size_classes;
    findings.require(
        classes.first().is_none_or(|first| first.get() > 0)
            && classes.windows(2).all(|pair| pair[0] < pair[1]),
        &place.at("size_classes"),
        "must be sizes of at least 1B in ascending order, none twice",
    );
    findings.require(
        classes.len() <= MAX_SIZE_CLASSES,
        &place.at("size_classes"),
        "has more than the 16 sizes allowed",
    );
    check_request(flow, arrivals.request_size, place, findings);
    check_transfer_size(&arrivals.size, &place.at("size"), findings);
    for (given, field) in [
        (flow.count.is_some(), "count"),
        (flow.bytes.is_some(), "bytes"),
    ] {
        if given {
            let text = format!(
                "a flow of arriving transfers has no `{field}`; `rate` and `size` say how much is sent"
            );
            findings.add(&place.at("kind"), text);
        }
    }
}

fn check_transfer_size(size: &TransferSize, place: &Place, findings: &mut Findings) {
    let (field, mean) = match *size {
        TransferSize::Fixed { bytes } => ("bytes", bytes),
        TransferSize::Exponential { mean }
        | TransferSize::Pareto { mean, .. }
        | TransferSize::Lognormal { mean, .. } => ("mean", mean),
        TransferSize::WebSearch | TransferSize::DataMining | TransferSize::File { .. } => return,
    };
    findings.require(
        mean.get() > 0,
        &place.at(field),
        "is zero; a transfer has at least 1B",
    );
    match *size {
        TransferSize::Pareto { shape, max, .. } => {
            check_shape(shape, &place.at("shape"), findings);
            if let Some(max) = max.filter(|&max| max < mean) {
                let text = format!("{max} is less than the mean, {mean}");
                findings.add(&place.at("max"), text);
            }
        }
        TransferSize::Lognormal { sigma, .. } => findings.require(
            sigma > 0.0 && sigma <= MAX_SIGMA,
            &place.at("sigma"),
            "is out of range; allowed is more than 0, up to 5",
        ),
        _ => {}
    }
}

fn check_trace(flow: &Flow, entries: &[TraceEntry], place: &Place, findings: &mut Findings) {
    let place = place.at("entries");
    let mut before = None;
    for (index, entry) in entries.iter().enumerate() {
        if let Some((field, message)) = trace_mistake(flow, before, entry) {
            findings.add(&place.at(index).at(field), message);
        }
        before = Some(entry.at);
    }
}

/// Checks an entry of a flow's trace, after one at `before`: gives the wrong field, and what is allowed.
pub(crate) fn trace_mistake(
    flow: &Flow,
    before: Option<TimeSpan>,
    entry: &TraceEntry,
) -> Option<(&'static str, String)> {
    if before.is_some_and(|before| entry.at < before) {
        let text = "is before the one above; times must not decrease";
        return Some(("at", text.to_owned()));
    }
    // A write over UDP is one packet.
    let longest = match flow.transport {
        Transport::Tcp => u32::MAX.into(),
        Transport::Udp => MAX_PACKET,
    };
    let most = longest.saturating_sub(flow.headers().get());
    let bytes = entry.bytes.get();
    let is_wrong = !(1..=most).contains(&bytes);
    let text = || format!("{bytes}B is out of range; allowed are 1B to {most}B");
    is_wrong.then(|| ("bytes", text()))
}
