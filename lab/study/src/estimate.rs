// SPDX-License-Identifier: MIT OR Apache-2.0
//! Means with their intervals as text.

use netnice_results::Estimate;

/// `2.71 ± 0.12`, with as many digits as the value's size asks for. An interval wider than its mean says less than the
/// smallest and the largest of the few values, so `103 (21 to 221)` stands in its place.
pub fn written(value: &Estimate) -> String {
    written_with(value, is_wide(value))
}

/// Is the interval wider than its mean?
pub fn is_wide(value: &Estimate) -> bool {
    says_less_than_range(value.mean, value.half_width_95, [value.min, value.max])
}

/// Does the range of the values from the least to the largest stand in the place of their interval? It does where the interval is wider
/// than the mean, in texts and in figures.
pub fn says_less_than_range(
    mean: f64,
    half_width: Option<f64>,
    [least, largest]: [f64; 2],
) -> bool {
    half_width.unwrap_or(0.0) > mean.abs() && least < largest
}

/// As [`written`], or a dash where there is no value.
pub fn written_or_dash(value: Option<Estimate>) -> String {
    value.map_or("-".to_owned(), |value| written(&value))
}

/// As [`written`], with the range of the values or the interval.
pub fn written_with(value: &Estimate, range: bool) -> String {
    let digits = match value.mean.abs() {
        99.95.. => 0,
        9.995.. => 1,
        0.0995.. => 2,
        _ => 3,
    };
    match value.half_width_95 {
        Some(_) if range => format!(
            "{:.digits$} ({:.digits$} to {:.digits$})",
            value.mean, value.min, value.max
        ),
        Some(half_width) => format!("{:.digits$} ± {half_width:.digits$}", value.mean),
        None => format!("{:.digits$}", value.mean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_with_their_interval() {
        let estimate = Estimate::of(&[3.0, 4.0, 5.0]).unwrap();
        assert_eq!(written(&estimate), "4.00 ± 2.48");
        // 4.303 times 2 over the root of 3 is 4.97, more than the mean.
        let wide = Estimate::of(&[2.0, 4.0, 6.0]).unwrap();
        assert_eq!(written(&wide), "4.00 (2.00 to 6.00)");
        assert_eq!(written(&Estimate::of(&[49.71]).unwrap()), "49.7");
        assert_eq!(written(&Estimate::of(&[0.012]).unwrap()), "0.012");
    }
}
