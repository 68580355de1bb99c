// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measurements of an experiment's studies, as its evaluation asks for them.

use netnice_results::{Estimate, QueueResult, RunResults, Series, SizeBin, jain_index, quantity};

use crate::figure::{Curve, CurveKind};

/// All studies of an experiment.
#[derive(Debug, Clone)]
pub struct Measured<'a> {
    pub(crate) studies: Vec<MeasuredStudy<'a>>,
}

/// One study.
#[derive(Debug, Clone)]
pub struct MeasuredStudy<'a> {
    /// Its name.
    pub name: &'a str,
    /// The points of its sweep, in order.
    pub points: Vec<MeasuredPoint<'a>>,
}

impl<'a> MeasuredStudy<'a> {
    /// The first point at which `key` has this value.
    pub fn at(&self, key: &str, value: &str) -> Option<&MeasuredPoint<'a>> {
        let mut points = self.points.iter();
        points.find(|point| point.setting(key) == value)
    }

    /// A value of each point against that of `key`.
    pub fn curve(
        &self,
        (name, kind): (&str, CurveKind),
        key: &str,
        of: impl Fn(&MeasuredPoint<'_>) -> Option<Estimate>,
    ) -> Curve {
        let mut curve = Curve::new(name, kind);
        for point in &self.points {
            curve.add(point.number(key), of(point));
        }
        curve
    }
}

/// The mean of values of which there is one at least.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// One point of a sweep.
#[derive(Debug, Clone)]
pub struct MeasuredPoint<'a> {
    /// The swept keys and their values.
    pub settings: &'a [(String, String)],
    /// The runs, by seed.
    pub runs: Vec<&'a RunResults>,
}

impl<'a> Measured<'a> {
    /// The measurements of these studies.
    pub fn new(studies: Vec<MeasuredStudy<'a>>) -> Measured<'a> {
        Measured { studies }
    }

    /// A study of the experiment.
    ///
    /// # Panics
    /// If the experiment has no study of this name, which its test would find.
    pub fn study(&self, name: &str) -> &MeasuredStudy<'a> {
        let mut studies = self.studies.iter();
        studies
            .find(|study| study.name == name)
            .unwrap_or_else(|| panic!("the experiment has no study {name}"))
    }

    /// Leaves out the runs of the studies that `left_out` chooses.
    #[must_use]
    pub(crate) fn without(&self, left_out: impl Fn(&str) -> bool) -> Measured<'a> {
        let mut rest = self.clone();
        for study in &mut rest.studies {
            if left_out(study.name) {
                study.points.iter_mut().for_each(|point| point.runs.clear());
            }
        }
        rest
    }

    /// The only point of a study without a sweep.
    ///
    /// # Panics
    /// If there is none.
    pub fn point(&self, name: &str) -> &MeasuredPoint<'a> {
        &self.study(name).points[0]
    }
}

impl MeasuredPoint<'_> {
    /// The swept value of `key`; empty if it is not swept.
    pub fn setting(&self, key: &str) -> &str {
        let found = self.settings.iter().find(|(name, _)| name == key);
        found.map_or("", |(_, value)| value)
    }

    /// The swept value of `key` as a number, times in seconds; no number if it is not swept, or none.
    pub fn number(&self, key: &str) -> f64 {
        quantity(self.setting(key)).map_or(f64::NAN, |(number, _)| number)
    }

    /// The swept values.
    pub fn values(&self) -> impl Iterator<Item = String> {
        self.settings.iter().map(|(_, value)| value.clone())
    }

    /// The swept values in words: `rate 10mbit, min_rto 1s`.
    pub fn setting_words(&self) -> String {
        let words = self.settings.iter().map(|(key, value)| {
            let name = key.rsplit('.').next().unwrap_or(key);
            format!("{name} {value}")
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// The mean of `of` over the runs.
    pub fn estimate(&self, of: impl Fn(&RunResults) -> Option<f64>) -> Option<Estimate> {
        let values: Option<Vec<f64>> = self.runs.iter().map(|run| of(run)).collect();
        Estimate::of(&values?)
    }

    /// The mean over the runs that have a value, where at least half of them do.
    pub fn estimate_where(&self, of: impl Fn(&RunResults) -> Option<f64>) -> Option<Estimate> {
        let values: Vec<f64> = self.runs.iter().filter_map(|run| of(run)).collect();
        let enough = 2 * values.len() >= self.runs.len();
        Estimate::of(&values).filter(|_| enough)
    }

    /// The mean over seeds of `of`, applied to a run here and the run of the same seed in `other`.
    pub fn paired(
        &self,
        other: &MeasuredPoint<'_>,
        of: impl Fn(&RunResults, &RunResults) -> Option<f64>,
    ) -> Option<Estimate> {
        let values: Option<Vec<f64>> = self
            .runs
            .iter()
            .zip(&other.runs)
            .map(|(run, other)| of(run, other))
            .collect();
        Estimate::of(&values?)
    }

    /// The share of a link that a group of flows takes: throughput, headers included, in per cent of the link's rate.
    pub fn share_of_link(&self, group: &str, link: &str) -> Option<Estimate> {
        self.estimate(|run| share_of_link(run, group, link))
    }

    /// Jain's index of the goodputs of a group.
    pub fn jain(&self, group: &str) -> Option<Estimate> {
        self.estimate(|run| {
            let flows = run.flows.iter().filter(|flow| flow.group == group);
            jain_index(&flows.map(|flow| flow.goodput_bps).collect::<Vec<_>>())
        })
    }
}

/// A direction of a link.
pub fn queue<'a>(run: &'a RunResults, link: &str) -> Option<&'a QueueResult> {
    run.queues.iter().find(|queue| queue.link == link)
}

/// Throughput of a group of flows in bits per second, headers included; `None` without such flows.
pub fn throughput(run: &RunResults, group: &str) -> Option<f64> {
    let flows = run.flows.iter().filter(|flow| flow.group == group);
    let sum = |sum: Option<f64>, rate: f64| Some(sum.unwrap_or(0.0) + rate);
    flows.map(|flow| flow.throughput_bps).fold(None, sum)
}

/// Throughput of a group of flows in per cent of a link's rate.
pub fn share_of_link(run: &RunResults, group: &str, link: &str) -> Option<f64> {
    let rate = queue(run, link)?.rate_bps as f64;
    Some(100.0 * throughput(run, group)? / rate)
}

/// Mean response time in seconds of all web objects whose size is in a bin between `from` and `to` bytes; `None`
/// without such objects.
pub fn response_s(run: &RunResults, from: u64, to: u64) -> Option<f64> {
    let within = |bin: &&SizeBin| bin.from_bytes >= from && bin.to_bytes <= to;
    let bins = run.response_times.iter().flat_map(|times| &times.bins);
    let (mut count, mut sum) = (0, 0.0);
    for bin in bins.filter(within) {
        count += bin.response.count;
        sum += bin.response.mean_s * bin.response.count as f64;
    }
    (count > 0).then(|| sum / count as f64)
}

/// Web objects that have come.
pub fn objects(run: &RunResults) -> u64 {
    let bins = run.response_times.iter().flat_map(|times| &times.bins);
    bins.map(|bin| bin.response.count).sum()
}

/// A time series of a run: `cwnd` of a flow, say.
pub fn series<'a>(run: &'a RunResults, quantity: &str, of: &str) -> Option<&'a Series> {
    let mut all = run.series.iter();
    all.find(|series| series.quantity == quantity && series.of == of)
}
