// SPDX-License-Identifier: MIT OR Apache-2.0
//! How curves look: a protocol has the same colour, marker and dashes in every figure.

use netnice_chart::Marker;
use netnice_chart::palette::{self, MARKERS};
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
}

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

/// The marker of a protocol's colour, or for a second curve of the same kind the next one that its protocol does not use.
fn free_marker(
    used: &[(&str, CurveKind, Marker)],
    protocol: &str,
    kind: CurveKind,
    colour: usize,
) -> Marker {
    let is_free = |marker: &Marker| !used.contains(&(protocol, kind, *marker));
    let all = MARKERS.iter().cycle().skip(colour).take(COLOURS);
    all.copied().find(is_free).unwrap_or(MARKERS[colour])
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
    let mut markers: Vec<(&str, CurveKind, Marker)> = Vec::new();
    let looks = figure.curves.iter().map(|curve| {
        let ours = coloured(&curve);
        let found = taken.iter().find(|(other, _)| match ours {
            true => *other == protocol(&curve.name),
            false => names_it(&curve.name, other),
        });
        let colour = found.map_or(0, |&(_, colour)| colour);
        let marker = match curve.kind {
            CurveKind::Ours | CurveKind::Variant | CurveKind::Kernel => {
                let marker = free_marker(&markers, protocol(&curve.name), curve.kind, colour);
                markers.push((protocol(&curve.name), curve.kind, marker));
                marker
            }
            CurveKind::Reference | CurveKind::Model => Marker::None,
            CurveKind::Reported => Marker::Reported,
        };
        Looks {
            kind: curve.kind,
            colour,
            marker,
            beside: !ours && found.is_some(),
        }
    });
    looks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use netnice_papers::{Axis, FigureKind};

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
