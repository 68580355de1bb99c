// SPDX-License-Identifier: MIT OR Apache-2.0
//! The name that was probably meant.

/// The message for a name that is not among `names`: the nearest one, if one is near, and all that are allowed.
pub(crate) fn among<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    /// More names than this are not worth reading.
    const MOST: usize = 40;
    let names: Vec<&str> = names.into_iter().collect();
    let all = match names.len() {
        0 => "none is allowed here".to_owned(),
        number if number > MOST => format!("{number} others are allowed"),
        _ => format!("allowed: {}", names.join(", ")),
    };
    match nearest(given, &names) {
        Some(name) => format!("did you mean `{name}`? {all}"),
        None => all,
    }
}

/// The nearest of `names`, if it differs in no more than a third of its letters.
pub(crate) fn nearest<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    let given = simplified(given);
    let distances = names
        .iter()
        .map(|&name| (distance(&given, &simplified(name)), name));
    let (distance, name) = distances.min_by_key(|&(distance, _)| distance)?;
    (distance <= name.len().div_ceil(3)).then_some(name)
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
            ("", None),
        ] {
            assert_eq!(nearest(given, &names), expected, "{given}");
        }
    }

    #[test]
    fn distances_by_hand() {
        let of = |a: &str, b: &str| distance(&simplified(a), &simplified(b));
        assert_eq!(of("kitten", "sitting"), 3);
        assert_eq!(of("ab", "ba"), 1);
        assert_eq!(of("", "abc"), 3);
    }
}
