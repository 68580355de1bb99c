// SPDX-License-Identifier: MIT OR Apache-2.0
//! Features of the running kernel. The description of its types (BTF) tells, or a trial, and never its release:
//! distributions carry later features in older kernels.

use std::fmt;
use std::sync::LazyLock;

use libbpf_rs::btf::types::{FuncProto, Ptr, Struct};
use libbpf_rs::btf::{Btf, BtfType, ReferencesType};

/// Feature that a kernel has or lacks; shown as what it is and since when Linux has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    what: &'static str,
    since: &'static str,
    /// Type that came with it; `None` if only a trial tells.
    kernel_type: Option<&'static str>,
}

/// Congestion controls in BPF.
pub const CONTROLS: Feature = Feature {
    what: "congestion controls in BPF",
    since: "5.6",
    kernel_type: Some("bpf_struct_ops_tcp_congestion_ops"),
};

/// Congestion controls in BPF may write `sk_pacing_status` and `sk_pacing_rate`; the verifier tells.
pub const PACING: Feature = Feature {
    what: "congestion controls in BPF that set the pacing rate",
    since: "6.0",
    kernel_type: None,
};

/// Links for congestion controls, which can be pinned and updated.
pub const LINKS: Feature = Feature {
    what: "links of congestion controls",
    since: "6.4",
    kernel_type: Some("bpf_struct_ops_link"),
};

/// Programs at network interfaces, several side by side.
pub const TCX: Feature = Feature {
    what: "programs at network interfaces (tcx)",
    since: "6.6",
    kernel_type: Some("tcx_link"),
};

/// `SECCOMP_IOCTL_NOTIF_ADDFD`: a supervisor hands a socket over.
pub const HANDING_OVER: Feature = Feature {
    what: "sockets handed over by a supervisor (seccomp)",
    since: "5.9",
    kernel_type: Some("seccomp_notif_addfd"),
};

/// What the kernel's types tell. Reading them takes milliseconds.
#[derive(Default)]
struct Known {
    /// Of the types that features came with, those there are.
    types: Vec<&'static str>,
    cong_control_arguments: Option<usize>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let Ok(types) = Btf::from_vmlinux() else {
        return Known::default();
    };
    let names = [CONTROLS, LINKS, TCX, HANDING_OVER].map(|feature| feature.kernel_type);
    Known {
        types: names
            .into_iter()
            .flatten()
            .filter(|name| types.type_by_name::<BtfType<'_>>(name).is_some())
            .collect(),
        cong_control_arguments: arguments_of_cong_control(&types),
    }
});

impl Feature {
    /// Returns true unless the kernel's types show that it lacks the feature.
    pub fn is_there(&self) -> bool {
        self.kernel_type
            .is_none_or(|name| KNOWN.types.contains(&name))
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
