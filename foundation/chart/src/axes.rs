// SPDX-License-Identifier: MIT OR Apache-2.0
//! Axes: a grid, ticks and labels.

use maud::{Markup, html};

use crate::chart::{Chart, Kind};
use crate::scale::Scale;

/// Where a chart's axes are, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// Of the chart with its labels.
    pub width: f64,
    /// Of the chart with its labels.
    pub height: f64,
    /// Room left of the axes.
    pub left: f64,
    /// Room right of the axes.
    pub right: f64,
    /// Room above the axes.
    pub top: f64,
    /// Room below the axes.
    pub bottom: f64,
}

impl Frame {
    /// The scales of both axes, from these values to those.
    pub fn scales(&self, chart: &Chart, x: [f64; 2], y: [f64; 2]) -> (Scale, Scale) {
        let x = Scale {
            domain: x,
            logarithmic: chart.x.logarithmic,
            from: self.left,
            to: self.width - self.right,
        };
        let y = Scale {
            domain: y,
            logarithmic: chart.y.logarithmic,
            from: self.height - self.bottom,
            to: self.top,
        };
        (x, y)
    }
}

/// Room that a tick along the axis wants, and one up.
const TICK_X: f64 = 84.0;
const TICK_Y: f64 = 52.0;

/// Both axes.
pub fn axes(data: &Chart, x: &Scale, y: &Scale, frame: &Frame) -> Markup {
    let Frame { left, top, .. } = *frame;
    let (right, bottom) = (frame.width - frame.right, frame.height - frame.bottom);
    let (middle_x, middle_y) = ((left + right) / 2.0, (top + bottom) / 2.0);
    html! {
        @for tick in y.ticks((bottom - top) / TICK_Y) {
            @let at = place(y.place(tick.value));
            path.grid d={"M" (left) " " (at) "H" (right)} {}
            text.tick x=(left - 8.0) y=(at) dy="0.32em" text-anchor="end" { (tick.label) }
        }
        @if data.kind == Kind::Bars {
            @for (number, name) in data.names.iter().enumerate() {
                @let at = place(x.place(number as f64));
                @for (line, words) in wrapped(name, x.place(1.0) - x.place(0.0)).iter().enumerate() {
                    text.tick x=(at) y=(bottom + 16.0 + 13.0 * line as f64) text-anchor="middle" { (words) }
                }
            }
        } @else {
            @for tick in x.ticks((right - left) / TICK_X) {
                @let at = place(x.place(tick.value));
                path.grid d={"M" (at) " " (top) "V" (bottom)} {}
                text.tick x=(at) y=(bottom + 18.0) text-anchor="middle" { (tick.label) }
            }
        }
        path.frame d={"M" (left) " " (top) "V" (bottom) "H" (right)} {}
        text.label x=(middle_x) y=(frame.height - 10.0) text-anchor="middle" { (data.x.label) }
        text.label x="0" y="0" transform={"translate(14 " (middle_y) ") rotate(-90)"} text-anchor="middle" {
            (data.y.label)
        }
    }
}

/// A text without its middle, where it is longer than `most` letters.
pub(crate) fn elided(text: &str, most: usize) -> String {
    let letters = text.chars().count();
    if letters <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let (begin, end) = (kept.div_ceil(2), kept / 2);
    let begin = text.chars().take(begin);
    begin
        .chain(['…'])
        .chain(text.chars().skip(letters - end))
        .collect()
}

/// Height of a label's letters in pixels.
pub(crate) const LETTERS: f64 = 13.0;
/// Width of a letter, in its height: of wide letters, since a reader's font is not known.
pub(crate) const LETTER_WIDTH: f64 = 0.58;
/// Width of a tick's letter, about.
const LETTER: f64 = 6.4;

/// A name in at most two lines that fit the room. Of a longer name the middle is left out: names beside each other mostly differ
/// at an end.
pub(crate) fn wrapped(name: &str, room: f64) -> Vec<String> {
    let letters = (room / LETTER).floor().max(3.0) as usize;
    let mut lines: Vec<String> = Vec::new();
    for word in name.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= letters => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    if lines.len() > 2 {
        // Longer than a line, or it would not have been wrapped.
        let rest = lines.split_off(1).join(" ");
        let skipped = rest.chars().count().saturating_sub(letters - 1);
        let end = rest.chars().skip(skipped);
        lines.push(std::iter::once('…').chain(end).collect());
    }
    lines.iter().map(|line| elided(line, letters)).collect()
}

fn place(place: f64) -> String {
    format!("{place:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_wrapped_and_cut_by_hand() {
        assert_eq!(wrapped("TCP and TCP-LP", 64.0), ["TCP and", "TCP-LP"]);
        assert_eq!(wrapped("a b c d e f", 20.0), ["a b", "… f"]);
        assert_eq!(
            wrapped("netnice, red, maps = 7", 64.0),
            ["netnice,", "… maps = 7"]
        );
        assert_eq!(wrapped("incomprehensible", 64.0), ["incom…ible"]);
        assert_eq!(wrapped("", 64.0), [""; 0]);
    }
}
