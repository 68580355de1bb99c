// SPDX-License-Identifier: MIT OR Apache-2.0
//! The search for the worst environments, simulated.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use netnice_judge::search::{Found, PUBLISHED, Search, Space};
use netnice_scenario::ScenarioFile;

/// A small network, whose worst is known: the lowest rate, and the longest outage.
const SMALL: &str = r#"name = "small"
duration = "6s"

[[links]]
name = "line"
from = "a"
to = "b"
rate = "$rate"    # both ways
delay = "10ms"
queue = "$limit"
outages = "$outages"

[[flows]]
name = "own"
from = "a"
to = "b"
congestion_control = "$control"
start_spread = "100ms"

[[figures]]
name = "share"
flows = ["own"]
over = "4mbit"

[search]
lowest = ["share"]

[search.plain]
control = "vegas"
rate = "2mbit"
limit = "10p"
outages = []
outage = "100ms"

[search.range]
rate = { from = "1mbit", to = "4mbit" }
limit = ["5p", "10p", "20p", "40p"]
outages = [[], [{ at = "2s", duration = "$outage" }]]
outage = { from = "50ms", to = "1000ms" }
"#;

struct Ran {
    found: Option<Vec<Found>>,
    runs: usize,
    /// The text of each file, but not the figures that are kept.
    files: Vec<(String, String)>,
}

fn search(
    source: &str,
    controls: &[&str],
    (environments, reported, jobs, most): (usize, usize, usize, usize),
    out: &Path,
    resume: bool,
) -> Ran {
    let space = Space::parse("test.toml", source).unwrap();
    let controls: Vec<String> = controls.iter().map(|name| (*name).to_owned()).collect();
    let search = Search {
        space: &space,
        controls: &controls,
        environments,
        reported,
        seed: 1,
        simulate: &|point, seed, go_on| {
            let on = (&point.scenario, point.take_layout()?);
            Ok(netnice_sim::run_laid_out(on, seed, go_on)?)
        },
        jobs,
    };
    let mut runs = 0;
    let found = search.run(out, resume, "test", |progress| {
        runs = progress.runs;
        match runs < most {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    let names: BTreeSet<_> = fs::read_dir(out)
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    let files = names
        .iter()
        .filter(|path| !path.ends_with("environments.jsonl"));
    Ran {
        found: found.unwrap(),
        runs,
        files: files
            .map(|path| {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                let text = fs::read_to_string(path).unwrap();
                (name, text.replace(out.to_str().unwrap(), "OUT"))
            })
            .collect(),
    }
}

#[test]
fn the_same_seed_finds_the_same_bytes_however_it_runs() {
    let place = tempfile::tempdir().unwrap();
    let out = |name: &str| place.path().join(name);
    let small = |jobs, most, out: &Path, resume| {
        search(SMALL, &["vegas"], (300, 3, jobs, most), out, resume)
    };
    let one = small(1, usize::MAX, &out("one"), false);
    let found = one.found.unwrap();
    assert!(found[0].value < 0.6 * found[0].plain, "{found:?}");
    // An outage adds less than a fifth to what the rate does; the queue's limit adds nothing.
    assert_eq!(
        found[0].differs.keys().collect::<Vec<_>>(),
        ["rate"],
        "{found:?}"
    );
    let two = small(2, usize::MAX, &out("two"), false);
    assert_eq!(one.files, two.files);
    // Stopped in its course, its last line cut off, and resumed.
    let stopped = small(2, 100, &out("three"), false);
    assert!(
        stopped.found.is_none() && stopped.runs >= 100,
        "{}",
        stopped.runs
    );
    let kept = out("three").join("environments.jsonl");
    let text = fs::read_to_string(&kept).unwrap();
    fs::write(&kept, &text[..text.len() - 5]).unwrap();
    let resumed = small(2, usize::MAX, &out("three"), true);
    assert_eq!(one.files, resumed.files);
    assert!(
        resumed.runs <= one.runs - 90,
        "{} of {}",
        resumed.runs,
        one.runs
    );
    let again = small(2, usize::MAX, &out("three"), true);
    assert_eq!((one.files, 0), (again.files, again.runs));
}

#[test]
fn a_found_file_has_the_figure_that_is_told() {
    let place = tempfile::tempdir().unwrap();
    let ran = search(
        SMALL,
        &["vegas"],
        (100, 2, 2, usize::MAX),
        place.path(),
        false,
    );
    let found = ran.found.unwrap();
    assert!(!found.is_empty());
    for found in found {
        let path = place.path().join(&found.file);
        assert_eq!(found.run, format!("netnice sim {}", path.display()));
        let file = ScenarioFile::load(&path, &[]).unwrap();
        let runs = file.runs();
        let values = runs.iter().map(|&(point, seed)| {
            let scenario = &file.points[point].scenario;
            let run = netnice_sim::run(scenario, seed, &|| true).unwrap().unwrap();
            run.figures[0].value
        });
        let mean = values.sum::<f64>() / runs.len() as f64;
        assert!((mean - found.value).abs() < 1e-6, "{mean} {found:?}");
        assert!(file.text.contains("# both ways") && !file.text.contains('$'));
        assert!(!file.text.contains("[search"));
    }
}

#[test]
fn mistakes_in_a_space_name_line_and_field() {
    let error = |from: &str, to: &str| {
        assert!(SMALL.contains(from), "{from}");
        let text = SMALL.replace(from, to);
        let space = Space::parse("my.toml", &text);
        space.map(|_| ()).unwrap_err().to_string()
    };
    let line = |text: &str| SMALL.lines().position(|line| line == text).unwrap() + 1;
    let (search, range) = (line("[search]"), line("[search.range]") + 1);
    for (from, to, at, says) in [
        (
            "\n[search]",
            "\n[serch]",
            SMALL.lines().count() + 1,
            "[search] is missing",
        ),
        (
            "to = \"4mbit\"",
            "to = \"4ms\"",
            range,
            "search.range.rate: `from` \"1mbit\" and `to` \"4ms\" must be",
        ),
        (
            "to = \"4mbit\"",
            "two = \"4mbit\"",
            range,
            "search.range.rate: unknown field `two`",
        ),
        (
            "\noutage = { from",
            "\nstops = { from",
            range + 3,
            "search.range.stops: search.plain has no such value that may change; it has control",
        ),
        (
            "[\"share\"]",
            "[\"shar\"]",
            search,
            "search: there is no figure \"shar\"; there are share",
        ),
        ("lowest", "worst", search + 1, "unknown field `worst`"),
        (
            "control = \"vegas\"",
            "controls = \"vegas\"",
            search,
            "search: `plain` needs a `control`",
        ),
    ] {
        let error = error(from, to);
        assert!(
            error.starts_with(&format!("my.toml:{at}: ")) && error.contains(says),
            "{error}"
        );
    }
    assert!(error("10ms", "10mm").starts_with("my.toml:"));
}

#[test]
fn a_directory_of_another_search_is_refused() {
    let place = tempfile::tempdir().unwrap();
    search(
        SMALL,
        &["vegas"],
        (30, 1, 2, usize::MAX),
        place.path(),
        false,
    );
    let space = Space::parse("a", &SMALL.replace("6s", "7s")).unwrap();
    let search = |resume| {
        let search = Search {
            space: &space,
            controls: &["vegas".to_owned()],
            environments: 30,
            reported: 1,
            seed: 1,
            simulate: &|_, _, _| Ok(None),
            jobs: 1,
        };
        let ran = search.run(place.path(), resume, "test", |_| ControlFlow::Continue(()));
        ran.map(|_| ()).unwrap_err().to_string()
    };
    assert!(search(false).contains("--resume"));
    assert!(search(true).contains("other environments"));
}

/// BBR version 1 stays at a standstill after bursts (CC-Fuzz, HotNets 2022): bandwidth samples of retransmissions end its rounds
/// early, until its filter has forgotten all others.
#[test]
fn bbr_is_found_to_stall_after_bursts() {
    let place = tempfile::tempdir().unwrap();
    let source = include_str!("../../examples/bursts.toml");
    let ran = search(
        source,
        &["bbr"],
        (600, 1, 2, usize::MAX),
        place.path(),
        false,
    );
    let found = ran.found.unwrap();
    assert!(found[0].value < 0.5 && found[0].plain > 10.0, "{found:?}");
}

/// The published space with only the first value of each of these lists.
fn without(lists: &[&str]) -> String {
    let start = PUBLISHED.find("[search.range]").unwrap();
    let (mut text, mut ranges) = (PUBLISHED[..start].to_owned(), PUBLISHED[start..].to_owned());
    for list in lists {
        let from = ranges.find(&format!("\n{list} = [\n")).unwrap() + 1;
        let to = from + ranges[from..].find("\n]\n").unwrap() + 3;
        let first = ranges[from..to]
            .lines()
            .nth(1)
            .unwrap()
            .trim()
            .trim_end_matches(',');
        let only = format!("{list} = [{first}]\n");
        ranges.replace_range(from..to, &only);
    }
    text += &ranges;
    text
}

/// What harms more is listed in docs/judge.md: queues that drop early, and paths that change or stop.
#[test]
fn netnice_harms_little_in_plain_queues() {
    let source = without(&["queue", "changes", "outages"]);
    let source = source.replace(
        "lowest = [\"the rival keeps\", \"filled alone\", \"filled again\", \"fair\"]",
        "lowest = [\"the rival keeps\"]",
    );
    let place = tempfile::tempdir().unwrap();
    let ran = search(
        &source,
        &["netnice"],
        (64, 2, 2, usize::MAX),
        place.path(),
        false,
    );
    let found = ran.found.unwrap();
    let worst = found.iter().map(|found| found.value).fold(1.0, f64::min);
    assert!(ran.runs > 64 && worst >= 0.85, "{found:?}");
}

#[test]
fn tcplp_falls_to_a_packet_in_short_queues() {
    let source = without(&["queue", "changes", "outages"]);
    let source = source.replace(
        "lowest = [\"the rival keeps\", \"filled alone\", \"filled again\", \"fair\"]",
        "lowest = [\"filled alone\"]",
    );
    let place = tempfile::tempdir().unwrap();
    let ran = search(
        &source,
        &["tcplp"],
        (32, 1, 2, usize::MAX),
        place.path(),
        false,
    );
    let found = ran.found.unwrap();
    assert!(found[0].value < 0.1, "{found:?}");
}
