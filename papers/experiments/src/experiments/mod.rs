// SPDX-License-Identifier: MIT OR Apache-2.0
//! All experiments, a file each.

mod ds;
mod ff;
mod hs;
mod lp03;
mod search;
mod tb;

use crate::definition::Experiment;

/// In the order of reports: an experiment is one file, its `mod` in that of its paper, and one line here.
const EXPERIMENTS: &[fn() -> Experiment] = &[
    lp03::t1a::experiment,
    lp03::t1b::experiment,
    lp03::f6::experiment,
    lp03::f7::experiment,
    lp03::f8::experiment,
    lp03::f10::experiment,
    lp03::f11::experiment,
    lp03::f12::experiment,
    lp03::f13::experiment,
    lp03::f14::experiment,
    lp03::f15::experiment,
    lp03::f17::experiment,
    lp03::f18::experiment,
    lp03::f20::experiment,
    lp03::f21::experiment,
    lp03::clock::experiment,
    lp03::parameters::experiment,
    lp03::mirrors::experiment,
    ff::t3::experiment,
    ff::f3_f5::experiment,
    ff::f6_f7::experiment,
    ff::t4::experiment,
    tb::aggregation::experiment,
    tb::square_wave::experiment,
    tb::fairness::experiment,
    tb::wide_area::experiment,
    tb::options::experiment,
    hs::hs1::experiment,
    hs::hs2::experiment,
    hs::hs3::experiment,
    hs::hs4::experiment,
    hs::hs5::experiment,
    ds::t1::experiment,
    ds::t3::experiment,
    ds::f3::experiment,
    ds::t4::experiment,
    ds::t6::experiment,
    ds::tagging::experiment,
    ds::precedence::experiment,
];

/// All experiments.
pub fn all() -> Vec<Experiment> {
    EXPERIMENTS.iter().map(|experiment| experiment()).collect()
}

/// Their ids.
pub fn ids() -> Vec<&'static str> {
    all().iter().map(|experiment| experiment.id).collect()
}

/// Is an id that of one of the figures that another stands for? `ff-f4` is within `ff-f3-f5`.
fn is_within(wanted: &str, id: &str) -> bool {
    let parts: Vec<&str> = id.split('-').collect();
    let number = |part: &str| part.strip_prefix('f')?.parse::<u32>().ok();
    match (parts.as_slice(), wanted.split_once('-')) {
        ([paper, first, last], Some((wanted_paper, wanted))) if *paper == wanted_paper => {
            match (number(first), number(last), number(wanted)) {
                (Some(first), Some(last), Some(wanted)) => (first..=last).contains(&wanted),
                _ => false,
            }
        }
        _ => false,
    }
}

/// Those whose id is, or begins with, one of `wanted` (`LP03` is all of that paper, `FF-F4` the one that has this figure),
/// in the order of reports; all where nothing is wanted. The error is what no id begins with.
pub fn select(wanted: &[String]) -> Result<Vec<Experiment>, String> {
    let matches = |id: &str, wanted: &str| {
        let id = id.to_ascii_lowercase();
        let wanted = wanted.to_ascii_lowercase();
        id == wanted || id.starts_with(&format!("{wanted}-")) || is_within(&wanted, &id)
    };
    let unknown = wanted
        .iter()
        .find(|wanted| !ids().iter().any(|id| matches(id, wanted)));
    if let Some(unknown) = unknown {
        return Err(unknown.clone());
    }
    let chosen = |experiment: &Experiment| {
        wanted.is_empty() || wanted.iter().any(|wanted| matches(experiment.id, wanted))
    };
    Ok(all().into_iter().filter(chosen).collect())
}
