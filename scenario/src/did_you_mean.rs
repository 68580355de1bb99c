// SPDX-License-Identifier: MIT OR Apache-2.0
//! The name that was probably meant.

/// Words that other simulators, RFCs and earlier versions have for a key or value of a scenario. One holds where its second is allowed.
const CALLED_HERE: [(&str, &str); 46] = [
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
    ("utilisation", "throughput"),
    ("fct", "response_time"),
];

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
    if let Some(name) = called_here(given, &names) {
        return format!("it is called `{name}` here; {all}");
    }
    match nearest(given, &names) {
        Some(name) => format!("did you mean `{name}`? {all}"),
        None => all,
    }
}

/// Which of `names` has the meaning of `given`.
fn called_here(given: &str, names: &[&str]) -> Option<&'static str> {
    let given: String = simplified(given).into_iter().collect();
    let meant = CALLED_HERE
        .iter()
        .filter(|&&(other, _)| other == given)
        .map(|&(_, ours)| ours);
    meant.into_iter().find(|ours| names.contains(ours))
}

/// The nearest of `names`, if it differs in no more than a third of its letters, and by one if it is short.
pub(crate) fn nearest<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    let given = simplified(given);
    let distances = names
        .iter()
        .map(|&name| (distance(&given, &simplified(name)), name));
    let (distance, name) = distances.min_by_key(|&(distance, _)| distance)?;
    let most = match name.len() {
        ..=4 => 1,
        length => length.div_ceil(3),
    };
    (distance <= most).then_some(name)
}

fn simplified(name: &str) -> Vec<char> {
    name.chars()
        .take(60)
        .flat_map(char::to_lowercase)
        .map(|c| if c == '-' { '_' } else { c })
        .collect()
}

/// Letters to insert, remove, replace or swap with the next to get from one to the other (Damerau 1964).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = usize::from(a[i - 1] != b[j - 1]);
                let mut least = (rows[i - 1][j - 1] + change)
                    .min(rows[i - 1][j] + 1)
                    .min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(rows[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    rows[a.len()][b.len()]
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

    #[test]
    fn distances_by_hand() {
        let of = |a: &str, b: &str| distance(&simplified(a), &simplified(b));
        assert_eq!(of("kitten", "sitting"), 3);
        assert_eq!(of("ab", "ba"), 1);
        assert_eq!(of("", "abc"), 3);
    }
}
