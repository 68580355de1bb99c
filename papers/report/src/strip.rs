// SPDX-License-Identifier: MIT OR Apache-2.0
//! A reported value and ours on one line: the range in which it is reproduced, the range in which the conclusion holds.

use maud::{Markup, html};
use netnice_papers::{ReportedValue, Rule};

const WIDTH: f64 = 160.0;
const HEIGHT: f64 = 26.0;
/// Room at the ends, in parts of the span.
const ROOM: f64 = 0.14;

/// Ends of a rule; none where it is open.
fn ends(rule: &Rule) -> [Option<f64>; 2] {
    match *rule {
        Rule::Between { low, high } => [Some(low), Some(high)],
        Rule::AtLeast(low) => [Some(low), None],
        Rule::AtMost(high) => [None, Some(high)],
        Rule::Nothing => [None, None],
    }
}

/// The span of the strip: all finite values.
fn domain(value: &ReportedValue) -> Option<[f64; 2]> {
    let mut shown: Vec<f64> = Vec::new();
    shown.extend(ends(&value.claim.rule).into_iter().flatten());
    if let Some(conclusion) = &value.claim.conclusion {
        shown.extend(ends(&conclusion.rule).into_iter().flatten());
    }
    shown.extend(value.claim.reported.number());
    if let Some(ours) = &value.ours {
        let half = ours.half_width_95.unwrap_or(0.0);
        shown.extend([ours.mean - half, ours.mean + half]);
    }
    shown.retain(|number| number.is_finite());
    let least = shown.iter().copied().reduce(f64::min)?;
    let largest = shown.iter().copied().reduce(f64::max)?;
    let room = match largest - least {
        0.0 => least.abs().max(1.0) / 2.0,
        span => span * ROOM,
    };
    Some([least - room, largest + room])
}

/// The line of a value; what it says stands in the cells beside it.
pub fn strip(value: &ReportedValue) -> Markup {
    let Some([least, largest]) = domain(value) else {
        return html! { "–" };
    };
    let at = |number: f64| (number - least) / (largest - least) * WIDTH;
    let range = |rule: &Rule| {
        let [low, high] = ends(rule);
        let (left, right) = (low.map_or(0.0, at), high.map_or(WIDTH, at));
        // An exact value still has a place.
        let right = right.max(left + 2.0);
        (format!("{left:.1}"), format!("{:.1}", right - left))
    };
    let (left, width) = range(&value.claim.rule);
    let middle = HEIGHT / 2.0;
    html! {
        svg.strip viewBox={"0 0 " (WIDTH) " " (HEIGHT)} width=(WIDTH) height=(HEIGHT) aria-hidden="true" {
            @if let Some(conclusion) = &value.claim.conclusion {
                @let (left, width) = range(&conclusion.rule);
                rect.concludes x=(left) y="9" width=(width) height=(HEIGHT - 18.0) {}
            }
            @if value.claim.rule != Rule::Nothing {
                rect.agrees x=(left) y="5" width=(width) height=(HEIGHT - 10.0) {}
            }
            path.base d={"M0 " (middle) "H" (WIDTH)} {}
            @if let Some(reported) = value.claim.reported.number() {
                path.theirs d=(diamond(at(reported), middle)) {}
            }
            @if let Some(ours) = &value.ours {
                @if let Some(half) = ours.half_width_95.filter(|half| half.is_finite()) {
                    path.interval d=(format!("M{:.1} {middle}H{:.1}", at(ours.mean - half), at(ours.mean + half))) {}
                }
                @if ours.mean.is_finite() {
                    circle.ours cx=(format!("{:.1}", at(ours.mean))) cy=(middle) r="4" {}
                }
            }
        }
    }
}

fn diamond(x: f64, y: f64) -> String {
    format!("M{x:.1} {:.1}l6 6l-6 6l-6 -6z", y - 6.0)
}

/// The key to the signs of the lines.
pub fn key() -> Markup {
    html! {
        svg.strip viewBox="0 0 14 16" width="14" height="16" aria-hidden="true" { path.theirs d=(diamond(7.0, 8.0)) {} }
        " the paper "
        svg.strip viewBox="0 0 26 16" width="26" height="16" aria-hidden="true" {
            path.interval d="M1 8H25" {}
            circle.ours cx="13" cy="8" r="4" {}
        }
        " ours with its 95 % interval "
        svg.strip viewBox="0 0 26 16" width="26" height="16" aria-hidden="true" { rect.agrees x="0" y="1" width="26" height="14" {} }
        " reproduced "
        svg.strip viewBox="0 0 26 16" width="26" height="16" aria-hidden="true" { rect.concludes x="0" y="4" width="26" height="8" {} }
        " the conclusion holds"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netnice_papers::{Claim, Judgement, Verdict};
    use netnice_results::Estimate;

    fn value(claim: Claim, ours: Option<f64>) -> ReportedValue {
        ReportedValue {
            claim,
            ours: ours.and_then(|ours| Estimate::of(&[ours])),
            judgement: Judgement {
                verdict: Verdict::Reproduced,
                certain: true,
            },
            reason: None,
            lab: None,
        }
    }

    #[test]
    fn the_line_spans_all_that_is_on_it() {
        let claim = Claim::value("", "", "", 10.0, "")
            .judged_by(Rule::within(10.0, 2.0))
            .concluding("", Rule::AtMost(20.0));
        let [least, largest] = domain(&value(claim.clone(), Some(30.0))).unwrap();
        // From 8 to 30, and 14 % of 22 on either side.
        assert!((least - 4.92).abs() < 1e-9 && (largest - 33.08).abs() < 1e-9);
        let text = strip(&value(claim, Some(30.0))).into_string();
        // At most 20: from the left end to (20 - 4.92) / 28.16 of 160.
        assert!(
            text.contains(r#"class="concludes" x="0.0" y="9" width="85.7""#),
            "{text}"
        );
    }

    #[test]
    fn a_line_of_one_number_is_drawn() {
        let claim = Claim::statement("", "", "", ("about 1", Rule::AtLeast(1.0)), "");
        for ours in [None, Some(1.0), Some(f64::NAN), Some(f64::INFINITY)] {
            let text = strip(&value(claim.clone(), ours)).into_string();
            assert!(text.contains("agrees"), "{text}");
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }
}
