// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of the controls' parameters.
//!
//! All users of the parameters read this table: the checks and the JSON schema of scenarios, the options of the command
//! line and their help, the values passed to the lab and the kernel's programs, and `docs/scenarios.md`. A new
//! parameter is a row; one that a policy in `policies/` reads is also a member of `struct policy_parameters`. Tests
//! compare the rows with the behaviour of the policies.

use crate::parameter::{Kind, Member, Parameter, Unit};

const fn number(least: f64, most: f64, default: f64) -> Kind {
    Kind::Number {
        least,
        most,
        default,
    }
}

const fn whole(least: u32, most: u32, default: u32) -> Kind {
    Kind::Whole {
        least,
        most,
        default,
    }
}

const fn switch(default: bool) -> Kind {
    Kind::Switch { default }
}

/// Describes a member of `struct policy_parameters`: its name in C, offset and size in bytes, and its value for one
/// unit of the parameter.
const fn member(name: &'static str, offset: usize, bytes: usize, per_unit: f64) -> Option<Member> {
    Some(Member {
        name,
        offset,
        bytes,
        per_unit,
    })
}

/// All parameters of all controls.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "delta",
        unit: Unit::Fraction,
        kind: number(0.001, 1.0, 0.15),
        controls: &["tcplp", "hstcplp"],
        help: "threshold, from 0 at the smallest one-way delay to 1 at the largest, rounded to 0.001",
        option: Some("delta"),
        member: member("delta_permille", 0, 2, 1000.0),
        instead_of: None,
    },
    Parameter {
        name: "gamma",
        unit: Unit::Fraction,
        kind: number(0.001, 1.0, 0.125),
        controls: &["tcplp", "hstcplp"],
        help: "weight of a new sample in the smoothed one-way delay, rounded to 0.001",
        option: Some("gamma"),
        member: member("gamma_permille", 2, 2, 1000.0),
        instead_of: None,
    },
    Parameter {
        name: "inference_rtts",
        unit: Unit::RoundTrips,
        kind: whole(1, 100, 3),
        controls: &["tcplp", "hstcplp", "tcplp_ecn"],
        help: "inference time-out after an early congestion indication",
        option: Some("inference-rtts"),
        member: member("inference_rtts", 4, 2, 1.0),
        instead_of: None,
    },
    Parameter {
        name: "minimum_cwnd",
        unit: Unit::Packets,
        kind: number(0.001, 1.0, 1.0),
        controls: &["tcplp", "hstcplp"],
        help: "smallest window, below one packet by pacing: 0.044 is equivalent to the testbed paper's packets of 64 bytes",
        option: Some("minimum-cwnd"),
        member: member("minimum_cwnd_permille", 6, 2, 1000.0),
        instead_of: None,
    },
    Parameter {
        name: "threshold_us",
        unit: Unit::Microseconds,
        kind: whole(100, 1_000_000, 1000),
        controls: &["netnice"],
        help: "lowest threshold above the smallest delay: a shorter queue counts as none",
        option: Some("threshold"),
        member: member("threshold_us", 8, 4, 1.0),
        instead_of: None,
    },
    Parameter {
        name: "at_least_bps",
        unit: Unit::BitsPerSecond,
        kind: number(0.0, 1e11, 0.0),
        controls: &["netnice"],
        help: "floor: rate that all connections together get in each direction, as one best-effort flow would",
        option: Some("at-least"),
        member: member("target_bits_per_s", 16, 8, 1.0),
        instead_of: None,
    },
    Parameter {
        name: "target_rate_bps",
        unit: Unit::BitsPerSecond,
        kind: number(0.0, 1e11, 0.0), // with a round trip of 100 s within 64 bits: DSTCP_RTT_LIMIT_US
        controls: &["dstcp"],
        help: "rate that the network assures each connection; without one only the window's opening differs from Reno's",
        option: Some("target"),
        member: member("target_bits_per_s", 16, 8, 1.0),
        instead_of: None,
    },
    Parameter {
        name: "policy",
        unit: Unit::None,
        kind: whole(1, 2, 2),
        controls: &["dstcp"],
        help: "1 opens the window by c * rtt packets per round trip, 2 by c * rtt^2, rtt in seconds",
        option: Some("policy"),
        member: member("policy", 24, 1, 1.0),
        instead_of: None,
    },
    Parameter {
        name: "c",
        unit: Unit::None,
        kind: whole(1, 1_000_000, 100),
        controls: &["dstcp"],
        help: "constant c of the window's opening: 100 is a packet each 100 ms at policy 2",
        option: Some("c"),
        member: member("c", 12, 4, 1.0),
        instead_of: None,
    },
    Parameter {
        name: "classes",
        unit: Unit::None,
        kind: switch(false),
        controls: &["dstcp"],
        help: "c by the smallest round trip (Table 5): 1024 up to 50 ms, 256 up to 100 ms, 64 up to 200 ms, 4 above",
        option: None,
        member: member("classes", 25, 1, 1.0),
        instead_of: Some("c"),
    },
    Parameter {
        name: "packet_bytes",
        unit: Unit::Bytes,
        kind: whole(64, 65_535, 1000),
        controls: &["dstcp"],
        help: "size of a full packet as the target rate counts it; a kernel knows its own",
        option: None,
        member: None,
        instead_of: None,
    },
    Parameter {
        name: "fair_window",
        unit: Unit::None,
        kind: switch(true),
        controls: &["dstcp"],
        help: "mechanism 1: fair window opening",
        option: None,
        member: member("without_fair_window", 26, 1, 1.0),
        instead_of: None,
    },
    Parameter {
        name: "target_ssthresh",
        unit: Unit::None,
        kind: switch(true),
        controls: &["dstcp"],
        help: "mechanism 2: ssthresh is the target rate times the round trip",
        option: None,
        member: member("without_target_ssthresh", 27, 1, 1.0),
        instead_of: None,
    },
    Parameter {
        name: "ecn_by_profile",
        unit: Unit::None,
        kind: switch(true),
        controls: &["dstcp"],
        help: "mechanism 3: a mark on an IN packet closes the window, on an OUT packet it halves it",
        option: None,
        member: member("without_ecn_by_profile", 28, 1, 1.0),
        instead_of: None,
    },
    Parameter {
        name: "target_us",
        unit: Unit::Microseconds,
        kind: whole(1000, 100_000, 100_000),
        controls: &["ledbat"],
        help: "TARGET: queueing delay that it aims at (RFC 6817 section 2.5: at most 100 ms)",
        option: None,
        member: member("threshold_us", 8, 4, 1.0),
        instead_of: None,
    },
    Parameter {
        name: "gain",
        unit: Unit::Fraction,
        kind: number(0.001, 1.0, 1.0),
        controls: &["ledbat"],
        help: "GAIN: packets that the window grows by per round trip without a queue, rounded to 0.001",
        option: None,
        member: member("gamma_permille", 2, 2, 1000.0),
        instead_of: None,
    },
    Parameter {
        name: "slow_start",
        unit: Unit::None,
        kind: switch(false),
        controls: &["ledbat"],
        help: "begin with slow start, until the queueing delay reaches the target",
        option: None,
        member: member("slow_start", 29, 1, 1.0),
        instead_of: None,
    },
    Parameter {
        name: "target_us",
        unit: Unit::Microseconds,
        kind: whole(1000, 100_000, 60_000),
        controls: &["ledbatpp", "rledbat"],
        help: "TARGET: queueing delay that it aims at",
        option: None,
        member: member("threshold_us", 8, 4, 1.0),
        instead_of: None,
    },
    Parameter {
        name: "threshold",
        unit: Unit::Fraction,
        kind: number(0.001, 1.0, 0.1),
        controls: &["tcpnice"],
        help: "point between the smallest and the largest RTT at which congestion begins, rounded to 0.001",
        option: None,
        member: member("delta_permille", 0, 2, 1000.0),
        instead_of: None,
    },
    Parameter {
        name: "fraction",
        unit: Unit::Fraction,
        kind: number(0.001, 1.0, 0.5),
        controls: &["tcpnice"],
        help: "the window halves if this share of a round trip's packets meets congestion, rounded to 0.001",
        option: None,
        member: member("gamma_permille", 2, 2, 1000.0),
        instead_of: None,
    },
    Parameter {
        name: "g",
        unit: Unit::None,
        kind: number(0.001, 1.0, 0.0625),
        controls: &["dctcp", "prague"],
        help: "weight of a window's share of marked packets in alpha (RFC 8257 section 4.2)",
        option: None,
        member: None,
        instead_of: None,
    },
    Parameter {
        name: "appropriate_byte_counting",
        unit: Unit::None,
        kind: switch(false),
        controls: &["reno"],
        help: "count packets acknowledged, at most two for each ACK in slow start (RFC 3465), instead of ACKs",
        option: None,
        member: None,
        instead_of: None,
    },
    Parameter {
        name: "linux",
        unit: Unit::None,
        kind: switch(false),
        controls: &["reno"],
        help: "as Linux 6.18: count packets acknowledged, and whole windows of them (tcp_cong_avoid_ai)",
        option: None,
        member: None,
        instead_of: Some("appropriate_byte_counting"),
    },
    Parameter {
        name: "c",
        unit: Unit::None,
        kind: number(0.001, 100.0, 0.4),
        controls: &["cubic"],
        help: "C: how fast the window moves, in packets per second cubed (RFC 9438 section 5)",
        option: None,
        member: None,
        instead_of: None,
    },
    Parameter {
        name: "beta",
        unit: Unit::Fraction,
        kind: number(0.1, 0.95, 0.7),
        controls: &["cubic"],
        help: "share of the window that is kept at a loss (RFC 9438 section 4.6)",
        option: None,
        member: None,
        instead_of: None,
    },
    Parameter {
        name: "fast_convergence",
        unit: Unit::None,
        kind: switch(true),
        controls: &["cubic"],
        help: "give way faster while the window at losses shrinks (RFC 9438 section 4.7)",
        option: None,
        member: None,
        instead_of: None,
    },
    Parameter {
        name: "hystart",
        unit: Unit::None,
        kind: switch(false),
        controls: &["cubic"],
        help: "leave the first slow start when round-trip times rise: HyStart++ (RFC 9406)",
        option: None,
        member: None,
        instead_of: None,
    },
    Parameter {
        name: "linux",
        unit: Unit::None,
        kind: switch(false),
        controls: &["cubic"],
        help: "as Linux 6.18: whole packets, its HyStart, which differs from RFC 9406, and its growth before the first loss",
        option: None,
        member: None,
        instead_of: Some("hystart"),
    },
    Parameter {
        name: "alpha",
        unit: Unit::Packets,
        kind: number(0.0, 1000.0, 1.0),
        controls: &["vegas"],
        help: "packets of its own in the queue below which the window grows by one each round trip",
        option: None,
        member: None,
        instead_of: None,
    },
    Parameter {
        name: "beta",
        unit: Unit::Packets,
        kind: number(0.0, 1000.0, 3.0),
        controls: &["vegas"],
        help: "packets of its own in the queue above which the window falls by one each round trip",
        option: None,
        member: None,
        instead_of: None,
    },
    Parameter {
        name: "gamma",
        unit: Unit::Packets,
        kind: number(0.0, 1000.0, 1.0),
        controls: &["vegas"],
        help: "packets of its own in the queue above which slow start ends",
        option: None,
        member: None,
        instead_of: None,
    },
];

/// Size of `struct policy_parameters` in bytes: the end of the last member, rounded up to 8.
pub const POLICY_PARAMETERS_BYTES: usize = {
    let mut end = 0;
    let mut index = 0;
    while index < PARAMETERS.len() {
        if let Some(member) = PARAMETERS[index].member {
            if member.offset + member.bytes > end {
                end = member.offset + member.bytes;
            }
        }
        index += 1;
    }
    end.next_multiple_of(8)
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_option_has_a_row_of_its_own_and_a_member() {
        let rows: Vec<_> = PARAMETERS
            .iter()
            .filter(|row| row.option.is_some())
            .collect();
        let options: BTreeSet<_> = rows.iter().map(|row| row.option).collect();
        assert_eq!(options.len(), rows.len());
        assert!(rows.iter().all(|row| row.member.is_some()));
    }

    #[test]
    fn members_do_not_overlap_and_hold_their_ranges() {
        let mut taken = [None; POLICY_PARAMETERS_BYTES];
        for row in PARAMETERS {
            let Some(member) = row.member else { continue };
            // Controls may share a member, but no control has it twice.
            for byte in &mut taken[member.offset..member.offset + member.bytes] {
                let name = *byte.get_or_insert(member.name);
                assert_eq!(name, member.name, "they overlap");
            }
            for control in row.controls {
                let rows = crate::of(control).filter_map(|row| row.member);
                let users = rows.filter(|other| other.name == member.name).count();
                assert_eq!(users, 1, "{control}: {}", member.name);
            }
            assert_eq!(member.offset % member.bytes, 0, "{}", member.name);
            let Some((least, most)) = row.kind.range() else {
                continue;
            };
            let largest = 256_f64.powi(member.bytes as i32) - 1.0;
            assert!(most * member.per_unit <= largest, "{}", member.name);
            // Zero selects the default.
            let default_is_zero = row.kind.default() == 0.0.into();
            assert!(
                default_is_zero || least * member.per_unit >= 1.0,
                "{}",
                member.name
            );
        }
    }

    #[test]
    fn what_is_replaced_is_a_parameter_of_the_same_controls() {
        for row in PARAMETERS {
            let Some(other) = row.instead_of else {
                continue;
            };
            assert!(matches!(row.kind, Kind::Switch { .. }), "{}", row.name);
            for control in row.controls {
                assert!(crate::of(control).any(|row| row.name == other));
            }
        }
    }
}
