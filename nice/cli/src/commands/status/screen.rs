// SPDX-License-Identifier: MIT OR Apache-2.0
//! The screen of `netnice status --watch`, cut to the size of the terminal. Totals, heading and keys stay whatever the
//! number of connections. No I/O.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use clap::ValueEnum;

use crate::sparkline;
use netnice_terminal::text;

/// One connection.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// Name and number of who has it open; `-` if nobody is known.
    pub process: String,
    /// Name of the congestion control.
    pub control: String,
    /// Address of the other end.
    pub peer: String,
    /// Directions that are governed, and by which end; `-` where that cannot be read.
    pub governed: String,
    /// Phase of the direction that moves more data; `-` where it cannot be read.
    pub state: String,
    /// True if it has given way to others just now.
    pub gives_way: bool,
    /// Bytes per second that the peer acknowledges.
    pub sending: u64,
    /// Bytes per second that arrive.
    pub receiving: u64,
    /// Congestion window, or advertised window where the receiver's state is shown, in bytes.
    pub window: u64,
    /// Round-trip time.
    pub rtt: Duration,
    /// Delay above the smallest one.
    pub delay: Option<Duration>,
    /// Delay and threshold, in words.
    pub delays: String,
    /// Number of times it gave way; `None` where that cannot be read.
    pub yields: Option<u32>,
    /// In bytes.
    pub sent: u64,
    /// In bytes.
    pub received: u64,
    /// Source of the delay.
    pub signal: String,
    /// Bytes per second in the last seconds, [`HISTORY`] at the most, the latest last.
    pub history: Vec<u64>,
}

/// Seconds of history.
pub const HISTORY: usize = 30;

/// Key by which processes, and the connections of each process, are sorted: the largest first, names alphabetically.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    #[default]
    Rate,
    Delay,
    Yields,
    Sent,
    Received,
    /// Sent and received.
    Bytes,
    #[value(alias = "name")]
    Process,
}

impl Sort {
    /// The next one, after the last the first.
    pub fn next(self) -> Self {
        match self {
            Self::Rate => Self::Delay,
            Self::Delay => Self::Yields,
            Self::Yields => Self::Sent,
            Self::Sent => Self::Received,
            Self::Received => Self::Bytes,
            Self::Bytes => Self::Process,
            Self::Process => Self::Rate,
        }
    }

    /// Key by which connections are sorted, in ascending order.
    pub fn order(self, entry: &Entry) -> (Reverse<u64>, String) {
        let process = match self {
            Self::Process => entry.process.clone(),
            _ => String::new(),
        };
        (Reverse(self.key(&[entry])), process)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Delay => "delay",
            Self::Yields => "yields",
            Self::Sent => "sent",
            Self::Received => "received",
            Self::Bytes => "bytes",
            Self::Process => "process",
        }
    }

    fn key(self, entries: &[&Entry]) -> u64 {
        let sum = |value: fn(&Entry) -> u64| entries.iter().map(|entry| value(entry)).sum();
        match self {
            Self::Rate => sum(|entry| entry.sending + entry.receiving),
            Self::Delay => {
                let delays = entries.iter().filter_map(|entry| entry.delay);
                delays.max().unwrap_or_default().as_micros() as u64
            }
            Self::Yields => sum(|entry| entry.yields.unwrap_or_default().into()),
            Self::Sent => sum(|entry| entry.sent),
            Self::Received => sum(|entry| entry.received),
            Self::Bytes => sum(|entry| entry.sent + entry.received),
            Self::Process => 0,
        }
    }
}

/// Sorting, filter and position that the user has chosen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice {
    pub sort: Sort,
    /// Leave out the single connections.
    pub processes_only: bool,
    /// Lines scrolled past.
    pub first: usize,
}

/// Emphasis of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emphasis {
    None,
    Heading,
    GivesWay,
}

/// A line of the screen, without its end.
pub type Line = (Emphasis, String);

pub struct Column {
    pub heading: &'static str,
    /// Aligned to the left.
    pub left: bool,
    /// Characters at the most.
    longest: usize,
    /// Those with the lowest are left out first where the line is too long.
    weight: u8,
}

const fn column(heading: &'static str, left: bool, longest: usize, weight: u8) -> Column {
    Column {
        heading,
        left,
        longest,
        weight,
    }
}

pub const COLUMNS: [Column; 15] = [
    column("PROCESS", true, 24, 14),
    column("CONTROL", true, 15, 1),
    column("PEER", true, 47, 10),
    column("GOVERNED", true, 8, 2),
    column("STATE", true, 16, 11),
    column("SENDING", false, 9, 12),
    column("RECEIVING", false, 9, 13),
    column("WINDOW", false, 9, 3),
    column("RTT", false, 9, 6),
    column("DELAY", false, 18, 8),
    column("YIELDS", false, 9, 7),
    column("SENT", false, 9, 5),
    column("RECEIVED", false, 9, 9),
    column("SIGNAL", true, 29, 0),
    column("LAST 30 S", true, HISTORY, 4),
];

pub type Cells = [String; COLUMNS.len()];

/// The screen for a terminal of `width` columns and `height` lines. `notes` stand above the table.
pub fn render(
    entries: &[Entry],
    notes: &[String],
    choice: Choice,
    width: usize,
    height: usize,
) -> Vec<Line> {
    let groups = groups(entries, choice.sort);
    let mut lines = vec![(Emphasis::None, totals(entries))];
    lines.extend(notes.iter().map(|note| (Emphasis::None, note.clone())));
    // The table and the keys come before notes where there is no room for both.
    lines.truncate(height.saturating_sub(4).max(1));
    let mut table = table(&groups, choice.processes_only, width).into_iter();
    lines.extend(table.next());
    let body: Vec<Line> = table.collect();
    let room = height.saturating_sub(lines.len() + 1);
    lines.extend(window(body, choice.first, room));
    lines.push((Emphasis::None, keys(choice)));
    lines.truncate(height);
    for (_, line) in &mut lines {
        *line = cut(&printable(line), width);
    }
    lines
}

/// Lines of the table below its heading.
pub fn length(entries: &[Entry], choice: Choice) -> usize {
    let groups = groups(entries, choice.sort);
    let lines = groups.iter().map(|(_, group)| match group.len() {
        1 => 1,
        _ if choice.processes_only => 1,
        length => 1 + length,
    });
    lines.sum()
}

fn groups(entries: &[Entry], sort: Sort) -> Vec<(&str, Vec<&Entry>)> {
    let mut by_process: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        by_process.entry(&entry.process).or_default().push(entry);
    }
    let mut groups: Vec<_> = by_process.into_iter().collect();
    // Both sorts are stable: what is equal stays in the order of names.
    groups.sort_by_key(|(_, group)| Reverse(sort.key(group)));
    for (_, group) in &mut groups {
        group.sort_by_key(|entry| Reverse(sort.key(&[entry])));
    }
    groups
}

fn totals(entries: &[Entry]) -> String {
    let sum = |value: fn(&Entry) -> u64| entries.iter().map(value).sum::<u64>();
    format!(
        "{}: sending {}, receiving {}; {} sent, {} received, gave way {}",
        text::count(entries.len() as u64, "connection"),
        text::rate(sum(|entry| entry.sending)),
        text::rate(sum(|entry| entry.receiving)),
        text::bytes(sum(|entry| entry.sent)),
        text::bytes(sum(|entry| entry.received)),
        text::count(sum(|entry| entry.yields.unwrap_or_default().into()), "time"),
    )
}

fn keys(choice: Choice) -> String {
    let other = match choice.processes_only {
        true => "all connections",
        false => "processes only",
    };
    let sort = choice.sort.name();
    format!("q quit   s sort (by {sort})   p {other}   ↑ ↓ scroll")
}

/// Heading and rows, without the columns for which there is no room.
fn table(groups: &[(&str, Vec<&Entry>)], processes_only: bool, width: usize) -> Vec<Line> {
    let mut rows = vec![(
        Emphasis::Heading,
        COLUMNS.map(|column| column.heading.to_owned()),
    )];
    for (process, group) in groups {
        match group[..] {
            [entry] => rows.push(single(entry, process)),
            _ => {
                rows.push(summed(process, group));
                if !processes_only {
                    rows.extend(group.iter().map(|entry| single(entry, "")));
                }
            }
        }
    }
    for (_, cells) in &mut rows {
        for (cell, column) in cells.iter_mut().zip(&COLUMNS) {
            *cell = cut(&printable(cell), column.longest);
        }
    }
    let widest = |at: usize| {
        rows.iter()
            .map(|(_, cells)| cells[at].chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..COLUMNS.len())
        .map(|at| widest(at).unwrap_or(0))
        .collect();
    let mut shown: Vec<usize> = (0..COLUMNS.len()).collect();
    let total = |shown: &[usize]| shown.iter().map(|&at| widths[at] + 2).sum::<usize>();
    while shown.len() > 1 && total(&shown) > width + 2 {
        let least = shown.iter().copied().min_by_key(|&at| COLUMNS[at].weight);
        shown.retain(|&at| Some(at) != least);
    }
    let left: Vec<usize> = (0..shown.len())
        .filter(|&at| COLUMNS[shown[at]].left)
        .collect();
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|(_, cells)| shown.iter().map(|&at| cells[at].clone()).collect())
        .collect();
    let emphasis = rows.into_iter().map(|(emphasis, _)| emphasis);
    emphasis.zip(text::table(&cells, &left)).collect()
}

/// Formats a connection; `process` is the name to show.
pub fn cells(entry: &Entry, process: &str) -> Cells {
    [
        process.to_owned(),
        entry.control.clone(),
        entry.peer.clone(),
        entry.governed.clone(),
        entry.state.clone(),
        text::rate(entry.sending),
        text::rate(entry.receiving),
        text::bytes(entry.window),
        text::time(entry.rtt),
        entry.delays.clone(),
        entry
            .yields
            .map_or("-".to_owned(), |yields| yields.to_string()),
        text::bytes(entry.sent),
        text::bytes(entry.received),
        entry.signal.clone(),
        history(&[entry]),
    ]
}

fn single(entry: &Entry, process: &str) -> (Emphasis, Cells) {
    let emphasis = match entry.gives_way {
        true => Emphasis::GivesWay,
        false => Emphasis::None,
    };
    (emphasis, cells(entry, process))
}

/// The row of a process with several connections.
fn summed(process: &str, group: &[&Entry]) -> (Emphasis, Cells) {
    let sum = |value: fn(&Entry) -> u64| group.iter().map(|entry| value(entry)).sum::<u64>();
    let giving_way = group.iter().filter(|entry| entry.gives_way).count();
    let state = match giving_way {
        0 => String::new(),
        1 => "1 gives way".to_owned(),
        number => format!("{number} give way"),
    };
    let cells = [
        process.to_owned(),
        String::new(),
        text::count(group.len() as u64, "connection"),
        String::new(),
        state,
        text::rate(sum(|entry| entry.sending)),
        text::rate(sum(|entry| entry.receiving)),
        String::new(),
        String::new(),
        String::new(),
        sum(|entry| entry.yields.unwrap_or_default().into()).to_string(),
        text::bytes(sum(|entry| entry.sent)),
        text::bytes(sum(|entry| entry.received)),
        String::new(),
        history(group),
    ];
    (Emphasis::None, cells)
}

/// The sum of the connections' rates in the last seconds.
fn history(group: &[&Entry]) -> String {
    let longest = group.iter().map(|entry| entry.history.len()).max();
    let mut sums = vec![0.0; longest.unwrap_or(0)];
    for entry in group {
        // The latest are at the end.
        for (sum, rate) in sums.iter_mut().rev().zip(entry.history.iter().rev()) {
            *sum += *rate as f64;
        }
    }
    let top = sums.iter().copied().fold(0.0, f64::max);
    sparkline::line(sums.into_iter().map(Some), top)
}

/// The part of the body for which there is room; its last line says how many lie below.
fn window(body: Vec<Line>, first: usize, room: usize) -> Vec<Line> {
    if body.len() <= room {
        return body;
    }
    let first = first.min(body.len() - room);
    let below = body.len() - first - room;
    let mut shown: Vec<Line> = body.into_iter().skip(first).take(room).collect();
    if let (Some(last), true) = (shown.last_mut(), below > 0) {
        *last = (Emphasis::None, format!("… {} more", below + 1));
    }
    shown
}

/// The first `width` characters, of which the last is an ellipsis where there are more.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept = text.chars().take(width.saturating_sub(1));
    kept.chain((width > 0).then_some('…')).collect()
}

/// Without what would move the cursor: a process may give itself any name.
pub fn printable(text: &str) -> String {
    let shown = |character: char| match character.is_control() {
        true => '?',
        false => character,
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forty() -> Vec<Entry> {
        let entry = |number: u64| Entry {
            process: format!("rsync ({})", 100 + number % 4),
            control: "netnice".to_owned(),
            peer: format!("192.168.100.{number}:50000"),
            governed: "both".to_owned(),
            state: "avoidance".to_owned(),
            gives_way: number == 7,
            sending: 1000 * number,
            receiving: 0,
            window: 14_480,
            rtt: Duration::from_millis(40),
            delay: Some(Duration::from_millis(100 - number)),
            delays: "12.3 / 15.0 ms".to_owned(),
            yields: Some(2),
            sent: 1_000_000,
            received: 1000,
            signal: "one-way delay".to_owned(),
            history: vec![0, 1000 * number],
        };
        (0..40).map(entry).collect()
    }

    fn text(lines: &[Line]) -> String {
        let lines: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
        lines.join("\n")
    }

    #[test]
    fn forty_connections_fit_eighty_by_twenty_four() {
        let lines = render(&forty(), &[], Choice::default(), 80, 24);
        assert_eq!(lines.len(), 24);
        let shown = text(&lines);
        assert!(
            lines[0]
                .1
                .starts_with("40 connections: sending 6.24 Mb/s, receiving 0 b/s; 40.0 MB sent"),
            "{shown}"
        );
        assert!(lines[1].1.starts_with("PROCESS"), "{shown}");
        assert_eq!(lines[1].0, Emphasis::Heading);
        for heading in ["PEER", "STATE", "SENDING", "RECEIVING"] {
            assert!(lines[1].1.contains(heading), "{shown}");
        }
        // The process with the highest rate comes first, with its sums, then its connections.
        assert!(lines[2].1.starts_with("rsync (103)"), "{shown}");
        assert!(lines[2].1.contains("10 connections"), "{shown}");
        assert!(lines[3].1.contains("192.168.100.39:50000"), "{shown}");
        // 44 lines, of which 20 are shown and another says how many are not.
        assert_eq!(lines[22].1, "… 24 more", "{shown}");
        assert!(
            lines[23].1.starts_with("q quit   s sort (by rate)"),
            "{shown}"
        );
        let yielding = lines.iter().filter(|line| line.0 == Emphasis::GivesWay);
        assert_eq!(yielding.count(), 1, "{shown}");
    }

    #[test]
    fn scrolling_ends_with_the_last_line() {
        let entries = forty();
        let choice = Choice {
            first: 1000,
            ..Choice::default()
        };
        let lines = render(&entries, &[], choice, 80, 24);
        assert_eq!(length(&entries, choice), 44);
        let shown = text(&lines);
        assert!(lines[22].1.contains("192.168.100.0:50000"), "{shown}");
        assert!(!shown.contains("more"), "{shown}");
        assert!(lines[0].1.starts_with("40 connections"), "{shown}");
    }

    #[test]
    fn no_line_is_longer_than_the_terminal_and_none_too_many() {
        let mut entries = forty();
        entries[3].peer = "[2001:db8:1111:2222:3333:4444:5555:6666]:65535".to_owned();
        entries[4].process = "a-process-with-a-name-that-is-long (4194304)".to_owned();
        let notes = ["attached: /system.slice/a-service-with-a-long-name.service".to_owned()];
        for width in (0..160).step_by(3) {
            for height in [0, 1, 2, 3, 4, 5, 6, 24, 60] {
                let lines = render(&entries, &notes, Choice::default(), width, height);
                assert!(lines.len() <= height, "{width} by {height}");
                for (_, line) in lines {
                    assert!(line.chars().count() <= width, "{width} by {height}: {line}");
                }
            }
        }
    }

    #[test]
    fn columns_that_matter_less_go_first() {
        let heading = |width| {
            render(&forty(), &[], Choice::default(), width, 24)[1]
                .1
                .clone()
        };
        let all = heading(200);
        assert!(
            COLUMNS.iter().all(|column| all.contains(column.heading)),
            "{all}"
        );
        assert!(!heading(120).contains("SIGNAL"));
        assert_eq!(
            heading(30).split_whitespace().collect::<Vec<_>>(),
            ["PROCESS", "RECEIVING"]
        );
    }

    #[test]
    fn each_order_puts_its_largest_first() {
        let mut entries = forty();
        entries.truncate(4);
        entries[0].yields = Some(9);
        entries[1].sent = 9_000_000;
        entries[2].received = 9_000_000;
        let mut choice = Choice::default();
        let mut first = Vec::new();
        loop {
            let lines = render(&entries, &[], choice, 200, 24);
            first.push(lines[2].1.chars().skip(7).take(3).collect::<String>());
            choice.sort = choice.sort.next();
            if choice.sort == Sort::default() {
                break;
            }
        }
        // By rate, delay, yields, sent, received, bytes and process.
        assert_eq!(first, ["103", "100", "100", "101", "102", "102", "100"]);
    }

    #[test]
    fn processes_alone_take_one_line_each() {
        let choice = Choice {
            processes_only: true,
            ..Choice::default()
        };
        let lines = render(&forty(), &[], choice, 80, 24);
        assert_eq!((lines.len(), length(&forty(), choice)), (7, 4));
        assert!(lines[6].1.contains("p all connections"));
    }

    #[test]
    fn a_processs_history_is_the_sum_of_its_connections() {
        let mut entries = forty();
        entries.truncate(2);
        entries[0].history = vec![400, 0];
        entries[1].history = vec![100, 0, 100, 400];
        // 100, 0, 500 and 400: the younger connection has only the last two.
        assert_eq!(history(&[&entries[0], &entries[1]]), "▃▁█▇");
        let lines = render(&entries, &[], Choice::default(), 250, 24);
        assert!(lines[1].1.ends_with("LAST 30 S"), "{}", text(&lines));
        assert!(lines[2].1.ends_with("▃▁▃█"), "{}", text(&lines));
    }

    #[test]
    fn orders_put_the_largest_first_and_names_in_their_order() {
        let entries = forty();
        let first = |sort: Sort| {
            entries
                .iter()
                .min_by_key(|entry| sort.order(entry))
                .unwrap()
        };
        assert_eq!(first(Sort::Rate).sending, 39_000);
        assert_eq!(first(Sort::Delay).sending, 0);
        assert_eq!(first(Sort::Process).process, "rsync (100)");
    }

    #[test]
    fn names_cannot_move_the_cursor() {
        let mut entries = forty();
        entries.truncate(1);
        entries[0].process = "\x1b[2Jevil\n (1)".to_owned();
        let shown = text(&render(&entries, &[], Choice::default(), 80, 24));
        assert!(shown.contains("?[2Jevil? (1)"), "{shown}");
    }
}
