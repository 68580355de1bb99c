// SPDX-License-Identifier: MIT OR Apache-2.0
//! The policies: the controls that are written once, in C, for kernel and simulator; and what controls are called elsewhere.

/// A policy in `policies/`, which a kernel and the simulator run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Name of its control.
    pub name: &'static str,
    /// One line on it.
    pub summary: &'static str,
}

/// The policy `netnice`.
pub const NETNICE: Policy = Policy {
    name: "netnice",
    summary: "yields at the first sign of others' queues, and fills an idle link",
};

/// The policy `tcplp`.
pub const TCPLP: Policy = Policy {
    name: "tcplp",
    summary: "TCP-LP: low priority by one-way delays (Kuzmanovic and Knightly 2003)",
};

/// The policy `tcplp_ecn`.
pub const TCPLP_ECN: Policy = Policy {
    name: "tcplp_ecn",
    summary: "TCP-LP with ECN marks for its congestion indication, no delays (the paper's TCP-LP/ECN)",
};

/// The policy `hstcplp`.
pub const HSTCPLP: Policy = Policy {
    name: "hstcplp",
    summary: "HSTCP-LP: TCP-LP with HighSpeed TCP's steps, for long fat paths (Kuzmanovic, Knightly, Cottrell)",
};

/// The policy `ledbat`.
pub const LEDBAT: Policy = Policy {
    name: "ledbat",
    summary: "LEDBAT: a queue of its own of at most 100 ms by one-way delays (RFC 6817)",
};

/// The policy `ledbatpp`.
pub const LEDBATPP: Policy = Policy {
    name: "ledbatpp",
    summary: "LEDBAT++: LEDBAT with multiplicative decrease and periodic slowdowns (ICCRG draft)",
};

/// The policy `tcpnice`.
pub const TCPNICE: Policy = Policy {
    name: "tcpnice",
    summary: "TCP Nice: Vegas that halves its window when queues grow (Venkataramani, Kokku, Dahlin 2002)",
};

/// The policy `dstcp`.
pub const DSTCP: Policy = Policy {
    name: "dstcp",
    summary: "TCP for Diff-Serv: fair window opening, ssthresh by a target rate, marks by profile (Fang and Peterson)",
};

/// All policies.
pub const POLICIES: [Policy; 8] = [
    NETNICE, TCPLP, TCPLP_ECN, HSTCPLP, LEDBAT, LEDBATPP, TCPNICE, DSTCP,
];

/// Returns the line on a policy; `None` if there is none of this name.
pub fn summary(name: &str) -> Option<&'static str> {
    let found = POLICIES.iter().find(|policy| policy.name == name)?;
    Some(found.summary)
}

/// Our name of a control that is called otherwise elsewhere: in Linux (`net/ipv4/tcp_lp.c` registers `lp`), in ns-2 or ns-3, or in
/// the paper or draft that describes it. Case, and signs other than letters, digits and `+`, do not matter.
pub fn called_here(name: &str) -> Option<&'static str> {
    let letters = name.chars().filter(|c| c.is_alphanumeric() || *c == '+');
    let name: String = letters.flat_map(char::to_lowercase).collect();
    let found = match name.as_str() {
        "lp" | "tcplp" => "tcplp",
        "tcplpecn" | "lpecn" => "tcplp_ecn",
        "newreno" | "tcpnewreno" | "tcpreno" => "reno",
        "tcpcubic" => "cubic",
        "hstcp" | "hs" | "tcphighspeed" => "highspeed",
        "hstcplp" | "hslp" => "hstcplp",
        "nice" | "tcpnice" => "tcpnice",
        "ledbat++" | "ledbatplusplus" | "tcpledbat++" => "ledbatpp",
        "tcpledbat" => "ledbat",
        "tcpvegas" => "vegas",
        "tcpbbr" | "bbrv1" | "bbr1" => "bbr",
        "bbrv3" => "bbr3",
        "tcpdctcp" => "dctcp",
        "tcpprague" => "prague",
        _ => return None,
    };
    Some(found)
}
