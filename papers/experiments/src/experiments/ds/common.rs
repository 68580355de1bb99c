// SPDX-License-Identifier: MIT OR Apache-2.0
//! The six scenarios of Tables 3 and 6, and the parameters that the paper leaves open in them.

use netnice_study::Scale;

use crate::claim::TOLERANCE;
use crate::definition::Choice;
use crate::measured::{MeasuredPoint, mean};
use crate::study::{Study, scenario};

const FILE: (&str, &str) = scenario!("ds_phases.toml");
/// DS 4.1 averages three seeds; here are more.
const QUICK: Scale = Scale::new(8, 100);
const FULL: Scale = Scale::new(50, 100);
/// Of each point of the search.
const SEARCH: Scale = Scale::new(3, 100);

/// Target rates of the six flows in bits per second (DS Table 2).
pub(super) const TARGETS_BPS: [u32; 6] =
    [2_000_000, 2_000_000, 1_000_000, 1_000_000, 600_000, 600_000];

/// RIO with the paper's thresholds (DS 4.1): 5 and 10 ms, 10 and 20 ms of delay are as many packets of 1000 bytes.
const RIO: &str = r#"{ discipline = "rio", limit = "100p", in = { min_threshold = "10p", max_threshold = "20p", max_probability = 0.02 }, out = { min_threshold = "5p", max_threshold = "10p", max_probability = 0.5 }, gentle = "$gentle", wait = "$wait", weight = "$weight", ecn = "$marking" }"#;

/// An edge that has no profile for a flow: all of it is OUT.
const ALL_OUT: &str = r#"{ kind = "token_bucket", rate = "1bit", burst = "1B" }"#;

/// Mechanism 1 alone.
const FAIR_WINDOW: &str = r#"{ name = "dstcp", target_ssthresh = false, ecn_by_profile = false }"#;

/// A scenario of Table 3 or 6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setup {
    /// Standard TCP and RED: T3 1, T6 1.
    StandardRed,
    /// Modified TCP and RED: T3 2.
    ModifiedRed,
    /// Standard TCP, RIO and TSW: T3 3.
    StandardRio,
    /// Modified TCP, RIO and TSW: T3 4, T6 3.
    ModifiedRio,
    /// TCP0 to TCP3 with mechanism 1, TCP4 and TCP5 standard, RED: T6 2.
    MixedRed,
    /// TCP0 to TCP3 modified, TCP4 and TCP5 standard, RIO and TSW: T6 4.
    MixedRio,
}

impl Setup {
    /// In names of studies and keys of claims.
    pub fn name(self) -> &'static str {
        match self {
            Setup::StandardRed => "standard_red",
            Setup::ModifiedRed => "modified_red",
            Setup::StandardRio => "standard_rio",
            Setup::ModifiedRio => "modified_rio",
            Setup::MixedRed => "mixed_red",
            Setup::MixedRio => "mixed_rio",
        }
    }

    /// In words.
    pub fn title(self) -> &'static str {
        match self {
            Setup::StandardRed => "standard TCP, RED",
            Setup::ModifiedRed => "modified TCP, RED",
            Setup::StandardRio => "standard TCP, RIO and TSW",
            Setup::ModifiedRio => "modified TCP, RIO and TSW",
            Setup::MixedRed => "mechanism 1 beside standard TCP, RED",
            Setup::MixedRio => "modified beside standard TCP, RIO and TSW",
        }
    }

    fn has_rio(self) -> bool {
        matches!(
            self,
            Setup::StandardRio | Setup::ModifiedRio | Setup::MixedRio
        )
    }

    /// The congestion control of a flow, where it is not Reno, and whether it understands ECN.
    fn control(self, flow: usize) -> Option<(String, bool)> {
        let modified = || {
            let target = TARGETS_BPS[flow];
            (
                format!(r#"{{ name = "dstcp", target_rate_bps = {target}.0 }}"#),
                true,
            )
        };
        match self {
            Setup::StandardRed | Setup::StandardRio => None,
            Setup::ModifiedRed | Setup::ModifiedRio => Some(modified()),
            Setup::MixedRed => (flow < 4).then(|| (FAIR_WINDOW.to_owned(), false)),
            Setup::MixedRio => (flow < 4).then(modified),
        }
    }

    fn apply(self, mut study: Study) -> Study {
        if self.has_rio() {
            study = study.set("links.bottleneck.queue", RIO);
        }
        for flow in 0..TARGETS_BPS.len() {
            if let Some((control, ecn)) = self.control(flow) {
                study = study
                    .set(&format!("flows.tcp{flow}.congestion_control"), &control)
                    .set(&format!("flows.tcp{flow}.tcp.ecn"), &ecn.to_string());
            }
            if !self.has_rio() {
                study = study.set(&format!("links.tcp{flow}_source-left.marker"), ALL_OUT);
            }
        }
        study
    }

    /// Its study.
    pub fn study(self) -> Study {
        let name = format!("ds_{}", self.name());
        self.apply(Study::new(name, FILE, QUICK, FULL))
    }

    /// The search over the open parameters.
    pub fn search(self) -> Study {
        let name = format!("ds_{}_search", self.name());
        let mut study = self
            .apply(Study::new(name, FILE, SEARCH, Scale::new(10, 100)))
            .sweep("min_rto", &["200ms", "1s"])
            .sweep("delayed_ack", &["false", "true"])
            .sweep("wait", &["false", "true"]);
        if self.has_rio() {
            study = study.sweep("window", &["200ms", "500ms", "1s"]);
        }
        if self.control(0).is_some_and(|(_, ecn)| ecn) {
            study = study.sweep("marking", &["mark", "mark_always"]);
        }
        study
    }
}

/// The parameters that the paper leaves open in all of them.
pub(super) fn choices() -> Vec<Choice> {
    vec![
        Choice::new(
            "minimum RTO, delayed ACKs, spacing of early drops, window of TSW, marking above the maximum threshold",
            "fitted, one setting for all scenarios: by the mean deviation over the 70 values of both tables the best are alike but for delayed ACKs, which three seeds do not tell apart; taken without, as is ns's default. 0.2 s, which is two ticks of 100 ms; an ACK for each packet; drops spaced as in RED's paper, not at least 1/p packets apart; 0.2 s; packets are marked wherever they would be dropped, as the text has it for a gateway in its last phase (DS 3.2.3)",
        ),
        Choice::new(
            "RED's average and its slope above the maximum threshold",
            "a weight of 0.002 for each packet, and all is dropped above (not gentle): the defaults of ns at the time",
        ),
        Choice::new(
            "limit of the queue",
            "100 packets: the average is held far below it",
        ),
        Choice::new(
            "whether the modified TCP and the routers use ECN",
            "they do in all scenarios of the modified TCP, as it is one of its three mechanisms; standard TCP does not; mechanism 1 alone does not",
        ),
        Choice::new(
            "tags where there is no tagger (RED)",
            "OUT: a sender sends all packets with the bit off (DS 6.1)",
        ),
        Choice::new("profile of the CBR source", "none: all of it is OUT"),
        Choice::new(
            "RIO's average for OUT packets",
            "that of all packets waiting (RIO-C), as the text says (DS 2.1)",
        ),
        Choice::new(
            "policy of the fair window",
            "2, c * rtt^2: c = 100 is said to be one packet each 100 ms (DS 5.1)",
        ),
        Choice::new(
            "headers, begin of the flows",
            "40 of the 1000 bytes are headers; a random begin within the first second",
        ),
    ]
}

/// A row of a search: the point's settings, how many deviations reproduce a value, and their mean in percent; and that mean.
pub(super) fn deviation_row(point: &MeasuredPoint<'_>, deviations: &[f64]) -> (Vec<String>, f64) {
    let within = deviations.iter().filter(|&&part| part <= TOLERANCE).count();
    let mean = mean(deviations);
    let figures = [within.to_string(), format!("{:.1}", 100.0 * mean)];
    (point.values().chain(figures).collect(), mean)
}
