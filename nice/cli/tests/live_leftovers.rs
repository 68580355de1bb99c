// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nothing stays behind: no cgroup, no pin, no mount, no registered control, whatever was killed.
//!
//! These tests look at all of the system, so that they run one at a time, and fail where netnice
//! is installed or in use.

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::*;

static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    static IN_USE: AtomicBool = AtomicBool::new(false);
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // The first test waits for what others have started to end, and the rest know.
    let in_use = IN_USE.swap(true, Ordering::Relaxed);
    assert!(
        !in_use || nothing_is_left(),
        "netnice is installed or in use here"
    );
    if !in_use && !nothing_is_left() {
        // The next call also clears the remains of processes killed before this test.
        output(&mut netnice(&["run", "--", "true"]));
    }
    eventually("the end of what has been started before", nothing_is_left);
    IN_USE.store(false, Ordering::Relaxed);
    guard
}

fn nothing_is_left() -> bool {
    let read = |file: &str| fs::read_to_string(file).unwrap();
    !Path::new("/run/netnice").exists()
        && !read("/proc/self/mounts").contains("/run/netnice")
        && !available_controls()
            .iter()
            .any(|name| name == "netnice" || name == "tcplp")
        && our_cgroups().is_empty()
        && processes_in_the_background().is_empty()
}

/// Names of netnice and of its processes in the background.
const NAMES: [&str; 5] = [
    "netnice",
    "nn-guard",
    "nn-sockets",
    "nn-supervisor",
    "nn-udp",
];

/// The processes of ours that clear up or supervise.
fn processes_in_the_background() -> Vec<Pid> {
    let test = std::process::id().to_string();
    let is_ours = |process: &Path| {
        let file = |name: &str| fs::read_to_string(process.join(name)).unwrap_or_default();
        let stat = file("stat");
        let mut after_name = stat.rsplit(')').next().unwrap().split_whitespace();
        // A dead one only waits for whoever is its parent now.
        let lives = after_name.next().is_some_and(|state| state != "Z");
        lives && after_name.next() != Some(&test) && NAMES.contains(&file("comm").trim_end())
    };
    processes(is_ours).into_iter().map(Pid::from_raw).collect()
}

fn kill_what_clears_up() {
    let found = processes_in_the_background();
    assert!(!found.is_empty());
    for pid in found {
        kill(pid, Signal::SIGKILL).unwrap();
    }
}

#[test]
fn after_a_command_has_ended() {
    let _alone = alone();
    output(netnice(&["run", "--"]).arg(probe()).arg("once"));
    eventually("nothing", nothing_is_left);
}

#[test]
fn after_all_that_can_be_done_to_a_process_and_a_cgroup() {
    let _alone = alone();
    let cgroup = TestCgroup::new("all");
    let mut command = std::process::Command::new(probe());
    let (mut holder, _) = Holder::start(cgroup.contain(command.arg("hold")));
    output(&mut netnice(&["renice", "--pid", &holder.pid()]));
    output(&mut netnice(&["attach", cgroup.path()]));
    output(&mut netnice(&["status"]));
    output(&mut netnice(&["detach", cgroup.path()]));
    output(&mut netnice(&["renice", "--off", "--pid", &holder.pid()]));
    holder.ask();
    eventually("nothing", nothing_is_left);
}

#[test]
fn after_a_process_that_was_reniced_has_ended() {
    let _alone = alone();
    let (holder, _) = Holder::start(&mut hold());
    output(&mut netnice(&["renice", "--pid", &holder.pid()]));
    assert!(!our_cgroups().is_empty());
    drop(holder);
    eventually("nothing", nothing_is_left);
}

#[test]
fn after_an_attached_cgroup_has_been_removed_and_another_call() {
    let _alone = alone();
    let cgroup = TestCgroup::new("gone");
    output(&mut netnice(&["attach", cgroup.path()]));
    drop(cgroup);
    assert!(Path::new("/run/netnice").exists());
    output(&mut netnice(&["run", "true"]));
    eventually("nothing", nothing_is_left);
}

#[test]
fn after_kill_9_of_netnice_the_command_keeps_its_priority_and_all_is_cleared_when_it_ends() {
    let _alone = alone();
    // The probe holds its connections until the input ends.
    let script = format!("cat | {} hold 4", probe().display());
    let mut command = netnice(&["run", "-v", "--", "sh", "-c", &script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut netnice_itself = Process(command.spawn().unwrap());
    let input = netnice_itself.0.stdin.take();
    let mut printed = BufReader::new(netnice_itself.0.stdout.take().unwrap()).lines();
    assert!(printed.any(|line| line.unwrap() == "end"));
    netnice_itself.0.kill().unwrap();
    netnice_itself.0.wait().unwrap();

    output(&mut netnice(&["run", "true"]));
    let status = output(&mut netnice(&["status"]));
    assert!(status.contains("probe ("), "{status}");
    drop(input);
    eventually("nothing", nothing_is_left);
}

#[test]
fn killing_netnice_by_name_leaves_what_clears_up() {
    let _alone = alone();
    let mut command = netnice(&["run", "-v", "--", "sleep", "1000"]);
    let mut netnice_itself = Process(command.spawn().unwrap());
    // `killall` goes by the name, `pidof` by the first argument. A process that was forked just
    // now still has those of netnice, and one that ends has an empty file or none.
    let all_are_renamed = || {
        let of = |file: &str| -> Vec<String> {
            let pids = processes_in_the_background().into_iter();
            pids.filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/{file}")).ok())
                .filter(|text| !text.is_empty())
                .collect()
        };
        let (names, lines) = (of("comm"), of("cmdline"));
        !lines.is_empty()
            && names.iter().all(|name| name == "nn-guard\n")
            && lines
                .iter()
                .all(|line| line.starts_with("nn-guard\0run\0-v\0"))
    };
    eventually("processes called nn-guard", all_are_renamed);
    netnice_itself.0.kill().unwrap();
    netnice_itself.0.wait().unwrap();
    for cgroup in our_cgroups() {
        // The guard may be removing a cgroup that is empty.
        let pids = fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
        for pid in pids.lines() {
            kill(Pid::from_raw(pid.parse().unwrap()), Signal::SIGKILL).unwrap();
        }
    }
    eventually("nothing", nothing_is_left);
}

#[test]
fn after_kill_9_of_everything_the_next_call_clears() {
    let _alone = alone();
    let (holder, _) = Holder::start(netnice(&["run", "--"]).arg(probe()).arg("hold"));
    kill_what_clears_up();
    drop(holder);
    assert!(Path::new("/run/netnice/bpf").exists());
    assert_eq!(our_cgroups().len(), 1);
    output(&mut netnice(&["run", "true"]));
    eventually("nothing", nothing_is_left);
}

#[test]
fn after_a_command_that_could_not_be_run() {
    let _alone = alone();
    // It is found, but not what it asks to be run by.
    let script = support::directory().join("script");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&script, mode).unwrap();
    for options in [&["run", "--"][..], &["run", "-v", "--"]] {
        let said = say(netnice(options).arg(&script));
        said.ended(126, "`/no/such/interpreter`");
        eventually("nothing", nothing_is_left);
    }
}

#[test]
fn after_install_and_uninstall() {
    let _alone = alone();
    let prefix = tempfile::tempdir().unwrap();
    let prefix_text = prefix.path().to_str().unwrap();
    for _ in 0..2 {
        output(&mut netnice(&["install", "--prefix", prefix_text]));
    }
    let installed = prefix.path().join("bin/netnice");
    assert!(installed.exists());
    // All can use it now, and it stays when the last user leaves.
    for _ in 0..2 {
        let printed = output(netnice_as_nobody(&["run", "--"]).arg(probe()).arg("once"));
        assert!(printed.contains("client netnice"), "{printed}");
    }
    output(&mut netnice(&["run", "true"]));
    output(netnice_as_nobody(&["run", "--control", "tcplp", "--"]).arg("true"));
    output(&mut netnice_as_nobody(&["status"]));
    // Of a transfer with a deadline that was killed, and does not begin again.
    let transfers = Path::new("/run/netnice-deadlines");
    fs::create_dir_all(transfers).unwrap();
    fs::write(transfers.join("0123456789abcdef"), "").unwrap();
    for _ in 0..2 {
        output(&mut netnice(&["uninstall", "--prefix", prefix_text]));
    }
    assert!(!installed.exists() && !transfers.exists());
    eventually("nothing", nothing_is_left);
}

#[test]
fn a_strict_umask_shuts_nobody_out() {
    let _alone = alone();
    let run = netnice(&["run", "--"]);
    let script = format!(
        "umask 077; exec {} run -- {} hold",
        run.get_program().display(),
        probe().display()
    );
    let mut command = std::process::Command::new("sh");
    let (_holder, _) = Holder::start(command.args(["-c", &script]));
    eventually("the list", || {
        say(&mut netnice_as_nobody(&["status"])).code == Some(0)
    });
    let status = output(&mut netnice_as_nobody(&["status"]));
    assert!(status.contains("netnice  127.0.0.1:"), "{status}");
}

/// The modes of all files below a directory, without a BPF file system there.
fn modes_below(directory: &std::path::Path, found: &mut Vec<(std::path::PathBuf, u32)>) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        found.push((entry.path(), mode));
        if kind.is_dir() && entry.file_name() != "bpf" {
            modes_below(&entry.path(), found);
        }
    }
}

#[test]
fn modes_are_set_and_not_inherited() {
    let _alone = alone();
    let cgroup = TestCgroup::new("modes");
    for umask in ["000", "077"] {
        let prefix = tempfile::tempdir().unwrap();
        let netnice_under = |arguments: &str| {
            let program = netnice(&[]).get_program().to_owned();
            let script = format!("umask {umask}; exec \"$0\" {arguments}");
            output(
                std::process::Command::new("sh")
                    .arg("-c")
                    .arg(script)
                    .arg(program),
            );
        };
        let at = prefix.path().join("deep").display().to_string();
        netnice_under(&format!("install --prefix {at}"));
        netnice_under(&format!("attach {}", cgroup.path()));
        let mut found = Vec::new();
        for place in ["/run/netnice".as_ref(), prefix.path()] {
            modes_below(place, &mut found);
        }
        for (path, mode) in &found {
            assert_eq!(mode & 0o022, 0, "{umask}: {} has {mode:o}", path.display());
        }
        let of = |name: &str| {
            found
                .iter()
                .find(|(path, _)| path.ends_with(name))
                .unwrap()
                .1
        };
        let (installed, program) = (of("netnice/installed"), of("bin/netnice"));
        assert_eq!((installed, program), (0o644, 0o755), "{umask}");
        // A user who can open a lock file can lock it, and block all others.
        assert_eq!((of("netnice/lock"), of("netnice/loading")), (0o600, 0o600));
        netnice_under(&format!("detach {}", cgroup.path()));
        netnice_under(&format!("uninstall --prefix {at}"));
    }
}

#[test]
fn without_a_description_of_the_kernels_types_one_line_says_what_to_do() {
    let _alone = alone();
    let run = netnice(&["run", "true"]);
    // The command runs all the same, unless low priority is required.
    for (command, code) in [("run sh -c 'exit 7'", 7), ("run --require true", 1)] {
        let script = format!(
            "mount -t tmpfs none /sys/kernel/btf; exec {} {command}",
            run.get_program().display()
        );
        let said =
            say(std::process::Command::new("unshare").args(["--mount", "sh", "-c", &script]));
        said.ended_in_one_line(code, "CONFIG_DEBUG_INFO_BTF=y");
    }
}

#[test]
fn without_the_control_a_user_learns_what_to_do() {
    let _alone = alone();
    let said = say(&mut netnice_as_nobody(&["run", "sh", "-c", "exit 7"]));
    said.ended_in_one_line(7, "the command runs without low priority: ");
    assert!(said.err.contains("sudo netnice install"), "{}", said.err);
    let said = say(&mut netnice_as_nobody(&["run", "--require", "true"]));
    said.ended_in_one_line(1, "sudo netnice install");
    let said = say(&mut netnice_as_nobody(&["run", "--json", "true"]));
    let printed: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!((said.code, &printed["means"]), (Some(0), &"nothing".into()));
    let why = printed["ungoverned_because"].as_str().unwrap();
    assert!(why.contains("sudo netnice install"), "{printed}");
    let said = say(&mut netnice_as_nobody(&["check"]));
    assert_eq!(said.code, Some(1));
    let line = said.out.lines().find(|line| line.contains("missing"));
    assert!(
        line.unwrap().contains("sudo netnice install"),
        "{}",
        said.out
    );
}

#[test]
fn after_a_run_in_another_mount_namespace_which_uses_what_is_there_for_all() {
    let _alone = alone();
    let run = netnice(&["run", "--json", "--"]);
    let inner = format!(
        "mount -t tmpfs none /run; {} run --json -- sh -c '{} once; \
         test -e /proc/1/root/run/netnice/bpf/maps/flows && echo there; ls -A /run'",
        run.get_program().display(),
        probe().display(),
    );
    // A world with a PID 1 that we may look at, and a /run of its own.
    let outer = "mount -t tmpfs none /run; unshare --mount sh -c \"$0\"; status=$?; \
                 while test -e /run/netnice; do sleep 0.05; done; exit $status";
    let mut command = std::process::Command::new("unshare");
    command.args([
        "--pid",
        "--mount",
        "--fork",
        "--mount-proc",
        "sh",
        "-c",
        outer,
        &inner,
    ]);
    let said = say(&mut command);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let mut lines = said.out.lines().skip(3);
    assert_eq!(lines.next(), Some("there"), "{}", said.out);
    assert_eq!(lines.next(), None, "nothing in the inner /run");
    let printed: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!(printed["connections"], 2, "{printed}");
    eventually("nothing", nothing_is_left);
}
