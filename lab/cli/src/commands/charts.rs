// SPDX-License-Identifier: MIT OR Apache-2.0
//! Charts described in a file of JSON.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use netnice_chart::{Area, AxisData, Chart, Curve, Kind, Panel, Plot, Point, Span};
use serde::Deserialize;

/// The file: panels, drawn below each other.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    panels: Vec<PanelRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PanelRow {
    title: String,
    #[serde(default)]
    caption: String,
    kind: KindRow,
    /// Of bars, or of the columns of a heat map.
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    x: AxisRow,
    #[serde(default)]
    y: AxisRow,
    y_most: Option<f64>,
    #[serde(default)]
    curves: Vec<CurveRow>,
    #[serde(default)]
    areas: Vec<AreaRow>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindRow {
    Lines,
    TimeSeries,
    Bars,
    HeatMap,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct AxisRow {
    label: String,
    #[serde(default)]
    logarithmic: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CurveRow {
    name: String,
    look: Option<usize>,
    points: Vec<(f64, f64)>,
    /// Halves of the points' 95 % confidence intervals.
    #[serde(default)]
    halves: Vec<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AreaRow {
    name: String,
    /// From and to along.
    spans: Vec<(f64, f64)>,
}

/// Reads the panels of a file.
pub fn read(file: &Path) -> Result<Vec<Panel>> {
    let name = || file.display().to_string();
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", name()))?;
    let read: File = serde_json::from_str(&text).with_context(name)?;
    if read.panels.is_empty() {
        bail!("{}: `panels` is empty: give one at least", name());
    }
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let panels = read.panels.into_iter();
    panels
        .enumerate()
        .map(|(number, row)| {
            panel(&stem, row).with_context(|| format!("{}: panel {number}", name()))
        })
        .collect()
}

fn panel(name: &str, row: PanelRow) -> Result<Panel> {
    let kind = match row.kind {
        KindRow::Lines => Kind::Lines,
        KindRow::TimeSeries => Kind::TimeSeries,
        KindRow::Bars => Kind::Bars,
        KindRow::HeatMap => Kind::HeatMap,
    };
    // The points of these count the names.
    let names = matches!(kind, Kind::Bars | Kind::HeatMap).then_some(row.names.len());
    let curves = row.curves.into_iter().map(|row| curve(row, names));
    let areas = row.areas.into_iter().map(|area| Area {
        name: area.name,
        grey: true,
        spans: area
            .spans
            .into_iter()
            .map(|x| Span { x, y: None })
            .collect(),
    });
    let axis = |axis: AxisRow| AxisData {
        label: axis.label,
        logarithmic: axis.logarithmic,
    };
    Ok(Panel {
        areas: areas.collect(),
        plot: Plot {
            name: name.to_owned(),
            title: row.title,
            caption: row.caption,
            notes: Vec::new(),
            y_most: row.y_most,
            chart: Chart {
                kind,
                names: row.names,
                x: axis(row.x),
                y: axis(row.y),
                curves: curves.collect::<Result<_>>()?,
            },
        },
    })
}

/// A curve, whose points count so many `names`, if there are any.
fn curve(row: CurveRow, names: Option<usize>) -> Result<Curve> {
    let CurveRow { name, points, .. } = row;
    let (halves, all) = (row.halves.len(), points.len());
    if halves > 0 && halves != all {
        bail!("curve `{name}`: {halves} `halves` for {all} `points`");
    }
    if let Some(names) = names {
        let counts = |x: f64| x.fract() == 0.0 && (0.0..names as f64).contains(&x);
        if let Some((x, _)) = points.iter().find(|(x, _)| !counts(*x)) {
            bail!(
                "curve `{name}`: a point at {x}: give the number of one of the {names} `names`, from 0"
            );
        }
    }
    let points = points.iter().enumerate().map(|(number, &(x, y))| Point {
        x,
        y,
        half: row.halves.get(number).copied(),
    });
    let mut curve = Curve::new(name, points.collect());
    curve.look = row.look;
    Ok(curve)
}
