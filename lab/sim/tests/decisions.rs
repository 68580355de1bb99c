// SPDX-License-Identifier: MIT OR Apache-2.0
//! The record of netnice's decisions in a run.

use netnice_results::RunResults;
use netnice_scenario::ScenarioFile;
use netnice_sim::{DECISIONS_FILE, Selection, Traces, run, run_with_traces};
use serde_json::Value;

/// netnice at one end of a flow, beside CUBIC from the fifth second to the tenth, over 10 Mb/s, 40 ms and a queue of 100 ms.
fn scenario(keys: &str) -> ScenarioFile {
    let text = format!(
        "name = \"test\"\nduration = \"20s\"\n\
         [defaults.flows]\nfrom = \"server\"\nto = \"home\"\ntcp = {{ delayed_ack = true, min_rto = \"200ms\" }}\n\
         [[links]]\nfrom = \"server\"\nto = \"home\"\nrate = \"10mbit\"\ndelay = \"20ms\"\nqueue = \"83p\"\n\
         [[flows]]\nname = \"own\"\n{keys}\n\
         [[flows]]\nname = \"rival\"\ncongestion_control = \"cubic\"\nstart = \"5s\"\nstop = \"10s\"\n"
    );
    ScenarioFile::parse("test", &text, &[], None).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The run's results, and the lines of its record.
fn recorded(file: &ScenarioFile) -> (RunResults, Vec<Value>) {
    let directory = tempfile::tempdir().unwrap();
    let traces = Traces {
        directory: directory.path().to_owned(),
        links: Selection::NONE,
        snap_length: 96,
        events: Selection::NONE,
        decisions: true,
    };
    let results = run_with_traces(file.scenario(), 1, Some(&traces), || true);
    let lines = std::fs::read_to_string(directory.path().join(DECISIONS_FILE)).unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    (results.unwrap().unwrap(), lines.collect())
}

/// Records of the flow alone follow on one another, and tell of each time that it gave way.
fn tells_why(keys: &str, at_receiver: bool) {
    let file = scenario(keys);
    let (results, lines) = recorded(&file);
    assert_eq!(
        Some(&results),
        run(file.scenario(), 1, || true).unwrap().as_ref()
    );
    let mut before = (0.0, 0, "START");
    for line in &lines {
        let time = line["time_s"].as_f64().unwrap();
        assert!(time >= before.0 && time < 20.0, "{line}");
        let (number, transitions) = (&line["number"], &line["transitions"]);
        let expected = before.1 + transitions.as_u64().unwrap();
        assert_eq!(number.as_u64(), Some(expected), "{line}");
        assert_eq!(
            (&line["before"], &line["flow"]),
            (&before.2.into(), &"own".into())
        );
        assert_eq!(line["at_receiver"], at_receiver);
        let windows = ["cwnd_packets", "window_bytes"].map(|name| line[name].is_u64());
        assert_eq!(windows, [!at_receiver, at_receiver], "{line}");
        before = (time, expected, line["after"].as_str().unwrap());
    }
    let to = |cause: &str| {
        let found = lines.iter().filter(|line| line["gives_way_to"] == cause);
        found.count()
    };
    let queue = lines.iter().find(|line| line["gives_way_to"] == "queue");
    let queue = queue.expect("CUBIC's queue");
    let time = queue["time_s"].as_f64().unwrap();
    assert!((5.0..10.0).contains(&time), "{queue}");
    let text = queue["text"].as_str().unwrap();
    assert!(
        text.contains(" -> YIELD  ") && text.contains(" ms over "),
        "{text}"
    );
    let own = results
        .flows
        .iter()
        .find(|flow| flow.name == "own")
        .unwrap();
    let causes = ["queue", "losses", "fair_queue", "unmeasured"].map(to);
    let yields = causes.iter().sum::<usize>() as u64;
    assert_eq!(yields, own.early_indications, "{causes:?}");
    assert_eq!(yields as usize + to("nobody"), lines.len());
}

#[test]
fn a_sender_beside_cubic_tells_why_it_gave_way() {
    tells_why("congestion_control = \"netnice\"", false);
}

#[test]
fn a_receiver_beside_cubic_tells_why_it_gave_way() {
    tells_why(
        "congestion_control = \"cubic\"\nreceiver = \"netnice\"",
        true,
    );
}

#[test]
fn other_controls_decide_nothing() {
    let (_, lines) = recorded(&scenario("congestion_control = \"tcplp\""));
    assert!(lines.is_empty());
}
