// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures that a scenario wants drawn from a run.

use std::time::Duration;

use crate::{Delays, DerivedValue, FlowResult, RunResults, VideoQuality, jain_index};
use netnice_scenario::model::{DerivedFigure, FlowQuantity, Scenario};

/// The goodput of so long has to be near the reference.
const WINDOW_S: f64 = 1.0;
/// How near.
const NEAR: f64 = 0.9;

/// Computes the figures of `scenario` from the run's measurements, without those of flows that are left out.
pub fn derive(scenario: &Scenario, run: &RunResults) -> Vec<DerivedValue> {
    let figures = scenario.figures.iter();
    let values = figures.filter_map(|figure| {
        let value = value(scenario, figure, run)?;
        value.is_finite().then(|| DerivedValue {
            name: figure.name.clone(),
            quantity: match figure.over {
                Some(_) if figure.quantity != FlowQuantity::TimeTo90Percent => "ratio",
                _ => figure.quantity.name(),
            }
            .to_owned(),
            unit: unit(figure).to_owned(),
            value,
        })
    });
    values.collect()
}

fn unit(figure: &DerivedFigure) -> &'static str {
    match figure.quantity {
        FlowQuantity::TimeTo90Percent => "s",
        _ if figure.over.is_some() => "",
        FlowQuantity::Goodput | FlowQuantity::Throughput | FlowQuantity::BitRate => "bit/s",
        FlowQuantity::CompletionTime
        | FlowQuantity::ResponseTime
        | FlowQuantity::P95ResponseTime
        | FlowQuantity::P99ResponseTime
        | FlowQuantity::PageTime
        | FlowQuantity::P95PageTime
        | FlowQuantity::OneWayDelay
        | FlowQuantity::P95OneWayDelay
        | FlowQuantity::P99OneWayDelay
        | FlowQuantity::StallTime => "s",
        FlowQuantity::Loss
        | FlowQuantity::JainIndex
        | FlowQuantity::Slowdown
        | FlowQuantity::P99Slowdown
        | FlowQuantity::Mos => "",
    }
}

fn value(scenario: &Scenario, figure: &DerivedFigure, run: &RunResults) -> Option<f64> {
    let quantity = match figure.quantity {
        // The target is a goodput.
        FlowQuantity::TimeTo90Percent => FlowQuantity::Goodput,
        quantity => quantity,
    };
    let reference = match &figure.over {
        None => None,
        Some(over) => Some(match over.rate {
            Some(rate) => rate.bits_per_second() as f64,
            None => {
                let phase = over.phase.as_ref().or(figure.phase.as_ref());
                of_flows(run, quantity, &over.flows, phase)?
            }
        }),
    };
    if figure.quantity == FlowQuantity::TimeTo90Percent {
        return time_to(scenario, figure, run, NEAR * reference?);
    }
    let value = of_flows(run, quantity, &figure.flows, figure.phase.as_ref())?;
    Some(value / reference.unwrap_or(1.0))
}

/// A quantity of all flows of these groups together.
fn of_flows(
    run: &RunResults,
    quantity: FlowQuantity,
    groups: &[String],
    phase: Option<&String>,
) -> Option<f64> {
    let flows = flows(run, groups)?;
    let goodputs = || flows.iter().map(|flow| rates(flow, phase).map(|it| it.0));
    let count = |of: fn(&FlowResult) -> u64| flows.iter().map(|&flow| of(flow)).sum::<u64>() as f64;
    match quantity {
        FlowQuantity::Goodput => goodputs().sum(),
        FlowQuantity::Throughput => flows
            .iter()
            .map(|flow| rates(flow, phase).map(|it| it.1))
            .sum(),
        FlowQuantity::JainIndex => jain_index(&goodputs().collect::<Option<Vec<f64>>>()?),
        FlowQuantity::Loss => {
            Some(count(|flow| flow.packets_lost) / count(|flow| flow.packets_sent))
        }
        FlowQuantity::OneWayDelay => {
            let packets: u64 = delays(&flows).map(|delays| delays.count).sum();
            let of_all = delays(&flows).map(|delays| delays.count as f64 * delays.mean_s);
            Some(of_all.sum::<f64>() / packets as f64)
        }
        FlowQuantity::P95OneWayDelay => delays(&flows).map(|it| it.p95_s).reduce(f64::max),
        FlowQuantity::P99OneWayDelay => delays(&flows).map(|it| it.p99_s).reduce(f64::max),
        FlowQuantity::CompletionTime => {
            let times: Option<Vec<f64>> = flows.iter().map(|flow| flow.completion_s).collect();
            mean(times?.into_iter())
        }
        FlowQuantity::ResponseTime => {
            let times = || bins(run, &flows).map(|bin| (bin.count as f64, bin.mean_s));
            let objects: f64 = times().map(|(count, _)| count).sum();
            Some(times().map(|(count, mean)| count * mean).sum::<f64>() / objects)
        }
        FlowQuantity::P95ResponseTime => {
            let of_transfers = transfers(run, &flows).map(|class| class.completion.p95_s);
            // Objects that are all alike are in one bin; several flows have one each.
            let of_objects = responses(run, &flows)
                .filter(|response| response.classes.is_empty())
                .flat_map(|response| response.bins.iter().map(|bin| bin.response.p95_s));
            of_transfers.chain(of_objects).reduce(f64::max)
        }
        FlowQuantity::PageTime => {
            let of_all = || pages(run, &flows).map(|load| (load.count as f64, load.mean_s));
            let count: f64 = of_all().map(|(count, _)| count).sum();
            Some(of_all().map(|(count, mean)| count * mean).sum::<f64>() / count)
        }
        FlowQuantity::P95PageTime => pages(run, &flows)
            .filter(|load| load.count > 0)
            .map(|load| load.p95_s)
            .reduce(f64::max),
        FlowQuantity::P99ResponseTime => transfers(run, &flows)
            .map(|class| class.completion.p99_s)
            .reduce(f64::max),
        FlowQuantity::Slowdown => {
            let count: u64 = transfers(run, &flows)
                .map(|class| class.completion.count)
                .sum();
            let sum: f64 = transfers(run, &flows)
                .map(|class| class.slowdown.mean * class.completion.count as f64)
                .sum();
            Some(sum / count as f64)
        }
        FlowQuantity::P99Slowdown => transfers(run, &flows)
            .map(|class| class.slowdown.p99)
            .reduce(f64::max),
        FlowQuantity::Mos => {
            let calls = run.calls.iter().filter(|call| groups.contains(&call.group));
            mean(calls.map(|call| call.quality.mos))
        }
        FlowQuantity::BitRate => mean(videos(run, groups).map(|video| video.mean_rate_bps)),
        FlowQuantity::StallTime => {
            let times = videos(run, groups).map(|video| video.stalled_s);
            Some(times.fold(0.0, |sum, time| sum + time))
        }
        FlowQuantity::TimeTo90Percent => None,
    }
}

/// The one-way delays of those of the flows that have any.
fn delays<'run>(flows: &[&'run FlowResult]) -> impl Iterator<Item = &'run Delays> {
    let all = flows.iter().map(|flow| &flow.one_way_delay);
    all.filter(|delays| delays.count > 0)
}

/// The videos of these groups.
fn videos<'run>(
    run: &'run RunResults,
    groups: &'run [String],
) -> impl Iterator<Item = &'run VideoQuality> + use<'run> {
    let videos = run.videos.iter();
    let videos = videos.filter(|video| groups.contains(&video.group));
    videos.map(|video| &video.quality)
}

/// The mean; `None` of nothing.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0u64, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / count as f64)
}

/// The flows of all groups; `None` if one of them has none.
fn flows<'run>(run: &'run RunResults, groups: &[String]) -> Option<Vec<&'run FlowResult>> {
    let has_flows = |group: &String| run.flows.iter().any(|flow| flow.group == *group);
    let chosen = run.flows.iter().filter(|flow| groups.contains(&flow.group));
    groups.iter().all(has_flows).then(|| chosen.collect())
}

/// Goodput and throughput of a flow, of the whole run or in a phase.
fn rates(flow: &FlowResult, phase: Option<&String>) -> Option<(f64, f64)> {
    match phase {
        None => Some((flow.goodput_bps, flow.throughput_bps)),
        Some(name) => {
            let phase = flow.phases.iter().find(|phase| phase.name == *name)?;
            Some((phase.goodput_bps, phase.throughput_bps))
        }
    }
}

/// The response times of these flows.
fn bins<'run>(
    run: &'run RunResults,
    flows: &[&FlowResult],
) -> impl Iterator<Item = super::Delays> + use<'run> {
    responses(run, flows).flat_map(|response| response.bins.iter().map(|bin| bin.response))
}

fn responses<'run>(
    run: &'run RunResults,
    flows: &[&FlowResult],
) -> impl Iterator<Item = &'run super::ResponseTimes> + use<'run> {
    let names: Vec<String> = flows.iter().map(|flow| flow.name.clone()).collect();
    let responses = run.response_times.iter();
    responses.filter(move |response| names.contains(&response.flow))
}

/// Load times of the pages of each of these flows.
fn pages<'run>(
    run: &'run RunResults,
    flows: &[&FlowResult],
) -> impl Iterator<Item = super::Delays> + use<'run> {
    let pages = responses(run, flows).filter_map(|response| response.pages.as_ref());
    pages.map(|pages| pages.load)
}

/// All transfers of each of these flows.
fn transfers<'run>(
    run: &'run RunResults,
    flows: &[&FlowResult],
) -> impl Iterator<Item = &'run super::SizeClass> + use<'run> {
    responses(run, flows).filter_map(|response| response.classes.first())
}

/// Seconds from the beginning of the phase until the flows' goodput over a second first is `goodput`; the phase's length
/// where it never is.
fn time_to(
    scenario: &Scenario,
    figure: &DerivedFigure,
    run: &RunResults,
    goodput: f64,
) -> Option<f64> {
    let phase = figure.phase.as_ref()?;
    let mut phases = scenario.phases.iter();
    let phase = phases.find(|other| other.name == *phase)?;
    let (from, to) = (phase.from.get().as_secs_f64(), phase.to.get().as_secs_f64());
    let interval = scenario.sampling.interval.map(|interval| interval.get())?;
    let flows = flows(run, &figure.flows)?;
    let series: Vec<_> = run
        .series
        .iter()
        .filter(|series| series.quantity == "goodput")
        .filter(|series| flows.iter().any(|flow| flow.name == series.of))
        .collect();
    let times = &series.first()?.time_s;
    // A sample is of the interval that ends with it.
    let begins = times.partition_point(|&time| time <= from + interval.as_secs_f64() / 2.0);
    let ends = times.partition_point(|&time| time <= to + interval.as_secs_f64() / 2.0);
    let length = samples_in(WINDOW_S, interval);
    let of_all = |place: usize| -> f64 {
        let values = series.iter().filter_map(|series| series.value.get(place));
        values.filter(|value| value.is_finite()).sum()
    };
    let samples: Vec<f64> = (begins..ends).map(of_all).collect();
    let reached = samples
        .windows(length)
        .position(|window| window.iter().sum::<f64>() / length as f64 >= goodput);
    Some(match reached {
        Some(place) => place as f64 * interval.as_secs_f64(),
        None => to - from,
    })
}

fn samples_in(seconds: f64, interval: Duration) -> usize {
    ((seconds / interval.as_secs_f64()).round() as usize).max(1)
}

#[cfg(test)]
mod tests {
    use super::super::{
        CallQuality, CallResult, PageTimes, PhaseResult, ResponseTimes, Series, SizeBin,
        VideoResult,
    };
    use super::*;
    use netnice_scenario::ScenarioFile;
    use netnice_scenario::model::{TrafficClass, Transport};

    const SCENARIO: &str = "name = \"n\"\nduration = \"10s\"\nsampling = { interval = \"500ms\" }\n\
        phases = [{ name = \"late\", from = \"5s\", to = \"10s\" }]\n\
        [[links]]\nfrom = \"a\"\nto = \"b\"\n[defaults.flows]\nfrom = \"a\"\nto = \"b\"\n\
        [[flows]]\nname = \"low\"\n[[flows]]\nname = \"rival\"\n[[flows]]\nname = \"absent\"\ncount = 0\n\
        [[flows]]\nname = \"web\"\n\
        application = { kind = \"web\", sessions = 1, multiplexing = \"quic\", object_size = { mean = \"1kB\" } }\n\
        [[flows]]\nname = \"call\"\ncount = 2\ntransport = \"udp\"\napplication = \"call\"\n\
        [[flows]]\nname = \"video\"\ncount = 2\napplication = \"video\"\n\
        [[figures]]\nname = \"x\"\nflows = [\"low\"]\n";

    fn flow(name: &str, goodput: f64, late: f64) -> FlowResult {
        FlowResult {
            name: name.to_owned(),
            group: name.to_owned(),
            class: TrafficClass::BestEffort,
            transport: Transport::Tcp,
            congestion_control: "reno".to_owned(),
            goodput_bps: goodput,
            throughput_bps: 2.0 * goodput,
            delivered_bytes: 0,
            packets_sent: 200,
            packets_received: 0,
            packets_lost: 5,
            retransmissions: 0,
            timeouts: 0,
            recoveries: 0,
            ecn_reactions: 0,
            early_indications: 0,
            mean_cwnd: 0.0,
            rtt: Delays::default(),
            // Of `low` 10 packets with a mean of 2 s, of `rival` 30 with one of 6 s; of the others none.
            one_way_delay: Delays {
                count: 10 * goodput as u64,
                mean_s: 2.0 * goodput,
                p95_s: 3.0 * goodput,
                p99_s: 4.0 * goodput,
                ..Delays::default()
            },
            completion_s: None,
            phases: vec![PhaseResult {
                name: "late".to_owned(),
                goodput_bps: late,
                throughput_bps: late,
            }],
        }
    }

    fn call(name: &str, mos: f64) -> CallResult {
        CallResult {
            flow: name.to_owned(),
            group: "call".to_owned(),
            quality: CallQuality {
                mos,
                ..CallQuality::default()
            },
            one_way_delay: Delays::default(),
        }
    }

    fn video(name: &str, mean_rate_bps: f64, stalled_s: f64) -> VideoResult {
        VideoResult {
            flow: name.to_owned(),
            group: "video".to_owned(),
            quality: VideoQuality {
                mean_rate_bps,
                stalled_s,
                ..VideoQuality::default()
            },
        }
    }

    /// Goodputs 1 and 3, 2 and 2 late; of `low` 0 until 7 s and 3 from then on.
    fn run() -> RunResults {
        let bin = |count, mean_s| SizeBin {
            from_bytes: 0,
            to_bytes: 0,
            mean_bytes: 0.0,
            response: Delays {
                count,
                mean_s,
                p95_s: 2.0 * mean_s,
                ..Delays::default()
            },
        };
        let time_s: std::sync::Arc<[f64]> =
            (1..=20).map(|number| f64::from(number) / 2.0).collect();
        RunResults {
            flows: vec![
                flow("low", 1.0, 2.0),
                flow("rival", 3.0, 2.0),
                flow("web", 0.0, 0.0),
                flow("call", 0.0, 0.0),
                flow("video", 0.0, 0.0),
            ],
            calls: vec![call("call[0]", 4.0), call("call[1]", 3.0)],
            videos: vec![video("video[0]", 2e6, 1.5), video("video[1]", 4e6, 2.0)],
            response_times: vec![ResponseTimes {
                flow: "web".to_owned(),
                unfinished: 0,
                bins: vec![bin(1, 0.1), bin(3, 0.5)],
                classes: Vec::new(),
                pages: Some(PageTimes {
                    unfinished: 1,
                    load: Delays {
                        count: 4,
                        mean_s: 0.25,
                        p95_s: 0.5,
                        ..Delays::default()
                    },
                }),
            }],
            series: vec![Series {
                quantity: "goodput".to_owned(),
                of: "low".to_owned(),
                value: time_s
                    .iter()
                    .map(|&time| if time > 7.0 { 3.0 } else { 0.0 })
                    .collect::<Vec<_>>()
                    .into(),
                time_s,
                ..Series::default()
            }],
            ..RunResults::default()
        }
    }

    /// The value of a figure that is written like this, and its unit.
    fn drawn(figure: &str) -> Option<(f64, String)> {
        let text = SCENARIO.replace("flows = [\"low\"]\n", figure);
        let file = ScenarioFile::parse("n.toml", &text, &[], None);
        let file = file.unwrap_or_else(|error| panic!("{error}"));
        let values = derive(file.scenario(), &run());
        values.first().map(|it| (it.value, it.unit.clone()))
    }

    #[test]
    fn figures_by_hand() {
        for (figure, value, unit) in [
            ("flows = [\"low\", \"rival\"]", 4.0, "bit/s"),
            ("flows = [\"low\"]\nphase = \"late\"", 2.0, "bit/s"),
            (
                "flows = [\"low\"]\nover = { flows = [\"low\", \"rival\"] }",
                0.25,
                "",
            ),
            (
                "flows = [\"low\"]\nover = { flows = [\"low\"], phase = \"late\" }",
                0.5,
                "",
            ),
            ("flows = [\"low\"]\nover = { rate = \"8bit\" }", 0.125, ""),
            (
                "quantity = \"throughput\"\nflows = [\"rival\"]",
                6.0,
                "bit/s",
            ),
            // (1 + 3)^2 / (2 * (1 + 9)).
            (
                "quantity = \"jain_index\"\nflows = [\"low\", \"rival\"]",
                0.8,
                "",
            ),
            ("quantity = \"loss\"\nflows = [\"low\"]", 0.025, ""),
            // (10 * 2 + 30 * 6) / 40.
            (
                "quantity = \"one_way_delay\"\nflows = [\"low\", \"rival\", \"call\"]",
                5.0,
                "s",
            ),
            (
                "quantity = \"p95_one_way_delay\"\nflows = [\"low\", \"rival\"]",
                9.0,
                "s",
            ),
            (
                "quantity = \"p99_one_way_delay\"\nflows = [\"rival\"]\nover = { flows = [\"low\"] }",
                3.0,
                "",
            ),
            ("quantity = \"bit_rate\"\nflows = [\"video\"]", 3e6, "bit/s"),
            ("quantity = \"stall_time\"\nflows = [\"video\"]", 3.5, "s"),
            ("quantity = \"mos\"\nflows = [\"call\"]", 3.5, ""),
            ("quantity = \"response_time\"\nflows = [\"web\"]", 0.4, "s"),
            (
                "quantity = \"p95_response_time\"\nflows = [\"web\"]",
                1.0,
                "s",
            ),
            ("quantity = \"page_time\"\nflows = [\"web\"]", 0.25, "s"),
            ("quantity = \"p95_page_time\"\nflows = [\"web\"]", 0.5, "s"),
            // The first second with 1.8 or more begins 2 s after the phase.
            (
                "quantity = \"time_to_90_percent\"\nflows = [\"low\"]\nphase = \"late\"\nover = { flows = [\"rival\"], phase = \"late\" }",
                2.0,
                "s",
            ),
            // Never within the phase.
            (
                "quantity = \"time_to_90_percent\"\nflows = [\"low\"]\nphase = \"late\"\nover = { rate = \"4bit\" }",
                5.0,
                "s",
            ),
        ] {
            let (drawn, its_unit) = drawn(figure).unwrap();
            assert!((drawn - value).abs() < 1e-12, "{figure}: {drawn}");
            assert_eq!(its_unit, unit, "{figure}");
        }
    }

    #[test]
    fn figures_of_absent_flows_are_left_out() {
        assert_eq!(drawn("flows = [\"absent\"]"), None);
        assert_eq!(
            drawn("flows = [\"low\"]\nover = { flows = [\"absent\"] }"),
            None
        );
        // A quantity without a value has no figure.
        assert_eq!(
            drawn("flows = [\"low\"]\nover = { flows = [\"web\"] }"),
            None
        );
    }
}
