// SPDX-License-Identifier: MIT OR Apache-2.0
//! The points of a sweep: what tells them apart, in few words, and those that a reader wants.

use std::collections::{HashMap, HashSet};

use crate::{Manifest, PointSummary, RunResults, Summary, quantity};

/// The points of a sweep that are drawn.
pub(super) struct Sweep<'a> {
    pub summary: &'a Summary,
    scenario: &'a str,
    /// What has several values.
    axes: Vec<Axis>,
    /// What has one value, in words.
    fixed: String,
}

/// A parameter or field with several values.
pub(super) struct Axis {
    /// Place among the settings of a point.
    place: usize,
    key: String,
    /// The unit of all values; `None` where they have none, or several.
    unit: Option<&'static str>,
    /// Each value in few words.
    words: HashMap<String, String>,
}

impl<'a> Sweep<'a> {
    pub fn new(manifest: &'a Manifest, summary: &'a Summary) -> Sweep<'a> {
        let (mut axes, mut fixed) = (Vec::new(), String::new());
        for (place, key) in manifest.axes.iter().enumerate() {
            let points = summary.points.iter();
            let all = points.filter_map(|point| Some(point.settings.get(place)?.1.as_str()));
            let values = distinct(all);
            match &values[..] {
                [] => {}
                [value] => fixed += &format!(", {key} = {}", short_values(&[value])[0]),
                values => {
                    let words = short_values(values);
                    let words = values.iter().map(|&value| value.to_owned()).zip(words);
                    axes.push(Axis {
                        place,
                        key: key.clone(),
                        unit: unit_of(values),
                        words: words.collect(),
                    });
                }
            }
        }
        Sweep {
            summary,
            scenario: &manifest.scenario,
            axes,
            fixed,
        }
    }

    pub fn points(&self) -> &[PointSummary] {
        &self.summary.points
    }

    /// A title, with the values that all points have.
    pub fn title(&self, words: &str) -> String {
        format!("{}: {words}{}", self.scenario, self.fixed)
    }

    /// The last axis whose values are quantities of one unit.
    pub fn along(&self) -> Option<&Axis> {
        self.axes.iter().rev().find(|axis| axis.unit.is_some())
    }

    /// What tells a point apart, but for its value along `without`.
    pub fn values(&self, point: &PointSummary, without: Option<&Axis>) -> String {
        let axes = self.axes.iter();
        let axes = axes.filter(|axis| without.is_none_or(|without| without.place != axis.place));
        let values = axes.filter_map(|axis| {
            let (_, value) = point.settings.get(axis.place)?;
            axis.words.get(value).map(String::as_str)
        });
        values.collect::<Vec<_>>().join(", ")
    }

    /// What has several values.
    pub fn keys(&self) -> String {
        let keys = self.axes.iter().map(|axis| axis.key.as_str());
        keys.collect::<Vec<_>>().join(", ")
    }
}

impl Axis {
    /// A point's value as a number.
    pub fn value(&self, point: &PointSummary) -> f64 {
        let value = point.settings.get(self.place);
        let number = value.and_then(|(_, value)| quantity(value));
        number.map_or(0.0, |(number, _)| number)
    }

    /// With the unit.
    pub fn label(&self) -> String {
        match self.unit.unwrap_or_default() {
            "" => self.key.clone(),
            unit => format!("{} ({unit})", self.key),
        }
    }
}

fn distinct<'a>(values: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    values.filter(|value| seen.insert(*value)).collect()
}

fn unit_of(values: &[&str]) -> Option<&'static str> {
    let mut units = values.iter().map(|value| quantity(value).map(|it| it.1));
    let first = units.next()??;
    units.all(|unit| unit == Some(first)).then_some(first)
}

/// Keys whose values name a table.
const NAMING: [&str; 3] = ["discipline", "name", "kind"];

/// Each value in as few words as tell it apart: of tables, `{ key = value, … }`, the names and the fields that not all of them have.
fn short_values(values: &[&str]) -> Vec<String> {
    let tables: Vec<Option<Vec<(&str, &str)>>> = values.iter().map(|it| fields(it)).collect();
    let all_tables = values.len() > 1 && tables.iter().all(Option::is_some);
    let common = |field: &(&str, &str)| {
        let mut tables = tables.iter().flatten();
        values.len() > 1 && tables.clone().count() > 1 && tables.all(|it| it.contains(field))
    };
    let words = |shown: Vec<&(&str, &str)>| {
        let words = shown
            .into_iter()
            .map(|&(key, value)| match NAMING.contains(&key) {
                true => value.to_owned(),
                false => format!("{key} = {value}"),
            });
        words.collect::<Vec<_>>().join(", ")
    };
    let short: Vec<String> = values
        .iter()
        .zip(&tables)
        .map(|(value, table)| {
            let Some(table) = table else {
                return (*value).to_owned();
            };
            let named = |field: &(&str, &str)| !all_tables && NAMING.contains(&field.0);
            let apart = table.iter().filter(|field| named(field) || !common(field));
            match words(apart.collect()) {
                // It has nothing of its own.
                none if none.is_empty() => words(table.iter().collect()),
                words => words,
            }
        })
        .collect();
    let different: HashSet<&String> = short.iter().collect();
    match different.len() == values.len() {
        true => short,
        false => values.iter().map(|&value| value.to_owned()).collect(),
    }
}

/// The fields of a table as settings write it; `None` for another value.
fn fields(value: &str) -> Option<Vec<(&str, &str)>> {
    let inside = value.strip_prefix("{ ")?.strip_suffix(" }")?;
    let (mut depth, mut start, mut fields) = (0, 0, Vec::new());
    for (at, letter) in inside.char_indices() {
        match letter {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                fields.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    fields.push(&inside[start..]);
    let fields = fields
        .into_iter()
        .map(|field| field.trim().split_once(" = "));
    fields.collect()
}

/// A field of the sweep by its name, or by that name's end, and the value that it is to have.
pub type Wanted = (String, String);

/// The runs of the points that have what is wanted: of several values of a field one of them. An error says what there is to choose from.
pub fn choose(
    manifest: &Manifest,
    runs: Vec<RunResults>,
    wanted: &[Wanted],
) -> Result<Vec<RunResults>, String> {
    let mut allowed: HashMap<usize, HashSet<String>> = HashMap::new();
    for (key, value) in wanted {
        let named = |axis: &String| axis == key;
        let ends = |axis: &String| {
            let before = axis.strip_suffix(key.as_str());
            before.is_some_and(|before| before.ends_with('.'))
        };
        let axes = manifest.axes.iter();
        let exact = axes.clone().position(named);
        let place = exact.or_else(|| match axes.clone().filter(|axis| ends(axis)).count() {
            1 => axes.clone().position(ends),
            _ => None,
        });
        let Some(place) = place else {
            return Err(match manifest.axes.is_empty() {
                true => format!("{key}={value}: there is no sweep"),
                false => format!(
                    "{key}={value}: `{key}` is not one field of the sweep; its fields are {}",
                    manifest.axes.join(", ")
                ),
            });
        };
        let settings = runs.iter().filter_map(|run| run.settings.get(place));
        let values = distinct(settings.map(|(_, value)| value.as_str()));
        let words = short_values(&values);
        let mut both = values.iter().zip(&words);
        let found = both.find(|(known, words)| *known == value || *words == value);
        let Some((found, _)) = found else {
            return Err(format!(
                "{key}={value}: {} has no value `{value}`; it has {}",
                manifest.axes[place],
                words.join("; ")
            ));
        };
        let of_axis = allowed.entry(place).or_default();
        of_axis.insert((*found).to_owned());
    }
    let has = |run: &RunResults| {
        allowed.iter().all(|(&place, values)| {
            let setting = run.settings.get(place);
            setting.is_some_and(|(_, value)| values.contains(value))
        })
    };
    let chosen: Vec<RunResults> = runs.into_iter().filter(has).collect();
    match chosen.is_empty() {
        true => Err("no run of these points is finished".to_owned()),
        false => Ok(chosen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_named_by_what_tells_them_apart() {
        for (values, expected) in [
            (&["cubic", "netnice"][..], &["cubic", "netnice"][..]),
            (
                &[
                    "200ms",
                    "{ discipline = fq_codel }",
                    "{ discipline = cake }",
                ],
                &["200ms", "fq_codel", "cake"],
            ),
            (
                &[
                    "{ discipline = fq_codel, target = 5ms, quantum = 300 }",
                    "{ discipline = fq_codel, target = 20ms, quantum = 300 }",
                ],
                &["target = 5ms", "target = 20ms"],
            ),
            (
                &[
                    "{ discipline = fq_codel }",
                    "{ discipline = fq_codel, target = 20ms }",
                ],
                &["fq_codel", "target = 20ms"],
            ),
            // Beside what is no table the name stays.
            (
                &[
                    "1s",
                    "{ discipline = red, maps = [{ a = 1, b = 2 }, { a = 2 }] }",
                    "{ discipline = red, maps = [] }",
                ],
                &[
                    "1s",
                    "red, maps = [{ a = 1, b = 2 }, { a = 2 }]",
                    "red, maps = []",
                ],
            ),
            (&["{ name = dstcp, target = 1s }"], &["dstcp, target = 1s"]),
            // The words of both would be the same.
            (
                &["cake", "{ discipline = cake }"],
                &["cake", "{ discipline = cake }"],
            ),
        ] {
            assert_eq!(short_values(values), expected);
        }
    }

    fn manifest() -> Manifest {
        Manifest {
            axes: vec!["flows.a.rtt".to_owned(), "links.l.queue".to_owned()],
            ..super::super::tests::manifest(&[])
        }
    }

    fn runs() -> Vec<RunResults> {
        let mut runs = Vec::new();
        for rtt in ["1ms", "2ms"] {
            for queue in ["1s", "{ discipline = cake }"] {
                let setting = |key: &str, value: &str| (key.to_owned(), value.to_owned());
                runs.push(RunResults {
                    settings: vec![setting("flows.a.rtt", rtt), setting("links.l.queue", queue)],
                    ..RunResults::default()
                });
            }
        }
        runs
    }

    #[test]
    fn points_are_chosen_by_their_values() {
        let chosen = |wanted: &[(&str, &str)]| {
            let wanted = wanted.iter();
            let wanted: Vec<Wanted> = wanted
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect();
            choose(&manifest(), runs(), &wanted).map(|runs| {
                let runs = runs.iter();
                runs.map(|run| format!("{} {}", run.settings[0].1, run.settings[1].1))
                    .collect::<Vec<_>>()
            })
        };
        assert_eq!(
            chosen(&[("queue", "cake")]).unwrap(),
            ["1ms { discipline = cake }", "2ms { discipline = cake }"]
        );
        let one = chosen(&[("links.l.queue", "1s"), ("rtt", "2ms")]);
        assert_eq!(one.unwrap(), ["2ms 1s"]);
        let either = chosen(&[("rtt", "1ms"), ("rtt", "2ms"), ("queue", "1s")]);
        assert_eq!(either.unwrap(), ["1ms 1s", "2ms 1s"]);
        assert_eq!(chosen(&[]).unwrap().len(), 4);
        assert_eq!(
            chosen(&[("queue", "red")]).unwrap_err(),
            "queue=red: links.l.queue has no value `red`; it has 1s; cake"
        );
        let unknown = chosen(&[("ue", "red")]).unwrap_err();
        assert!(
            unknown.ends_with("its fields are flows.a.rtt, links.l.queue"),
            "{unknown}"
        );
    }

    #[test]
    fn what_has_one_value_stands_in_the_title() {
        let manifest = manifest();
        let summary = Summary::of(&runs()[..2]);
        let sweep = Sweep::new(&manifest, &summary);
        assert_eq!(sweep.title("goodput"), "a: goodput, flows.a.rtt = 1ms");
        assert_eq!(sweep.values(&summary.points[1], None), "cake");
        assert_eq!(
            (sweep.keys().as_str(), sweep.along().is_none()),
            ("links.l.queue", true)
        );
    }
}
