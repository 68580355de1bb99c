// SPDX-License-Identifier: MIT OR Apache-2.0
//! Peers that lie, of which `tests/peers` has a TCP of our own behind a TUN device: they gain no more from netnice than
//! from cubic in the same seat, and netnice does not stall where cubic does not. Each is measured with both, alone and beside
//! an honest connection over the same bottleneck, and judged by ratios.

mod support;

use std::process::Command;

use support::*;

fn judged(lies: &str) -> Said {
    let _registered = keep_registered();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/peers/peers");
    let mut command = Command::new("/usr/bin/python3");
    command.arg(program).args(["--jobs", "6", "--only", lies]);
    command.arg("--netnice").arg(netnice(&[]).get_program());
    say(&mut command)
}

#[test]
fn lying_peers_gain_no_more_than_from_cubic() {
    let lies = "honest|echoes ours|ours plus 5$|jumps|5 % fast|division|shrinks";
    let mut said = judged(lies);
    if said.code != Some(0) {
        // Once more: a busy machine holds packets up.
        eprintln!("{}{}", said.out, said.err);
        said = judged(lies);
    }
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert_eq!(
        said.out
            .lines()
            .filter(|line| line.ends_with("kept |"))
            .count(),
        7
    );
}
