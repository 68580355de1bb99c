// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice run` as root: low priority on every socket, from the first byte, for good.

mod support;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use support::*;

const ALL: [&str; 3] = ["listener", "client", "server"];
/// DSCP LE (RFC 8622) is 1, and the field has two more bits.
const LOWER_EFFORT: i32 = 4;

#[test]
fn sockets_of_both_families_and_all_roles_have_the_control_and_the_mark() {
    for family in ["4", "6", "46"] {
        let printed = output(netnice(&["run", "--"]).arg(probe()).args(["once", family]));
        assert_sockets(&lines(&printed), &ALL, "netnice", LOWER_EFFORT);
    }
}

#[test]
fn attempts_to_undo_it_succeed_without_effect() {
    for family in ["4", "6", "46"] {
        let printed = output(netnice(&["run", "--"]).arg(probe()).args(["undo", family]));
        assert_sockets(&lines(&printed), &ALL, "netnice", LOWER_EFFORT);
    }
}

#[test]
fn children_of_children_have_it_too() {
    let script = format!("(({} once 4; true) & wait); true", probe().display());
    let printed = output(&mut netnice(&["run", "--", "sh", "-c", &script]));
    assert_sockets(&lines(&printed), &ALL, "netnice", LOWER_EFFORT);
}

#[test]
fn without_the_mark_programs_may_set_their_own() {
    let printed = output(
        netnice(&["run", "--no-dscp", "--"])
            .arg(probe())
            .args(["once", "4"]),
    );
    assert_sockets(&lines(&printed), &ALL, "netnice", 0);
    let printed = output(
        netnice(&["run", "--no-dscp", "--"])
            .arg(probe())
            .args(["undo", "6"]),
    );
    assert_sockets(&lines(&printed), &ALL, "netnice", 0x10);
}

#[test]
fn other_controls_can_be_chosen_and_dstcp_is_not_marked() {
    for (control, field) in [
        ("tcplp", LOWER_EFFORT),
        ("hstcplp", LOWER_EFFORT),
        ("dstcp", 0),
    ] {
        let mut command = netnice(&["run", "--control", control, "--"]);
        let printed = output(command.arg(probe()).arg("once"));
        assert_sockets(&lines(&printed), &ALL, control, field);
    }
}

#[test]
fn an_option_without_effect_is_wrong_usage() {
    for (line, expected) in [
        (
            "run --target 2mbit -- true",
            "--target has no effect with --control netnice; it is for --control dstcp",
        ),
        (
            "run --delta 0.2 -- true",
            "--delta has no effect with --control netnice; it is for --control tcplp and hstcplp",
        ),
        (
            "run --control dstcp --delta 0.2 -- true",
            "--delta has no effect with --control dstcp; it is for --control tcplp and hstcplp",
        ),
        (
            "run --control tcplp --threshold 2ms -- true",
            "--threshold has no effect with --control tcplp; it is for --control netnice",
        ),
        (
            "attach --minimum-cwnd 0.5 no-such-unit.service",
            "--minimum-cwnd has no effect with --control netnice",
        ),
        (
            "renice --gamma 0.2 --pid 1",
            "--gamma has no effect with --control netnice",
        ),
        (
            "renice --off --threshold 2ms --pid 1",
            "--threshold has no effect with --off",
        ),
        ("register --delta 0.2", "unexpected argument '--delta'"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let said = say(&mut netnice(&words));
        assert_eq!(said.code, Some(2), "{line}: {}", said.err);
        assert!(said.err.contains(expected), "{line}: {}", said.err);
        assert!(said.err.contains("see `netnice"), "{line}: {}", said.err);
        assert_eq!(said.err.lines().count(), 1, "{line}: {}", said.err);
    }
}

#[test]
fn an_inner_run_has_its_own_way() {
    let inner = netnice(&["run", "--control", "tcplp", "--no-dscp", "--"]);
    let mut outer = netnice(&["run", "--"]);
    outer
        .arg(inner.get_program())
        .args(inner.get_args())
        .arg(probe())
        .arg("once");
    assert_sockets(&lines(&output(&mut outer)), &ALL, "tcplp", 0);
}

#[test]
fn where_cgroup2_is_not_mounted_it_is_used_all_the_same() {
    // As `ip netns exec` does, which hides all of /sys.
    let run = netnice(&["run", "--"]);
    let script = format!(
        "umount -R {}; exec {} run -- {} once 6",
        cgroup2().display(),
        run.get_program().display(),
        probe().display()
    );
    let printed = output(Command::new("unshare").args(["--mount", "sh", "-c", &script]));
    assert_sockets(&lines(&printed), &ALL, "netnice", LOWER_EFFORT);
}

#[test]
fn where_no_cgroup_can_be_made_a_supervisor_steps_in() {
    let cgroup = TestCgroup::new("full");
    fs::write(cgroup.0.join("cgroup.max.descendants"), "0").unwrap();
    for family in ["4", "6", "46"] {
        let mut command = netnice(&["run", "--json", "--threshold", "7ms", "--"]);
        command.arg(probe()).args(["undo", family]);
        let said = say(cgroup.contain(&mut command));
        assert_sockets(&lines(&said.out), &ALL, "netnice", LOWER_EFFORT);
        let printed: serde_json::Value = serde_json::from_str(&said.err).unwrap();
        assert_eq!(printed["means"], "supervisor");
    }
    // Firewalls may go by the owner, which must not be the supervisor.
    let mut command = netnice(&["run", "--", "setpriv", "--reuid=65534", "--regid=65534"]);
    command.arg("--clear-groups").arg(probe()).arg("owner");
    let printed = output(cgroup.contain(&mut command));
    assert!(printed.starts_with("own\nclient netnice "), "{printed}");
    // The parameters of an outer supervisor hold.
    let inner = netnice(&["run", "--threshold", "7ms", "--", "true"]);
    let mut command = netnice(&["run", "--"]);
    command.arg(inner.get_program()).args(inner.get_args());
    let said = say(cgroup.contain(&mut command));
    said.ended(1, "an outer `netnice run`");
    // A socket of another network namespace is made there.
    let mut command = netnice(&["run", "--", "unshare", "--net"]);
    let printed = output(cgroup.contain(command.arg(probe()).arg("namespace")));
    assert!(printed.starts_with("same\nclient netnice "), "{printed}");
}

#[test]
fn in_a_threaded_cgroup_a_supervisor_steps_in() {
    let cgroup = TestCgroup::new("threaded");
    fs::write(cgroup.0.join("cgroup.type"), "threaded").unwrap();
    let mut command = netnice(&["run", "--json", "--"]);
    let said = say(cgroup.contain(command.arg(probe()).args(["once", "4"])));
    assert_sockets(&lines(&said.out), &ALL, "netnice", LOWER_EFFORT);
    let printed: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!(printed["means"], "supervisor");
    // Other tests have theirs.
    let left = our_cgroups();
    let ours = |path: &PathBuf| path.starts_with(&cgroup.0);
    assert!(!left.iter().any(ours), "{left:?}");
}

#[test]
fn cgroups_are_removed_that_were_made_and_not_written_down() {
    let around = TestCgroup::new("unrecorded");
    let [old, new] = ["netnice-run-1", "netnice-run-2"].map(|name| around.0.join(name));
    for path in [&old, &new] {
        fs::create_dir(path).unwrap();
    }
    output(
        Command::new("touch")
            .args(["-d", "2 minutes ago"])
            .arg(&old),
    );
    output(around.contain(&mut netnice(&["run", "--", "true"])));
    assert!(!old.exists());
    // Whoever makes it may be about to write it down.
    fs::remove_dir(&new).unwrap();
}

#[test]
fn a_supervisor_as_root_knows_accepted_connections_too() {
    let cgroup = TestCgroup::new("accepted");
    fs::write(cgroup.0.join("cgroup.max.descendants"), "0").unwrap();
    let mut command = netnice(&["run", "--control", "dstcp", "--target", "2mbit", "--"]);
    command.arg(probe()).args(["hold", "4"]);
    let (mut holder, _) = Holder::start(cgroup.contain(&mut command));
    holder.ask();
    let status = output(&mut netnice(&["status", "--json"]));
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let connections = status["connections"].as_array().unwrap();
    let targets: Vec<_> = (connections.iter())
        .filter(|one| one["pid"] == holder.process.pid())
        .map(|one| &one["target_bits_per_second"])
        .collect();
    assert_eq!(targets, [2_000_000, 2_000_000], "{status}");
    drop(holder);

    let script = format!("(echo; echo) | {} hold 4", probe().display());
    let mut command = netnice(&["run", "--json", "--", "sh", "-c", &script]);
    let said = say(cgroup.contain(&mut command));
    let printed: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!(printed["means"], "supervisor");
    assert_eq!(printed["connections"], 6, "{printed}");
}

#[test]
fn a_container_says_what_it_does_not_know_of_a_control_from_outside() {
    let _registered = keep_registered();
    let run = |arguments: &str| {
        let script = format!(
            "mount -t tmpfs none /run && mount -o remount,bind,ro {} && {} {arguments}",
            cgroup2().display(),
            netnice(&[]).get_program().display(),
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--mount-proc"]);
        say(command.args(["sh", "-c", &format!("{script}; exit $?")]))
    };
    for arguments in [
        "run --threshold 7ms -- true",
        "renice --threshold 7ms --yes --pid $$",
    ] {
        let refused = run(arguments);
        refused.ended_in_one_line(1, "out of sight");
    }
    let said = run("run --json -- true");
    let printed: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    let means = printed["means"].as_str().unwrap();
    assert!(means.starts_with("supervisor, with a control"), "{printed}");
    assert!(printed["connections"].is_null(), "{printed}");
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    for options in [&["run"][..], &["run", "-v"], &["run", "--json"]] {
        let mut command = netnice(options);
        let said = say(command.args(["--", "sh", "-c", "exit 77"]));
        assert_eq!(said.code, Some(77), "{options:?}");
        let mut command = netnice(options);
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        command.args(["--", "sh", "-c", "exit 77"]).stderr(full);
        assert_eq!(command.status().unwrap().code(), Some(77), "{options:?}");
    }
}

#[test]
fn what_can_not_be_run_is_named() {
    let missing = say(&mut netnice(&["run", "no-such-command-here"]));
    missing.ended(127, "`no-such-command-here`");
    let not_executable = say(&mut netnice(&["run", "/etc/passwd"]));
    assert_eq!(not_executable.code, Some(126));
    assert_eq!(
        not_executable.err.lines().count(),
        1,
        "{}",
        not_executable.err
    );
}

#[test]
fn a_missing_interpreter_is_named_and_not_the_command() {
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("script");
    fs::write(&script, "#!/no/such/interpreter -x\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&script, mode).unwrap();
    for options in [&["run"][..], &["run", "-v"], &["link"]] {
        let said = say(netnice(options).arg("--").arg(&script));
        assert_eq!(said.code, Some(126), "{options:?}: {}", said.err);
        let complaint = said.err.lines().next().unwrap();
        assert!(
            complaint.contains("interpreter `/no/such/interpreter` does not exist"),
            "{options:?}: {complaint}"
        );
    }
}

#[test]
fn standard_streams_and_the_environment_pass_through() {
    let mut command = netnice(&["run", "--", "sh", "-c", "cat; echo $A >&2"]);
    command
        .env("A", "passed on")
        .stdin(fs::File::open("/proc/version").unwrap());
    let done = command.output().unwrap();
    assert_eq!(done.stdout, fs::read("/proc/version").unwrap());
    assert_eq!(done.stderr, b"passed on\n");
}

#[test]
fn the_summary_has_the_figures() {
    let mut command = netnice(&["run", "--json", "--"]);
    let script = format!("(echo; echo) | {} hold 4", probe().display());
    let said = say(command.args(["sh", "-c", &script]));
    let printed: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    // Three connections of two ends each; the first sends 100000 bytes twice.
    assert_eq!(printed["connections"], 6, "{printed}");
    // SYN and FIN are no data.
    for bytes in ["bytes_sent", "bytes_received"] {
        assert_eq!(printed[bytes], 200_000, "{printed}");
    }
    assert_eq!(printed["without_timestamps"], 0, "{printed}");
    assert_eq!(printed["means"], "cgroup");
}

#[test]
fn a_socket_handed_in_without_a_connection_has_it() {
    let said = say(&mut with_sockets_handed_in(&netnice(&[
        "run", "--json", "--",
    ])));
    assert_only_the_unused_is_governed(&said);
}

#[test]
fn the_summary_names_the_cgroup_that_a_process_went_to() {
    let cgroup = TestCgroup::new("left");
    let script = format!("echo 0 >{}/cgroup.procs; exec sleep 2", cgroup.path());
    let said = say(&mut netnice(&["run", "--json", "--", "sh", "-c", &script]));
    let printed: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    let path = cgroup.path().strip_prefix(cgroup2().to_str().unwrap());
    assert_eq!(
        printed["left_for_cgroups"],
        serde_json::json!([path]),
        "{printed}"
    );
    // A cgroup below its own has low priority, too.
    let script = "cgroup=$0/inner; mkdir $cgroup; echo 0 >$cgroup/cgroup.procs; sleep 1; echo 0 >$0/cgroup.procs; rmdir $cgroup";
    let own = format!(
        "own={}$(sed -n 's/^0:://p' /proc/self/cgroup); sh -ec '{script}' $own",
        cgroup2().display()
    );
    let said = say(&mut netnice(&["run", "--json", "--", "sh", "-c", &own]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let printed: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!(
        printed["left_for_cgroups"],
        serde_json::json!([]),
        "{printed}"
    );
}

#[test]
fn the_summary_counts_connections_that_outlive_the_command() {
    // Nobody reads, so the kernel still has data to send when the command has ended.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let script = format!(
        "import socket\n\
         s = socket.create_connection(('127.0.0.1', {}))\n\
         s.setblocking(False)\n\
         try:\n    while s.send(bytes(65536)): pass\nexcept BlockingIOError: pass\n",
        listener.local_addr().unwrap().port()
    );
    let text = say(&mut netnice(&["run", "-v", "--", "python3", "-c", &script])).err;
    assert!(text.contains("1 connection at low priority"), "{text}");
}

#[test]
fn the_summary_says_why_nothing_was_moved() {
    let said = say(&mut netnice(&["run", "-v", "--", "true"]));
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    assert!(
        said.err
            .contains("no TCP connection was opened that can be governed"),
        "{}",
        said.err
    );
}

/// Its subflows have the control; the windows are Multipath TCP's own, not a subflow's.
#[test]
fn multipath_tcp_is_governed_where_it_sends() {
    const SCRIPT: &str = "import socket, sys, threading\n\
        server, client = (socket.socket(type=socket.SOCK_STREAM, proto=262) for _ in range(2))\n\
        server.bind(('127.0.0.1', 0))\n\
        server.listen()\n\
        client.connect(server.getsockname())\n\
        accepted = server.accept()[0]\n\
        threading.Thread(target=client.sendall, args=(bytes(1000000),)).start()\n\
        left = 1000000\n\
        while left: left -= len(accepted.recv(left))\n";
    for (direction, expected) in [
        ("send", "2 connections at low priority"),
        (
            "receive",
            "what is received by Multipath TCP, or from this host itself, cannot",
        ),
    ] {
        let options = ["run", "-v", "--direction", direction, "--"];
        let said = say(netnice(&options).args(["python3", "-c", SCRIPT]));
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert!(said.err.contains(expected), "{}", said.err);
    }
}

#[test]
fn parameters_reach_the_control() {
    let mut command = netnice(&["run", "--threshold", "77ms", "--"]);
    let (mut holder, _) = Holder::start(command.arg(probe()).args(["hold", "4"]));
    holder.ask();
    let status = output(&mut netnice(&["status", "--json"]));
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let connections = status["connections"].as_array().unwrap();
    let ours = connections
        .iter()
        .find(|one| one["pid"] == holder.process.pid() && one["bytes_sent"] == 100_000);
    let threshold = ours.expect("the connection is listed")["threshold_ms"]
        .as_f64()
        .unwrap();
    assert!(threshold >= 77.0, "{status}");
}

#[test]
fn a_second_run_goes_on_when_the_first_ends() {
    let (mut first, _) = Holder::start(netnice(&["run", "--"]).arg(probe()).arg("hold"));
    let (mut second, _) = Holder::start(netnice(&["run", "--"]).arg(probe()).arg("hold"));
    first.ask();
    drop(first);
    // Time for what clears up after the first.
    std::thread::sleep(Duration::from_millis(300));
    let printed = second.ask();
    let roles = ["listener", "client", "server", "new-client", "new-server"];
    assert_sockets(&printed, &roles, "netnice", LOWER_EFFORT);
}

/// Loading takes most of the time that a run takes to start.
#[test]
fn nothing_is_loaded_where_the_control_is_registered() {
    let _registered = keep_registered();
    let run = netnice(&["run", "--", "true"]);
    let mut command = Command::new(probe());
    command.args(["refuse", "loading"]).arg(run.get_program());
    output(command.args(run.get_args()));
}

/// The kernel derives a socket's priority from its DSCP.
#[test]
fn a_priority_of_the_programs_own_stays() {
    let script = "import socket\n\
        server = socket.create_server(('127.0.0.1', 0))\n\
        client = socket.socket()\n\
        client.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 5)\n\
        client.connect(server.getsockname())\n\
        print(client.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY), \
        client.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) >> 2)\n";
    let out = output(&mut netnice(&["run", "--", "python3", "-c", script]));
    assert_eq!(out, "5 1\n", "priority and DSCP LE");
}

/// As a hardened service has it: root that may neither load programs nor make cgroups.
#[test]
fn root_with_few_capabilities_is_served_as_a_user() {
    let _registered = keep_registered();
    let run = netnice(&["run", "-v", "--"]);
    let mut command = Command::new("setpriv");
    let kept = "-all,+dac_read_search,+dac_override,+fowner,+chown";
    command
        .args([&format!("--bounding-set={kept}"), "--inh-caps=-all"])
        .arg(run.get_program())
        .args(run.get_args())
        .arg(probe())
        .args(["once", "4"]);
    let said = say(&mut command);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let clients: Vec<&str> = said
        .out
        .lines()
        .filter(|line| line.starts_with("client "))
        .collect();
    assert!(!clients.is_empty(), "{}", said.out);
    assert!(
        clients
            .iter()
            .all(|line| line.starts_with("client netnice ")),
        "{}",
        said.out
    );
    assert!(said.err.contains("supervisor"), "{}", said.err);
}

#[test]
fn who_asks_for_a_rate_learns_what_there_is() {
    for option in ["--rate", "--limit", "--bwlimit"] {
        let said = say(&mut netnice(&["run", option, "2mbit", "--", "true"]));
        said.ended_in_one_line(2, "netnice has no rate: it takes what others leave");
    }
}

/// Prints what a process inherits from its caller. Of descriptors it prints the numbers only.
const SURROUNDINGS: &str = r#"
grep -E '^(Uid|Gid|Groups|Cap...|Sig(Blk|Ign)|ShdPnd):' /proc/self/status
env | grep -v '^_=' | sort
ls /proc/self/fd; pwd; umask; nice; ulimit -a
readlink /proc/self/ns/mnt /proc/self/ns/net /proc/self/ns/pid /proc/self/ns/user
"#;

#[test]
fn the_command_gets_what_it_would_get_without() {
    let _registered = keep_registered();
    let with_user = |command: &mut Command, user: Option<u32>| {
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let printed = output(command.current_dir("/"));
        // Signals 32 and 33 are libc's own, in each program that has threads (man 7 nptl).
        let own: u64 = 0b11 << 31;
        let line = |line: &str| match line.strip_prefix("SigIgn:\t") {
            Some(mask) => format!("{:x}", u64::from_str_radix(mask, 16).unwrap() & !own),
            None => line.to_owned(),
        };
        printed.lines().map(line).collect::<Vec<_>>()
    };
    for user in [None, Some(NOBODY)] {
        let mut plain = Command::new("sh");
        let expected = with_user(plain.args(["-c", SURROUNDINGS]), user);
        let mut run = netnice(&["run", "--", "sh", "-c", SURROUNDINGS]);
        assert_eq!(with_user(&mut run, user), expected, "{user:?}");
    }
}
