// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links in words.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use netnice_queue::{
    Bytes, DisciplineConfig, EcnMode, LinkConditions, LossFraction, LossModel, MarkerConfig,
    QueueBound, RioThresholds, Threshold, format_delay,
};

use super::passing::{Passer, Passing};
use super::{count, milliseconds};
use crate::network::{Layout, NetworkLink};

/// Writes a link of the scenario: `members` links of the network, the first of whose directions is `first`.
pub(super) fn write_link(
    text: &mut String,
    network: &Layout,
    passing: &Passing,
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
    let of = |way: usize| passing.over((first + way..first + 2 * members).step_by(2));
    let (there_words, back_words) = (link_words(there, &of(0)), link_words(back, &of(1)));
    let alike = there.rate == back.rate
        && there.delay == back.delay
        && there.queue == back.queue
        && there.loss == back.loss
        && there.jitter == back.jitter
        && there.marker == back.marker
        && there.conditions == back.conditions
        && there.base_rtt == back.base_rtt
        && there_words == back_words;
    match alike {
        true => writeln!(text, "    both ways: {there_words}"),
        false => {
            writeln!(text, "    there: {there_words}")?;
            writeln!(text, "    back:  {back_words}")
        }
    }
}

fn link_words(link: &NetworkLink, passing: &[Passer]) -> String {
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
        words.push(queue_words(link, passing));
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
    words.extend(
        link.marker
            .as_ref()
            .map(|marker| marker_words(link, marker)),
    );
    words.join(", ")
}

fn marker_words(link: &NetworkLink, marker: &MarkerConfig) -> String {
    let (words, burst) = match marker {
        MarkerConfig::TokenBucket(bucket) => {
            let words = format!(
                "packets tagged IN up to {} with bursts of {}, OUT beyond",
                bucket.rate, bucket.burst
            );
            (words, Some((bucket.burst, "IN")))
        }
        MarkerConfig::SrTcm(meter) => {
            let words = format!(
                "packets tagged green up to {} with bursts of {}, yellow with {} more, red beyond",
                meter.rate, meter.burst, meter.excess_burst
            );
            (words, Some((meter.burst, "green")))
        }
        MarkerConfig::TrTcm(meter) => {
            let words = format!(
                "packets tagged green up to {} with bursts of {}, yellow up to {} with bursts of {}, red beyond",
                meter.rate, meter.burst, meter.peak_rate, meter.peak_burst
            );
            (words, Some((meter.burst, "green")))
        }
        MarkerConfig::Tsw(tsw) => {
            let words = format!(
                "packets tagged OUT by the excess of their rate over {} (time sliding window of {})",
                tsw.target,
                format_delay(tsw.window)
            );
            (words, None)
        }
    };
    match burst.filter(|(burst, _)| *burst < link.packet_size) {
        Some((_, best)) => format!(
            "{words} (none of {} is {best}: it does not fit into the bucket)",
            link.packet_size
        ),
        None => words,
    }
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

fn queue_words(link: &NetworkLink, passing: &[Passer]) -> String {
    let words = limit_words(link);
    let DisciplineConfig::WeightedDrr(config) = &*link.queue else {
        let all: Vec<&Passer> = passing.iter().collect();
        return format!("{words}{}", threshold_words(&link.queue, &all));
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
        let named = |passer: &Passer| {
            let mut classes = config.classes.iter();
            classes.any(|class| class.dscp.contains(&passer.dscp))
        };
        let is_in = |passer: &&Passer| match class.dscp.is_empty() {
            true => !named(passer),
            false => class.dscp.contains(&passer.dscp),
        };
        let passing: Vec<&Passer> = passing.iter().filter(is_in).collect();
        let flows = match passing.is_empty() {
            true => "no flow".to_owned(),
            false => names_of(passing.iter().copied()),
        };
        let thresholds = threshold_words(&class.queue, &passing);
        format!("{names} {percent:.1} % for {flows} ({discipline} queue of {limit}{thresholds})")
    });
    let classes: Vec<String> = classes.collect();
    format!("{words}, by class: {}", classes.join("; "))
}

/// What RED and RIO do below the limit. RIO takes what no marker has tagged as IN (RFC 2597: drop precedence 0 is where a packet
/// begins), which an author may not expect.
fn threshold_words(queue: &DisciplineConfig, passing: &[&Passer]) -> String {
    let does = |ecn: EcnMode| match ecn {
        EcnMode::Off => "drops",
        _ => "marks",
    };
    // From the maximum threshold on.
    let beyond = |ecn: EcnMode, gentle: bool| {
        let does = match (ecn, gentle) {
            (EcnMode::Off | EcnMode::Mark, false) => "drops all",
            (EcnMode::Off | EcnMode::Mark, true) => "drops more, all from twice max_threshold on",
            (EcnMode::MarkAlways, false) => "marks all",
            (EcnMode::MarkAlways, true) => "marks more, all from twice max_threshold on",
            (EcnMode::MarkLowClass, _) => "marks all of low priority",
        };
        format!(", above max_threshold {does}")
    };
    let range = |thresholds: (Threshold, Threshold, LossFraction)| {
        let (min, max, probability) = thresholds;
        format!("from {min} to {max} ({probability})")
    };
    match queue {
        DisciplineConfig::Red(red) => {
            let does = does(red.ecn);
            let thresholds = (red.min_threshold, red.max_threshold, red.max_probability);
            let beyond = beyond(red.ecn, red.gentle);
            format!(", {does} {}{beyond}", range(thresholds))
        }
        DisciplineConfig::Rio(rio) => {
            let of = |kind: &RioThresholds| {
                range((kind.min_threshold, kind.max_threshold, kind.max_probability))
            };
            let kinds = match &rio.red {
                None => format!(
                    "IN {}, OUT {}",
                    of(&rio.in_profile),
                    of(&rio.out_of_profile)
                ),
                Some(red) => format!(
                    "green {}, yellow {}, red {}",
                    of(&rio.in_profile),
                    of(&rio.out_of_profile),
                    of(red)
                ),
            };
            let first = match rio.red {
                None => "IN",
                Some(_) => "green",
            };
            let unmarked = match unmarked_words(passing) {
                None => String::new(),
                Some(names) => format!("; no marker tags {names}: taken as {first}"),
            };
            let beyond = beyond(rio.ecn, rio.gentle);
            format!(", {} {kinds}{beyond}{unmarked}", does(rio.ecn))
        }
        _ => String::new(),
    }
}

/// The flows whose packets no marker has tagged, and ACKs.
fn unmarked_words(passing: &[&Passer]) -> Option<String> {
    let unmarked = passing.iter().filter(|passer| !passer.marked);
    let (acks, data): (Vec<&Passer>, Vec<&Passer>) = unmarked.partition(|passer| passer.acks);
    match (data.is_empty(), acks.is_empty()) {
        (true, true) => None,
        (true, false) => Some("ACKs".to_owned()),
        (false, true) => Some(names_of(data.into_iter())),
        (false, false) => Some(format!("{} and ACKs", names_of(data.into_iter()))),
    }
}

/// The flows, and the flows whose ACKs are meant.
fn names_of<'a>(passing: impl Iterator<Item = &'a Passer>) -> String {
    /// More names than this are not worth reading.
    const MOST: usize = 6;
    let names: BTreeSet<String> = passing
        .map(|passer| match passer.acks {
            true => format!("ACKs of {}", passer.group),
            false => passer.group.clone(),
        })
        .collect();
    let mut shown: Vec<String> = names.iter().take(MOST).cloned().collect();
    if let more @ 1.. = names.len().saturating_sub(MOST) {
        shown.push(format!("{more} more"));
    }
    shown.join(", ")
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
