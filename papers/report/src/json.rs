// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data for the scripts, within a `<script>` element.

use maud::{Markup, PreEscaped};
use serde::Serialize;

/// JSON in which nothing can end the element that it stands in: `<`, `>` and `&` are written as escapes, which JSON has
/// only within strings.
pub fn for_script(data: &impl Serialize) -> Markup {
    // The types have no maps with keys other than strings and no failing serializers.
    let text = serde_json::to_string(data).expect("data without odd keys");
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                safe.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            other => safe.push(other),
        }
    }
    PreEscaped(safe)
}

/// A number with six significant digits, which is more than any figure shows.
pub fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_element_and_the_data_stays_the_same() {
        let hostile = "</script><!-- <script> & \u{2028} \" \\ ' é";
        let text = for_script(&[hostile]).into_string();
        assert!(!text.contains(['<', '>', '&', '\u{2028}']), "{text}");
        let back: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, [hostile]);
    }

    #[test]
    fn six_digits_are_kept() {
        assert_eq!(rounded(123.456_789), 123.457);
        assert_eq!(rounded(-0.000_012_345_678), -0.000_012_345_7);
        assert_eq!(rounded(0.0), 0.0);
        assert!(rounded(f64::INFINITY).is_infinite());
    }
}
