// SPDX-License-Identifier: MIT OR Apache-2.0
//! Outcomes with everything that a report can have, and with text that would do harm if it were not escaped.

use netnice_papers::{
    Axis, Choice, Claim, Curve, CurveKind, Effort, Figure, FigureKind, Judgement, Outcome,
    Outcomes, Paper, ReportedValue, Rule, Scale, StudyRecord, Table,
};
use netnice_results::Estimate;

/// Ends a script, a comment, an attribute; begins a tag and an entity.
pub const HOSTILE: &str = r#"</script><script>document.title='taken'</script>--><img src=x onerror="document.title='taken'">'"&amp;"#;

/// Points of the long time series.
pub const LONG: usize = 40_000;

fn value(claim: Claim, ours: &[f64]) -> ReportedValue {
    let ours = Estimate::of(ours);
    let judgement = match &ours {
        Some(ours) => claim.judge(ours),
        None => Judgement {
            verdict: netnice_papers::Verdict::NotReproduced,
            certain: false,
        },
    };
    ReportedValue {
        claim,
        ours,
        judgement,
        reason: ours
            .is_none()
            .then(|| format!("could not be measured {HOSTILE}")),
        lab: None,
    }
}

fn figure(name: &str, kind: FigureKind, x: Axis, y: Axis, curves: Vec<Curve>) -> Figure {
    Figure {
        name: name.to_owned(),
        title: format!("Figure {name}"),
        caption: "What is to be seen.".to_owned(),
        kind,
        x,
        y,
        curves,
    }
}

fn curve(name: &str, kind: CurveKind, points: impl IntoIterator<Item = (f64, f64, f64)>) -> Curve {
    let mut curve = Curve::new(name, kind);
    for (x, y, half) in points {
        match half {
            0.0 => curve.add_exact(x, y),
            half => curve.add(x, Estimate::of(&[y - half, y, y + half])),
        }
    }
    curve
}

fn lines() -> Figure {
    let periods = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2];
    let over = |kind, name: &str, level: f64| {
        let points = periods.map(|x: f64| (x, level + 0.1 * x.ln().sin(), 0.02));
        curve(name, kind, points)
    };
    figure(
        "lines",
        FigureKind::Lines,
        Axis::logarithmic("period", "s"),
        Axis::linear("throughput", "of the excess"),
        vec![
            over(CurveKind::Ours, "TCP", 0.5),
            over(CurveKind::Ours, "TCP-LP", 0.6),
            over(CurveKind::Variant, "TCP-LP, today's", 0.4),
            over(
                CurveKind::Reference,
                "strict priority (reference model)",
                0.9,
            ),
            curve(
                "model",
                CurveKind::Model,
                [(0.05, 0.2, 0.0), (51.2, 0.8, 0.0)],
            ),
            curve("the paper, about", CurveKind::Reported, [(0.2, 0.5, 0.0)]),
            curve("the paper, TCP", CurveKind::Reported, [(0.4, 0.5, 0.0)]),
            curve("the paper, LP", CurveKind::Reported, [(0.8, 0.5, 0.0)]),
            over(CurveKind::Reference, "strict priority, LP", 0.7),
        ],
    )
}

fn time_series() -> Figure {
    let saw = |name: &str, height: f64| {
        let points = (0..LONG).map(|at| {
            let seconds = at as f64 / 40.0;
            (seconds, 1.0 + height * (seconds / 7.0).fract(), 0.0)
        });
        curve(name, CurveKind::Ours, points)
    };
    figure(
        "cwnd",
        FigureKind::TimeSeries,
        Axis::linear("time", "s"),
        Axis::linear("cwnd", "packets"),
        vec![saw("TCP", 30.0), saw("TCP-LP", 8.0)],
    )
}

fn bars() -> Figure {
    let of = |name: &str, kind, values: [f64; 3]| {
        let points = values.into_iter().enumerate();
        curve(name, kind, points.map(|(at, y)| (at as f64, y, 2.0)))
    };
    let names = ["TCP alone", "TCP beside TCP-LP", "TCP beside a second TCP"];
    figure(
        "bars",
        FigureKind::Bars(names.map(str::to_owned).to_vec()),
        Axis::linear("", ""),
        Axis::linear("share of the link", "%"),
        vec![
            of("TCP", CurveKind::Ours, [98.0, 95.0, 50.0]),
            of("the paper", CurveKind::Reported, [97.0, 96.0, 49.0]),
        ],
    )
}

fn odd() -> Vec<Figure> {
    let log = || Axis::logarithmic("size", "bytes");
    let points = [
        (1e3, 0.4, 0.5),
        (1e4, 2.0, 0.3),
        (1e6, 300.0, 100.0),
        (0.0, 1.0, 0.0),
        (1.0, f64::NAN, 0.0),
    ];
    let mut hostile = figure(
        "hostile\"/../<b>",
        FigureKind::Lines,
        Axis::linear(HOSTILE, HOSTILE),
        Axis::linear(HOSTILE, ""),
        vec![curve(HOSTILE, CurveKind::Ours, [(1.0, 1.0, 0.0)])],
    );
    hostile.title = HOSTILE.to_owned();
    hostile.caption = HOSTILE.to_owned();
    vec![
        figure(
            "log-log",
            FigureKind::Lines,
            log(),
            Axis::logarithmic("response time", "s"),
            vec![curve("web", CurveKind::Ours, points)],
        ),
        figure(
            "wide",
            FigureKind::Lines,
            Axis::linear("queue", "ms"),
            Axis::linear("share", "%"),
            vec![
                // By Student's t half of the interval of the second point is 2.48 times 30.
                curve(
                    "share",
                    CurveKind::Ours,
                    [(1.0, 50.0, 1.0), (2.0, 40.0, 30.0)],
                ),
                curve("other", CurveKind::Ours, [(1.0, 20.0, 1.0)]),
            ],
        ),
        figure("empty", FigureKind::Lines, log(), log(), vec![]),
        figure(
            "nothing",
            FigureKind::TimeSeries,
            log(),
            log(),
            vec![curve("a", CurveKind::Ours, [])],
        ),
        hostile,
    ]
}

fn outcome(id: &str, paper: Paper) -> Outcome {
    Outcome {
        id: id.to_owned(),
        paper,
        title: format!("Title of {id}"),
        question: "How much?".to_owned(),
        effort: Effort::Quick,
        choices: vec![Choice::new("minimum RTO", "1 s, as RFC 2988 has it")],
        studies: vec![StudyRecord {
            name: "study".to_owned(),
            points: 11,
            scale: Scale::new(5, 300),
            command: format!("netnice sim {id}.toml --set 'min_rto=\"200ms\"'"),
        }],
        values: vec![
            value(
                Claim::value(
                    "tcplp",
                    "throughput of TCP-LP",
                    "% of the link",
                    2.7,
                    "Table I",
                )
                .fitted()
                .concluding("a few per cent", Rule::AtMost(6.0)),
                &[2.6, 2.7, 2.9],
            ),
            value(
                Claim::statement(
                    "kept",
                    "what TCP keeps",
                    "%",
                    ("slightly perturbed", Rule::AtLeast(94.0)),
                    "V-A",
                )
                .concluding("nine tenths", Rule::AtLeast(90.0)),
                &[93.0, 93.5],
            ),
            value(Claim::value("index", "index", "", 0.001, "Table 4"), &[0.8]),
        ],
        figures: vec![],
        tables: vec![],
        notes: vec!["A note.".to_owned()],
        lab: None,
    }
}

/// The outcomes.
pub fn outcomes() -> Outcomes {
    let mut first = outcome("LP03-T1a", Paper::Lp03);
    first.figures = vec![lines(), time_series(), bars()];
    let mut table = Table::new("Search", &["rate", "ours", "paper"]);
    table.rows = vec![
        ["1.5mbit", "2.71 ± 0.12", "2.7"]
            .map(str::to_owned)
            .to_vec(),
    ];
    first.tables = vec![table];
    let mut second = outcome("DS-T3", Paper::Ds);
    second.figures = odd();
    second.title = HOSTILE.to_owned();
    second.question = HOSTILE.to_owned();
    second.notes = vec![HOSTILE.to_owned()];
    second.choices = vec![Choice::new(HOSTILE, HOSTILE)];
    second.studies[0].name = HOSTILE.to_owned();
    second.studies[0].command = HOSTILE.to_owned();
    let mut table = Table::new(HOSTILE, &[HOSTILE, "b"]);
    table.rows = vec![[HOSTILE, HOSTILE].map(str::to_owned).to_vec()];
    second.tables = vec![table];
    let statement = (HOSTILE, Rule::Nothing);
    let claim = Claim::statement("x", HOSTILE, HOSTILE, statement, HOSTILE);
    second.values.push(value(claim, &[]));
    Outcomes {
        version: "0.1.0".to_owned(),
        command: vec!["netnice".to_owned(), HOSTILE.to_owned()],
        jobs: 2,
        wall_s: 245.0,
        outcomes: vec![first, second],
    }
}
