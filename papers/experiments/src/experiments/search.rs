// SPDX-License-Identifier: MIT OR Apache-2.0
//! The search over the parameters that a paper leaves open.

use netnice_results::Estimate;

use crate::measured::{MeasuredPoint, MeasuredStudy, mean};
use crate::outcome::number;
use netnice_study::{Table, written, written_or_dash};

/// A row for each point of a study with the flow's share of the link, and in words which point comes nearest to the
/// reported value.
pub(crate) fn shares(
    study: &MeasuredStudy<'_>,
    flow: &str,
    link: &str,
    reported: f64,
) -> (Table, String) {
    search(study, "% of the link", reported, |point| {
        point.share_of_link(flow, link)
    })
}

/// Searches for any value.
pub(crate) fn search(
    study: &MeasuredStudy<'_>,
    heading: &str,
    reported: f64,
    value: impl Fn(&MeasuredPoint<'_>) -> Option<Estimate>,
) -> (Table, String) {
    let title = format!("Search over what is open; reported {}", number(reported));
    let keys = study.points.first().map_or(&[][..], |point| point.settings);
    let mut columns: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
    columns.push(heading);
    let mut table = Table::search(&title, &columns);
    let mut nearest = Nearest::to(reported);
    for point in &study.points {
        let Some(found) = value(point) else { continue };
        let row = point.values().chain([written(&found)]);
        table.rows.push(row.collect());
        nearest.consider(Some(found), || point.setting_words());
    }
    (table, nearest.words())
}

/// One of several values that a search compares: heading, the reported value, ours at each point.
pub(crate) struct Target {
    /// Of its column.
    pub heading: &'static str,
    /// The reported value.
    pub reported: f64,
    /// Ours, in the order of the points.
    pub ours: Vec<Option<Estimate>>,
}

impl Target {
    /// A value that is reported, and ours at each point.
    pub fn new(
        heading: &'static str,
        reported: f64,
        ours: impl IntoIterator<Item = Option<Estimate>>,
    ) -> Target {
        Target {
            heading,
            reported,
            ours: ours.into_iter().collect(),
        }
    }
}

/// The result of a search for several values.
pub(crate) struct Joint {
    /// A row for each point, with all values and their mean distance from the reported ones.
    pub table: Table,
    /// Which point comes nearest to all of them, in words.
    pub nearest: String,
    /// Which point comes nearest to each of them, in words.
    pub nearest_to_each: Vec<String>,
}

/// A search for several values at once: a setting that fits one of them may miss the others.
pub(crate) fn joint(title: &str, study: &MeasuredStudy<'_>, targets: &[Target]) -> Joint {
    let keys = study.points.first().map_or(&[][..], |point| point.settings);
    let mut columns: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
    columns.extend(targets.iter().map(|target| target.heading));
    columns.push("mean deviation, %");
    let mut table = Table::search(title, &columns);
    let mut reported = vec![String::new(); keys.len()];
    if let Some(first) = reported.first_mut() {
        *first = "the paper".to_owned();
    }
    reported.extend(targets.iter().map(|target| number(target.reported)));
    reported.push(String::new());
    table.rows.push(reported);
    let mut each: Vec<Nearest> = targets
        .iter()
        .map(|target| Nearest::to(target.reported))
        .collect();
    let mut least: Option<(f64, String)> = None;
    for (number, point) in study.points.iter().enumerate() {
        let found = targets.iter().map(|target| target.ours[number]);
        let found: Vec<Option<Estimate>> = found.collect();
        for (nearest, found) in each.iter_mut().zip(&found) {
            nearest.consider(*found, || point.setting_words());
        }
        let deviations: Option<Vec<f64>> = targets
            .iter()
            .zip(&found)
            .map(|(target, found)| Some(100.0 * ((*found)?.mean / target.reported - 1.0).abs()))
            .collect();
        let mean = deviations.map(|all| mean(&all));
        let mut row: Vec<String> = point.values().collect();
        row.extend(found.iter().map(|&found| written_or_dash(found)));
        row.push(mean.map_or("-".to_owned(), |mean| format!("{mean:.1}")));
        table.rows.push(row);
        let Some(mean) = mean else { continue };
        if least.as_ref().is_none_or(|(least, _)| mean < *least) {
            least = Some((mean, point.setting_words()));
        }
    }
    let nearest = least.map_or(String::new(), |(mean, setting)| {
        format!(
            "of {} settings of what is open the nearest to all {} values is {setting}: {mean:.1} % off on average",
            study.points.len(),
            targets.len()
        )
    });
    Joint {
        table,
        nearest,
        nearest_to_each: each.iter().map(Nearest::words).collect(),
    }
}

/// Which of many settings comes nearest to a reported value.
pub(crate) struct Nearest {
    reported: f64,
    settings: usize,
    best: Option<(f64, String)>,
}

impl Nearest {
    /// None yet.
    pub(crate) fn to(reported: f64) -> Nearest {
        Nearest {
            reported,
            settings: 0,
            best: None,
        }
    }

    /// A setting, in words, and its value.
    pub(crate) fn consider(&mut self, found: Option<Estimate>, setting: impl Fn() -> String) {
        let Some(found) = found else { return };
        self.settings += 1;
        let distance = (found.mean - self.reported).abs();
        if self
            .best
            .as_ref()
            .is_none_or(|(least, _)| distance < *least)
        {
            self.best = Some((distance, format!("{} with {}", written(&found), setting())));
        }
    }

    /// The nearest, in words.
    pub(crate) fn words(&self) -> String {
        self.best.as_ref().map_or(String::new(), |(_, best)| {
            format!(
                "of {} settings of what is open the nearest gives {best}",
                self.settings
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_fits_one_value_may_miss_the_others() {
        let settings: Vec<Vec<(String, String)>> = ["a", "b"]
            .map(|value| vec![("queue".to_owned(), value.to_owned())])
            .to_vec();
        let points = settings.iter().map(|settings| MeasuredPoint {
            settings,
            runs: Vec::new(),
        });
        let study = MeasuredStudy {
            name: "search",
            points: points.collect(),
        };
        let target = |heading, reported, ours: [f64; 2]| {
            Target::new(heading, reported, ours.map(|ours| Estimate::of(&[ours])))
        };
        // The first hits one of them and is 50 % off the other; the second is 10 % off both.
        let targets = [
            target("x", 10.0, [10.0, 11.0]),
            target("y", 20.0, [30.0, 18.0]),
        ];
        let found = joint("Search", &study, &targets);
        assert_eq!(
            found.table.columns,
            ["queue", "x", "y", "mean deviation, %"]
        );
        assert_eq!(found.table.rows[0], ["the paper", "10", "20", ""]);
        assert_eq!(found.table.rows[1], ["a", "10.0", "30.0", "25.0"]);
        assert_eq!(found.table.rows[2], ["b", "11.0", "18.0", "10.0"]);
        assert!(
            found.nearest.contains("queue b: 10.0 %"),
            "{}",
            found.nearest
        );
        assert!(found.nearest_to_each[0].contains("queue a"));
        assert!(found.nearest_to_each[1].contains("queue b"));
    }

    #[test]
    fn the_nearest_setting_is_named() {
        let mut nearest = Nearest::to(2.7);
        assert_eq!(nearest.words(), "");
        for (found, setting) in [(4.0, "a"), (2.5, "b"), (3.0, "c")] {
            nearest.consider(Estimate::of(&[found]), || setting.to_owned());
        }
        nearest.consider(None, || "d".to_owned());
        let words = "of 3 settings of what is open the nearest gives 2.50 with b";
        assert_eq!(nearest.words(), words);
    }
}
