// SPDX-License-Identifier: MIT OR Apache-2.0
//! What this kernel, and this user, can do.

use std::fs;
use std::time::Instant;

use nix::unistd::{geteuid, getpid};

use crate::cgroup::Hierarchy;
use crate::control::Control;
use crate::error::Error;
use crate::pins::{self, Pins};
use crate::placement::Placer;
use crate::process::Handle;
use crate::release;

/// How it stands with a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There.
    Ok,
    /// There with a limit, or missing but not needed.
    Limited,
    /// Missing, and something does not work for it.
    Missing,
}

/// One thing that netnice needs or can make use of.
#[derive(Clone, Debug)]
pub struct Capability {
    /// A short name.
    pub name: &'static str,
    /// How it stands.
    pub state: State,
    /// What was found, what it is for, and if it is missing how to get it.
    pub detail: String,
}

/// The findings.
#[derive(Clone, Debug)]
pub struct Findings {
    /// One by one.
    pub capabilities: Vec<Capability>,
    /// Whether `netnice run` works for this user.
    pub run_works: bool,
}

/// Looks at everything.
pub fn check() -> Findings {
    let root = geteuid().is_root();
    let cgroup = cgroup2(root);
    let supervision = supervision();
    let mut capabilities = vec![kernel(), types(), jit(), struct_ops(), file_system()];
    let mut run_works = all_ok(&capabilities);
    if root {
        let privileges = privileges();
        let loads = loads();
        run_works &= privileges.state != State::Missing
            && loads.state != State::Missing
            && (cgroup.state == State::Ok || supervision.state != State::Missing);
        capabilities.extend([privileges, loads, cgroup, supervision]);
    } else {
        let registered = registered();
        // What is registered has passed all the above.
        run_works = registered.state == State::Ok && supervision.state != State::Missing;
        capabilities.extend([registered, cgroup, supervision]);
    }
    capabilities.extend([descriptors(), ptrace_scope()]);
    Findings {
        capabilities,
        run_works,
    }
}

fn all_ok(capabilities: &[Capability]) -> bool {
    (capabilities.iter()).all(|capability| capability.state != State::Missing)
}

fn capability(name: &'static str, state: State, detail: impl Into<String>) -> Capability {
    Capability {
        name,
        state,
        detail: detail.into(),
    }
}

fn kernel() -> Capability {
    let (major, minor) = release::kernel();
    let found = format!("Linux {major}.{minor}");
    let name = "kernel";
    match (major, minor) {
        old if old < release::OLDEST => {
            let error = Error::TooOld { major, minor };
            capability(name, State::Missing, error.to_string())
        }
        (6, ..4) => capability(
            name,
            State::Limited,
            format!("{found}: works; upgrading in place needs 6.4, here it has a moment without"),
        ),
        _ => capability(name, State::Ok, found),
    }
}

fn types() -> Capability {
    match fs::metadata("/sys/kernel/btf/vmlinux") {
        Ok(_) => capability("BTF", State::Ok, "/sys/kernel/btf/vmlinux"),
        Err(_) => capability(
            "BTF",
            State::Missing,
            "no /sys/kernel/btf/vmlinux: boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, as \
             those of Debian 11, Ubuntu 20.10 and Fedora 32 and later are",
        ),
    }
}

fn jit() -> Capability {
    match fs::read_to_string("/proc/sys/net/core/bpf_jit_enable") {
        Ok(value) if value.trim() == "0" => capability(
            "BPF JIT",
            State::Missing,
            "switched off: `sysctl net.core.bpf_jit_enable=1`",
        ),
        Ok(_) => capability("BPF JIT", State::Ok, "on"),
        // Readable by root of the first network namespace only.
        Err(_) => capability("BPF JIT", State::Ok, "not shown here, taken to be on"),
    }
}

fn struct_ops() -> Capability {
    let name = "BPF congestion controls";
    let wanted = b"bpf_struct_ops_tcp_congestion_ops\0";
    let known = fs::read("/sys/kernel/btf/vmlinux")
        .is_ok_and(|types| types.windows(wanted.len()).any(|window| window == wanted));
    if known {
        capability(name, State::Ok, "the kernel takes them")
    } else {
        capability(
            name,
            State::Missing,
            "this kernel does not take them: CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT and \
             CONFIG_DEBUG_INFO_BTF are needed",
        )
    }
}

fn file_system() -> Capability {
    let name = "BPF file system";
    let known = fs::read_to_string("/proc/filesystems")
        .is_ok_and(|kinds| kinds.lines().any(|kind| kind == "nodev\tbpf"));
    if known {
        let place = pins::home().join("bpf");
        let detail = format!("mounted at {} while in use", place.display());
        capability(name, State::Ok, detail)
    } else {
        capability(
            name,
            State::Missing,
            "a kernel with CONFIG_BPF_SYSCALL=y is needed",
        )
    }
}

fn privileges() -> Capability {
    const NEEDED: [(u32, &str); 2] = [(21, "CAP_SYS_ADMIN"), (12, "CAP_NET_ADMIN")];
    let effective = fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let set = status
                .lines()
                .find_map(|line| line.strip_prefix("CapEff:"))?;
            u64::from_str_radix(set.trim(), 16).ok()
        })
        .unwrap_or(0);
    let missing: Vec<_> = (NEEDED.iter())
        .filter(|(bit, _)| effective & (1 << bit) == 0)
        .map(|(_, name)| *name)
        .collect();
    if missing.is_empty() {
        capability("privileges", State::Ok, "root")
    } else {
        let detail = format!(
            "root without {}: in a container, start it with these capabilities",
            missing.join(" and ")
        );
        capability("privileges", State::Missing, detail)
    }
}

/// Nothing proves that the kernel takes the programs as taking them does.
fn loads() -> Capability {
    let name = "loading";
    let started = Instant::now();
    let tried = Pins::open().and_then(|pins| {
        let loaded = Control::all().try_for_each(|control| control.register(&pins).map(drop));
        let loaded = loaded.and_then(|()| Placer::open(&pins).map(drop));
        let closed = pins.close();
        loaded.and(closed.map(drop))
    });
    match tried {
        Ok(()) => {
            let names: Vec<_> = Control::all().map(Control::name).collect();
            let detail = format!(
                "the kernel takes the controls {} and the cgroup programs ({:.0} ms)",
                names.join(" and "),
                started.elapsed().as_secs_f64() * 1000.0
            );
            capability(name, State::Ok, detail)
        }
        Err(error) => capability(name, State::Missing, error.to_string()),
    }
}

fn registered() -> Capability {
    let name = "registered controls";
    let names: Vec<_> = Control::all()
        .filter(|control| control.is_registered())
        .map(Control::name)
        .collect();
    if names.is_empty() {
        let detail = "none, and registering them needs root: have `sudo netnice install` run once";
        capability(name, State::Missing, detail)
    } else {
        capability(name, State::Ok, names.join(", "))
    }
}

fn cgroup2(root: bool) -> Capability {
    let name = "cgroup2";
    if !root {
        return capability(
            name,
            State::Limited,
            "used by root only; without root, programs run under a supervisor",
        );
    }
    let tried = Hierarchy::find().and_then(|hierarchy| {
        let own = hierarchy.of(None)?;
        own.create_child(&format!("netnice-run-{}", getpid()))?
            .remove()?;
        let place = hierarchy
            .mounted_at()
            .unwrap_or("no place, used without a mount point");
        Ok(format!("{place}, our cgroup is {}", own.path()))
    });
    match tried {
        Ok(detail) => capability(name, State::Ok, detail),
        Err(error) => capability(
            name,
            State::Limited,
            format!("{error}; `run` uses a supervisor instead, `attach` does not work"),
        ),
    }
}

fn supervision() -> Capability {
    let name = "seccomp user notification";
    let known = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").is_ok_and(|actions| {
        actions
            .split_whitespace()
            .any(|action| action == "user_notif")
    });
    match (known, release::kernel()) {
        (false, _) => capability(
            name,
            State::Missing,
            "`run` without root needs it: a kernel with CONFIG_SECCOMP_FILTER=y",
        ),
        (true, (..=4, _) | (5, ..9)) => capability(
            name,
            State::Missing,
            "`run` without root needs Linux 5.9, which lets a supervisor hand over a socket",
        ),
        (true, _) => capability(
            name,
            State::Ok,
            "programs run without root under a supervisor",
        ),
    }
}

fn descriptors() -> Capability {
    let name = "pidfd_getfd";
    let tried = fs::File::open("/dev/null").and_then(|file| {
        let number = std::os::fd::AsRawFd::as_raw_fd(&file);
        Handle::open(getpid().as_raw())?.copy_descriptor(number)
    });
    match tried {
        Ok(_) => capability(name, State::Ok, "`renice` reaches open connections"),
        Err(error) => capability(
            name,
            State::Limited,
            format!("{error}: `renice` does not reach open connections (Linux 5.6 is needed)"),
        ),
    }
}

fn ptrace_scope() -> Capability {
    let name = "Yama";
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match (scope.trim(), geteuid().is_root()) {
        ("" | "0", _) => capability(name, State::Ok, "does not restrict `renice`"),
        ("3", _) => capability(
            name,
            State::Limited,
            "ptrace_scope is 3: `renice` does not reach open connections",
        ),
        (_, true) => capability(name, State::Ok, "does not restrict root"),
        (scope, false) => capability(
            name,
            State::Limited,
            format!("ptrace_scope is {scope}: `renice` of running programs needs root"),
        ),
    }
}
