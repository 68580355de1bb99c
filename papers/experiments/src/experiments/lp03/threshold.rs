// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared by Figures 7 and 8: one TCP-LP flow with its threshold, beside ACKs or data of others.

use netnice_study::Scale;

use super::common::{Kind, tcp_choices};
use crate::definition::Choice;
use crate::figure::{Axis, Curve, CurveKind, Figure, FigureKind};
use crate::measured::{Measured, MeasuredPoint, MeasuredStudy};
use crate::study::{Study, scenario};

const FILE: (&str, &str) = scenario!("lp03_ftp.toml");
pub(super) const LINK: &str = "bottleneck";
const QUICK: Scale = Scale::new(5, 300);
pub(super) const DELTA: &str = "flows.low.congestion_control.delta";
const DELTAS: &[&str] = &["0.02", "0.05", "0.1", "0.15", "0.2", "0.3", "0.5"];

/// The traffic that crosses TCP-LP's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cross {
    /// The ACKs of ten flows in the other direction.
    Acks,
    /// The data of one flow.
    Data,
    /// Both.
    Both,
}

impl Cross {
    fn name(self) -> &'static str {
        match self {
            Cross::Acks => "acks",
            Cross::Data => "data",
            Cross::Both => "both",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Cross::Acks => "beside ACKs of ten flows",
            Cross::Data => "beside data of one flow",
            Cross::Both => "beside both",
        }
    }

    /// With other congestion control in TCP-LP's place.
    pub fn reno(self) -> Study {
        Kind::Tcp.apply(self.study(&format!("{}_reno", self.name())), "low", &[LINK])
    }

    /// The reference model in TCP-LP's place; it has no threshold.
    pub fn ideal(self) -> Study {
        let name = format!("{}_ideal", self.name());
        Kind::Ideal.apply(self.study(&name), "low", &[LINK])
    }

    fn study(self, name: &str) -> Study {
        let study = Study::new(format!("lp03_threshold_{name}"), FILE, QUICK, Scale::LP03);
        match self {
            Cross::Acks => study.set("flows.tcp.count", "0"),
            Cross::Data => study.set("flows.reverse.count", "0"),
            Cross::Both => study,
        }
    }

    /// TCP-LP with all thresholds.
    pub fn thresholds(self) -> Study {
        self.study(self.name()).sweep(DELTA, DELTAS)
    }

    /// TCP-LP with all thresholds, measured.
    pub fn measured<'a, 'b>(self, measured: &'b Measured<'a>) -> &'b MeasuredStudy<'a> {
        measured.study(&format!("lp03_threshold_{}", self.name()))
    }

    /// The point with this threshold.
    pub fn at<'a, 'b>(
        self,
        measured: &'b Measured<'a>,
        delta: &str,
    ) -> Option<&'b MeasuredPoint<'a>> {
        self.measured(measured).at(DELTA, delta)
    }

    /// The point with Reno.
    pub fn at_reno<'a, 'b>(self, measured: &'b Measured<'a>) -> &'b MeasuredPoint<'a> {
        measured.point(&format!("lp03_threshold_{}_reno", self.name()))
    }

    /// The goodput of the reference model, equal at all thresholds.
    fn ideal_share(self, measured: &Measured<'_>) -> Curve {
        let name = format!("{}: {}", Kind::Ideal.title(), self.title());
        let mut curve = Curve::new(&name, Kind::Ideal.curve());
        let point = measured.point(&format!("lp03_threshold_{}_ideal", self.name()));
        for delta in DELTAS {
            let share = point.share_of_link("low", LINK);
            curve.add(delta.parse().unwrap_or(f64::NAN), share);
        }
        curve
    }

    fn curve(
        self,
        measured: &Measured<'_>,
        of: impl Fn(&MeasuredPoint<'_>) -> Option<netnice_results::Estimate>,
    ) -> Curve {
        let looks = (self.title(), CurveKind::Ours);
        self.measured(measured).curve(looks, DELTA, of)
    }
}

/// TCP-LP's goodput, and its early congestion indications, against the threshold.
pub(super) fn figures(measured: &Measured<'_>, crosses: &[Cross], name: &str) -> Vec<Figure> {
    let shares = crosses
        .iter()
        .map(|cross| cross.curve(measured, |point| point.share_of_link("low", LINK)));
    let shares = shares.chain(crosses.iter().map(|cross| cross.ideal_share(measured)));
    let indications = crosses.iter().map(|cross| {
        cross.curve(measured, |point| {
            point.estimate(|run| {
                let low = run.flows.iter().find(|flow| flow.group == "low")?;
                Some(low.early_indications as f64 / run.measured_s)
            })
        })
    });
    let figure = |suffix: &str, title: &str, y: Axis, curves: Vec<Curve>| Figure {
        name: format!("{name}{suffix}"),
        title: title.to_owned(),
        caption:
            "Against the threshold for early congestion indications, delta; the paper takes 0.15."
                .to_owned(),
        kind: FigureKind::Lines,
        x: Axis::linear("threshold delta", ""),
        y,
        curves,
    };
    vec![
        figure(
            "",
            "Throughput of TCP-LP",
            Axis::linear("throughput", "% of the link"),
            shares.collect(),
        ),
        figure(
            "-indications",
            "Early congestion indications",
            Axis::linear("indications", "per second"),
            indications.collect(),
        ),
    ]
}

/// The parameters that the paper leaves open here.
pub(super) fn choices() -> Vec<Choice> {
    let mut choices = tcp_choices();
    choices.push(Choice::new(
        "the set-up: the text of this section is incomplete",
        "1.5 Mb/s; ten FTP/TCP flows in the other direction for pure ACK streams, one in the same for data",
    ));
    choices
}
