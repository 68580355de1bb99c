// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scenarios whose links are in a file.

use std::fs;

use netnice_scenario::{ScenarioError, ScenarioFile};

const SCENARIO: &str = r#"name = "path"
duration = "10s"
topology = "path.csv"

[defaults.links]
delay = "5ms"
queue = "1bdp"

[[flows]]
name = "reno"
from = "a"
to = "c"
"#;

/// Reads the scenario beside a file of links.
fn load(links: &str, settings: &[(&str, &str)]) -> Result<ScenarioFile, ScenarioError> {
    load_text(SCENARIO, links, settings)
}

fn load_text(
    text: &str,
    links: &str,
    settings: &[(&str, &str)],
) -> Result<ScenarioFile, ScenarioError> {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("path.csv"), links).unwrap();
    fs::write(directory.path().join("path.toml"), text).unwrap();
    let settings = settings
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()));
    let settings: Vec<(String, String)> = settings.collect();
    ScenarioFile::parse("path.toml", text, &settings, Some(directory.path()))
}

const LINKS: &str = "from,to,rate,delay\na,b,10mbit,\nb,c,20mbit,7ms\n";

#[test]
fn links_of_a_file_have_defaults_and_take_settings() {
    let text = format!("parameters.other = \"path.csv\"\n{SCENARIO}");
    let settings = [("links.b-c.rate", "1mbit"), ("topology", "$other")];
    let file = load_text(&text, LINKS, &settings).unwrap();
    let links = &file.scenario().links;
    let shown = links.iter().map(|link| {
        let rate = link.rate.unwrap().to_string();
        (link.label(), rate, link.delay.to_string())
    });
    let expected = [("a-b", "10mbit", "5ms"), ("b-c", "1mbit", "7ms")];
    let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
    assert_eq!(shown.collect::<Vec<_>>(), expected);
}

#[test]
fn the_hash_covers_the_file() {
    let hash = |links: &str| load(links, &[]).unwrap().hash;
    assert_eq!(hash(LINKS), hash(LINKS));
    assert_ne!(hash(LINKS), hash(&LINKS.replace("7ms", "8ms")));
}

#[test]
fn an_error_in_the_file_names_its_line() {
    for (links, expected) in [
        (
            LINKS.replace("20mbit", "20mb"),
            "path.csv:3: links[1].rate: rate `20mb` has the unknown unit `mb`",
        ),
        (
            LINKS.replace("delay", "dely"),
            "path.csv:3: links[1]: unknown key `dely`; did you mean `delay`?",
        ),
        (
            "from,to\na\n".to_owned(),
            "path.toml:3:12: topology: path.csv:2: has 1 cells, but the heading 2",
        ),
    ] {
        let message = load(&links, &[]).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
    let message = load(LINKS, &[("topology", "path.txt")]).unwrap_err();
    let expected = "topology=path.txt: topology: `path.txt` must end in .graphml or .csv";
    assert!(message.to_string().starts_with(expected), "{message}");
}
