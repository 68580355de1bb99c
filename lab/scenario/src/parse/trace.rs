// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces from files: of flows, a time in seconds and a size in bytes on each line; of links, the milliseconds of a delivery
//! opportunity on each line; of sizes, a size in bytes and the share of transfers that are no larger on each line.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use netnice_queue::{Bytes, TraceError};
use sha2::Sha256;

use super::beside;
use crate::input;
use crate::model::{
    Application, Flow, LinkTrace, Scenario, SizePoint, TimeSpan, TraceEntry, TransferSize,
};
use crate::network::{Place, Problem, trace_mistake};

/// The largest size of a transfer, in bytes.
const MAX_SIZE: f64 = 1e15;

/// Fills in the entries of all traces that are given as files; their text goes into the hash.
pub(super) fn load_all(
    scenario: &mut Scenario,
    directory: Option<&Path>,
    hash: &mut Sha256,
) -> Result<(), Vec<Problem>> {
    for (index, link) in scenario.links.iter_mut().enumerate() {
        let place = Place::key("links").at(index);
        let reverse = place.at("reverse");
        for (trace, place) in [(&mut link.trace, place), (&mut link.reverse.trace, reverse)] {
            if let Some(trace) = trace {
                load_link(trace, directory, hash)
                    .map_err(|message| vec![place.at("trace").problem(message)])?;
            }
        }
    }
    for (index, flow) in scenario.flows.iter_mut().enumerate() {
        let place = Place::key("flows").at(index).at("application");
        if let Application::Arrivals(arrivals) = &mut flow.application {
            if let TransferSize::File { file, points } = &mut arrivals.size {
                let place = place.at("size").at("file");
                let problem = |message: String| vec![place.problem(message)];
                let text = text_of(file, directory, hash).map_err(problem)?;
                *points = sizes(&text)
                    .map_err(|(line, message)| problem(format!("{file}:{line}: {message}")))?;
            }
        }
        let Application::Trace {
            file: Some(file), ..
        } = &flow.application
        else {
            continue;
        };
        let place = place.at("file");
        let problem = |message: String| vec![place.problem(message)];
        let text = text_of(file, directory, hash).map_err(problem)?;
        let read = read(&text, flow)
            .map_err(|(line, message)| problem(format!("{file}:{line}: {message}")))?;
        if let Application::Trace { entries, .. } = &mut flow.application {
            *entries = read;
        }
    }
    Ok(())
}

/// Reads the points of a distribution of sizes; empty lines and those that begin with `#` do not count. An error has the number
/// of its line.
fn sizes(text: &str) -> Result<Vec<SizePoint>, (usize, String)> {
    let mut points: Vec<SizePoint> = Vec::new();
    let mut number = 0;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        number = index + 1;
        let error = |message: &str| Err((number, format!("{message}, as in `10000 0.15`")));
        let mut words = line.split_whitespace().map(str::parse);
        let (Some(Ok(bytes)), Some(Ok(share)), None) = (words.next(), words.next(), words.next())
        else {
            return error("a line needs a size in bytes and a share from 0 to 1");
        };
        let point: SizePoint = SizePoint { bytes, share };
        if !(0.0..=MAX_SIZE).contains(&bytes) {
            return error("the size must be 0 to 1e15 bytes");
        }
        if !(0.0..=1.0).contains(&share) {
            return error("the share must be from 0 to 1");
        }
        if points
            .last()
            .is_some_and(|last| bytes < last.bytes || share < last.share)
        {
            return error("neither the size nor the share may decrease");
        }
        // From no size on, if the first line has a share already: as if all these had that size.
        if points.is_empty() && share > 0.0 {
            points.push(SizePoint { bytes, share: 0.0 });
        }
        points.push(point);
    }
    match points.last() {
        Some(last) if last.share == 1.0 && last.bytes > 0.0 => Ok(points),
        Some(_) => Err((
            number,
            "the last share must be 1, of a size above 0".to_owned(),
        )),
        None => Err((1, "it has no lines, as in `10000 0.15`".to_owned())),
    }
}

/// Reads the trace of a link.
fn load_link(
    trace: &mut LinkTrace,
    directory: Option<&Path>,
    hash: &mut Sha256,
) -> Result<(), String> {
    let read = match (&trace.file, &*trace.times_ms) {
        (Some(file), []) => {
            let text = text_of(file, directory, hash)?;
            text.parse()
                .map_err(|error: TraceError| format!("{file}:{error}"))
        }
        (None, times @ [_, ..]) => {
            let lines: Vec<String> = times.iter().map(u64::to_string).collect();
            lines
                .join("\n")
                .parse()
                .map_err(|error: TraceError| format!("times_ms: {}", error.message))
        }
        _ => Err("needs either `file` or `times_ms`".to_owned()),
    };
    trace.read = Some(Arc::new(read?));
    Ok(())
}

/// The text of a trace beside the scenario; it goes into the hash.
fn text_of(file: &str, directory: Option<&Path>, hash: &mut Sha256) -> Result<String, String> {
    beside::read(directory, file, input::TRACE_BYTES, hash)
}

/// Reads the lines of a flow's trace; empty ones and those that begin with `#` do not count. An error has the number of its
/// line.
fn read(text: &str, flow: &Flow) -> Result<Vec<TraceEntry>, (usize, String)> {
    let mut entries: Vec<TraceEntry> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let error = |message: &str| (index + 1, format!("{message}, as in `1.25 1500`"));
        let mut words = line.split_whitespace();
        let (Some(at), Some(bytes), None) = (words.next(), words.next(), words.next()) else {
            return Err(error("a line needs a time in seconds and a size in bytes"));
        };
        let at = at
            .parse()
            .ok()
            .and_then(|seconds: f64| Duration::try_from_secs_f64(seconds).ok())
            .ok_or_else(|| error("the time must be a number of seconds, zero or more"))?;
        let bytes = bytes
            .parse()
            .map_err(|_| error("the size must be a whole number of bytes"))?;
        let entry = TraceEntry {
            at: TimeSpan(at),
            bytes: Bytes::new(bytes),
        };
        let before = entries.last().map(|entry| entry.at);
        // Here, because of the line, which nobody knows later.
        if let Some((field, message)) = trace_mistake(flow, before, &entry) {
            let what = if field == "at" { "time" } else { "size" };
            return Err((index + 1, format!("the {what} {message}")));
        }
        entries.push(entry);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, transport: &str) -> Result<Vec<TraceEntry>, (usize, String)> {
        let flow = format!("name = 'f'\nfrom = 'a'\nto = 'b'\ntransport = '{transport}'");
        super::read(text, &toml::from_str(&flow).unwrap())
    }

    #[test]
    fn lines_have_a_time_and_a_size() {
        let entries = read("# seconds bytes\n0 1500\n\n1.25 40\n", "udp").unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[1].at, TimeSpan::from_millis(1250));
        assert_eq!(entries[1].bytes.get(), 40);
    }

    #[test]
    fn errors_have_the_line() {
        for (text, line, word) in [
            ("0 1500\n-1 40\n", 2, "time"),
            ("0 1.5\n", 1, "size"),
            ("0\n", 1, "needs"),
            ("nan 3\n", 1, "time"),
            ("# no entry\n1 40\n1 40\n0.5 40\n", 4, "time"),
            ("0 0\n", 1, "size"),
            ("0 65508\n", 1, "65507B"),
        ] {
            let (found, message) = read(text, "udp").unwrap_err();
            assert_eq!(found, line, "{text}");
            assert!(message.contains(word), "{message}");
        }
    }

    #[test]
    fn sizes_have_ascending_shares_up_to_1() {
        let points = super::sizes("# bytes share\n1000 0.5\n\n3000 1\n").unwrap();
        // Half of them have 1000 bytes.
        assert_eq!(
            points.first(),
            Some(&SizePoint {
                bytes: 1000.0,
                share: 0.0
            })
        );
        assert_eq!(points.len(), 3);
        for (text, line, word) in [
            ("0 0\n10 0.5\n", 2, "last share"),
            ("0 0\n10 0.5\n9 1\n", 3, "decrease"),
            ("0 0\n10 1.5\n", 2, "from 0 to 1"),
            ("0 0\nten 1\n", 2, "needs"),
            ("-5 1\n", 1, "size"),
            ("0 1\n", 1, "above 0"),
            ("# none\n", 1, "no lines"),
        ] {
            let (found, message) = super::sizes(text).unwrap_err();
            assert_eq!(found, line, "{text}");
            assert!(message.contains(word), "{message}");
        }
    }

    #[test]
    fn udp_sends_an_entry_as_a_packet_and_tcp_segments_it() {
        for (transport, most) in [("udp", 65_507), ("tcp", 4_294_967_243u64)] {
            assert!(read(&format!("0 {most}"), transport).is_ok());
            assert!(read(&format!("0 {}", most + 1), transport).is_err());
        }
    }
}
