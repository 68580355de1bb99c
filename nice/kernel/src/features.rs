// SPDX-License-Identifier: MIT OR Apache-2.0
//! Features of the running kernel. The description of its types (BTF) tells, or a trial, and never its release:
//! distributions carry later features in older kernels.

use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use libbpf_rs::btf::types::{FuncProto, Ptr, Struct};
use libbpf_rs::btf::{Btf, BtfType, ReferencesType};

use crate::libbpf_log;

/// Feature that a kernel has or lacks; shown as what it is and since when Linux has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    what: &'static str,
    since: &'static str,
    /// Type that came with it; `None` if only a trial tells.
    kernel_type: Option<&'static str>,
}

/// Defines the features, each a constant, and `ALL`: all of them.
macro_rules! features {
    ($($(#[$doc:meta])* $name:ident = $what:literal, $since:literal, $kernel_type:expr;)*) => {
        $($(#[$doc])* pub const $name: Feature = Feature {
            what: $what,
            since: $since,
            kernel_type: $kernel_type,
        };)*
        const ALL: &[Feature] = &[$($name),*];
    };
}

features! {
    /// Congestion controls in BPF.
    CONTROLS = "congestion controls in BPF", "5.6", Some("bpf_struct_ops_tcp_congestion_ops");

    /// Congestion controls in BPF may write `sk_pacing_status` and `sk_pacing_rate`; the verifier tells.
    PACING = "congestion controls in BPF that set the pacing rate", "6.0", None;

    /// Links for congestion controls, which can be pinned and updated.
    LINKS = "links of congestion controls", "6.4", Some("bpf_struct_ops_link");

    /// Programs at network interfaces, several side by side.
    TCX = "programs at network interfaces (tcx)", "6.6", Some("tcx_link");

    /// `SECCOMP_IOCTL_NOTIF_ADDFD`: a supervisor hands a socket over.
    HANDING_OVER = "sockets handed over by a supervisor (seccomp)", "5.9", Some("seccomp_notif_addfd");
}

/// What the kernel's types tell. Reading them takes milliseconds.
#[derive(Default)]
struct Known {
    /// Of the types that features came with, those there are.
    types: Vec<&'static str>,
    cong_control_arguments: Option<usize>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    // A kernel without BTF is a fact to find here, and the caller tells it in a sentence.
    libbpf_log::begin();
    let Ok(types) = Btf::from_vmlinux() else {
        return Known::default();
    };
    Known {
        types: ALL
            .iter()
            .filter_map(|feature| feature.kernel_type)
            .filter(|name| types.type_by_name::<BtfType<'_>>(name).is_some())
            .collect(),
        cong_control_arguments: arguments_of_cong_control(&types),
    }
});

/// The verifier has refused [`PACING`].
static PACING_REFUSED: AtomicBool = AtomicBool::new(false);

/// Notes that the kernel has taken a control without [`PACING`], and not with it.
pub(crate) fn pacing_was_refused() {
    PACING_REFUSED.store(true, Ordering::Relaxed);
}

impl Feature {
    /// Returns true unless the kernel's types, or a trial before, show that it lacks the feature.
    pub fn is_there(&self) -> bool {
        match self.kernel_type {
            Some(name) => KNOWN.types.contains(&name),
            None => !PACING_REFUSED.load(Ordering::Relaxed),
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, which Linux has since {}", self.what, self.since)
    }
}

/// Returns the number of arguments of a congestion control's `cong_control`: 2, or 4 since Linux 6.10; `None` if the kernel
/// does not describe its types.
pub(crate) fn cong_control_arguments() -> Option<usize> {
    KNOWN.cong_control_arguments
}

fn arguments_of_cong_control(types: &Btf<'_>) -> Option<usize> {
    let operations: Struct<'_> = types.type_by_name("tcp_congestion_ops")?;
    let member = operations
        .iter()
        .find(|member| member.name.is_some_and(|name| name == "cong_control"))?;
    let pointer: Ptr<'_> = types.type_by_id(member.ty)?;
    let prototype: FuncProto<'_> = types.type_by_id(pointer.referenced_type().type_id())?;
    Some(prototype.iter().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_is_known_by_its_type() {
        assert!(CONTROLS.is_there() && PACING.is_there());
        let unknown = Feature {
            kernel_type: Some("netnice_no_such_type"),
            ..CONTROLS
        };
        assert!(!unknown.is_there());
        assert!(matches!(cong_control_arguments(), Some(2 | 4)));
    }

    #[test]
    fn a_lacking_feature_is_named_with_its_kernel() {
        let told = crate::Error::Lacks(PACING).to_string();
        let expected = "this kernel lacks congestion controls in BPF that set the pacing rate, which Linux has \
                        since 6.0: boot 6.1";
        assert!(told.starts_with(expected), "{told}");
    }
}
