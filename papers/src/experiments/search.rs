// SPDX-License-Identifier: MIT OR Apache-2.0
//! The search over what a paper leaves open.

use netnice_scenario::results::Estimate;

use crate::outcome::{number, written};
use crate::{MeasuredPoint, MeasuredStudy, Table};

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

/// The same for any value.
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
    let mut table = Table::new(&title, &columns);
    let mut nearest = Nearest::to(reported);
    for point in &study.points {
        let Some(found) = value(point) else { continue };
        let settings = point.settings.iter().map(|(_, value)| value.clone());
        table.rows.push(settings.chain([written(&found)]).collect());
        nearest.consider(Some(found), || point.setting_words());
    }
    (table, nearest.words())
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

    /// A setting, in words, and what it gives.
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
