// SPDX-License-Identifier: MIT OR Apache-2.0
//! All runs together: for each point of the sweep, each figure's mean over the seeds.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use netnice_scenario::model::TrafficClass;

use super::run::sizes_in_words;
use crate::{
    CallResult, Distribution, Estimate, FlowResult, RunResults, SizeBin, VideoQuality, VideoResult,
    jain_index,
};

/// The names and values of a point of the sweep.
pub(super) type Settings = Vec<(String, String)>;

/// All points of a sweep.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// The points, in the order of the sweep.
    pub points: Vec<PointSummary>,
}

/// One point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointSummary {
    /// The swept names and values.
    pub settings: Vec<(String, String)>,
    /// Seeds that have been run.
    pub seeds: Vec<u64>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// Distributions of completion times over all seeds; those without a transfer are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completion_times: Vec<CompletionTimes>,
}

/// Completion times of the arriving transfers of a class of sizes, in all runs of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompletionTimes {
    /// Name of the flow.
    pub flow: String,
    /// Sizes are larger than this, in bytes.
    pub above_bytes: u64,
    /// The largest size, in bytes; `None` without a limit.
    pub to_bytes: Option<u64>,
    /// The transfers of all runs together.
    pub times: Distribution,
}

impl CompletionTimes {
    /// The sizes in words, as [`SizeClass::words`](super::SizeClass::words).
    pub fn words(&self) -> String {
        sizes_in_words(self.above_bytes, self.to_bytes)
    }

    /// Those of these runs, in the order in which flows and classes first appear.
    fn of(runs: &[&RunResults]) -> Vec<CompletionTimes> {
        let mut all: Vec<CompletionTimes> = Vec::new();
        for responses in runs.iter().flat_map(|run| &run.response_times) {
            for class in &responses.classes {
                if class.completion_times.is_empty() {
                    continue;
                }
                let found = all.iter_mut().find(|known| {
                    known.flow == responses.flow
                        && (known.above_bytes, known.to_bytes)
                            == (class.above_bytes, class.to_bytes)
                });
                match found {
                    Some(known) => known.times.merge(&class.completion_times),
                    None => all.push(CompletionTimes {
                        flow: responses.flow.clone(),
                        above_bytes: class.above_bytes,
                        to_bytes: class.to_bytes,
                        times: class.completion_times.clone(),
                    }),
                }
            }
        }
        all
    }
}

/// The object of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// All flows of one entry of the scenario together.
    Flows,
    /// All flows of a class together.
    Class,
    /// One direction of a link.
    Queue,
    /// Packets of one colour at one direction of a link.
    Colour,
    /// Objects of similar size of one flow's web traffic.
    Objects,
    /// Pages of one flow's web traffic.
    Pages,
    /// Arriving transfers of a class of sizes.
    Transfers,
    /// All calls of one entry of the scenario together.
    Calls,
    /// All videos of one entry of the scenario together.
    Videos,
    /// The figures that the scenario asks for of each run.
    Figure,
}

impl Subject {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Flows => "flows",
            Subject::Class => "class",
            Subject::Queue => "queue",
            Subject::Colour => "colour",
            Subject::Objects => "objects",
            Subject::Pages => "pages",
            Subject::Transfers => "transfers",
            Subject::Calls => "calls",
            Subject::Videos => "videos",
            Subject::Figure => "figure",
        }
    }
}

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Bits per second.
    #[serde(rename = "bit/s")]
    BitsPerSecond,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// Packets.
    #[serde(rename = "packets")]
    Packets,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// None: a share, a ratio, an index or a count.
    #[serde(rename = "")]
    None,
}

impl Unit {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Unit::BitsPerSecond => "bit/s",
            Unit::Bytes => "B",
            Unit::Packets => "packets",
            Unit::Seconds => "s",
            Unit::None => "",
        }
    }

    /// That of a figure that the scenario wants.
    fn of(name: &str) -> Unit {
        match name {
            "bit/s" => Unit::BitsPerSecond,
            "s" => Unit::Seconds,
            _ => Unit::None,
        }
    }
}

/// One figure with its confidence interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The object of the quantity.
    pub subject: Subject,
    /// Name of that: of the flows, the class, the link, or the flow and the sizes in bytes (`web 1000-2000`).
    #[serde(with = "shared")]
    pub of: Arc<str>,
    /// Which figure: `goodput`, `loss` and so on.
    pub quantity: Cow<'static, str>,
    /// Unit of the value.
    pub unit: Unit,
    /// Mean over the seeds.
    pub value: Estimate,
}

/// Text that the figures of an object share.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        Ok(String::deserialize(deserializer)?.into())
    }
}

impl PointSummary {
    /// A figure by its object and its quantity. Flows, classes and links may have the same name.
    pub fn figure(&self, subject: Subject, of: &str, quantity: &str) -> Option<&Figure> {
        let mut figures = self.figures.iter();
        figures.find(|figure| {
            figure.subject == subject && *figure.of == *of && figure.quantity == quantity
        })
    }
}

impl Summary {
    /// The means over the runs of each point; runs of one point have the same settings.
    pub fn of(runs: &[RunResults]) -> Summary {
        let mut points: Vec<(&Settings, Vec<&RunResults>)> = Vec::new();
        for run in runs {
            match points
                .iter_mut()
                .find(|(settings, _)| **settings == run.settings)
            {
                Some((_, runs)) => runs.push(run),
                None => points.push((&run.settings, vec![run])),
            }
        }
        let points = points.into_iter().map(|(settings, runs)| PointSummary {
            settings: settings.clone(),
            seeds: runs.iter().map(|run| run.seed).collect(),
            figures: figures(&runs),
            completion_times: CompletionTimes::of(&runs),
        });
        Summary {
            points: points.collect(),
        }
    }
}

/// Figures gathered over runs, in the order of their first appearance. Of a hundred thousand flows there are millions, and nothing
/// takes as much memory as they do.
#[derive(Default)]
struct Gathered {
    /// Each with its first value.
    figures: Vec<Figure>,
    /// For each figure, the next one of the same object, 0 without any.
    next: Vec<u32>,
    /// The first figure of each object.
    objects: HashMap<(Subject, Arc<str>), usize>,
    /// That of the object of the value before: mostly the next value is of the same.
    last: Option<usize>,
    /// All values of figures that have several; of others nothing.
    several: Vec<Vec<f64>>,
}

impl Gathered {
    fn with_capacity(figures: usize) -> Gathered {
        Gathered {
            // Vectors that grow would take twice the memory.
            figures: Vec::with_capacity(figures),
            next: Vec::with_capacity(figures),
            ..Gathered::default()
        }
    }

    fn add(
        &mut self,
        subject: Subject,
        of: &str,
        quantity: impl Into<Cow<'static, str>>,
        unit: Unit,
        value: f64,
    ) {
        let estimate = Estimate::of(&[value]).filter(|_| value.is_finite());
        let Some(estimate) = estimate else {
            return;
        };
        let quantity = quantity.into();
        let new = self.figures.len();
        let (first, of) = match self.last.map(|first| (first, &self.figures[first])) {
            Some((first, last)) if last.subject == subject && *last.of == *of => {
                (first, last.of.clone())
            }
            _ => {
                let of: Arc<str> = of.into();
                let first = self.objects.entry((subject, of.clone()));
                (*first.or_insert(new), of)
            }
        };
        self.last = Some(first);
        let mut place = first;
        while place < new {
            if self.figures[place].quantity == quantity {
                return self.add_to(place, value);
            }
            let next = &mut self.next[place];
            if *next == 0 {
                *next = new as u32;
            }
            place = *next as usize;
        }
        self.figures.push(Figure {
            subject,
            of,
            quantity,
            unit,
            value: estimate,
        });
        self.next.push(0);
    }

    /// Adds a further value of a figure.
    fn add_to(&mut self, place: usize, value: f64) {
        if place >= self.several.len() {
            self.several.resize(self.figures.len(), Vec::new());
        }
        let values = &mut self.several[place];
        if values.is_empty() {
            // So far it is the smallest.
            values.push(self.figures[place].value.min);
        }
        values.push(value);
    }

    fn finish(self) -> Vec<Figure> {
        let mut figures = self.figures;
        for (figure, values) in figures.iter_mut().zip(&self.several) {
            if let Some(estimate) = Estimate::of(values) {
                figure.value = estimate;
            }
        }
        figures
    }
}

/// Of a hundred thousand flows there are millions of figures, most of them of links.
fn most_figures(run: &RunResults) -> usize {
    const OF_QUEUE: usize = 7;
    const OF_COLOUR: usize = 2;
    const OF_GROUP: usize = 13;
    let queues = run.queues.iter();
    let of_queues = queues.map(|queue| OF_QUEUE + OF_COLOUR * queue.colours.len());
    let groups = run.flows.chunk_by(|flow, next| flow.group == next.group);
    let of_groups = groups.map(|flows| OF_GROUP + flows[0].phases.len());
    of_queues.chain(of_groups).sum()
}

fn figures(runs: &[&RunResults]) -> Vec<Figure> {
    // Of classes, web traffic, calls and videos there are few.
    const OTHERS: usize = 1000;
    let most = runs.iter().map(|run| most_figures(run)).max();
    let mut gathered = Gathered::with_capacity(most.unwrap_or(0) + OTHERS);
    let mut sizes: BTreeMap<&str, BTreeSet<Limits>> = BTreeMap::new();
    for responses in runs.iter().flat_map(|run| &run.response_times) {
        let of_flow = sizes.entry(&responses.flow).or_default();
        of_flow.extend(responses.bins.iter().map(limits));
    }
    for run in runs {
        for (group, flows) in run.groups() {
            add_group(&mut gathered, group, &flows);
        }
        for class in &run.classes {
            let mut add = |quantity, unit, value| {
                gathered.add(Subject::Class, class.class.name(), quantity, unit, value);
            };
            add("goodput", Unit::BitsPerSecond, class.goodput_bps);
            add("throughput", Unit::BitsPerSecond, class.throughput_bps);
            add(
                "loss",
                Unit::None,
                share(class.packets_lost, class.packets_sent),
            );
            add(
                "jain_index",
                Unit::None,
                class.jain_index.unwrap_or(f64::NAN),
            );
        }
        for queue in &run.queues {
            let mut add = |quantity: &'static str, unit, value| {
                gathered.add(Subject::Queue, &queue.link, quantity, unit, value);
            };
            add("utilisation", Unit::None, queue.utilisation);
            add("mean_queue", Unit::Packets, queue.mean_packets);
            add("max_queue", Unit::Packets, queue.max_packets as f64);
            add("mean_wait", Unit::Seconds, queue.waiting.mean_s);
            add("p99_wait", Unit::Seconds, queue.waiting.p99_s);
            add("drops", Unit::None, share(queue.dropped(), queue.arrived));
            add("marks", Unit::None, share(queue.marked, queue.arrived));
            for of_colour in &queue.colours {
                let of = format!("{} {}", queue.link, of_colour.colour);
                let arrived = of_colour.arrived as f64;
                gathered.add(Subject::Colour, &of, "arrived", Unit::Packets, arrived);
                let drops = share(of_colour.dropped, of_colour.arrived);
                gathered.add(Subject::Colour, &of, "drops", Unit::None, drops);
            }
        }
        for responses in &run.response_times {
            for bin in &responses.bins {
                let of = format!("{} {}-{}", responses.flow, bin.from_bytes, bin.to_bytes);
                let mut add = |quantity, unit, value| {
                    gathered.add(Subject::Objects, &of, quantity, unit, value);
                };
                add("size", Unit::Bytes, bin.mean_bytes);
                add("response_time", Unit::Seconds, bin.response.mean_s);
                add("p95_response_time", Unit::Seconds, bin.response.p95_s);
                add("objects", Unit::None, bin.response.count as f64);
            }
            // In this run there was no such object.
            let here: BTreeSet<Limits> = responses.bins.iter().map(limits).collect();
            for (from, to) in sizes[&*responses.flow].difference(&here) {
                let of = format!("{} {from}-{to}", responses.flow);
                gathered.add(Subject::Objects, &of, "objects", Unit::None, 0.0);
            }
            if let Some(pages) = &responses.pages {
                let mut add = |quantity, unit, value| {
                    gathered.add(Subject::Pages, &responses.flow, quantity, unit, value);
                };
                add("pages", Unit::None, pages.load.count as f64);
                add("unfinished", Unit::None, pages.unfinished as f64);
                if pages.load.count > 0 {
                    add("page_time", Unit::Seconds, pages.load.mean_s);
                    add("p50_page_time", Unit::Seconds, pages.load.p50_s);
                    add("p95_page_time", Unit::Seconds, pages.load.p95_s);
                    add("p99_page_time", Unit::Seconds, pages.load.p99_s);
                }
            }
            for class in &responses.classes {
                let of = format!("{} {}", responses.flow, class.words());
                let (completion, slowdown) = (&class.completion, &class.slowdown);
                let mut add = |quantity, unit, value| {
                    gathered.add(Subject::Transfers, &of, quantity, unit, value);
                };
                add("transfers", Unit::None, completion.count as f64);
                add("unfinished", Unit::None, class.unfinished as f64);
                if completion.count == 0 {
                    continue;
                }
                add("size", Unit::Bytes, class.mean_bytes);
                add("completion", Unit::Seconds, completion.mean_s);
                add("p50_completion", Unit::Seconds, completion.p50_s);
                add("p95_completion", Unit::Seconds, completion.p95_s);
                add("p99_completion", Unit::Seconds, completion.p99_s);
                add("slowdown", Unit::None, slowdown.mean);
                add("p50_slowdown", Unit::None, slowdown.p50);
                add("p95_slowdown", Unit::None, slowdown.p95);
                add("p99_slowdown", Unit::None, slowdown.p99);
            }
        }
        for (group, calls) in groups(&run.calls, |call| &call.group) {
            add_calls(&mut gathered, group, &calls);
        }
        for (group, videos) in groups(&run.videos, |video| &video.group) {
            add_videos(&mut gathered, group, &videos);
        }
        for figure in &run.figures {
            let quantity = figure.quantity.clone();
            let unit = Unit::of(&figure.unit);
            gathered.add(Subject::Figure, &figure.name, quantity, unit, figure.value);
        }
    }
    gathered.finish()
}

/// The smallest size of a bin and the one that it ends below, in bytes.
type Limits = (u64, u64);

fn limits(bin: &SizeBin) -> Limits {
    (bin.from_bytes, bin.to_bytes)
}

/// Results of single flows by group, in the order in which the groups first appear.
fn groups<T>(results: &[T], group: impl Fn(&T) -> &str) -> Vec<(&str, Vec<&T>)> {
    let mut groups: Vec<(&str, Vec<&T>)> = Vec::new();
    for result in results {
        // Flows of a group follow on one another.
        match groups.last_mut() {
            Some((last, results)) if *last == group(result) => results.push(result),
            _ => groups.push((group(result), vec![result])),
        }
    }
    groups
}

fn add_calls(gathered: &mut Gathered, group: &str, calls: &[&CallResult]) {
    let mut add = |quantity: &'static str, unit, value| {
        gathered.add(Subject::Calls, group, quantity, unit, value);
    };
    let mean = |of: fn(&CallResult) -> f64| {
        calls.iter().map(|&call| of(call)).sum::<f64>() / calls.len() as f64
    };
    let largest =
        |of: fn(&CallResult) -> f64| calls.iter().map(|&call| of(call)).fold(0.0, f64::max);
    let count = |of: fn(&CallResult) -> u64| calls.iter().map(|&call| of(call)).sum::<u64>();
    let lowest = calls.iter().map(|call| call.quality.mos);
    let packets = count(|call| call.quality.packets);
    add("mos", Unit::None, mean(|call| call.quality.mos));
    add(
        "lowest_mos",
        Unit::None,
        lowest.fold(f64::INFINITY, f64::min),
    );
    add("rating", Unit::None, mean(|call| call.quality.rating));
    add(
        "lost",
        Unit::None,
        share(count(|call| call.quality.lost), packets),
    );
    add(
        "late",
        Unit::None,
        share(count(|call| call.quality.late), packets),
    );
    add(
        "burst_ratio",
        Unit::None,
        mean(|call| call.quality.burst_ratio),
    );
    add(
        "mouth_to_ear",
        Unit::Seconds,
        mean(|call| call.quality.mouth_to_ear_s),
    );
    add(
        "mean_one_way_delay",
        Unit::Seconds,
        mean(|call| call.one_way_delay.mean_s),
    );
    add(
        "p95_one_way_delay",
        Unit::Seconds,
        largest(|call| call.one_way_delay.p95_s),
    );
    add(
        "p99_one_way_delay",
        Unit::Seconds,
        largest(|call| call.one_way_delay.p99_s),
    );
}

fn add_videos(gathered: &mut Gathered, group: &str, videos: &[&VideoResult]) {
    let mut add = |quantity: &'static str, unit, value| {
        gathered.add(Subject::Videos, group, quantity, unit, value);
    };
    let mean = |of: fn(&VideoQuality) -> f64| {
        let values = videos.iter().map(|video| of(&video.quality));
        values.sum::<f64>() / videos.len() as f64
    };
    add(
        "bit_rate",
        Unit::BitsPerSecond,
        mean(|video| video.mean_rate_bps),
    );
    add("switches", Unit::None, mean(|video| video.switches as f64));
    add("stalls", Unit::None, mean(|video| video.stalls as f64));
    add("stall_time", Unit::Seconds, mean(|video| video.stalled_s));
    let began = videos.iter().filter_map(|video| video.quality.start_up_s);
    let (count, sum) = began.fold((0, 0.0), |(count, sum), time| (count + 1, sum + time));
    add("start_up", Unit::Seconds, sum / f64::from(count));
}

/// A part of a whole; NaN of nothing, which is left out.
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

fn add_group(gathered: &mut Gathered, group: &str, flows: &[&FlowResult]) {
    let goodputs: Vec<f64> = flows.iter().map(|flow| flow.goodput_bps).collect();
    let sum = |of: fn(&FlowResult) -> f64| flows.iter().map(|flow| of(flow)).sum::<f64>();
    let count = |of: fn(&FlowResult) -> u64| flows.iter().map(|flow| of(flow)).sum::<u64>();
    let sent = count(|flow| flow.packets_sent);
    let mut add = |quantity: Cow<'static, str>, unit, value| {
        gathered.add(Subject::Flows, group, quantity, unit, value);
    };
    add("goodput".into(), Unit::BitsPerSecond, goodputs.iter().sum());
    add(
        "throughput".into(),
        Unit::BitsPerSecond,
        sum(|flow| flow.throughput_bps),
    );
    if flows.len() > 1 {
        add(
            "jain_index".into(),
            Unit::None,
            jain_index(&goodputs).unwrap_or(f64::NAN),
        );
    }
    add(
        "loss".into(),
        Unit::None,
        share(count(|flow| flow.packets_lost), sent),
    );
    add(
        "retransmissions".into(),
        Unit::Packets,
        count(|flow| flow.retransmissions) as f64,
    );
    add(
        "timeouts".into(),
        Unit::None,
        count(|flow| flow.timeouts) as f64,
    );
    let indications = count(|flow| flow.early_indications);
    if indications > 0 || flows.iter().any(|flow| flow.class == TrafficClass::Low) {
        add("early_indications".into(), Unit::None, indications as f64);
    }
    let windows: Vec<f64> = flows.iter().map(|flow| flow.mean_cwnd).collect();
    if windows.iter().any(|&cwnd| cwnd > 0.0) {
        add(
            "mean_cwnd".into(),
            Unit::Packets,
            windows.iter().sum::<f64>() / windows.len() as f64,
        );
    }
    for (mean, p95, of) in [
        (
            "mean_rtt",
            "p95_rtt",
            (|flow| flow.rtt) as fn(&FlowResult) -> super::Delays,
        ),
        ("mean_one_way_delay", "p95_one_way_delay", |flow| {
            flow.one_way_delay
        }),
    ] {
        let delays: Vec<_> = flows.iter().map(|flow| of(flow)).collect();
        let samples: u64 = delays.iter().map(|delays| delays.count).sum();
        let total: f64 = delays
            .iter()
            .map(|delays| delays.mean_s * delays.count as f64)
            .sum();
        add(mean.into(), Unit::Seconds, total / samples as f64);
        if let [delays] = delays[..] {
            add(p95.into(), Unit::Seconds, delays.p95_s);
        }
    }
    let completions: Vec<f64> = flows.iter().filter_map(|flow| flow.completion_s).collect();
    if !completions.is_empty() {
        add(
            "completion".into(),
            Unit::Seconds,
            completions.iter().sum::<f64>() / completions.len() as f64,
        );
    }
    let phases = flows.first().map_or(&[][..], |flow| &flow.phases);
    for (index, phase) in phases.iter().enumerate() {
        let goodput = flows.iter().filter_map(|flow| flow.phases.get(index));
        let goodput = goodput.map(|phase| phase.goodput_bps).sum();
        add(
            format!("goodput in {}", phase.name).into(),
            Unit::BitsPerSecond,
            goodput,
        );
    }
}
