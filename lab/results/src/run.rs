// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of one run.

use std::collections::BTreeMap;
use std::sync::Arc;

use netnice_queue::{Bytes, Colour, ColourCounters, DropCounters};
use serde::{Deserialize, Serialize};

use crate::{Delays, Distribution, jain_index};
use netnice_scenario::model::{TrafficClass, Transport};

/// One run: one point of a sweep with one seed. Everything is measured from the end of the warm-up to the end of the
/// run, but for the time series.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunResults {
    /// Seed.
    pub seed: u64,
    /// The swept names and values, in the order of the file.
    pub settings: Vec<(String, String)>,
    /// Time measured, in seconds.
    pub measured_s: f64,
    /// Flows, in the order of the network.
    pub flows: Vec<FlowResult>,
    /// Classes that have flows.
    pub classes: Vec<ClassResult>,
    /// Directions of links that have a rate and that packets passed, in the order of the network.
    pub queues: Vec<QueueResult>,
    /// Response times of web traffic, by flow.
    pub response_times: Vec<ResponseTimes>,
    /// Calls, by flow; those of which no packet was due are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallResult>,
    /// Videos, by flow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub videos: Vec<VideoResult>,
    /// The figures that the scenario wants; those of flows that are left out are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<DerivedValue>,
    /// Time series.
    #[serde(serialize_with = "shared::all")]
    pub series: Vec<Series>,
    /// The file below a directory of results that has the time series, where this has none of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series_file: Option<String>,
    /// Events that the simulator handled, for its speed; 0 in a lab.
    pub events: u64,
    /// How far the figures can be trusted; only of a lab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<LabReport>,
}

/// A figure that the scenario wants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DerivedValue {
    /// Name.
    pub name: String,
    /// The kind of figure: `ratio`, or the quantity.
    pub quantity: String,
    /// Unit: `bit/s`, `s`, or nothing.
    pub unit: String,
    /// Value.
    pub value: f64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The record of a lab on itself: can its figures be trusted?
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LabReport {
    /// The network handed packets over in time and lost none but in its queues, sources sent in time, and no event is missing in the
    /// record.
    pub trustworthy: bool,
    /// Why, in words.
    pub reason: String,
    /// How much later than due packets were handed over.
    pub lateness: Delays,
    /// Share of the packets later than `lateness_bound_s`, 0 to 1.
    pub late_fraction: f64,
    /// The lateness that figures can bear, in seconds.
    pub lateness_bound_s: f64,
    /// How much later than due timed sources sent.
    pub source_lateness: Delays,
    /// Packets that were lost outside the queues of the scenario.
    pub lost_outside: u64,
    /// Events at links that are missing in the record asked for, since they could not be written as fast as they came.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub events_lost: u64,
    /// The scheduling class of the network's thread.
    pub scheduling: String,
    /// Share of one processor that the network's thread used.
    pub network_load: f64,
    /// Share of all processors that was busy, with whatever else this machine did.
    pub machine_load: f64,
    /// Processor time that a hypervisor gave to others, in seconds.
    pub stolen_s: f64,
    /// Release of the kernel.
    pub kernel: String,
    /// Where the kernel differs slightly from the scenario.
    pub notes: Vec<String>,
}

/// One flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowResult {
    /// Name.
    pub name: String,
    /// Name in the scenario, the same for all flows of a group.
    pub group: String,
    /// Class.
    pub class: TrafficClass,
    /// Transport.
    pub transport: Transport,
    /// Congestion control; empty for UDP.
    pub congestion_control: String,
    /// Data that the receiver's application got in order, each byte once, in bits per second.
    pub goodput_bps: f64,
    /// Packets that arrived at the receiver, headers and duplicates included, in bits per second.
    pub throughput_bps: f64,
    /// Bytes that the receiver's application got.
    pub delivered_bytes: u64,
    /// Data packets sent, retransmissions included.
    pub packets_sent: u64,
    /// Data packets received, duplicates included.
    pub packets_received: u64,
    /// Data packets dropped or lost on the way.
    pub packets_lost: u64,
    /// Retransmitted packets.
    pub retransmissions: u64,
    /// Retransmission timeouts (RTOs).
    pub timeouts: u64,
    /// Fast retransmits: recoveries begun.
    pub recoveries: u64,
    /// ECN echoes that the sender reacted to.
    pub ecn_reactions: u64,
    /// Early congestion indications of a low-priority control.
    pub early_indications: u64,
    /// Mean congestion window over time, in packets; 0 for UDP.
    pub mean_cwnd: f64,
    /// Round-trip times that the sender measured.
    pub rtt: Delays,
    /// One-way delays of data packets, from the sender's application host to the receiver's.
    pub one_way_delay: Delays,
    /// Seconds from the flow's start until its receiver has all data; `None` while it has not.
    pub completion_s: Option<f64>,
    /// The phases of the scenario.
    pub phases: Vec<PhaseResult>,
}

/// A flow in one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseResult {
    /// Name of the phase.
    pub name: String,
    /// As for the whole run.
    pub goodput_bps: f64,
    /// As for the whole run.
    pub throughput_bps: f64,
}

/// All flows of one class together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassResult {
    /// Class.
    pub class: TrafficClass,
    /// Flows.
    pub flows: u64,
    /// Sum of goodputs, in bits per second.
    pub goodput_bps: f64,
    /// Sum of throughputs, in bits per second.
    pub throughput_bps: f64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets lost.
    pub packets_lost: u64,
    /// Jain's index of the goodputs; `None` where all are zero.
    pub jain_index: Option<f64>,
}

/// One direction of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueResult {
    /// Name of the direction.
    pub link: String,
    /// Rate of the link, in bits per second.
    pub rate_bps: u64,
    /// Part of the rate that was used, 0 to 1.
    pub utilisation: f64,
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that left the link.
    pub delivered: u64,
    /// Packets marked congestion experienced.
    pub marked: u64,
    /// Drops by cause and class.
    pub drops: Vec<Drops>,
    /// Packets by colour, that is drop precedence; none if no packet but green ones arrived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub colours: Vec<PacketsOfColour>,
    /// Mean packets waiting, over time.
    pub mean_packets: f64,
    /// Mean bytes waiting, over time.
    pub mean_bytes: f64,
    /// Most packets waiting.
    pub max_packets: u64,
    /// Waiting times of the packets that left the queue.
    pub waiting: Delays,
}

impl QueueResult {
    /// Packets dropped, of all classes and for whatever cause.
    pub fn dropped(&self) -> u64 {
        self.drops.iter().map(|drops| drops.packets).sum()
    }
}

/// Packets dropped for one cause, of one class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drops {
    /// `queue_full`, `random_loss`, `early` and so on, as the queue's crate names causes.
    pub cause: String,
    /// Class of the flow.
    pub class: TrafficClass,
    /// Packets.
    pub packets: u64,
}

impl Drops {
    /// The results of a link with these counters.
    pub fn all_of(counters: &DropCounters) -> Vec<Drops> {
        let drops = counters.sorted().into_iter();
        let results = drops.map(|(cause, class, packets)| Drops {
            cause: cause.name().to_owned(),
            class: match class {
                0 => TrafficClass::BestEffort,
                _ => TrafficClass::Low,
            },
            packets,
        });
        results.collect()
    }
}

/// Packets of one colour at a link: green is IN, yellow OUT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketsOfColour {
    /// `green`, `yellow` or `red`; `untagged` of packets that no marker has tagged, which disciplines take as green.
    pub colour: String,
    /// Packets that arrived, or that the link's own marker gave this colour as they did.
    pub arrived: u64,
    /// Packets dropped.
    pub dropped: u64,
}

impl PacketsOfColour {
    /// The results of a link with these counters.
    pub fn all_of(counters: &ColourCounters) -> Vec<PacketsOfColour> {
        let of_colours = counters.of_colours();
        let results = of_colours.map(|(colour, arrived, dropped)| PacketsOfColour {
            colour: colour.map_or("untagged", Colour::name).to_owned(),
            arrived,
            dropped,
        });
        results.collect()
    }
}

/// Response times of one flow of web traffic, by object size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResponseTimes {
    /// Name of the flow.
    pub flow: String,
    /// Objects requested whose last byte had not arrived at the end of the run.
    pub unfinished: u64,
    /// Sizes from small to large; bins without an object are left out.
    pub bins: Vec<SizeBin>,
    /// Of arriving transfers: those of all sizes, and then each class of sizes from small to large, with transfers or
    /// without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<SizeClass>,
    /// Pages, where the application gives its `multiplexing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PageTimes>,
}

/// Load times of the pages of one flow of web traffic that were asked for after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct PageTimes {
    /// Pages asked for that were not complete at the end of the run.
    pub unfinished: u64,
    /// Times from the request of the first object (SYN included) to the last byte of the last object.
    pub load: Delays,
}

/// Arriving transfers of a class of sizes, those that began after the warm-up and came to their end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SizeClass {
    /// Sizes are larger than this, in bytes.
    pub above_bytes: u64,
    /// The largest size, in bytes; `None` without a limit.
    pub to_bytes: Option<u64>,
    /// Mean size, in bytes.
    pub mean_bytes: f64,
    /// Transfers begun, before the warm-up as well, whose last byte had not arrived at the end of the run.
    #[serde(default)]
    pub unfinished: u64,
    /// Times from the receiver's first packet to the last byte.
    pub completion: Delays,
    /// The distribution of these times.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub completion_times: Distribution,
    /// Slowdown: that time, divided by the time that the transfer takes with nobody else on the path and no ACK to wait for.
    pub slowdown: Slowdown,
}

/// A distribution of slowdowns. All are 0 where nothing was measured.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Slowdown {
    /// Smallest.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95 % are no larger.
    pub p95: f64,
    /// 99 % are no larger.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

impl SizeClass {
    /// The sizes in words: [`ALL_SIZES`], or as `100kB to 10MB`.
    pub fn words(&self) -> String {
        sizes_in_words(self.above_bytes, self.to_bytes)
    }
}

/// The class of all sizes, in words.
pub const ALL_SIZES: &str = "all sizes";

/// A class of sizes in words.
pub(super) fn sizes_in_words(above_bytes: u64, to_bytes: Option<u64>) -> String {
    let above = Bytes::new(above_bytes);
    match (above_bytes, to_bytes.map(Bytes::new)) {
        (0, None) => ALL_SIZES.to_owned(),
        (0, Some(to)) => format!("up to {to}"),
        (_, None) => format!("above {above}"),
        (_, Some(to)) => format!("{above} to {to}"),
    }
}

/// One call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
    /// Name of the flow.
    pub flow: String,
    /// Name in the scenario, the same for all flows of a group.
    pub group: String,
    /// The quality that its listener has.
    #[serde(flatten)]
    pub quality: CallQuality,
    /// One-way delays of its packets in the network, late ones included.
    pub one_way_delay: Delays,
}

/// The quality that the listener of a call has.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CallQuality {
    /// Packets that had to be played.
    pub packets: u64,
    /// Of them those dropped or lost on the way.
    pub lost: u64,
    /// Of them those that had not arrived by their playout time.
    pub late: u64,
    /// BurstR: mean run of packets that were not played, divided by that of random losses; at least 1.
    pub burst_ratio: f64,
    /// Mouth-to-ear delay in seconds: speech of one packet, the first packet's delay in the network, the playout delay.
    pub mouth_to_ear_s: f64,
    /// R of the E-model, at most 93.2.
    pub rating: f64,
    /// Mean opinion score by the E-model, from 1 to 4.5.
    pub mos: f64,
}

/// One video.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VideoResult {
    /// Name of the flow.
    pub flow: String,
    /// Name in the scenario, the same for all flows of a group.
    pub group: String,
    /// Quality that the viewer had.
    #[serde(flatten)]
    pub quality: VideoQuality,
}

/// Quality that the viewer of a video had.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct VideoQuality {
    /// Chunks asked for since the warm-up that have arrived.
    pub chunks: u64,
    /// Their mean bit rate, in bits per second; 0 without any.
    pub mean_rate_bps: f64,
    /// Chunks asked for since the warm-up at another rate than the chunk before.
    pub switches: u64,
    /// Stalls that began since the warm-up.
    pub stalls: u64,
    /// Time without video since the warm-up in stalls, in seconds; the time before playing began is not among it.
    pub stalled_s: f64,
    /// Seconds from the flow's start until playing began; `None` where it has not.
    pub start_up_s: Option<f64>,
}

/// Objects of similar size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SizeBin {
    /// Smallest size, in bytes.
    pub from_bytes: u64,
    /// Sizes are below this, in bytes.
    pub to_bytes: u64,
    /// Mean size of those counted, in bytes.
    pub mean_bytes: f64,
    /// Times from the request's first transmission attempt (SYN included) to the object's last byte.
    pub response: Delays,
}

/// A value over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Series {
    /// The quantity: `cwnd`, `ssthresh`, `smoothed_rtt`, `one_way_delay`, `goodput`, `queue_packets`, `queue_delay`.
    pub quantity: String,
    /// Unit of the values: `packets`, `s`, `bit/s`.
    pub unit: String,
    /// Name of the flow or link.
    pub of: String,
    /// Times in seconds since the beginning of the run. The series of a run mostly share them.
    #[serde(with = "shared")]
    pub time_s: Arc<[f64]>,
    /// Values; NaN where there was none (written as an empty field, or null). Links where no packet had to wait share theirs.
    #[serde(with = "nullable")]
    pub value: Arc<Vec<f64>>,
}

/// JSON has no NaN: null stands for it.
mod nullable {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            values
                .iter()
                .map(|value| value.is_finite().then_some(value)),
        )
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<Vec<f64>>, D::Error> {
        let values = Vec::<Option<f64>>::deserialize(deserializer)?.into_iter();
        let values: Vec<f64> = values.map(|value| value.unwrap_or(f64::NAN)).collect();
        Ok(Arc::new(values))
    }
}

/// Times that many series share.
mod shared {
    use std::sync::Arc;

    use serde::ser::{Error as _, SerializeSeq as _};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::value::RawValue;

    use super::{Series, nullable};

    pub fn serialize<S: Serializer>(values: &Arc<[f64]>, serializer: S) -> Result<S::Ok, S::Error> {
        values[..].serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[f64]>, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into())
    }

    /// A series whose times are JSON already.
    #[derive(Serialize)]
    struct WithText<'a> {
        quantity: &'a str,
        unit: &'a str,
        of: &'a str,
        time_s: &'a RawValue,
        #[serde(with = "nullable")]
        value: &'a [f64],
    }

    /// Series as JSON. Times that series share become text once: of many flows they would be half of the work.
    pub fn all<S: Serializer>(series: &[Series], serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(series.len()))?;
        let mut known: Option<(&Arc<[f64]>, Box<RawValue>)> = None;
        for one in series {
            let (_, time_s) = match known.take() {
                Some(known) if Arc::ptr_eq(known.0, &one.time_s) => known,
                _ => {
                    let text = serde_json::value::to_raw_value(&one.time_s[..]);
                    (&one.time_s, text.map_err(S::Error::custom)?)
                }
            };
            list.serialize_element(&WithText {
                quantity: &one.quantity,
                unit: &one.unit,
                of: &one.of,
                time_s: &time_s,
                value: &one.value,
            })?;
            known = Some((&one.time_s, time_s));
        }
        list.end()
    }
}

impl ClassResult {
    /// The classes that have flows.
    pub fn of_all(flows: &[FlowResult]) -> Vec<ClassResult> {
        let classes = [TrafficClass::BestEffort, TrafficClass::Low].into_iter();
        let results = classes.filter_map(|class| {
            let flows: Vec<&FlowResult> = flows.iter().filter(|flow| flow.class == class).collect();
            let goodputs: Vec<f64> = flows.iter().map(|flow| flow.goodput_bps).collect();
            (!flows.is_empty()).then(|| ClassResult {
                class,
                flows: flows.len() as u64,
                goodput_bps: goodputs.iter().sum(),
                throughput_bps: flows.iter().map(|flow| flow.throughput_bps).sum(),
                packets_sent: flows.iter().map(|flow| flow.packets_sent).sum(),
                packets_lost: flows.iter().map(|flow| flow.packets_lost).sum(),
                jain_index: jain_index(&goodputs),
            })
        });
        results.collect()
    }
}

impl RunResults {
    /// The swept values, by name.
    pub fn setting(&self, name: &str) -> Option<&str> {
        let found = self.settings.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Flows by group, in the order in which the groups first appear.
    pub fn groups(&self) -> Vec<(&str, Vec<&FlowResult>)> {
        let mut places = BTreeMap::new();
        let mut groups: Vec<(&str, Vec<&FlowResult>)> = Vec::new();
        for flow in &self.flows {
            let place = *places.entry(flow.group.as_str()).or_insert_with(|| {
                groups.push((&flow.group, Vec::new()));
                groups.len() - 1
            });
            groups[place].1.push(flow);
        }
        groups
    }
}
