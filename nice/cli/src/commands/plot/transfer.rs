// SPDX-License-Identifier: MIT OR Apache-2.0
//! The log of `netnice run --log` as a picture, and as lines for a terminal. No I/O.

use netnice_chart::{Area, AxisData, Chart, Curve, Kind, Panel, Plot, Point, Span};

use crate::sparkline;
use crate::transfer_log::{Entry, Header, Logged};
use netnice_terminal::text;

/// States in which a connection leaves the line to others.
const YIELDS: [&str; 2] = ["yielding", "paused"];
/// All states of both directions, with a letter each for a terminal.
const STATES: [(&str, char); 6] = [
    ("slow start", 's'),
    ("avoidance", 'a'),
    ("filling", 'f'),
    ("inference", 'i'),
    ("yielding", 'y'),
    ("paused", 'p'),
];
/// Characters of a title at the most.
const LONGEST_TITLE: usize = 80;

/// A log, and the direction that it is drawn for: that which moved more.
pub struct Transfer<'a> {
    header: &'a Header,
    entries: &'a [Entry],
    receives: bool,
}

/// The side of a connection that governs the direction, and is drawn.
struct Side<'a> {
    state: Option<&'a str>,
    delay_ms: Option<f64>,
    threshold_ms: Option<f64>,
}

impl<'a> Transfer<'a> {
    /// Chooses the direction.
    pub fn new(header: &'a Header, entries: &'a [Entry]) -> Self {
        let rates = |rate: fn(&Logged) -> u64| {
            let all = entries.iter().flat_map(|entry| &entry.connections);
            all.map(|one| rate(one) as f64).sum::<f64>()
        };
        let sent = rates(|one| one.figures.rate_bits_per_second);
        let received = rates(|one| one.figures.receive_rate_bits_per_second);
        Self {
            header,
            entries,
            receives: received > sent,
        }
    }

    /// The side that governs the direction; the other one where only that is governed.
    fn side<'b>(&self, one: &'b Logged) -> Side<'b> {
        let figures = &one.figures;
        let sending = Side {
            state: figures.state.as_deref(),
            delay_ms: figures
                .delay_over_minimum_ms
                .filter(|_| figures.signal.is_some()),
            threshold_ms: figures.threshold_ms,
        };
        let receiving = Side {
            state: figures.receive_state.as_deref(),
            delay_ms: figures.receive_delay_over_minimum_ms,
            threshold_ms: figures.receive_threshold_ms,
        };
        match (self.receives, sending.state, receiving.state) {
            (true, _, Some(_)) | (false, None, Some(_)) => receiving,
            _ => sending,
        }
    }

    /// The direction's rate at a time, in bits per second.
    fn rate(&self, entry: &Entry, receives: bool) -> f64 {
        let rates = entry.connections.iter().map(|one| match receives {
            true => one.figures.receive_rate_bits_per_second,
            false => one.figures.rate_bits_per_second,
        });
        rates.sum::<u64>() as f64
    }

    /// The largest delay at a time, with the threshold of the same connection, in milliseconds.
    fn delay(&self, entry: &Entry) -> Option<(f64, f64)> {
        let sides = entry.connections.iter().map(|one| self.side(one));
        let delays = sides.filter_map(|side| Some((side.delay_ms?, side.threshold_ms?)));
        delays.max_by(|one, other| one.0.total_cmp(&other.0))
    }

    fn in_state(&self, entry: &Entry, states: &[&str]) -> usize {
        let all = entry.connections.iter().map(|one| self.side(one).state);
        all.flatten().filter(|state| states.contains(state)).count()
    }

    /// Returns true if at least half of the connections yield.
    fn yields(&self, entry: &Entry) -> bool {
        let known = self.in_state(entry, &STATES.map(|(name, _)| name));
        known > 0 && 2 * self.in_state(entry, &YIELDS) >= known
    }

    /// The times in which the transfer yields: from the first reading that shows it to the next that does not.
    pub fn bands(&self) -> Vec<(f64, f64)> {
        let mut bands: Vec<(f64, f64)> = Vec::new();
        let mut open = false;
        for entry in self.entries {
            if let Some(last) = bands.last_mut().filter(|_| open) {
                last.1 = entry.time_s;
            }
            let yields = self.yields(entry);
            if yields && !open {
                bands.push((entry.time_s, entry.time_s));
            }
            open = yields;
        }
        bands
    }

    /// Rate, delay and states over time, to be drawn one below the other.
    pub fn panels(&self) -> Vec<Panel> {
        let curve = |name: &str, value: &dyn Fn(&Entry) -> Option<f64>| {
            let points = self.entries.iter().filter_map(|entry| {
                let y = value(entry).filter(|value| value.is_finite())?;
                Some(Point {
                    x: entry.time_s,
                    y,
                    half: None,
                })
            });
            Curve::new(name, points.collect())
        };
        let rates = [
            curve("sent", &|entry| Some(self.rate(entry, false) / 1e6)),
            curve("received", &|entry| Some(self.rate(entry, true) / 1e6)),
        ];
        let moves = |curve: &Curve| curve.points.iter().any(|point| point.y > 0.0);
        let delays = vec![
            curve("delay", &|entry| Some(self.delay(entry)?.0)),
            curve("threshold", &|entry| Some(self.delay(entry)?.1)),
        ];
        let plot = |title: String, label: &str, curves: Vec<Curve>| Plot {
            name: "transfer".to_owned(),
            title,
            caption: String::new(),
            notes: Vec::new(),
            y_most: None,
            chart: Chart {
                kind: Kind::TimeSeries,
                names: Vec::new(),
                x: AxisData::linear("time (s)"),
                y: AxisData::linear(label),
                curves,
            },
        };
        let grey = || {
            let spans = self.bands().into_iter().map(|x| Span { x, y: None });
            let area = Area {
                name: "yields".to_owned(),
                grey: true,
                spans: spans.collect(),
            };
            Some(area).filter(|area| !area.spans.is_empty())
        };
        let rates = rates.into_iter().filter(moves).collect();
        let panel = |plot: Plot, areas: Vec<Area>| Panel { plot, areas };
        vec![
            panel(
                plot(self.title(), "rate (Mb/s)", rates),
                grey().into_iter().collect(),
            ),
            panel(
                plot("Queueing delay".to_owned(), "delay (ms)", delays),
                grey().into_iter().collect(),
            ),
            panel(
                plot("States".to_owned(), "open connections", Vec::new()),
                self.states(),
            ),
        ]
    }

    /// The number of connections in each state, one upon the other, from each reading to the next.
    fn states(&self) -> Vec<Area> {
        let areas = STATES.iter().enumerate().map(|(at, (name, _))| {
            let below = STATES.map(|(name, _)| name);
            let mut spans: Vec<Span> = Vec::new();
            for pair in self.entries.windows(2) {
                let low = self.in_state(&pair[0], &below[..at]) as f64;
                let high = low + self.in_state(&pair[0], &[name]) as f64;
                let x = (pair[0].time_s, pair[1].time_s);
                match spans.last_mut() {
                    Some(last) if last.y == Some((low, high)) && last.x.1 == x.0 => last.x.1 = x.1,
                    _ if high > low => spans.push(Span {
                        x,
                        y: Some((low, high)),
                    }),
                    _ => {}
                }
            }
            Area {
                name: (*name).to_owned(),
                grey: false,
                spans,
            }
        });
        areas.filter(|area| !area.spans.is_empty()).collect()
    }

    fn title(&self) -> String {
        let command = self.header.command.join(" ");
        let mut title: String = command.chars().take(LONGEST_TITLE).collect();
        if title.len() < command.len() {
            title.push('…');
        }
        // The caption is one line.
        let title = title.replace(|character: char| character.is_control(), " ");
        format!("{title} ({})", self.header.control)
    }

    /// Draws it in lines of at most `width` characters.
    pub fn lines(&self, width: usize) -> Vec<String> {
        const LABEL: usize = 7;
        let (Some(first), Some(last)) = (self.entries.first(), self.entries.last()) else {
            return Vec::new();
        };
        let columns = width
            .saturating_sub(LABEL)
            .clamp(10, self.entries.len().max(10));
        let span = (last.time_s - first.time_s).max(f64::MIN_POSITIVE);
        let mut readings: Vec<Vec<&Entry>> = vec![Vec::new(); columns];
        for entry in self.entries {
            let column = (entry.time_s - first.time_s) / span * columns as f64;
            readings[(column as usize).min(columns - 1)].push(entry);
        }
        let row = |values: &[Option<f64>], unit: &dyn Fn(f64) -> String| {
            let top = values.iter().flatten().copied().fold(0.0, f64::max);
            (sparkline::line(values.iter().copied(), top), unit(top))
        };
        let rates: Vec<Option<f64>> = readings
            .iter()
            .map(|entries| {
                let sum: f64 = entries
                    .iter()
                    .map(|entry| self.rate(entry, self.receives))
                    .sum();
                (!entries.is_empty()).then(|| sum / entries.len() as f64)
            })
            .collect();
        let delays: Vec<Option<f64>> = readings
            .iter()
            .map(|entries| {
                let delays = entries.iter().filter_map(|entry| self.delay(entry));
                delays.map(|(delay, _)| delay).reduce(f64::max)
            })
            .collect();
        let states: String = readings
            .iter()
            .map(|entries| self.letter(entries))
            .collect();
        let (rates, most) = row(&rates, &|rate| text::rate((rate / 8.0) as u64));
        let (delays, longest) = row(&delays, &|delay| format!("{delay:.1} ms"));
        let (begin, end) = (
            format!("{:.0} s", first.time_s),
            format!("{:.0} s", last.time_s),
        );
        let gap = columns.saturating_sub(begin.len() + end.len());
        let used = STATES.iter().filter(|(_, letter)| states.contains(*letter));
        let used: Vec<String> = used
            .map(|(name, letter)| format!("{letter} {name}"))
            .collect();
        let direction = if self.receives { "received" } else { "sent" };
        vec![
            format!("rate   {rates}"),
            format!("delay  {delays}"),
            format!("state  {states}"),
            format!("       {begin}{}{end}", " ".repeat(gap)),
            format!("highest rate {direction} {most}, longest queueing delay {longest}"),
            format!("states: {}", used.join(", ")),
        ]
    }

    /// The letter of the state in which most connections were, over some readings.
    fn letter(&self, entries: &[&Entry]) -> char {
        let times = |name| {
            entries
                .iter()
                .map(|entry| self.in_state(entry, &[name]))
                .sum()
        };
        let all = STATES.map(|(name, letter)| (times(name), letter));
        let most: Option<&(usize, char)> = all.iter().max_by_key(|(times, _)| *times);
        most.filter(|(times, _)| *times > 0)
            .map_or(' ', |(_, letter)| *letter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Figures;

    fn header() -> Header {
        let command = ["rsync".into(), "-a\nx".into()];
        Header::new("netnice", &command, std::time::Duration::from_millis(250))
    }

    /// Readings a second apart: state, Mb/s and delay in milliseconds of the only connection.
    fn entries(of: &[(&str, u64, f64)]) -> Vec<Entry> {
        let entry = |(second, &(state, rate, delay)): (usize, &(&str, u64, f64))| Entry {
            time_s: second as f64,
            decisions: Vec::new(),
            connections: vec![Logged {
                connection: 1,
                local: String::new(),
                peer: String::new(),
                governed: Some("sender".to_owned()),
                figures: Figures {
                    state: Some(state.to_owned()),
                    rate_bits_per_second: 1_000_000 * rate,
                    delay_over_minimum_ms: Some(delay),
                    threshold_ms: Some(15.0),
                    signal: Some("one-way delay".to_owned()),
                    ..Figures::default()
                },
            }],
        };
        of.iter().enumerate().map(entry).collect()
    }

    fn yielding() -> Vec<Entry> {
        entries(&[
            ("slow start", 2, 1.0),
            ("avoidance", 8, 5.0),
            ("inference", 4, 30.0),
            ("yielding", 1, 40.0),
            ("avoidance", 6, 3.0),
            ("yielding", 1, 20.0),
        ])
    }

    #[test]
    fn bands_are_the_times_of_yielding() {
        let (header, entries) = (header(), yielding());
        let transfer = Transfer::new(&header, &entries);
        assert_eq!(transfer.bands(), [(3.0, 4.0), (5.0, 5.0)]);
        let panels = transfer.panels();
        assert_eq!(panels[0].plot.title, "rsync -a x (netnice)");
        let names = |at: usize| {
            let curves = panels[at]
                .plot
                .chart
                .curves
                .iter()
                .map(|curve| &curve.name[..]);
            let areas = panels[at].areas.iter().map(|area| &area.name[..]);
            curves.chain(areas).collect::<Vec<_>>()
        };
        assert_eq!(names(0), ["sent", "yields"]);
        assert_eq!(names(1), ["delay", "threshold", "yields"]);
        assert_eq!(
            names(2),
            ["slow start", "avoidance", "inference", "yielding"]
        );
        assert_eq!(panels[0].plot.chart.curves[0].points[1].y, 8.0);
        let avoidance = panels[2].areas[1].spans.iter().map(|one| one.x);
        assert_eq!(avoidance.collect::<Vec<_>>(), [(1.0, 2.0), (4.0, 5.0)]);
    }

    #[test]
    fn a_terminal_shows_rate_delay_and_state() {
        let (header, entries) = (header(), yielding());
        let lines = Transfer::new(&header, &entries).lines(80);
        // Ten columns for six readings.
        assert_eq!(lines[0], "rate   ▃ █ ▅ ▂ ▇▂");
        assert_eq!(lines[2], "state  s a i y ay");
        assert!(
            lines[4].contains("8.00 Mb/s") && lines[4].contains("40.0 ms"),
            "{lines:?}"
        );
        assert!(lines[5].ends_with("i inference, y yielding"), "{lines:?}");
        let mut many = Vec::new();
        for time_s in 0..600 {
            let mut entry = entries[time_s % 6].clone();
            entry.time_s = time_s as f64;
            many.push(entry);
        }
        for width in [0, 20, 80, 500] {
            let lines = Transfer::new(&header, &many).lines(width);
            let most = lines[..4].iter().map(|line| line.chars().count()).max();
            assert!(most.unwrap() <= width.max(17), "{width}");
        }
    }

    #[test]
    fn the_receiving_side_is_drawn_where_more_is_received() {
        let mut entries = yielding();
        for entry in &mut entries {
            let figures = &mut entry.connections[0].figures;
            figures.receive_rate_bits_per_second = 20_000_000;
            figures.receive_state = Some("paused".to_owned());
            figures.receive_delay_over_minimum_ms = Some(50.0);
            figures.receive_threshold_ms = Some(10.0);
        }
        let header = header();
        let transfer = Transfer::new(&header, &entries);
        assert_eq!(transfer.delay(&entries[0]), Some((50.0, 10.0)));
        assert_eq!(transfer.bands(), [(0.0, 5.0)]);
    }

    #[test]
    fn a_log_without_connections_has_nothing_to_draw() {
        let header = header();
        assert!(Transfer::new(&header, &[]).lines(80).is_empty());
        let empty = [Entry {
            time_s: 0.1,
            decisions: Vec::new(),
            connections: Vec::new(),
        }];
        let transfer = Transfer::new(&header, &empty);
        assert!(transfer.bands().is_empty());
        assert_eq!(transfer.lines(80).len(), 6);
    }
}
