// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of a cell: a line each.

use netnice_results::jain_index;

use crate::case::Measured;
use crate::rival::{ITSELF, Rival};

/// The runs of one seed that a figure is made of.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// The rival; `None`: the control is alone.
    pub rival: Option<&'static Rival>,
    /// The control, with the rival if there is one.
    pub with: &'a Measured,
    /// The rival alone.
    pub solo: Option<&'a Measured>,
    /// CUBIC alone.
    pub cubic: &'a Measured,
}

/// A figure of a cell.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// Name in JSON.
    pub name: &'static str,
    /// Title.
    pub title: &'static str,
    /// In words.
    pub meaning: &'static str,
    /// Unit: nothing for fractions, `s`.
    pub unit: &'static str,
    /// A value that is good; the colour scale begins there.
    pub good: f64,
    /// A value that is bad; the colour scale ends there.
    pub bad: f64,
    /// Returns the value; `None` where the figure has no meaning.
    pub of: fn(&Sample) -> Option<f64>,
}

/// All figures; a new one is a line.
#[rustfmt::skip]
pub const FIGURES: &[Figure] = &[
    Figure { name: "alone", title: "Goodput alone", meaning: "goodput of the control alone, divided by CUBIC's alone", unit: "", good: 0.95, bad: 0.5, of: alone },
    Figure { name: "share", title: "Share taken", meaning: "goodput of the control, divided by that of both", unit: "", good: 0.02, bad: 0.5, of: share },
    Figure { name: "harm", title: "Harm in goodput", meaning: "what the rival loses of its goodput (Ware and others 2019): (alone - beside) / alone", unit: "", good: 0.02, bad: 0.5, of: harm },
    Figure { name: "harm_delay", title: "Harm in delay", meaning: "what the rival's delay grows by (Ware and others 2019): (beside - alone) / beside; completion and response times of short transfers and pages, else the 95th percentile of one-way delays", unit: "", good: 0.05, bad: 0.5, of: harm_delay },
    Figure { name: "yield_s", title: "Time to yield", meaning: "from the rival's start until the control takes at most a tenth of the link over a second; the rival's whole time if it never does", unit: "s", good: 1.0, bad: 10.0, of: time_to_yield },
    Figure { name: "back_s", title: "Time to come back", meaning: "from the rival's end until the control has 80 % of its goodput before over a second; the rest of the run if it never does", unit: "s", good: 1.0, bad: 8.0, of: time_to_come_back },
    Figure { name: "queue_s", title: "Queue added", meaning: "mean queueing delay at the bottleneck, above that of the rival alone", unit: "s", good: 0.005, bad: 0.1, of: queue },
    Figure { name: "jain", title: "Jain's index", meaning: "of the goodputs of the two connections of the control", unit: "", good: 0.95, bad: 0.5, of: jain },
    Figure { name: "loss", title: "Losses caused", meaning: "share of the rival's packets that are lost, above that of the rival alone", unit: "", good: 0.001, bad: 0.02, of: loss },
];

fn other<'a>(sample: &Sample<'a>) -> Option<&'a Measured> {
    let is_other = sample.rival.is_some_and(|rival| rival.name != ITSELF);
    sample.solo.filter(|_| is_other)
}

fn alone(sample: &Sample) -> Option<f64> {
    let cubic = sample.cubic.own_bps.filter(|bps| *bps > 0.0)?;
    (sample.rival.is_none()).then_some(sample.with.own_bps? / cubic)
}

fn share(sample: &Sample) -> Option<f64> {
    sample.rival.filter(|rival| rival.greedy)?;
    let (own, rival) = (sample.with.own_beside_bps?, sample.with.rival_beside_bps?);
    (own + rival > 0.0).then(|| own / (own + rival))
}

fn harm(sample: &Sample) -> Option<f64> {
    let solo = other(sample)?.rival_bps.filter(|bps| *bps > 0.0)?;
    Some((solo - sample.with.rival_bps?) / solo)
}

fn harm_delay(sample: &Sample) -> Option<f64> {
    let with = sample.with.rival_delay_s.filter(|delay_s| *delay_s > 0.0)?;
    Some((with - other(sample)?.rival_delay_s?) / with)
}

fn time_to_yield(sample: &Sample) -> Option<f64> {
    other(sample)?;
    sample.with.yield_s
}

fn time_to_come_back(sample: &Sample) -> Option<f64> {
    other(sample)?;
    sample.with.back_s
}

fn queue(sample: &Sample) -> Option<f64> {
    let with = sample.with.queue_s?;
    match sample.rival {
        None => Some(with),
        Some(_) => Some(with - other(sample)?.queue_s?),
    }
}

fn jain(sample: &Sample) -> Option<f64> {
    sample.rival.filter(|rival| rival.name == ITSELF)?;
    jain_index(&[sample.with.own_beside_bps?, sample.with.rival_beside_bps?])
}

fn loss(sample: &Sample) -> Option<f64> {
    Some(sample.with.rival_loss? - other(sample)?.rival_loss?)
}

impl Figure {
    /// Returns where a value lies between good, 0, and bad, 1.
    pub fn badness(&self, value: f64) -> f64 {
        ((value - self.good) / (self.bad - self.good)).clamp(0.0, 1.0)
    }

    /// Formats a value.
    pub fn format(&self, value: f64) -> String {
        match self.unit {
            "s" if value.abs() < 0.9995 => format!("{:.0} ms", value * 1000.0),
            "s" => format!("{value:.1} s"),
            _ if self.name == "jain" => format!("{value:.2}"),
            _ => format!("{:.1} %", value * 100.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rival::RIVALS;

    fn value(name: &str, sample: &Sample) -> Option<f64> {
        let figure = FIGURES.iter().find(|figure| figure.name == name).unwrap();
        (figure.of)(sample)
    }

    #[test]
    fn figures_by_hand() {
        let solo = Measured {
            rival_bps: Some(8e6),
            rival_delay_s: Some(0.06),
            rival_loss: Some(0.01),
            queue_s: Some(0.03),
            ..Measured::default()
        };
        let with = Measured {
            own_bps: Some(4e6),
            own_beside_bps: Some(2e6),
            rival_beside_bps: Some(6e6),
            rival_bps: Some(6e6),
            rival_delay_s: Some(0.08),
            rival_loss: Some(0.03),
            queue_s: Some(0.05),
            yield_s: Some(2.0),
            ..Measured::default()
        };
        let cubic = Measured {
            own_bps: Some(5e6),
            ..Measured::default()
        };
        let mut sample = Sample {
            rival: RIVALS.iter().find(|rival| rival.name == "cubic"),
            with: &with,
            solo: Some(&solo),
            cubic: &cubic,
        };
        let near = |name: &str, sample: &Sample, expected: f64| {
            let value = value(name, sample).unwrap();
            assert!((value - expected).abs() < 1e-12, "{name}: {value}");
        };
        near("share", &sample, 0.25);
        near("harm", &sample, 0.25);
        near("harm_delay", &sample, 0.25);
        near("yield_s", &sample, 2.0);
        near("queue_s", &sample, 0.02);
        near("loss", &sample, 0.02);
        assert_eq!(value("alone", &sample), None);
        assert_eq!(value("jain", &sample), None);
        // 2 and 6: 64 / (2 * 40).
        sample.rival = RIVALS.iter().find(|rival| rival.name == ITSELF);
        near("jain", &sample, 0.8);
        assert_eq!(value("harm", &sample), None);
        sample.rival = None;
        near("alone", &sample, 0.8);
        near("queue_s", &sample, 0.05);
    }

    #[test]
    fn colours_go_from_good_to_bad() {
        for figure in FIGURES {
            assert_eq!(figure.badness(figure.good), 0.0);
            assert_eq!(figure.badness(figure.bad), 1.0);
            let middle = (figure.good + figure.bad) / 2.0;
            assert!((figure.badness(middle) - 0.5).abs() < 1e-9);
        }
    }
}
