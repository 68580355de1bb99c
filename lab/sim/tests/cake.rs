// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hosts and classes of traffic under CAKE.

use netnice_scenario::ScenarioFile;
use netnice_sim::run;

/// The goodputs in Mb/s of a single connection, of four from another host and of one at low priority from a third, over 20 Mb/s.
fn goodputs(queue: &str) -> [f64; 3] {
    let text = include_str!("../../../scenarios/cake.toml");
    let (text, _) = text.split_once("[sweep]").unwrap();
    let (_, rest) = include_str!("../../../scenarios/cake.toml")
        .split_once("[[links]]")
        .unwrap();
    let text = format!("{text}[[links]]{rest}")
        .replace(
            "queue = { discipline = \"cake\", isolation = \"dual_srchost\" }",
            &format!("queue = {queue}"),
        )
        .replace("seeds = 3", "seeds = 1");
    let file = ScenarioFile::parse("cake.toml", &text, &[], None);
    let file = file.unwrap_or_else(|error| panic!("{error}"));
    let flows = run(file.scenario(), 1, || true).unwrap().unwrap().flows;
    ["single", "four", "backup"].map(|name| {
        let of_group = flows.iter().filter(|flow| flow.group == name);
        of_group.map(|flow| flow.goodput_bps / 1e6).sum()
    })
}

#[test]
fn cake_divides_among_hosts_and_tins() {
    let [single, four, backup] =
        goodputs("{ discipline = \"cake\", isolation = \"dual_srchost\" }");
    // A sixteenth of 20 Mb/s is 1.25, and of the rest each host may have half, 9.4; headers take a few percent. A single flow of
    // CUBIC does not keep its queue filled while COBALT drops, and the four take what it leaves.
    assert!((0.65..1.05).contains(&(single / four)), "{single} {four}");
    assert!((1.0..1.5).contains(&backup), "{backup}");
    assert!(single + four + backup > 18.0);
}

#[test]
fn cake_without_tins_divides_among_hosts_alone() {
    let [single, four, backup] =
        goodputs("{ discipline = \"cake\", tins = \"besteffort\", isolation = \"dual_srchost\" }");
    for host in [single, four, backup] {
        assert!((5.3..8.0).contains(&host), "{single} {four} {backup}");
    }
}

#[test]
fn triple_isolation_with_one_destination_divides_among_flows() {
    // The destination has more bulk flows than any source.
    let [single, four, backup] = goodputs("{ discipline = \"cake\", tins = \"besteffort\" }");
    assert!((3.5..4.5).contains(&(four / single)), "{four} {single}");
    assert!((0.8..1.2).contains(&(backup / single)), "{backup} {single}");
}
