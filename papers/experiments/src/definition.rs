// SPDX-License-Identifier: MIT OR Apache-2.0
//! One table or figure of a paper.

use serde::{Deserialize, Serialize};

use crate::claim::Claim;
use crate::findings::Findings;
use crate::measured::Measured;
use crate::study::Study;

/// The papers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Paper {
    /// TCP-LP and its evaluation in ns-2.
    #[serde(rename = "LP03")]
    Lp03,
    /// TCP-LP beside Reno and Vegas.
    #[serde(rename = "FF")]
    Ff,
    /// TCP-LP in the Linux kernel: testbed and wide area.
    #[serde(rename = "TB")]
    Tb,
    /// HSTCP-LP.
    #[serde(rename = "HS")]
    Hs,
    /// TCP for Diff-Serv.
    #[serde(rename = "DS")]
    Ds,
}

impl Paper {
    /// All of them, in the order of reports.
    pub const ALL: [Paper; 5] = [Paper::Lp03, Paper::Ff, Paper::Tb, Paper::Hs, Paper::Ds];

    /// The prefix of the ids: `LP03`.
    pub fn short_name(self) -> &'static str {
        match self {
            Paper::Lp03 => "LP03",
            Paper::Ff => "FF",
            Paper::Tb => "TB",
            Paper::Hs => "HS",
            Paper::Ds => "DS",
        }
    }

    /// The subject in a few words, for a reader who does not know the papers.
    pub fn subject(self) -> &'static str {
        match self {
            Paper::Lp03 => "TCP-LP",
            Paper::Ff => "Reno and Vegas",
            Paper::Tb => "Testbed",
            Paper::Hs => "HighSpeed",
            Paper::Ds => "Diff-Serv",
        }
    }

    /// Authors, title, place and year, as far as they are known.
    pub fn citation(self) -> &'static str {
        match self {
            Paper::Lp03 => {
                "A. Kuzmanovic and E. W. Knightly: TCP-LP: A Distributed Algorithm for Low Priority Data Transfer. INFOCOM 2003"
            }
            Paper::Ff => {
                "TCP-LP beside TCP Reno and TCP Vegas: a simulation of fairness and friendliness with ns-2.35"
            }
            Paper::Tb => {
                "A. Kuzmanovic, E. Knightly and R. L. Cottrell: TCP-LP in the Linux kernel: testbed and wide-area experiments"
            }
            Paper::Hs => {
                "A. Kuzmanovic, E. Knightly and R. L. Cottrell: HSTCP-LP: A Protocol for Low-Priority Bulk Data Transfer in High-Speed High-RTT Networks (slides)"
            }
            Paper::Ds => "W. Fang and L. Peterson: TCP Mechanisms for Diff-Serv Architecture",
        }
    }
}

/// A parameter that a paper leaves open, and the chosen value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The open parameter: `minimum RTO`.
    pub open: String,
    /// The chosen value, and why.
    pub chosen: String,
}

/// One table or figure.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// `LP03-T1a`.
    pub id: &'static str,
    /// Paper.
    pub paper: Paper,
    /// Title, as a heading.
    pub title: &'static str,
    /// The question it answers.
    pub question: &'static str,
    /// The parameters that the paper leaves open.
    pub choices: Vec<Choice>,
    /// The values that it reports, with the rules of judgement.
    pub claims: Vec<Claim>,
    /// The studies to run.
    pub studies: Vec<Study>,
    /// Evaluates the runs.
    pub evaluate: fn(&Measured<'_>) -> Findings,
}

impl Choice {
    /// An open parameter, the chosen value, and why.
    pub fn new(open: &str, chosen: &str) -> Choice {
        Choice {
            open: open.to_owned(),
            chosen: chosen.to_owned(),
        }
    }
}
