// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared by the figures of web traffic: the runs without FTP, beside FTP over each kind of transport, and the curves.

use netnice_results::{Estimate, RunResults};
use netnice_study::Scale;

use super::common::Kind;
use crate::definition::Choice;
use crate::experiments::search::Target;
use crate::figure::{Axis, Curve, CurveKind, Figure, FigureKind};
use crate::findings::Findings;
use crate::measured::{Measured, MeasuredPoint, MeasuredStudy, mean, response_s, throughput};
use crate::study::Study;

pub(super) const QUICK: Scale = Scale::new(8, 500);

/// A topology with web traffic and FTP.
pub(super) struct WebSetting {
    /// The prefix of the names of its studies.
    pub prefix: &'static str,
    /// Scenario.
    pub file: (&'static str, &'static str),
    /// The FTP flows.
    pub ftp: &'static [&'static str],
    /// The congested links.
    pub links: &'static [&'static str],
}

/// The objects that the text calls 10 kB: the bin around 9.8 kB.
pub(super) const TEN_KB: (u64, u64) = (8192, 11586);

/// Sizes of objects, in bytes: octaves from 1 to 256 kB.
const OCTAVES: std::ops::Range<u32> = 10..18;

impl WebSetting {
    fn study(&self, name: &str) -> Study {
        Study::new(
            format!("{}_{name}", self.prefix),
            self.file,
            QUICK,
            Scale::LP03,
        )
    }

    /// Without FTP.
    pub fn without(&self, name: &str) -> Study {
        let studies = self.ftp.iter();
        studies.fold(self.study(name), |study, ftp| {
            study.set(&format!("flows.{ftp}.count"), "0")
        })
    }

    /// Beside FTP of this kind.
    pub fn beside(&self, kind: Kind, name: &str) -> Study {
        let one = |study, ftp: &&str| kind.apply(study, ftp, &[]);
        let study = self.ftp.iter().fold(self.study(name), one);
        kind.apply_queues(study, self.links)
    }

    /// Without FTP, and beside each kind.
    pub fn studies(&self) -> Vec<Study> {
        let kinds = Kind::ALL.iter().map(|&kind| self.beside(kind, kind.name()));
        std::iter::once(self.without("none")).chain(kinds).collect()
    }

    /// The only point of a study.
    pub fn point<'a, 'b>(&self, measured: &'b Measured<'a>, name: &str) -> &'b MeasuredPoint<'a> {
        measured.point(&format!("{}_{name}", self.prefix))
    }

    /// Response times of 10 kB without FTP and beside TCP-LP, and the figure of what FTP adds with the paper's point in it.
    pub fn ten_kb_findings(
        &self,
        measured: &Measured<'_>,
        (name, title): (&str, &str),
        reported_s: f64,
    ) -> Findings {
        let (none, tcplp) = (self.point(measured, "none"), self.point(measured, "tcplp"));
        let mut findings = Findings::default();
        findings.value("without", ten_kb(none));
        findings.value("beside", ten_kb(tcplp));
        findings.value("longer", ten_kb_longer(tcplp, none));
        let mut figure = self.differences(measured, name, title);
        reported(&mut figure, 10.0, reported_s);
        findings.figures.push(figure);
        findings
    }

    /// The search over the open parameters, without FTP or beside FTP of one kind.
    pub fn search<'a, 'b>(&self, measured: &'b Measured<'a>, name: &str) -> &'b MeasuredStudy<'a> {
        measured.study(&format!("{}_search_{name}", self.prefix))
    }

    /// A reported value of web traffic or FTP, and ours at each point of the search with this name.
    pub fn target(
        &self,
        measured: &Measured<'_>,
        name: &str,
        (heading, reported): (&'static str, f64),
        value: impl Fn(&MeasuredPoint<'_>) -> Option<Estimate>,
    ) -> Target {
        let points = self.search(measured, name).points.iter();
        Target::new(heading, reported, points.map(value))
    }

    /// A reported share of a link that FTP takes, and ours at each point of the search with this name.
    pub fn share_target(
        &self,
        measured: &Measured<'_>,
        name: &str,
        reported: (&'static str, f64),
    ) -> Target {
        self.target(measured, name, reported, |point| self.ftp_share(point))
    }

    /// By how many per cent response times are reported to be shorter beside TCP-LP, and ours at each point of the search.
    pub fn reduction_target(&self, measured: &Measured<'_>, reported: f64) -> Target {
        let search = |name| self.search(measured, name).points.iter();
        let pairs = search("tcplp").zip(search("tcp"));
        let ours = pairs.map(|(low, tcp)| reduction(low, tcp));
        Target::new("shorter by, %", reported, ours)
    }

    /// The mean throughput of the FTP flows, in per cent of a link.
    pub fn ftp_share(&self, point: &MeasuredPoint<'_>) -> Option<Estimate> {
        point.estimate(|run| self.ftp_share_of(run))
    }

    /// By how many per cent of a link the FTP flows get less over TCP-LP than over TCP.
    pub fn ftp_loses(&self, measured: &Measured<'_>) -> Option<Estimate> {
        let [tcp, low] = ["tcp", "tcplp"].map(|name| self.point(measured, name));
        tcp.paired(low, |tcp, low| {
            Some(self.ftp_share_of(tcp)? - self.ftp_share_of(low)?)
        })
    }

    fn ftp_share_of(&self, run: &RunResults) -> Option<f64> {
        let rate = crate::measured::queue(run, self.links[0])?.rate_bps as f64;
        let mut sum = 0.0;
        for ftp in self.ftp {
            sum += 100.0 * throughput(run, ftp)? / rate;
        }
        Some(sum / self.ftp.len() as f64)
    }

    /// Response times less those without FTP, by size of object.
    pub fn differences(&self, measured: &Measured<'_>, name: &str, title: &str) -> Figure {
        let without = self.point(measured, "none");
        let curves = [Kind::TcpLp, Kind::TcpLpEcn, Kind::Ideal].map(|kind| {
            let point = self.point(measured, kind.name());
            by_size(kind, point, |from, to| {
                paired_where(point, without, |run, without| {
                    Some(response_s(run, from, to)? - response_s(without, from, to)?)
                })
            })
        });
        let axis = Axis::linear("response time less that without FTP", "s");
        figure(
            name,
            title,
            "What a bulk transfer adds to the mean response time of web objects, by their size.",
            axis,
            &curves,
        )
    }

    /// Response times in parts of those beside FTP over TCP, by size of object.
    pub fn ratios(&self, measured: &Measured<'_>, name: &str, title: &str) -> Figure {
        let tcp = self.point(measured, "tcp");
        let curves = Kind::ALL.map(|kind| {
            let point = self.point(measured, kind.name());
            by_size(kind, point, |from, to| {
                paired_where(point, tcp, |run, tcp| {
                    Some(response_s(run, from, to)? / response_s(tcp, from, to)?)
                })
            })
        });
        let axis = Axis::linear("response time", "of that beside FTP over TCP");
        figure(
            name,
            title,
            "Mean response time of web objects, by their size, in parts of that beside a bulk transfer over TCP.",
            axis,
            &curves,
        )
    }

    /// By how many per cent response times are shorter than beside FTP over TCP: of the mean response time in each
    /// octave of sizes, the mean over the octaves.
    pub fn reduction(&self, measured: &Measured<'_>, name: &str) -> Option<Estimate> {
        reduction(self.point(measured, name), self.point(measured, "tcp"))
    }
}

/// By how much response times at `point` are shorter than at `tcp`, in per cent.
pub(super) fn reduction(point: &MeasuredPoint<'_>, tcp: &MeasuredPoint<'_>) -> Option<Estimate> {
    paired_where(point, tcp, |run, tcp| {
        let ratios = OCTAVES.filter_map(|octave| {
            let (from, to) = (1 << octave, 2 << octave);
            Some(response_s(run, from, to)? / response_s(tcp, from, to)?)
        });
        let ratios: Vec<f64> = ratios.collect();
        let mean = mean(&ratios);
        mean.is_finite().then_some(100.0 * (1.0 - mean))
    })
}

/// The mean response time of objects of 10 kB.
pub(super) fn ten_kb(point: &MeasuredPoint<'_>) -> Option<Estimate> {
    point.estimate_where(|run| response_s(run, TEN_KB.0, TEN_KB.1))
}

/// The response time of 10 kB less that in `without`.
pub(super) fn ten_kb_longer(
    point: &MeasuredPoint<'_>,
    without: &MeasuredPoint<'_>,
) -> Option<Estimate> {
    paired_where(point, without, |run, without| {
        let of = |run| response_s(run, TEN_KB.0, TEN_KB.1);
        Some(of(run)? - of(without)?)
    })
}

/// What `point` adds to the response times in `without` of large objects (32 to 256 kB), less what it adds to those of
/// small ones (2 to 16 kB), in s: means over octaves of sizes.
pub(super) fn larger_longer(
    point: &MeasuredPoint<'_>,
    without: &MeasuredPoint<'_>,
) -> Option<Estimate> {
    paired_where(point, without, |run, without| {
        let added = |octaves: std::ops::Range<u32>| {
            let each = octaves.filter_map(|octave| {
                let (from, to) = (1 << octave, 2 << octave);
                Some(response_s(run, from, to)? - response_s(without, from, to)?)
            });
            let each: Vec<f64> = each.collect();
            let mean = mean(&each);
            mean.is_finite().then_some(mean)
        };
        Some(added(15..18)? - added(11..14)?)
    })
}

/// The ratio of two independent means; the squares of their relative half widths add up.
pub(super) fn ratio(a: &Estimate, b: &Estimate) -> Estimate {
    let mean = a.mean / b.mean;
    let widths = a.half_width_95.zip(b.half_width_95);
    let half_width_95 = widths.map(|(wide_a, wide_b)| {
        let relative = (wide_a / a.mean).hypot(wide_b / b.mean);
        (mean * relative).abs()
    });
    let half_width = half_width_95.unwrap_or(0.0);
    Estimate {
        mean,
        half_width_95,
        min: mean - half_width,
        max: mean + half_width,
        runs: a.runs.min(b.runs),
    }
}

/// Means over the pairs that have a value, where at least half have: large objects are rare.
fn paired_where(
    point: &MeasuredPoint<'_>,
    other: &MeasuredPoint<'_>,
    of: impl Fn(&RunResults, &RunResults) -> Option<f64>,
) -> Option<Estimate> {
    let pairs = point.runs.iter().zip(&other.runs);
    let values: Vec<f64> = pairs.filter_map(|(run, other)| of(run, other)).collect();
    let enough = 2 * values.len() >= point.runs.len();
    Estimate::of(&values).filter(|_| enough)
}

fn by_size(
    kind: Kind,
    point: &MeasuredPoint<'_>,
    of: impl Fn(u64, u64) -> Option<Estimate>,
) -> Curve {
    let mut curve = Curve::new(kind.title(), kind.curve());
    for octave in OCTAVES {
        let (from, to) = (1u64 << octave, 2u64 << octave);
        let size = point.estimate_where(|run| mean_size(run, from, to));
        if let Some(size) = size {
            curve.add(size.mean / 1000.0, of(from, to));
        }
    }
    curve
}

/// Mean size in bytes of the objects between two sizes.
fn mean_size(run: &RunResults, from: u64, to: u64) -> Option<f64> {
    let bins = run.response_times.iter().flat_map(|times| &times.bins);
    let (mut count, mut sum) = (0, 0.0);
    for bin in bins.filter(|bin| bin.from_bytes >= from && bin.to_bytes <= to) {
        count += bin.response.count;
        sum += bin.mean_bytes * bin.response.count as f64;
    }
    (count > 0).then(|| sum / count as f64)
}

fn figure(name: &str, title: &str, caption: &str, y: Axis, curves: &[Curve]) -> Figure {
    Figure {
        name: name.to_owned(),
        title: title.to_owned(),
        caption: caption.to_owned(),
        kind: FigureKind::Lines,
        x: Axis::logarithmic("size of the object", "kB"),
        y,
        curves: curves.to_vec(),
    }
}

/// A point of the text in a figure.
pub(super) fn reported(figure: &mut Figure, x: f64, y: f64) {
    let mut curve = Curve::new("the paper", CurveKind::Reported);
    curve.add_exact(x, y);
    figure.curves.push(curve);
}

/// The parameters of web traffic that the paper leaves open.
pub(super) fn choices() -> Vec<Choice> {
    let mut choices = super::common::tcp_choices();
    choices.extend([
        Choice::new(
            "mean object size, number of sessions",
            "8 kB (largest 1 MB) and 2 sessions, alike in all runs: fitted on one bottleneck to the two values that have \
             nothing to do with TCP-LP, 0.43 s for 10 kB without FTP and 61 % of the link for FTP over TCP",
        ),
        Choice::new(
            "whether the second between pages begins at the end of one or at its request",
            "at the end: the default of ns-2's web traffic, which can do both (`open_loop`)",
        ),
        Choice::new(
            "how a connection opens",
            "without a handshake: ns-2's agents carry data one way, and its web traffic sends the object at once; that is \
             also why the loss of a first packet costs the initial RTO of 3 s",
        ),
        Choice::new("initial window", "1 packet; RFC 2581 allows one or two"),
        Choice::new(
            "response time of a size",
            "the mean over the objects between 8 and 11.6 kB for the text's 10 kB; reductions are means over octaves of \
             sizes from 1 to 256 kB",
        ),
    ]);
    choices
}
