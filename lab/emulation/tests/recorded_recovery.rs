// SPDX-License-Identifier: MIT OR Apache-2.0
//! How `recovery = "linux"` of the simulator recovers from losses, beside what a kernel did: packet by packet, from the recordings in
//! `recorded`, so that no privilege is needed. `live_recovery.rs` measures the running kernel and renews them.

mod recovery;

use std::path::Path;

use recovery::{Case, Recorded, Sent, alike, comparison, in_order, simulate};

/// Compares the simulator with the recordings of a case.
fn compare(case: &Case) {
    for control in case.controls {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
        let file = directory.join(Recorded::file_name(case, control));
        let text = std::fs::read_to_string(&file);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let recorded = Recorded::parse(&text);
        assert_eq!(recorded.text(case, control), text, "{}", file.display());
        let (model, real) = (simulate(case, control), recorded.recovery);
        let differ = comparison(&model, &real);
        println!("{}, {}: {differ}", case.name, control.name);
        assert!(
            alike(case, control, &model, &real),
            "{}, {}: {differ}",
            case.name,
            control.name
        );
    }
}

#[test]
fn one_lost_packet_is_recovered_as_recorded() {
    compare(&recovery::ONE);
}

#[test]
fn half_of_a_window_is_recovered_as_recorded() {
    compare(&recovery::HALF);
}

#[test]
fn a_burst_of_losses_is_recovered_as_recorded() {
    compare(&recovery::BURST);
}

#[test]
fn scattered_losses_are_recovered_as_recorded() {
    compare(&recovery::SCATTERED);
}

#[test]
fn an_overflow_is_recovered_as_recorded() {
    compare(&recovery::OVERFLOW);
}

#[test]
fn a_lost_retransmission_is_recovered_as_recorded() {
    compare(&recovery::RETRANSMISSION);
}

#[test]
fn a_lost_tail_is_recovered_as_recorded() {
    compare(&recovery::TAIL);
}

#[test]
fn an_order_is_the_same_but_for_its_displacement() {
    let sent = |places: &[i64]| -> Vec<Sent> {
        let packets = places.iter().map(|&place| Sent { at_ms: 0.0, place });
        packets.collect()
    };
    let model = sent(&[0, 1, 2, 3, 1, 4]);
    assert!(in_order(&model, &model, 0));
    // The retransmission is a place earlier.
    let earlier = sent(&[0, 1, 2, 1, 3, 4]);
    assert!(!in_order(&model, &earlier, 0));
    assert!(in_order(&model, &earlier, 1));
    // Two places earlier, a packet missing, another one in its place.
    assert!(!in_order(&model, &sent(&[0, 1, 1, 2, 3, 4]), 1));
    assert!(!in_order(&model, &model[..5], 1));
    assert!(!in_order(&model, &sent(&[0, 1, 2, 3, 2, 4]), 1));
}
