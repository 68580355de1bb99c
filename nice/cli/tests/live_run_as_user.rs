// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice run` without root, by a supervisor, while somebody has registered the control.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use support::*;

const ALL: [&str; 3] = ["listener", "client", "server"];
const LOWER_EFFORT: i32 = 4;

#[test]
fn sockets_of_static_programs_have_the_control_and_the_mark_and_keep_them() {
    let _registered = keep_registered();
    for family in ["4", "6", "46"] {
        let mut command = netnice_as_nobody(&["run", "--"]);
        let printed = output(command.arg(probe()).args(["undo", family]));
        assert_sockets(&lines(&printed), &ALL, "netnice", LOWER_EFFORT);
        // Here the field of IPv4 is set on IPv6 sockets too, for when they talk to IPv4.
        assert!(
            printed.lines().all(|line| line.contains(" 4 ")),
            "{printed}"
        );
    }
}

#[test]
fn a_socket_handed_in_without_a_connection_has_it() {
    let _registered = keep_registered();
    let run = netnice(&["run", "--json", "--"]);
    let mut command = with_sockets_handed_in(&run);
    let said = say(command.uid(NOBODY).gid(NOBODY));
    assert_only_the_unused_is_governed(&said);
}

#[test]
fn it_is_really_without_root() {
    let _registered = keep_registered();
    let printed = output(netnice_as_nobody(&["run", "--"]).args(["id", "-u"]));
    assert_eq!(printed.trim(), NOBODY.to_string());
}

#[test]
fn root_of_a_container_without_rights_is_served_like_a_user() {
    let _registered = keep_registered();
    let run = netnice(&["run", "--"]);
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user"])
        .arg(run.get_program())
        .args(run.get_args());
    command.uid(NOBODY).gid(NOBODY).current_dir("/");
    let printed = output(command.arg(probe()).args(["undo", "6"]));
    assert_sockets(&lines(&printed), &ALL, "netnice", LOWER_EFFORT);
}

#[test]
fn other_options_of_sockets_are_the_programs_own() {
    let _registered = keep_registered();
    let mut command = netnice_as_nobody(&["run", "--no-dscp", "--"]);
    let printed = output(command.arg(probe()).args(["undo", "6"]));
    assert_sockets(&lines(&printed), &ALL, "netnice", 0x10);
}

#[test]
fn descendants_that_outlive_the_command_are_served_on() {
    let _registered = keep_registered();
    let directory = tempfile::tempdir_in(support::directory()).unwrap();
    std::os::unix::fs::chown(directory.path(), Some(NOBODY), None).unwrap();
    let result = directory.path().join("printed");
    let script = format!(
        "(sleep 0.5; {} once 4 > {}.new; mv {1}.new {1}) >/dev/null 2>&1 & exit 5",
        probe().display(),
        result.display(),
    );
    let said = say(&mut netnice_as_nobody(&[
        "run", "-v", "--", "sh", "-c", &script,
    ]));
    assert_eq!(said.code, Some(5), "{}", said.err);
    eventually("the daemon's answer", || result.exists());
    let printed = fs::read_to_string(&result).unwrap();
    assert_sockets(&lines(&printed), &ALL, "netnice", LOWER_EFFORT);
}

#[test]
fn the_supervisor_ends_with_the_last_program() {
    let _registered = keep_registered();
    let supervisors = || processes_called("nn-supervisor", "a-marker-of-this-test").len();
    let script = "sleep 0.5; : a-marker-of-this-test";
    let mut command = netnice_as_nobody(&["run", "--", "sh", "-c", script]);
    let mut process = Process(command.spawn().unwrap());
    eventually("a supervisor", || supervisors() == 1);
    assert!(process.0.wait().unwrap().success());
    eventually("the end of the supervisor", || supervisors() == 0);
}

#[test]
fn a_socket_is_made_in_the_namespace_of_the_program() {
    let _registered = keep_registered();
    let mut command = netnice_as_nobody(&["run", "--", "unshare", "--user", "--map-root-user"]);
    let printed = output(command.arg("--net").arg(probe()).arg("namespace"));
    assert_eq!(printed.lines().next(), Some("same"), "{printed}");
    assert!(printed.contains("client netnice"), "{printed}");
}

/// The cgroups that the sockets of a process belong to, as `ss` has them.
fn cgroups_of_sockets(pid: &str) -> Vec<String> {
    let sockets = output(Command::new("ss").args(["-tanpeH"]));
    let own = sockets
        .lines()
        .filter(|line| line.contains(&format!("pid={pid},")));
    own.map(|line| {
        let (_, after) = line.split_once(" cgroup:").expect("ss shows cgroups");
        after.split(' ').next().unwrap().to_owned()
    })
    .collect()
}

/// A cgroup with two below it, in which nobody may do as it likes.
fn delegated(name: &str) -> (TestCgroup, TestCgroup, TestCgroup) {
    let above = TestCgroup::new(name);
    let below = ["here", "there"].map(|name| {
        let path = above.0.join(name);
        fs::create_dir(&path).unwrap();
        TestCgroup(path)
    });
    for cgroup in [&above].into_iter().chain(&below) {
        let processes = cgroup.0.join("cgroup.procs");
        std::os::unix::fs::chown(processes, Some(NOBODY), None).unwrap();
    }
    let [here, there] = below;
    // The last is dropped first, and a cgroup is removed only once it is empty.
    (above, here, there)
}

#[test]
fn a_socket_belongs_to_the_cgroup_of_the_program() {
    let _registered = keep_registered();
    let (_above, here, there) = delegated("moved");
    let mut command = netnice_as_nobody(&["run", "--"]);
    command
        .arg(probe())
        .args(["move", there.path(), "hold", "4"]);
    let (holder, printed) = Holder::start(here.contain(&mut command));
    assert_sockets(&printed, &ALL, "netnice", LOWER_EFFORT);
    let found = cgroups_of_sockets(&holder.pid());
    assert_eq!(found.len(), ALL.len());
    for cgroup in found {
        assert!(there.path().ends_with(&cgroup), "{cgroup}");
    }
}

#[test]
fn a_program_in_a_closed_cgroup_gets_ordinary_sockets_of_it() {
    let _registered = keep_registered();
    let (_above, here, there) = delegated("closed");
    let processes = there.0.join("cgroup.procs");
    std::os::unix::fs::chown(&processes, Some(0), None).unwrap();
    let script = format!("echo up; read moved; exec {} hold 4", probe().display());
    let mut command = netnice_as_nobody(&["run", "--", "sh", "-c", &script]);
    let mut child = here
        .contain(&mut command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id().to_string();
    let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(printed.next().unwrap().unwrap(), "up");
    fs::write(&processes, &pid).unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input).unwrap();
    let printed: Vec<String> = printed
        .by_ref()
        .take(ALL.len())
        .map(Result::unwrap)
        .collect();
    let _process = Process(child);
    assert_sockets(&printed, &ALL, &usual_control(), 0);
    let found = cgroups_of_sockets(&pid);
    assert_eq!(found.len(), ALL.len());
    for cgroup in found {
        assert!(there.path().ends_with(&cgroup), "{cgroup}");
    }
}

#[test]
fn signals_lose_no_socket_and_no_descriptor() {
    let _registered = keep_registered();
    let mut command = netnice_as_nobody(&["run", "--"]);
    let printed = output(command.arg(probe()).args(["storm", "500"]));
    assert_eq!(printed, "500 netnice, 500 descriptors\n");
}

#[test]
fn a_network_may_belong_to_another_user_namespace_than_its_program_lives_in() {
    let _registered = keep_registered();
    let mut command = netnice_as_nobody(&["run", "--", "unshare", "--user", "--map-root-user"]);
    command.args(["--net", "unshare", "--user", "--map-root-user"]);
    let printed = output(command.arg(probe()).arg("owner"));
    assert!(printed.starts_with("own\nclient netnice "), "{printed}");
}

#[test]
fn a_program_that_hides_gets_no_socket_of_another_network() {
    let _registered = keep_registered();
    // Nobody may enter there, so that the control is not ours.
    let mut command = netnice_as_nobody(&["run", "--"]);
    let printed = output(command.arg(probe()).args(["part", "hide", "namespace"]));
    let expected = format!("same\nclient {} ", usual_control());
    assert!(printed.starts_with(&expected), "{printed}");
    // A program that has not moved keeps low priority.
    let mut command = netnice_as_nobody(&["run", "--"]);
    let printed = output(command.arg(probe()).args(["hide", "once", "4"]));
    assert_sockets(&lines(&printed), &ALL, "netnice", LOWER_EFFORT);
}

#[test]
fn there_is_no_way_around_by_io_uring() {
    let _registered = keep_registered();
    let printed = output(netnice_as_nobody(&["run", "--"]).arg(probe()).arg("ring"));
    assert_eq!(printed, "no ring\n");
}

#[test]
fn an_inner_run_is_content_with_the_outer_ones_supervisor() {
    let _registered = keep_registered();
    let inner = netnice(&["run", "--"]);
    let mut outer = netnice_as_nobody(&["run", "--"]);
    outer
        .arg(inner.get_program())
        .args(inner.get_args())
        .arg(probe())
        .arg("once");
    assert_sockets(&lines(&output(&mut outer)), &ALL, "netnice", LOWER_EFFORT);
}

#[test]
fn the_summary_has_the_figures_of_connections_made() {
    let _registered = keep_registered();
    let script = format!("(echo; echo) | {} hold 4", probe().display());
    let mut command = netnice_as_nobody(&["run", "--json", "--", "sh", "-c", &script]);
    let said = say(&mut command);
    let printed: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!(printed["connections"], 3, "{printed}");
    let sent = printed["bytes_sent"].as_u64().unwrap();
    assert_eq!(sent, 200_000, "SYN and FIN are no data: {printed}");
    assert_eq!(printed["means"], "supervisor");
}

#[test]
fn parameters_are_refused_in_one_line() {
    let _registered = keep_registered();
    let run = netnice_as_nobody(&["run", "--threshold", "2ms", "--", "true"]);
    let mut in_container = Command::new("unshare");
    in_container
        .args(["--user", "--map-root-user"])
        .arg(run.get_program())
        .args(run.get_args());
    in_container.uid(NOBODY).gid(NOBODY).current_dir("/");
    for mut command in [run, in_container] {
        let said = say(&mut command);
        assert_eq!(said.code, Some(1), "{command:?}");
        assert_eq!(
            said.err,
            "netnice: setting parameters of the control needs root: use sudo\n"
        );
    }
}

#[test]
fn a_control_that_yields_to_nobody_is_for_root() {
    let mut holder = netnice(&["run", "--control", "dstcp", "--", "sleep", "300"]);
    let _registered = Process(holder.spawn().unwrap());
    eventually("dstcp", || {
        let controls = "/proc/sys/net/ipv4/tcp_available_congestion_control";
        fs::read_to_string(controls).unwrap().contains("dstcp")
    });
    let said = say(&mut netnice_as_nobody(&[
        "run",
        "--control",
        "dstcp",
        "true",
    ]));
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert_eq!(
        said.err,
        "netnice: a control that is not of low priority needs root: use sudo\n"
    );
    // Nor may a program of a user choose it by itself.
    let script = "import socket\n\
        socket.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'dstcp')";
    let mut python = Command::new("python3");
    python.args(["-c", script]).uid(NOBODY).gid(NOBODY);
    let said = say(python.current_dir("/"));
    assert!(said.err.contains("PermissionError"), "{}", said.err);
}

#[test]
fn other_commands_that_need_root_say_so_in_one_line() {
    for command in [
        &["attach", "/"][..],
        &["detach", "/"],
        &["install"],
        &["uninstall"],
    ] {
        let said = say(&mut netnice_as_nobody(command));
        assert_eq!(said.code, Some(1), "{command:?}");
        assert_eq!(said.err.lines().count(), 1, "{}", said.err);
        assert!(said.err.contains("needs root: use sudo"), "{}", said.err);
    }
}

/// Runs the shell's script as root in a network namespace of its own, with the command as its arguments.
fn in_own_network(script: &str, command: &Command) -> Command {
    let mut outer = Command::new("unshare");
    outer.args(["--net", "--mount", "sh", "-ec", script, "sh"]);
    outer.arg(command.get_program()).args(command.get_args());
    outer.current_dir("/");
    outer
}

/// Gives the way to this host a control of its own, which the kernel sets as it connects.
const ROUTE: &str =
    "ip link set lo up; ip route replace local 127.0.0.1 dev lo table local congctl reno;";
const AS_NOBODY: &str = r#"exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@""#;

#[test]
fn a_route_with_a_control_of_its_own_is_told() {
    let _registered = keep_registered();
    let mut run = netnice(&["run", "-v", "--"]);
    run.arg(probe()).args(["once", "4"]);
    let said = say(&mut in_own_network(&format!("{ROUTE}{AS_NOBODY}"), &run));
    assert!(said.out.contains("client reno"), "{}", said.out);
    said.ended(0, "not governed: no connection of ");
    assert!(said.err.contains("congctl"), "{}", said.err);
    assert!(!said.err.contains("nothing was moved"), "{}", said.err);
}

/// Without `-v` nobody waits for the command: the supervisor tells the system's log.
#[test]
fn what_was_not_governed_is_in_the_systems_log() {
    let _registered = keep_registered();
    let place = tempfile::tempdir_in(directory()).unwrap();
    fs::set_permissions(
        place.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let log = std::os::unix::net::UnixDatagram::bind(place.path().join("log")).unwrap();
    fs::set_permissions(
        place.path().join("log"),
        std::os::unix::fs::PermissionsExt::from_mode(0o666),
    )
    .unwrap();
    log.set_read_timeout(Some(std::time::Duration::from_secs(60)))
        .unwrap();
    let mut run = netnice(&["run", "--"]);
    run.arg(probe()).args(["once", "4"]);
    let dev = format!(
        "for it in null zero urandom; do touch {0}/$it; mount --bind /dev/$it {0}/$it; done; mount --rbind {0} /dev;",
        place.path().display()
    );
    let said = say(&mut in_own_network(
        &format!("{ROUTE}{dev}{AS_NOBODY}"),
        &run,
    ));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let mut line = [0; 500];
    let length = log.recv(&mut line).unwrap();
    let line = String::from_utf8_lossy(&line[..length]).into_owned();
    assert!(line.starts_with("<12>netnice["), "{line}");
    assert!(
        line.contains("of a command of user 65534: no connection of "),
        "{line}"
    );
}

#[test]
fn without_its_supervisor_no_socket_comes_about() {
    let _registered = keep_registered();
    let script = "import errno, socket\nprint('up', flush=True)\ninput()\n\
                  try: socket.socket()\nexcept OSError as error: print(errno.errorcode[error.errno])";
    let mut command = netnice_as_nobody(&["run", "--", "python3", "-c", script]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(printed.next().unwrap().unwrap(), "up");
    let marker = "import errno";
    let supervisors = processes_called("nn-supervisor", marker);
    assert_eq!(supervisors.len(), 1, "{supervisors:?}");
    let supervisor = nix::unistd::Pid::from_raw(supervisors[0]);
    nix::sys::signal::kill(supervisor, nix::sys::signal::Signal::SIGKILL).unwrap();
    writeln!(child.stdin.take().unwrap()).unwrap();
    assert_eq!(printed.next().unwrap().unwrap(), "ENOSYS");
    assert!(child.wait().unwrap().success());
}
