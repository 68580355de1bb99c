// SPDX-License-Identifier: MIT OR Apache-2.0
//! How curves look: a protocol has the same colour, marker and dashes in every figure, and no two curves of a figure differ in colour
//! alone.

use netnice_chart::Marker;
use netnice_chart::palette::{self, MARKERS, REPORTED};
use netnice_papers::{Curve, CurveKind, Figure};

/// Colours, each with its own marker and dashes.
const COLOURS: usize = palette::COLOURS.len();

/// Names that curves begin with, and the colour they always have.
const KNOWN: &[(&str, usize)] = &[
    ("TCP", 0),
    ("TCP/Reno", 0),
    ("Reno", 0),
    ("TCP Reno", 0),
    ("TCP-LP", 1),
    ("LP", 1),
    ("TCP-LP/ECN", 2),
    ("HSTCP-LP", 2),
    ("Vegas", 3),
    ("TCP Vegas", 3),
    ("CUBIC", 4),
    ("HighSpeed TCP", 4),
];

/// How a curve looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looks {
    /// Where it comes from.
    pub kind: CurveKind,
    /// Which of the colours.
    pub colour: usize,
    /// Which marker.
    pub marker: Marker,
    /// Dashes and gaps of a line without markers in pixels, where they are not those of its kind.
    pub dashes: Option<&'static str>,
    /// Reported, the ideal or by a formula, but of one of the protocols beside it: in the colour of that.
    pub beside: bool,
}

impl Looks {
    /// Classes of its group.
    pub fn class(&self) -> String {
        let kind = match self.kind {
            CurveKind::Ours => "ours",
            CurveKind::Variant => "variant",
            CurveKind::Kernel => "kernel",
            CurveKind::Reference => "reference",
            CurveKind::Model => "model",
            CurveKind::Reported => "reported",
        };
        let beside = if self.beside { " beside" } else { "" };
        format!("{kind}{beside} colour-{}", self.colour)
    }

    /// Style of its group, which is stronger than its classes.
    pub fn style(&self) -> Option<String> {
        self.dashes.map(|dashes| format!("--dash: {dashes}"))
    }
}

/// Dashes of further lines without markers. The first line of a kind has those of `assets/chart.css`.
const DASHES: [&str; 3] = ["12 3 2 3", "1.5 3", "14 4"];

/// The protocol in a name: `TCP-LP` of `TCP-LP, minimum RTO of 0.2 s`.
fn protocol(name: &str) -> &str {
    let end = [", ", " (", ": "]
        .iter()
        .filter_map(|mark| name.find(mark))
        .min();
    &name[..end.unwrap_or(name.len())]
}

/// Does a name contain a protocol? `the paper, TCP-LP` contains TCP-LP.
fn names_it(name: &str, protocol: &str) -> bool {
    let mut parts = name.split([',', ':', '(', ')']);
    parts.any(|part| part.trim() == protocol)
}

/// Is it drawn as a line without markers?
fn is_line(kind: CurveKind) -> bool {
    matches!(kind, CurveKind::Reference | CurveKind::Model)
}

/// The markers of curves in their order. Curves of one kind are filled alike, so that each has a marker of its own as long as there are
/// any: the first of a protocol that of its colour, the others those that are left, from that on.
fn markers(curves: &[(CurveKind, &str, usize)]) -> Vec<Marker> {
    let mut chosen: Vec<Option<Marker>> = vec![None; curves.len()];
    for first in [true, false] {
        for (number, &(kind, protocol, colour)) in curves.iter().enumerate() {
            let of_protocol =
                |other: &&(CurveKind, &str, usize)| (other.0, other.1) == (kind, protocol);
            let is_first = !curves[..number].iter().any(|other| of_protocol(&other));
            if is_first != first {
                continue;
            }
            let all: Vec<Marker> = match kind {
                CurveKind::Ours | CurveKind::Variant | CurveKind::Kernel => MARKERS
                    .iter()
                    .copied()
                    .cycle()
                    .skip(colour)
                    .take(COLOURS)
                    .collect(),
                CurveKind::Reported => REPORTED.to_vec(),
                CurveKind::Reference | CurveKind::Model => vec![Marker::None],
            };
            let is_free = |marker: &Marker| {
                let mut others = curves.iter().zip(&chosen);
                !others.any(|(other, taken)| other.0 == kind && *taken == Some(*marker))
            };
            chosen[number] = all.iter().copied().find(is_free).or(Some(all[0]));
        }
    }
    chosen.into_iter().flatten().collect()
}

/// The looks of a figure's curves.
pub fn of(figure: &Figure) -> Vec<Looks> {
    let mut taken: Vec<(&str, usize)> = Vec::new();
    let coloured = |curve: &&Curve| {
        matches!(
            curve.kind,
            CurveKind::Ours | CurveKind::Variant | CurveKind::Kernel
        )
    };
    let names = || {
        figure
            .curves
            .iter()
            .filter(coloured)
            .map(|c| protocol(&c.name))
    };
    for name in names() {
        let known = KNOWN.iter().find(|(known, _)| *known == name);
        if let Some(&(_, colour)) = known {
            if !taken.iter().any(|(other, _)| *other == name) {
                taken.push((name, colour));
            }
        }
    }
    for name in names() {
        if !taken.iter().any(|(other, _)| *other == name) {
            let free = (0..COLOURS).find(|colour| !taken.iter().any(|(_, used)| used == colour));
            taken.push((name, free.unwrap_or(taken.len() % COLOURS)));
        }
    }
    let found = |curve: &Curve| {
        let mut all = taken.iter();
        all.find(|(other, _)| match coloured(&curve) {
            true => *other == protocol(&curve.name),
            false => names_it(&curve.name, other),
        })
    };
    let colour = |curve: &Curve| found(curve).map_or(0, |&(_, colour)| colour);
    let curves = figure.curves.iter();
    let kinds: Vec<(CurveKind, &str, usize)> = curves
        .map(|curve| (curve.kind, protocol(&curve.name), colour(curve)))
        .collect();
    let dashes = |number: usize| {
        let mut before = kinds[..number].iter();
        let is_first = before.all(|other| other.0 != kinds[number].0);
        let lines = kinds[..number].iter().filter(|other| is_line(other.0));
        let is_further = is_line(kinds[number].0) && !is_first;
        is_further.then(|| DASHES[(lines.count() - 1) % DASHES.len()])
    };
    let curves = figure.curves.iter().zip(markers(&kinds)).enumerate();
    let looks = curves.map(|(number, (curve, marker))| Looks {
        kind: curve.kind,
        colour: colour(curve),
        marker,
        dashes: dashes(number),
        beside: !coloured(&curve) && found(curve).is_some(),
    });
    looks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use netnice_papers::{Axis, Effort, FigureKind, Measured, MeasuredPoint, MeasuredStudy};

    fn looks_of(names: &[(&str, CurveKind)]) -> Vec<Looks> {
        let curves = names.iter().map(|(name, kind)| Curve::new(name, *kind));
        of(&Figure {
            name: String::new(),
            title: String::new(),
            caption: String::new(),
            kind: FigureKind::Lines,
            x: Axis::linear("", ""),
            y: Axis::linear("", ""),
            curves: curves.collect(),
        })
    }

    #[test]
    fn a_protocol_keeps_its_colour_and_others_get_a_free_one() {
        let looks = looks_of(&[
            ("10 kB", CurveKind::Ours),
            ("TCP-LP", CurveKind::Ours),
            ("TCP", CurveKind::Ours),
            ("TCP-LP, today's", CurveKind::Variant),
            ("strict priority", CurveKind::Reference),
            ("the paper, TCP-LP", CurveKind::Reported),
        ]);
        let colours: Vec<usize> = looks.iter().map(|looks| looks.colour).collect();
        assert_eq!(colours[1..4], [1, 0, 1]);
        assert!(colours[0] > 1, "free: {}", colours[0]);
        assert_eq!(looks[1].marker, looks[3].marker);
        assert_eq!(looks[4].class(), "reference colour-0");
        assert_eq!(looks[5].class(), "reported beside colour-1");
    }

    #[test]
    fn two_variants_of_a_protocol_have_different_markers() {
        let looks = looks_of(&[
            ("TCP", CurveKind::Ours),
            ("TCP, today's", CurveKind::Variant),
            ("TCP, minimum RTO of 0.2 s", CurveKind::Variant),
        ]);
        assert_eq!(looks[0].marker, looks[1].marker, "their lines differ");
        assert_ne!(looks[1].marker, looks[2].marker);
    }

    /// Two curves that differ in colour alone.
    fn same_in_shape(looks: &[Looks]) -> Option<(usize, usize)> {
        let shape = |look: &Looks| (look.kind, look.marker, look.dashes);
        let mut pairs = (0..looks.len()).flat_map(|one| (0..one).map(move |other| (other, one)));
        pairs.find(|&(other, one)| shape(&looks[other]) == shape(&looks[one]))
    }

    /// Every figure of every experiment; what is drawn of runs is there without its points.
    #[test]
    fn no_two_curves_of_an_experiment_differ_in_colour_alone() {
        let mut figures = 0;
        for experiment in netnice_papers::experiments::all() {
            let files = experiment.studies.iter().map(|study| {
                let file = study.scenario(Effort::Quick).unwrap();
                (study, file)
            });
            let files: Vec<_> = files.collect();
            let studies = files.iter().map(|(study, file)| MeasuredStudy {
                name: &study.name,
                points: file
                    .points
                    .iter()
                    .map(|point| MeasuredPoint {
                        settings: &point.settings,
                        runs: Vec::new(),
                    })
                    .collect(),
            });
            let findings = (experiment.evaluate)(&Measured::new(studies.collect()));
            let drawn = findings.figures.into_iter();
            for mut figure in drawn.filter(|figure| matches!(figure.kind, FigureKind::Lines)) {
                // A lab adds its own curves.
                let ours = figure
                    .curves
                    .iter()
                    .filter(|curve| curve.kind == CurveKind::Ours);
                let kernel: Vec<Curve> = ours
                    .map(|curve| {
                        Curve::new(&format!("{}, on a kernel", curve.name), CurveKind::Kernel)
                    })
                    .collect();
                figure.curves.extend(kernel);
                figures += 1;
                let same = same_in_shape(&of(&figure));
                let named =
                    same.map(|(one, other)| (&figure.curves[one].name, &figure.curves[other].name));
                assert_eq!(named, None, "{}", figure.name);
            }
        }
        assert!(figures > 15, "{figures}");
    }

    #[test]
    fn curves_of_one_kind_differ_in_more_than_colour() {
        let looks = looks_of(&[
            ("TCP", CurveKind::Ours),
            ("TCP, minimum RTO of 0.2 s", CurveKind::Variant),
            ("TCP, today's", CurveKind::Variant),
            ("TCP-LP, today's", CurveKind::Variant),
            ("the paper, TCP", CurveKind::Reported),
            ("the paper, TCP-LP", CurveKind::Reported),
            ("strict priority, TCP", CurveKind::Reference),
            ("strict priority, TCP-LP", CurveKind::Reference),
        ]);
        assert_eq!(same_in_shape(&looks), None);
        // TCP-LP's square stays TCP-LP's.
        assert_eq!(looks[3].marker, MARKERS[1]);
    }

    #[test]
    fn more_curves_than_colours_are_drawn_all_the_same() {
        let names: Vec<String> = (0..20).map(|number| format!("flow {number}")).collect();
        let names: Vec<(&str, CurveKind)> = names
            .iter()
            .map(|name| (name.as_str(), CurveKind::Ours))
            .collect();
        assert!(looks_of(&names).iter().all(|looks| looks.colour < COLOURS));
    }
}
