// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads a scenario file: values put in from elsewhere, the points of its sweep, checks, and errors that name file, line
//! and field.

mod beside;
mod control_files;
mod defaults;
mod deserializer;
mod differences;
mod error;
mod fault;
mod kept_layout;
pub(crate) mod schema;
mod settings;
mod topology;
mod trace;
mod tree;

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::hexadecimal::hexadecimal;
use crate::input;
use crate::model::Scenario;
use crate::network::{Layout, Place, Problem, Problems};
use fault::{Fault, Origin};
use kept_layout::KeptLayout;
use settings::Setting;
use tree::Node;

pub(crate) use defaults::{NONE, NONE_THAT_WAY, UNDONE_BY_NONE};

pub use control_files::ControlFiles;
pub use differences::{Difference, Source, differences};
pub use error::{ScenarioError, ScenarioProblem};

/// A scenario file that has been read and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioFile {
    /// Name of the file, as it was given.
    pub file: String,
    /// Its text.
    pub text: String,
    /// The settings from outside the file: key and value.
    pub settings: Vec<(String, String)>,
    /// SHA-256 of the text, the settings and the files it refers to, in hexadecimal digits.
    pub hash: String,
    /// The same without the seeds that are set from outside: what decides each of its runs.
    pub hash_of_runs: String,
    /// Parameters and fields of the sweep, in the order of the file; none without a sweep.
    pub axes: Vec<String>,
    /// The points of the sweep, the last parameter changing fastest; one without a sweep.
    pub points: Vec<Point>,
}

fn add_settings(hash: &mut Sha256, settings: &[&(String, String)]) {
    for (key, value) in settings {
        hash.update([0]);
        hash.update(key);
        hash.update([0]);
        hash.update(value);
    }
}

/// A further check by a scenario's user, of each point and its layout.
pub type Check<'a> = &'a dyn Fn(&Scenario, &Layout) -> Vec<Problem>;

/// One point of a sweep: to be run once for each seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The swept names and values, in the order of [`ScenarioFile::axes`].
    pub settings: Vec<(String, String)>,
    /// The scenario with these values.
    pub scenario: Scenario,
    /// Samples of the time series of one run ([`Layout::samples`]).
    pub samples: u64,
    layout: KeptLayout,
}

impl Point {
    /// The network of the scenario, laid out unless it is kept, and kept for the next.
    ///
    /// # Errors
    /// If the scenario has been changed since it was read, as [`Layout::new`].
    pub fn layout(&self) -> Result<Arc<Layout>, Problems> {
        self.layout.get(&self.scenario)
    }

    /// As [`Point::layout`], and keeps it no longer.
    pub fn take_layout(&self) -> Result<Arc<Layout>, Problems> {
        self.layout.take(&self.scenario)
    }
}

impl ScenarioFile {
    /// Reads and checks a file. `settings` are put in, as `netnice sim --set KEY=VALUE` does: a parameter, or a field by
    /// its path such as `links.bottleneck.rate`.
    pub fn load(path: &Path, settings: &[(String, String)]) -> Result<ScenarioFile, ScenarioError> {
        ScenarioFile::load_for(path, settings, ControlFiles::default(), &|_, _| Vec::new())
    }

    /// Reads a file, with a further check by the scenario's user: the first point at which `check` finds something is
    /// an error. `control_files` says which C files may be controls.
    pub fn load_for(
        path: &Path,
        settings: &[(String, String)],
        control_files: ControlFiles,
        check: Check<'_>,
    ) -> Result<ScenarioFile, ScenarioError> {
        let file = path.display().to_string();
        let text = input::read(path, input::SCENARIO_BYTES).map_err(|error| {
            ScenarioError::unreadable(&file, format!("cannot be read: {error}"))
        })?;
        let text = String::from_utf8(text)
            .map_err(|_| ScenarioError::unreadable(&file, "is no text in UTF-8".to_owned()))?;
        let directory = path.parent();
        ScenarioFile::parse_for(&file, &text, settings, directory, control_files, check)
    }

    /// Parses a text. Files with traces are looked for in `directory`, and refused without one.
    pub fn parse(
        file: &str,
        text: &str,
        settings: &[(String, String)],
        directory: Option<&Path>,
    ) -> Result<ScenarioFile, ScenarioError> {
        let control_files = ControlFiles::default();
        ScenarioFile::parse_for(file, text, settings, directory, control_files, &|_, _| {
            Vec::new()
        })
    }

    /// Parses a text, with a further check by the scenario's user, as [`ScenarioFile::load_for`] does.
    pub fn parse_for(
        file: &str,
        text: &str,
        settings: &[(String, String)],
        directory: Option<&Path>,
        control_files: ControlFiles,
        check: Check<'_>,
    ) -> Result<ScenarioFile, ScenarioError> {
        let error = |fault: Fault| ScenarioError::new(file, text, vec![fault.problem()]);
        let mut root = Node::read(text).map_err(error)?;
        settings::expand_shorthands(&mut root).map_err(error)?;
        let mut given = given_settings(settings).map_err(error)?;
        let axes = settings::axes(&root, &mut given).map_err(error)?;
        let known = schema::scenario_keys();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let mut hash = Sha256::new();
        hash.update(text);
        let (of_seeds, of_runs): (Vec<_>, Vec<_>) =
            settings.iter().partition(|(key, _)| key == "seeds");
        add_settings(&mut hash, &of_runs);
        let mut points = Vec::new();
        for point in settings::points(&axes) {
            let mut root = root.clone();
            // Settings on the command line override the file.
            let all: Vec<Setting> = point.iter().chain(&given).cloned().collect();
            // Settings may name its links.
            topology::expand(&mut root, &all, directory, &mut hash).map_err(error)?;
            settings::apply(&mut root, &all, &known).map_err(error)?;
            settings::expand_shorthands(&mut root).map_err(error)?;
            defaults::apply(&mut root).map_err(error)?;
            let mut scenario =
                Scenario::deserialize(&root).map_err(|fault| error(fault.at(&root.origin)))?;
            let is_setting = |place: &Place| matches!(root.origin_of(&place.0), Origin::Outside(_));
            let controls = control_files::load_all(
                &mut scenario,
                directory,
                control_files,
                is_setting,
                &mut hash,
            );
            let checked = controls
                .and_then(|()| trace::load_all(&mut scenario, directory, &mut hash))
                .and_then(|()| Layout::new(&scenario))
                .and_then(|layout| match check(&scenario, &layout) {
                    problems if problems.is_empty() => Ok(layout),
                    problems => Err(problems),
                });
            let layout = checked.map_err(|problems| {
                let placed = |problem: Problem| (Some(root.origin_of(&problem.place.0)), problem);
                ScenarioError::new(file, text, problems.into_iter().map(placed).collect())
            })?;
            points.push(Point {
                samples: layout.samples(&scenario),
                // Those of a hundred thousand points would fill the memory.
                layout: match points.is_empty() {
                    true => KeptLayout::of(layout),
                    false => KeptLayout::default(),
                },
                settings: point
                    .iter()
                    .map(|setting| (setting.key.clone(), setting.value.written()))
                    .collect(),
                scenario,
            });
        }
        let hash_of_runs = hash.clone();
        add_settings(&mut hash, &of_seeds);
        Ok(ScenarioFile {
            file: file.to_owned(),
            text: text.to_owned(),
            settings: settings.to_vec(),
            hash: hexadecimal(&hash.finalize()),
            hash_of_runs: hexadecimal(&hash_of_runs.finalize()),
            axes: axes.into_iter().map(|(axis, _)| axis.key).collect(),
            points,
        })
    }

    /// The scenario of the first point: the only one without a sweep.
    pub fn scenario(&self) -> &Scenario {
        &self.points[0].scenario
    }

    /// Samples of the time series of all runs.
    pub fn samples(&self) -> u64 {
        let of_points = self.points.iter().map(|point| {
            let seeds = point.scenario.seeds.0.len() as u64;
            point.samples.saturating_mul(seeds)
        });
        of_points.fold(0, u64::saturating_add)
    }

    /// All runs: the number of a point and a seed, seed by seed within each point.
    pub fn runs(&self) -> Vec<(usize, u64)> {
        let runs = self.points.iter().enumerate().flat_map(|(number, point)| {
            let seeds = point.scenario.seeds.0.iter();
            seeds.map(move |&seed| (number, seed))
        });
        runs.collect()
    }
}

fn given_settings(settings: &[(String, String)]) -> Result<Vec<Setting>, Fault> {
    let settings = settings.iter().map(|(key, value)| {
        let origin = Origin::Outside(format!("{key}={value}"));
        Ok(Setting {
            key: key.clone(),
            key_origin: origin.clone(),
            value: Node::read_value(value, &origin)?,
        })
    });
    settings.collect()
}
