// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of parameters is correct: each parameter listed for a control changes its behaviour, and the rest of
//! `struct policy_parameters` changes nothing.

mod path;

use std::fmt::{Debug, Write};

use netnice_congestion::congestion_control::{Ack, CongestionControl, Window};
use netnice_congestion::controls::tcplp::TcpLp;
use netnice_congestion::controls::tcplp_ecn::TcpLpEcn;
use netnice_congestion::controls::{
    hstcplp::HsTcpLp, ledbat::Ledbat, ledbatpp::LedbatPp, tcpnice::TcpNice,
};
use netnice_congestion::dstcp::DsTcp;
use netnice_congestion::floor::Floor;
use netnice_congestion::netnice::NetNice;
use netnice_congestion::registry;
use netnice_parameters::PARAMETERS;
use netnice_parameters::exchange;
use netnice_parameters::{self as parameters, ControlParameters, Kind, Parameter, Value};
use path::{Flow, Path};

const MILLISECOND_NS: u64 = 1_000_000;

/// Records the window and the packets delivered, twice a second, beside others who keep 40 ms of queue from second 5 to
/// 10.
fn on_a_path(control: Box<dyn CongestionControl>, mut path: Path) -> String {
    path.others = Some((5_000_000_000, 10_000_000_000, 40_000_000));
    let mut flow = Flow::new(path, control, 2.0);
    let mut record = String::new();
    for half_seconds in 1..=40 {
        flow.run(f64::from(half_seconds) / 2.0);
        let Window { cwnd, ssthresh } = flow.window;
        writeln!(
            record,
            "{cwnd} {ssthresh} {} {}",
            flow.delivered, flow.losses
        )
        .unwrap();
    }
    record
}

/// Records the window under ACKs for two packets each, as from receivers that delay ACKs.
fn under_delayed_acks(mut control: Box<dyn CongestionControl>) -> String {
    let mut window = Window {
        cwnd: 2.0,
        ssthresh: f64::INFINITY,
    };
    let mut record = String::new();
    for number in 1..=20_u64 {
        let ack = Ack {
            now_ns: number * 10 * MILLISECOND_NS,
            rtt_ns: Some(50 * MILLISECOND_NS),
            smoothed_rtt_ns: 50 * MILLISECOND_NS,
            min_rtt_ns: 50 * MILLISECOND_NS,
            acked: 2,
            in_flight: 2,
            delivered: 2 * number,
            cwnd_limited: true,
            ..Ack::default()
        };
        control.on_ack(&ack, &mut window);
        writeln!(record, "{} {}", window.cwnd, window.ssthresh).unwrap();
    }
    record
}

/// Records the windows of a control with these parameters.
fn behaviour(control: &str, parameters: &ControlParameters) -> String {
    let create = || registry::create(control, parameters).unwrap_or_else(|e| panic!("{e}"));
    let marking = Path {
        mark_above_packets: Some(15),
        ..Path::new(100)
    };
    // A rate so high that the queue of a packet or two is below netnice's smallest threshold.
    let fast = Path {
        packet_ns: 80_000,
        ..Path::new(100)
    };
    on_a_path(create(), Path::new(100))
        + &on_a_path(create(), marking)
        + &on_a_path(create(), fast)
        + &under_delayed_acks(create())
}

/// Returns parameters that must be set for others to have an effect.
fn usual(control: &str) -> ControlParameters {
    match control {
        "dstcp" => ControlParameters::new().with("target_rate_bps", 2e6),
        _ => ControlParameters::new(),
    }
}

/// Returns the ends of a row's range, except the default.
fn other_values(row: &Parameter) -> Vec<Value> {
    let ends: Vec<Value> = match (row.kind, row.kind.range()) {
        (Kind::Switch { default }, _) => vec![(!default).into()],
        (_, Some((least, most))) => vec![least.into(), most.into()],
        (_, None) => unreachable!("numbers have a range"),
    };
    let default = row.kind.default();
    ends.into_iter().filter(|value| *value != default).collect()
}

#[test]
fn each_parameter_changes_what_its_controls_do() {
    for control in registry::names() {
        let usual = usual(control);
        let before = behaviour(control, &usual);
        for row in registry::parameters(control).unwrap() {
            for value in other_values(row) {
                let changed = usual.clone().with(row.name, value);
                assert!(
                    behaviour(control, &changed) != before,
                    "{} = {value} changes nothing in {control}",
                    row.name
                );
            }
        }
    }
}

#[test]
fn a_parameter_of_another_control_is_refused() {
    for control in registry::names() {
        for row in PARAMETERS {
            if registry::parameters(control)
                .unwrap()
                .any(|own| own.name == row.name)
            {
                continue;
            }
            let given = ControlParameters::new().with(row.name, row.kind.default());
            let error = registry::create(control, &given)
                .map(|_| ())
                .unwrap_err()
                .to_string();
            for named in [*control, row.name, &parameters::takers(row.name)] {
                assert!(error.contains(named), "{error}");
            }
            assert!(!error.contains('\n'), "{error}");
        }
    }
}

/// Returns the whole state of a new connection, which alone determines a policy's behaviour.
fn state(control: &str, parameters: &exchange::Parameters) -> String {
    let policy: Box<dyn Debug> = match control {
        "netnice" => Box::new((NetNice::new(parameters), Floor::new(parameters))),
        "tcplp" => Box::new(TcpLp::new(parameters)),
        "tcplp_ecn" => Box::new(TcpLpEcn::new(parameters)),
        "hstcplp" => Box::new(HsTcpLp::new(parameters)),
        "dstcp" => Box::new(DsTcp::new(parameters)),
        "ledbat" => Box::new(Ledbat::new(parameters)),
        "ledbatpp" => Box::new(LedbatPp::new(parameters)),
        "tcpnice" => Box::new(TcpNice::new(parameters)),
        other => panic!("{other} reads struct policy_parameters, but how?"),
    };
    format!("{policy:?}")
}

/// Returns the controls with rows that have a member.
fn policies() -> impl Iterator<Item = &'static str> {
    let has_members = |name: &&str| parameters::of(name).any(|row| row.member.is_some());
    registry::names().iter().copied().filter(has_members)
}

#[test]
fn a_policy_reads_the_members_of_its_rows_and_no_other() {
    for control in policies().filter(|control| *control != "tcplp_ecn") {
        let default = state(control, &exchange::Parameters::default());
        for byte in 0..size_of::<exchange::Parameters>() {
            let mut bytes = [0_u8; size_of::<exchange::Parameters>()];
            bytes[byte] = 1;
            let changed = state(control, &bytemuck::cast(bytes)) != default;
            let own = parameters::of(control).filter_map(|row| row.member);
            let mut own = own.map(|member| member.offset..member.offset + member.bytes);
            assert_eq!(
                changed,
                own.any(|own| own.contains(&byte)),
                "{control}: byte {byte}"
            );
        }
    }
}

#[test]
fn the_defaults_of_the_table_are_those_of_the_policies() {
    for control in policies() {
        let default = state(control, &exchange::Parameters::default());
        for row in parameters::of(control).filter(|row| row.member.is_some()) {
            let given = |value: Value| {
                let given = ControlParameters::new().with(row.name, value);
                netnice_parameters::kernel_parameters(control, &given).unwrap()
            };
            assert_eq!(
                state(control, &given(row.kind.default())),
                default,
                "{}",
                row.name
            );
            for value in other_values(row) {
                assert_ne!(
                    state(control, &given(value)),
                    default,
                    "{} = {value}",
                    row.name
                );
            }
        }
    }
}
