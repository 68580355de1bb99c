// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values over time in one line of a terminal.

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws values from 0 to `top`, a character each; a missing value is a blank.
pub fn line(values: impl IntoIterator<Item = Option<f64>>, top: f64) -> String {
    let level = |value: f64| {
        let part = if top > 0.0 { value / top } else { 0.0 };
        // Only what is 0 has the lowest level: little is to be seen beside nothing.
        let level = (part.clamp(0.0, 1.0) * (LEVELS.len() - 1) as f64).ceil();
        LEVELS[level as usize]
    };
    let values = values.into_iter();
    values.map(|value| value.map_or(' ', level)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_go_from_nothing_to_the_top() {
        let values = [0.0, 0.01, 5.0, 10.0, 20.0, -1.0].map(Some);
        assert_eq!(line(values, 10.0), "▁▂▅██▁");
        assert_eq!(line([None, Some(0.0)], 0.0), " ▁");
        assert_eq!(line([], 1.0), "");
    }
}
