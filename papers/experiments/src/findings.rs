// SPDX-License-Identifier: MIT OR Apache-2.0
//! The result of an experiment's evaluation.

use netnice_results::Estimate;
use netnice_study::Table;

use crate::figure::Figure;

/// Values for the claims, and the figures, tables and notes beside them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Findings {
    pub(crate) values: Vec<Value>,
    /// Figures.
    pub figures: Vec<Figure>,
    /// Tables: searches over the open parameters, and tables of the paper.
    pub tables: Vec<Table>,
    /// Findings, a sentence or two each.
    pub notes: Vec<String>,
}

/// Our value for a claim.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Value {
    pub key: String,
    pub ours: Option<Estimate>,
    pub reason: Option<String>,
}

impl Findings {
    /// Our value for the claim with this key.
    pub fn value(&mut self, key: &str, ours: Option<Estimate>) {
        self.values.push(Value {
            key: key.to_owned(),
            ours,
            reason: None,
        });
    }

    /// Adds a value, with the reason to give where it does not agree.
    pub fn value_or_reason(&mut self, key: &str, ours: Option<Estimate>, reason: String) {
        self.values.push(Value {
            key: key.to_owned(),
            ours,
            reason: Some(reason),
        });
    }
}

/// A number that is known exactly.
pub fn exact(value: f64) -> Option<Estimate> {
    Estimate::of(&[value])
}
