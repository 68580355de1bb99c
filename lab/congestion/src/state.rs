// SPDX-License-Identifier: MIT OR Apache-2.0
//! Space for a policy's state.

use netnice_parameters::exchange::Report;

/// Bytes of the largest state: netnice's, which a kernel keeps in a socket's storage. The others have at most the 104 that it
/// has for a congestion control (`icsk_ca_priv`).
const STATE_BYTES: usize = 256;

/// Space for the state of any policy. The report is its first member.
#[repr(C, align(8))]
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) report: Report,
    rest: [u8; STATE_BYTES - size_of::<Report>()],
}

impl State {
    pub(crate) fn zeroed() -> Self {
        Self {
            report: Report::default(),
            rest: [0; STATE_BYTES - size_of::<Report>()],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::io::Write as _;
    use std::mem::offset_of;
    use std::process::{Command, Stdio};

    use netnice_parameters::PARAMETERS;
    use netnice_parameters::decisions::{PHASES, REASONS};
    use netnice_parameters::exchange::Parameters;

    use super::*;
    use crate::{above_floor, dstcp, netnice, netnice_receiver as receiver, tcplp};

    /// A C program that compiles if the structs have these sizes and their members these offsets and sizes.
    struct Layouts(String);

    impl Layouts {
        fn size(&mut self, name: &str, bytes: usize) {
            writeln!(
                self.0,
                "_Static_assert(sizeof(struct {name}) == {bytes}, \"{name}\");"
            )
            .unwrap();
        }

        fn member(&mut self, name: &str, member: &str, offset: usize, bytes: usize) {
            writeln!(
                self.0,
                "_Static_assert(offsetof(struct {name}, {member}) == {offset} && \
                 sizeof(((struct {name} *)0)->{member}) == {bytes}, \"{name}.{member}\");"
            )
            .unwrap();
        }

        /// Returns the compiler's messages.
        fn compile(&self) -> String {
            let mut compiler = Command::new("cc")
                .args(["-fsyntax-only", "-x", "c", "-I"])
                .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies"))
                .arg("-")
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the C compiler runs that has compiled the policies");
            let mut input = compiler.stdin.take().expect("stdin is piped");
            input.write_all(self.0.as_bytes()).unwrap();
            drop(input);
            let output = compiler.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.success(), said.is_empty(), "{said}");
            said
        }
    }

    impl Default for Layouts {
        fn default() -> Self {
            Layouts(
                "#include <stddef.h>\n#include \"dstcp.h\"\n#include \"netnice/above_floor.h\"\n#include \"receiver.h\"\n#include \"tcplp.h\"\n"
                    .to_owned(),
            )
        }
    }

    fn size_of_member<T, M>(_: fn(&T) -> &M) -> usize {
        size_of::<M>()
    }

    /// Compares the layout of a Rust struct with its counterpart in C. A missing member does not compile.
    macro_rules! mirror {
        ($layouts:ident, $name:literal, $mirror:path { $($member:ident),* }) => {
            let _all = |$mirror { $($member: _),* }: $mirror| ();
            $layouts.size($name, size_of::<$mirror>());
            $($layouts.member(
                $name,
                stringify!($member),
                offset_of!($mirror, $member),
                size_of_member(|mirror: &$mirror| &mirror.$member),
            );)*
        };
    }

    #[test]
    #[rustfmt::skip]
    fn mirrors_have_the_layout_of_what_they_mirror() {
        let mut layouts = Layouts::default();
        mirror!(layouts, "policy_report", Report {
            delay_over_minimum_us, threshold_us, yields, phase, signal, published
        });
        mirror!(layouts, "tcplp_ack", tcplp::Ack {
            now_us, sample_rtt_us, smoothed_rtt_us, minimum_rtt_us, tsval, acked, in_flight, cwnd, ssthresh,
            has_timestamp, ca_state, cwnd_limited
        });
        mirror!(layouts, "netnice_ack", netnice::Ack {
            now_us, sample_rtt_us, tsval, acked, lost, in_flight, delivered, prior_delivered, rate_delivered,
            rate_interval_us, cwnd, has_timestamp, stamp_lead, stamp_back, ca_state, app_limited,
            at_receiver, retransmitted
        });
        mirror!(layouts, "receiver_segment", receiver::Segment {
            now_us, rtt_us, tsval, bytes, mss, limit_bytes, bound_bytes, gap, ce, delayed_ack, has_data,
            may_close, unscaled
        });
        mirror!(layouts, "dstcp_ack", dstcp::Ack {
            smoothed_rtt_us, minimum_rtt_us, acked, cwnd_limited
        });
        mirror!(layouts, "dstcp_window", dstcp::Window { cwnd, ssthresh });
        layouts.member("floor", "bytes_per_s", 0, 8);
        layouts.member("floor_member", "driven", above_floor::DRIVEN_OFFSET, 1);
        assert_eq!(layouts.compile(), "");
    }

    #[test]
    fn rows_have_the_offsets_of_their_members() {
        let mut layouts = Layouts::default();
        layouts.size("policy_parameters", size_of::<Parameters>());
        for member in PARAMETERS.iter().filter_map(|row| row.member) {
            layouts.member(
                "policy_parameters",
                member.name,
                member.offset,
                member.bytes,
            );
        }
        assert_eq!(layouts.compile(), "");
    }

    #[test]
    fn phases_and_reasons_have_the_numbers_of_the_policy() {
        let mut layouts = Layouts::default();
        let phases = PHASES.iter().enumerate();
        let phases = phases.map(|(number, name)| (format!("NETNICE_{name}"), number));
        let reasons = REASONS.iter().zip(1..);
        let reasons =
            reasons.map(|((name, ..), number)| (format!("NETNICE_BECAUSE_{name}"), number));
        let end = ("NETNICE_REASONS".to_owned(), REASONS.len() + 1);
        for (name, number) in phases.chain(reasons).chain([end]) {
            writeln!(layouts.0, "_Static_assert({name} == {number}, \"{name}\");").unwrap();
        }
        assert_eq!(layouts.compile(), "");
    }

    #[test]
    fn a_wrong_offset_does_not_compile() {
        let mut layouts = Layouts::default();
        layouts.member("dstcp_window", "ssthresh", 0, 4);
        assert!(layouts.compile().contains("dstcp_window.ssthresh"));
    }
}
