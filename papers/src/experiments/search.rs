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
    let mut nearest: Option<(f64, String)> = None;
    for point in &study.points {
        let Some(found) = value(point) else { continue };
        let mut row: Vec<String> = point
            .settings
            .iter()
            .map(|(_, value)| value.clone())
            .collect();
        row.push(written(&found));
        table.rows.push(row);
        let distance = (found.mean - reported).abs();
        if nearest.as_ref().is_none_or(|(least, _)| distance < *least) {
            nearest = Some((
                distance,
                format!("{} with {}", written(&found), point.setting_words()),
            ));
        }
    }
    let words = nearest.map_or(String::new(), |(_, words)| {
        format!(
            "of {} settings of what is open the nearest gives {words}",
            table.rows.len()
        )
    });
    (table, words)
}
