// SPDX-License-Identifier: MIT OR Apache-2.0
//! The name that was probably meant.

use strsim::osa_distance;

/// Words that other simulators, RFCs and earlier versions have for a key or value of a scenario. One holds where its second is allowed.
const CALLED_HERE: [(&str, &str); 48] = [
    // Links.
    ("bandwidth", "rate"),
    ("capacity", "rate"),
    ("latency", "delay"),
    ("propagation_delay", "delay"),
    ("buffer", "queue"),
    ("queue_limit", "queue"),
    ("qdisc", "queue"),
    ("conditioner", "marker"),
    ("meter", "marker"),
    ("rate_up", "reverse"),
    ("up", "reverse"),
    ("upload", "reverse"),
    // The loss model of Gilbert and Elliott, as netem has it.
    ("p", "to_bad"),
    ("r", "to_good"),
    ("gilbert", "gilbert_elliott"),
    // Meters, RFC 2697 and RFC 2698.
    ("cir", "rate"),
    ("cbs", "burst"),
    ("ebs", "excess_burst"),
    ("pir", "peak_rate"),
    ("pbs", "peak_burst"),
    ("color_aware", "colour_aware"),
    ("tsw2cm", "tsw"),
    // Disciplines and their keys.
    ("fifo", "drop_tail"),
    ("pfifo", "drop_tail"),
    ("wred", "rio"),
    ("drr", "weighted_drr"),
    ("dwrr", "weighted_drr"),
    ("wrr", "weighted_drr"),
    ("wfq", "weighted_drr"),
    ("pq", "priority"),
    ("green", "in"),
    ("yellow", "out"),
    ("max_p", "max_probability"),
    ("min_th", "min_threshold"),
    ("max_th", "max_threshold"),
    // Flows.
    ("cc", "congestion_control"),
    ("control", "congestion_control"),
    ("size", "bytes"),
    ("priority", "class"),
    ("source", "from"),
    ("destination", "to"),
    // Applications.
    ("bulk", "ftp"),
    ("voip", "call"),
    ("voice", "call"),
    // Quantities of figures.
    ("delay", "one_way_delay"),
    ("latency", "one_way_delay"),
    ("fairness", "jain_index"),
    ("fct", "response_time"),
];

/// Words for which there is no one word here: what to write instead. One holds where its second is allowed.
const INSTEAD: [(&str, &str, &str); 2] = [
    ("utilisation", "throughput", UTILISATION),
    ("utilization", "throughput", UTILISATION),
];

const UTILISATION: &str = "that of each link is in the results of its queue; its part by some flows is their `throughput` with `over`, the \
                           link's rate";

/// The message for a name that is not among `names`: what is meant by it here or the nearest one, if there is one, and all that are
/// allowed.
pub(crate) fn among<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    /// More names than this are not worth reading.
    const MOST: usize = 40;
    let names: Vec<&str> = names.into_iter().collect();
    let all = match names.len() {
        0 => "none is allowed here".to_owned(),
        number if number > MOST => format!("{number} others are allowed"),
        _ => format!("allowed: {}", names.join(", ")),
    };
    if let Some(instead) = instead(given, &names) {
        return format!("{instead}; {all}");
    }
    if let Some(name) = called_here(given, &names) {
        return format!("it is called `{name}` here; {all}");
    }
    match nearest(given, &names) {
        Some(name) => format!("did you mean `{name}`? {all}"),
        None => all,
    }
}

/// Which of `names` is meant by `given`: it, the word for it here, or the nearest.
pub(crate) fn meant<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    called_here(given, names).or_else(|| nearest(given, names))
}

/// Returns the advice for a name that no single name replaces.
fn instead(given: &str, names: &[&str]) -> Option<&'static str> {
    let given = simplified(given);
    let mut found = INSTEAD.iter();
    let found = found.find(|(other, ours, _)| *other == given && names.contains(ours));
    found.map(|&(_, _, text)| text)
}

/// Which of `names` has the meaning of `given`.
fn called_here(given: &str, names: &[&str]) -> Option<&'static str> {
    let given = simplified(given);
    let meant = CALLED_HERE
        .iter()
        .filter(|&&(other, _)| other == given)
        .map(|&(_, ours)| ours);
    meant.into_iter().find(|ours| names.contains(ours))
}

/// The nearest of `names`, if it differs in no more than a third of its letters, and by one if it is short: letters to insert, remove,
/// replace or swap with the next (Damerau 1964).
pub(crate) fn nearest<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    let given = simplified(given);
    let distances = names
        .iter()
        .map(|&name| (osa_distance(&given, &simplified(name)), name));
    let (distance, name) = distances.min_by_key(|&(distance, _)| distance)?;
    let most = match name.chars().count() {
        // Any other name is as near: only upper and lower case may differ.
        ..=2 => 0,
        3..=4 => 1,
        length => length.div_ceil(3),
    };
    (distance <= most).then_some(name)
}

fn simplified(name: &str) -> String {
    name.chars()
        .take(60)
        .flat_map(char::to_lowercase)
        .map(|c| if c == '-' { '_' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_near_and_other_words_are_not() {
        let names = ["rate", "delay", "queue", "warm_up"];
        for (given, expected) in [
            ("rat", Some("rate")),
            ("dealy", Some("delay")),
            ("Queue", Some("queue")),
            ("warm-up", Some("warm_up")),
            ("bandwidth", None),
            ("name", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, &names), expected, "{given}");
        }
    }

    #[test]
    fn a_short_name_is_near_to_itself_alone() {
        for (given, names, expected) in [
            ("c", &["a", "b"][..], None),
            ("A", &["b", "a"], Some("a")),
            ("r9", &["r1", "r2"], None),
            ("too", &["to", "from"], None),
            ("nane", &["to", "name"], Some("name")),
        ] {
            assert_eq!(nearest(given, names), expected, "{given}");
        }
    }

    #[test]
    fn words_without_one_here_have_advice() {
        let message = among("utilisation", ["goodput", "throughput"]);
        assert!(
            message.contains("`over`") && message.ends_with("goodput, throughput"),
            "{message}"
        );
        assert!(!among("utilisation", ["goodput"]).contains("over"));
    }

    #[test]
    fn words_from_elsewhere_lead_to_ours() {
        let links = ["rate", "delay", "queue", "marker"];
        let of_meter = ["rate", "burst", "peak_rate", "peak_burst"];
        for (given, names, expected) in [
            ("conditioner", links, Some("marker")),
            ("Bandwidth", links, Some("rate")),
            ("pir", of_meter, Some("peak_rate")),
            // Not where that is not allowed.
            ("ebs", of_meter, None),
            ("meter", of_meter, None),
        ] {
            assert_eq!(called_here(given, &names), expected, "{given}");
        }
        let message = among("conditioner", links);
        assert_eq!(
            message,
            "it is called `marker` here; allowed: rate, delay, queue, marker"
        );
    }
}
