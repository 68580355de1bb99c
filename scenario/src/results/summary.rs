// SPDX-License-Identifier: MIT OR Apache-2.0
//! All runs together: for each point of the sweep, each figure's mean over the seeds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::model::TrafficClass;

use super::{CallResult, Estimate, FlowResult, RunResults, VideoQuality, VideoResult, jain_index};

/// The names and values of a point of the sweep.
type Settings = Vec<(String, String)>;

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
}

/// The object of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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

/// One figure with its confidence interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The object of the quantity.
    pub subject: Subject,
    /// Name of that: of the flows, the class, the link, or the flow and the sizes in bytes (`web 1000-2000`).
    pub of: String,
    /// Which figure: `goodput`, `loss` and so on.
    pub quantity: Cow<'static, str>,
    /// Unit: `bit/s`, `s`, `packets`, or nothing.
    pub unit: Cow<'static, str>,
    /// Mean over the seeds.
    pub value: Estimate,
}

impl PointSummary {
    /// A figure by its object and its quantity. Flows, classes and links may have the same name.
    pub fn figure(&self, subject: Subject, of: &str, quantity: &str) -> Option<&Figure> {
        let mut figures = self.figures.iter();
        figures.find(|figure| {
            figure.subject == subject && figure.of == of && figure.quantity == quantity
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
        });
        Summary {
            points: points.collect(),
        }
    }
}

/// Values gathered over runs, in the order of their first appearance.
#[derive(Default)]
struct Gathered {
    values: Vec<(Subject, Rc<str>, Quantity, Vec<f64>)>,
    /// The places of what there is of each subject.
    places: BTreeMap<(Subject, Rc<str>), Vec<usize>>,
    /// The subject of the value before: mostly the next value is of the same.
    last: Option<(Subject, Rc<str>)>,
}

/// Name and unit.
type Quantity = (Cow<'static, str>, &'static str);

impl Gathered {
    fn add(
        &mut self,
        subject: Subject,
        of: &str,
        quantity: impl Into<Cow<'static, str>>,
        unit: &'static str,
        value: f64,
    ) {
        if !value.is_finite() {
            return;
        }
        let key = match self.last.take() {
            Some(last) if last.0 == subject && *last.1 == *of => last,
            _ => (subject, of.into()),
        };
        let quantity = quantity.into();
        let places = self.places.entry(key.clone()).or_default();
        let mut known = places.iter().copied();
        match known.find(|&place| self.values[place].2.0 == quantity) {
            Some(place) => self.values[place].3.push(value),
            None => {
                places.push(self.values.len());
                let of = key.1.clone();
                self.values
                    .push((subject, of, (quantity, unit), vec![value]));
            }
        }
        self.last = Some(key);
    }
}

fn figures(runs: &[&RunResults]) -> Vec<Figure> {
    // Of a hundred thousand flows there are millions, most of links: a vector that grows would take twice the memory.
    const OF_QUEUE: usize = 7;
    let queues = runs.iter().map(|run| run.queues.len()).max();
    let mut gathered = Gathered {
        values: Vec::with_capacity(OF_QUEUE * queues.unwrap_or(0)),
        ..Gathered::default()
    };
    for run in runs {
        for (group, flows) in run.groups() {
            add_group(&mut gathered, group, &flows);
        }
        for class in &run.classes {
            let mut add = |quantity, unit, value| {
                gathered.add(Subject::Class, class.class.name(), quantity, unit, value);
            };
            add("goodput", "bit/s", class.goodput_bps);
            add("throughput", "bit/s", class.throughput_bps);
            add("loss", "", share(class.packets_lost, class.packets_sent));
            add("jain_index", "", class.jain_index.unwrap_or(f64::NAN));
        }
        for queue in &run.queues {
            let mut add = |quantity: &'static str, unit, value| {
                gathered.add(Subject::Queue, &queue.link, quantity, unit, value);
            };
            add("utilisation", "", queue.utilisation);
            add("mean_queue", "packets", queue.mean_packets);
            add("max_queue", "packets", queue.max_packets as f64);
            add("mean_wait", "s", queue.waiting.mean_s);
            add("p99_wait", "s", queue.waiting.p99_s);
            let dropped: u64 = queue.drops.iter().map(|drops| drops.packets).sum();
            add("drops", "", share(dropped, queue.arrived));
            add("marks", "", share(queue.marked, queue.arrived));
            for of_colour in &queue.colours {
                let of = format!("{} {}", queue.link, of_colour.colour);
                let arrived = of_colour.arrived as f64;
                gathered.add(Subject::Colour, &of, "arrived", "packets", arrived);
                let drops = share(of_colour.dropped, of_colour.arrived);
                gathered.add(Subject::Colour, &of, "drops", "", drops);
            }
        }
        for responses in &run.response_times {
            for bin in &responses.bins {
                let of = format!("{} {}-{}", responses.flow, bin.from_bytes, bin.to_bytes);
                let mut add = |quantity, unit, value| {
                    gathered.add(Subject::Objects, &of, quantity, unit, value);
                };
                add("size", "B", bin.mean_bytes);
                add("response_time", "s", bin.response.mean_s);
                add("p95_response_time", "s", bin.response.p95_s);
                add("objects", "", bin.response.count as f64);
            }
            if let Some(pages) = &responses.pages {
                let mut add = |quantity, unit, value| {
                    gathered.add(Subject::Pages, &responses.flow, quantity, unit, value);
                };
                add("pages", "", pages.load.count as f64);
                add("unfinished", "", pages.unfinished as f64);
                if pages.load.count > 0 {
                    add("page_time", "s", pages.load.mean_s);
                    add("p50_page_time", "s", pages.load.p50_s);
                    add("p95_page_time", "s", pages.load.p95_s);
                    add("p99_page_time", "s", pages.load.p99_s);
                }
            }
            for (index, class) in responses.classes.iter().enumerate() {
                let of = format!("{} {}", responses.flow, class.words());
                let (completion, slowdown) = (&class.completion, &class.slowdown);
                let mut add = |quantity, unit, value| {
                    gathered.add(Subject::Transfers, &of, quantity, unit, value);
                };
                add("transfers", "", completion.count as f64);
                if index == 0 {
                    add("unfinished", "", responses.unfinished as f64);
                }
                if completion.count == 0 {
                    continue;
                }
                add("size", "B", class.mean_bytes);
                add("completion", "s", completion.mean_s);
                add("p50_completion", "s", completion.p50_s);
                add("p95_completion", "s", completion.p95_s);
                add("p99_completion", "s", completion.p99_s);
                add("slowdown", "", slowdown.mean);
                add("p50_slowdown", "", slowdown.p50);
                add("p95_slowdown", "", slowdown.p95);
                add("p99_slowdown", "", slowdown.p99);
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
            let unit = static_unit(&figure.unit);
            gathered.add(Subject::Figure, &figure.name, quantity, unit, figure.value);
        }
    }
    drop(gathered.places);
    let mut figures = Vec::with_capacity(gathered.values.len());
    let values = gathered.values.into_iter();
    figures.extend(
        values.filter_map(|(subject, of, (quantity, unit), values)| {
            Some(Figure {
                subject,
                of: of.to_string(),
                quantity,
                unit: unit.into(),
                value: Estimate::of(&values)?,
            })
        }),
    );
    figures
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
    add("mos", "", mean(|call| call.quality.mos));
    add("lowest_mos", "", lowest.fold(f64::INFINITY, f64::min));
    add("rating", "", mean(|call| call.quality.rating));
    add("lost", "", share(count(|call| call.quality.lost), packets));
    add("late", "", share(count(|call| call.quality.late), packets));
    add("burst_ratio", "", mean(|call| call.quality.burst_ratio));
    add(
        "mouth_to_ear",
        "s",
        mean(|call| call.quality.mouth_to_ear_s),
    );
    add(
        "mean_one_way_delay",
        "s",
        mean(|call| call.one_way_delay.mean_s),
    );
    add(
        "p95_one_way_delay",
        "s",
        largest(|call| call.one_way_delay.p95_s),
    );
    add(
        "p99_one_way_delay",
        "s",
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
    add("bit_rate", "bit/s", mean(|video| video.mean_rate_bps));
    add("switches", "", mean(|video| video.switches as f64));
    add("stalls", "", mean(|video| video.stalls as f64));
    add("stall_time", "s", mean(|video| video.stalled_s));
    let began = videos.iter().filter_map(|video| video.quality.start_up_s);
    let (count, sum) = began.fold((0, 0.0), |(count, sum), time| (count + 1, sum + time));
    add("start_up", "s", sum / f64::from(count));
}

/// The unit of a figure that the scenario wants.
fn static_unit(unit: &str) -> &'static str {
    match unit {
        "bit/s" => "bit/s",
        "s" => "s",
        _ => "",
    }
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
    add("goodput".into(), "bit/s", goodputs.iter().sum());
    add(
        "throughput".into(),
        "bit/s",
        sum(|flow| flow.throughput_bps),
    );
    if flows.len() > 1 {
        add(
            "jain_index".into(),
            "",
            jain_index(&goodputs).unwrap_or(f64::NAN),
        );
    }
    add(
        "loss".into(),
        "",
        share(count(|flow| flow.packets_lost), sent),
    );
    add(
        "retransmissions".into(),
        "packets",
        count(|flow| flow.retransmissions) as f64,
    );
    add("timeouts".into(), "", count(|flow| flow.timeouts) as f64);
    let indications = count(|flow| flow.early_indications);
    if indications > 0 || flows.iter().any(|flow| flow.class == TrafficClass::Low) {
        add("early_indications".into(), "", indications as f64);
    }
    let windows: Vec<f64> = flows.iter().map(|flow| flow.mean_cwnd).collect();
    if windows.iter().any(|&cwnd| cwnd > 0.0) {
        add(
            "mean_cwnd".into(),
            "packets",
            windows.iter().sum::<f64>() / windows.len() as f64,
        );
    }
    for (quantity, of) in [
        ("rtt", (|flow| flow.rtt) as fn(&FlowResult) -> super::Delays),
        ("one_way_delay", |flow| flow.one_way_delay),
    ] {
        let delays: Vec<_> = flows.iter().map(|flow| of(flow)).collect();
        let samples: u64 = delays.iter().map(|delays| delays.count).sum();
        let total: f64 = delays
            .iter()
            .map(|delays| delays.mean_s * delays.count as f64)
            .sum();
        add(
            format!("mean_{quantity}").into(),
            "s",
            total / samples as f64,
        );
        if let [delays] = delays[..] {
            add(format!("p95_{quantity}").into(), "s", delays.p95_s);
        }
    }
    let completions: Vec<f64> = flows.iter().filter_map(|flow| flow.completion_s).collect();
    if !completions.is_empty() {
        add(
            "completion".into(),
            "s",
            completions.iter().sum::<f64>() / completions.len() as f64,
        );
    }
    let phases = flows.first().map_or(&[][..], |flow| &flow.phases);
    for (index, phase) in phases.iter().enumerate() {
        let goodput = flows.iter().filter_map(|flow| flow.phases.get(index));
        let goodput = goodput.map(|phase| phase.goodput_bps).sum();
        add(
            format!("goodput in {}", phase.name).into(),
            "bit/s",
            goodput,
        );
    }
}
