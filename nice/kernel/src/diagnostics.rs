// SPDX-License-Identifier: MIT OR Apache-2.0
//! The capabilities of this kernel and this user.

use std::fs;
use std::time::{Duration, Instant};

use nix::unistd::{geteuid, getpid};

use crate::cgroup::attachment::Attacher;
use crate::cgroup::hierarchy::Hierarchy;
use crate::error::Error;
use crate::features;
use crate::objects::control::Control;
use crate::objects::pin_directory;
use crate::release;
use crate::runtime::pins::Pins;
use crate::sockets::connections;
use crate::sockets::process::Handle;
use crate::udp;

/// State of a capability, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Present.
    Ok,
    /// Present with a limit, or missing but not needed.
    Limited,
    /// Missing, and some command fails without it.
    Missing,
}

/// Kernel feature that netnice needs or can use.
#[derive(Clone, Debug)]
pub struct Capability {
    /// Short name.
    pub name: &'static str,
    /// State found.
    pub state: State,
    /// The finding, its purpose, and how to get it if it is missing.
    pub detail: String,
}

/// State of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It works.
    Works,
    /// It works for root.
    NeedsRoot,
    /// It works once programs are installed, which the text names.
    NeedsPrograms(String),
    /// It does not work; the reason names what is missing.
    Fails(String),
}

/// Results of [`check`].
#[derive(Clone, Debug)]
pub struct Findings {
    /// Capabilities, one by one.
    pub capabilities: Vec<Capability>,
    /// Commands that depend on them.
    pub commands: Vec<(&'static str, Standing)>,
}

impl Findings {
    /// Returns true if `netnice run` works for this user.
    pub fn run_works(&self) -> bool {
        let run = self.commands.iter().find(|(command, _)| *command == "run");
        run.is_some_and(|(_, standing)| *standing == Standing::Works)
    }
}

/// Checks everything that commands need of the kernel.
pub fn check() -> Findings {
    let root = geteuid().is_root();
    let registered = registered();
    // A container's root may lack privileges, and yet the control may be registered.
    let privileges = root.then(privileges);
    let may_load = (privileges.as_ref()).is_some_and(|found| found.state != State::Missing);
    let may_load = may_load || root && registered.state == State::Missing;
    let mut control = vec![kernel(), types(), jit(), struct_ops(), file_system()];
    control.extend(privileges);
    let mut programs = Vec::new();
    if may_load {
        let [
            controls,
            cgroup_programs,
            receiving,
            closing,
            utp,
            udp,
            quic,
        ] = loads();
        control.push(controls);
        programs.extend([cgroup_programs, receiving, closing, utp, udp, quic]);
    } else {
        // A registered control proves all that registering needs.
        control.push(registered);
    }
    let (cgroup, supervision) = (cgroup2(root), supervision());
    let (descriptors, list) = (descriptors(), list());
    let usable: Vec<&Capability> = match may_load {
        true => control.iter().chain(&programs).collect(),
        false => control.last().into_iter().collect(),
    };
    let with = |further: &Capability| standing(usable.iter().copied().chain([further]));
    let for_root = |standing: Standing| match root {
        true => standing,
        false => Standing::NeedsRoot,
    };
    let commands = vec![
        (
            "run",
            match cgroup.state {
                State::Ok => standing(usable.iter().copied()),
                State::Limited | State::Missing => with(&supervision),
            },
        ),
        ("renice", with(&descriptors)),
        ("attach", for_root(with(&cgroup))),
        ("detach", for_root(with(&cgroup))),
        ("status", standing([&list])),
        (
            "install",
            for_root(standing(control.iter().chain(&programs))),
        ),
        ("uninstall", for_root(Standing::Works)),
    ];
    let rest = [cgroup, supervision, descriptors, ptrace_scope(), list];
    Findings {
        capabilities: control.into_iter().chain(programs).chain(rest).collect(),
        commands,
    }
}

/// A command fails for the first missing capability that it needs.
fn standing<'a>(needed: impl IntoIterator<Item = &'a Capability>) -> Standing {
    let mut needed = needed.into_iter();
    match needed.find(|needed| needed.state == State::Missing) {
        None => Standing::Works,
        Some(missing) => Standing::Fails(format!("{}: {}", missing.name, missing.detail)),
    }
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
    if (major, minor) < release::OLDEST {
        let (major, minor) = release::OLDEST;
        let detail =
            format!("{found}: netnice is tried on {major}.{minor} and later; what works is below");
        return capability(name, State::Limited, detail);
    }
    match features::LINKS.is_there() {
        true => capability(name, State::Ok, found),
        false => {
            let lacking = features::LINKS;
            let detail = format!(
                "{found}: works; without {lacking}, an upgrade leaves a moment without a registered control"
            );
            capability(name, State::Limited, detail)
        }
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
        // Only root of the first network namespace can read it.
        Err(_) => capability("BPF JIT", State::Ok, "not shown here, taken to be on"),
    }
}

fn struct_ops() -> Capability {
    let name = "BPF congestion controls";
    match features::CONTROLS.is_there() {
        true => capability(name, State::Ok, "the kernel takes them"),
        false => {
            let detail = format!(
                "{}; CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT and CONFIG_DEBUG_INFO_BTF are needed",
                Error::Lacks(features::CONTROLS)
            );
            capability(name, State::Missing, detail)
        }
    }
}

fn file_system() -> Capability {
    let name = "BPF file system";
    let known = fs::read_to_string("/proc/filesystems")
        .is_ok_and(|kinds| kinds.lines().any(|kind| kind == "nodev\tbpf"));
    if known {
        let place = pin_directory::home().join("bpf");
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

/// Loads the controls and the programs for cgroups: only loading proves that the kernel accepts them.
fn loads() -> [Capability; 7] {
    let receivers: Vec<_> = Control::receivers().map(Control::name).collect();
    let (controls, programs, receiving, closing, utp, udp, quic) = match Pins::open() {
        Ok(pins) => {
            let controls = controls(&pins);
            let programs = timed(|| Attacher::open(&pins).map(drop));
            let receiving = timed(|| Attacher::load_receiving(&pins));
            let closing = timed(|| Attacher::try_closing(&pins));
            let utp = timed(|| Attacher::try_utp(&pins));
            let udp = timed(|| udp::try_governing(&pins));
            let quic = timed(|| Attacher::load_quic(&pins));
            // A later call clears what cannot be cleared now.
            let _ = pins.close();
            (controls, programs, receiving, closing, utp, udp, quic)
        }
        Err(error) => {
            let refused = || Err(error.to_string());
            let controls = capability(CONTROLS, State::Missing, error.to_string());
            (
                controls,
                refused(),
                refused(),
                refused(),
                refused(),
                refused(),
                refused(),
            )
        }
    };
    let found = |name, what: &str, without: State, tried: Result<Duration, String>| match tried {
        Ok(took) => {
            let detail = format!("the kernel takes {what} ({} ms)", took.as_millis());
            capability(name, State::Ok, detail)
        }
        Err(error) => capability(name, without, error),
    };
    let (missing, limited) = (State::Missing, State::Limited);
    [
        controls,
        found(
            "cgroup programs",
            "sockops and setsockopt",
            missing,
            programs,
        ),
        // Without it, only sent data is governed.
        found(
            "received data",
            &format!("the programs that govern it, of {}", receivers.join(", ")),
            limited,
            receiving,
        ),
        // Without it, each of a group's connections takes a packet per RTO while it yields.
        found(
            "closed windows",
            "a program at network interfaces (tcx)",
            limited,
            closing.map_err(|error| match features::TCX.is_there() {
                true => format!("{error}: a window is small instead"),
                false => format!(
                    "the kernel lacks {}: a window is small instead",
                    features::TCX
                ),
            }),
        ),
        // Without it, uTP has the priority that its senders give it.
        found(
            "uTP",
            "the program that governs it, at network interfaces (tcx)",
            limited,
            utp.map_err(|error| match features::TCX.is_there() {
                true => error,
                false => format!("the kernel lacks {}: uTP is not governed", features::TCX),
            }),
        ),
        // Without it, other UDP has the priority that its senders give it.
        found(
            "other UDP",
            "the queues that govern it (tcx, veth, tbf)",
            limited,
            udp,
        ),
        // Without it, --no-quic fails.
        found(
            "no QUIC",
            "the programs of --no-quic, connect and sendmsg",
            limited,
            quic,
        ),
    ]
}

/// Name of the capability that [`controls`] finds.
const CONTROLS: &str = "controls";

/// Registers each control. One that the kernel refuses keeps no other from working.
fn controls(pins: &Pins) -> Capability {
    let started = Instant::now();
    let (mut taken, mut refused) = (Vec::new(), Vec::new());
    for control in Control::all() {
        match control.register(pins) {
            Ok(_) => taken.push(control.name()),
            Err(error) => refused.push((control.name(), error)),
        }
    }
    let took = started.elapsed().as_millis();
    let mut taken_here = format!("the kernel takes {} ({took} ms)", taken.join(", "));
    let mut state = State::Ok;
    if !features::PACING.is_there() {
        taken_here += ", with windows of no less than one packet";
        state = State::Limited;
    }
    let default = Control::default_control().name();
    let mut detail = String::new();
    for (name, error) in refused {
        // What keeps all away has one reason.
        if taken.is_empty() {
            return capability(CONTROLS, State::Missing, error.to_string());
        }
        let without = match name == default {
            true => State::Missing,
            false => State::Limited,
        };
        state = state.max(without);
        detail += &format!("not {name}: {error}; ");
    }
    capability(CONTROLS, state, detail + &taken_here)
}

fn timed(work: impl FnOnce() -> crate::Result<()>) -> Result<Duration, String> {
    let started = Instant::now();
    work().map_err(|error| error.to_string())?;
    Ok(started.elapsed())
}

/// Lists connections to find out how many of them this user sees.
fn list() -> Capability {
    let name = "list of connections";
    match connections::list() {
        Ok(_) if geteuid().is_root() => {
            capability(name, State::Ok, "sock_diag, with the state of each policy")
        }
        Ok(_) => capability(
            name,
            State::Limited,
            "sock_diag; the state of policies is shown of programs that this user may trace",
        ),
        Err(error) => capability(name, State::Missing, error.to_string()),
    }
}

fn registered() -> Capability {
    let name = "registered controls";
    let names: Vec<_> = Control::all()
        .filter(|control| control.is_registered())
        .map(Control::name)
        .collect();
    if names.is_empty() && !features::CONTROLS.is_there() {
        let detail = Error::Lacks(features::CONTROLS).to_string();
        capability(name, State::Missing, detail)
    } else if names.is_empty() {
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
            State::Missing,
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
    match (known, features::HANDING_OVER.is_there()) {
        (false, _) => capability(
            name,
            State::Missing,
            "`run` without root needs it: a kernel with CONFIG_SECCOMP_FILTER=y",
        ),
        (true, false) => capability(
            name,
            State::Missing,
            format!("`run` without root needs {}", features::HANDING_OVER),
        ),
        (true, true) => capability(
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
            State::Missing,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_fails_for_what_is_missing_alone() {
        let found = |state| capability("JIT", state, "switched off");
        assert_eq!(standing(&[]), Standing::Works);
        assert_eq!(standing(&[found(State::Limited)]), Standing::Works);
        assert_eq!(
            standing(&[found(State::Ok), found(State::Missing)]),
            Standing::Fails("JIT: switched off".into())
        );
    }
}
