// SPDX-License-Identifier: MIT OR Apache-2.0
//! Servers that lie, as peers of `tests/peers` do to a sender. Whatever the lie, a download of low priority leaves an honest one
//! beside it what a plain download in its place would leave, and is not stuck alone where a plain one is not.

use super::downloads::{Download, Downloads, Lie};
use super::{HOME, run};

const LIES: [(&str, Lie); 15] = [
    ("honest", Lie::NONE),
    (
        "TSval frozen",
        Lie {
            tsval: |_, _, _| 77,
            ..Lie::NONE
        },
    ),
    (
        "TSval random",
        Lie {
            tsval: |_, _, number| (number as u32).wrapping_mul(2_654_435_761),
            ..Lie::NONE
        },
    ),
    (
        "TSval ours",
        Lie {
            tsval: |_, ours_ms, _| ours_ms,
            ..Lie::NONE
        },
    ),
    (
        "TSval ours plus 5",
        Lie {
            tsval: |_, ours_ms, _| ours_ms + 5,
            ..Lie::NONE
        },
    ),
    (
        "TSval jumps by 10 s",
        Lie {
            tsval: |clock_ms, _, number| clock_ms.wrapping_add(number as u32 / 50 * 10_000),
            ..Lie::NONE
        },
    ),
    (
        "TSval 5 % fast",
        Lie {
            tsval: |clock_ms, _, _| {
                clock_ms.wrapping_add(clock_ms.wrapping_sub(4_000_000_000) / 20)
            },
            ..Lie::NONE
        },
    ),
    (
        "TSval 5 % slow",
        Lie {
            tsval: |clock_ms, _, _| {
                clock_ms.wrapping_sub(clock_ms.wrapping_sub(4_000_000_000) / 20)
            },
            ..Lie::NONE
        },
    ),
    (
        "TSecr swings by 100 ms",
        Lie {
            tsecr: |ours_ms, number| ours_ms.wrapping_sub(number as u32 / 20 % 2 * 100),
            ..Lie::NONE
        },
    ),
    (
        "TSecr is of the future",
        Lie {
            tsecr: |ours_ms, _| ours_ms.wrapping_add(1_000),
            ..Lie::NONE
        },
    ),
    (
        "packets of 100 bytes",
        Lie {
            segment: 100,
            ..Lie::NONE
        },
    ),
    (
        "ignores the window",
        Lie {
            heeds_window: false,
            ..Lie::NONE
        },
    ),
    (
        "marks each fourth packet",
        Lie {
            marks_one_in: 4,
            ..Lie::NONE
        },
    ),
    (
        "probes each 10 ms",
        Lie {
            probes_ns: 10_000_000,
            ..Lie::NONE
        },
    ),
    (
        "probes each second",
        Lie {
            probes_ns: 1_000_000_000,
            ..Lie::NONE
        },
    ),
];

/// Shares of the link: of the liar's download alone, and of it and an honest one beside each other.
fn shares(download: Download) -> [f64; 3] {
    let world: Downloads = run(HOME, &[download, Download::plain(8, 28)], 28);
    [(0, 3, 8), (0, 12, 28), (1, 12, 28)]
        .map(|(number, from_s, to_s)| world.share(number, from_s, to_s))
}

#[test]
fn servers_that_lie_gain_no_more_than_from_a_plain_download() {
    let mut broken = Vec::new();
    for (name, lie) in LIES {
        let [low, plain] = [Download::low(0, 28), Download::plain(0, 28)]
            .map(|download| shares(Download { lie, ..download }));
        println!("{name}: low {low:.3?}, plain {plain:.3?}");
        // A sender that answers marks keeps a window of two packets, which is a twentieth of this link.
        let least = if lie.marks_one_in > 0 { 0.03 } else { 0.1 };
        if low[0] < least * plain[0] {
            broken.push(format!("{name}: stuck, {low:.3?}"));
        }
        if low[2] < 0.9 * plain[2] - 0.02 {
            broken.push(format!("{name}: takes more, {low:.3?} and {plain:.3?}"));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
