// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes and cgroups that are there already: `renice`, `attach`, `detach`, `status`.

mod support;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use serde_json::Value;
use support::*;

const FIRST: [&str; 3] = ["listener", "client", "server"];
const THEN: [&str; 5] = ["listener", "client", "server", "new-client", "new-server"];
const LOWER_EFFORT: i32 = 4;

fn json(command: &mut Command) -> Value {
    serde_json::from_str(&output(command)).unwrap()
}

#[test]
fn renice_reaches_open_connections_and_those_to_come_and_gives_them_back() {
    let usual = usual_control();
    for family in ["4", "6"] {
        let (mut holder, printed) = Holder::start(hold().arg(family));
        assert_sockets(&printed, &FIRST, &usual, 0);
        let before = cgroup_of(holder.process.pid());

        let printed = json(&mut netnice(&["renice", "--json", "--pid", &holder.pid()]));
        assert_eq!(
            (&printed["sockets"], &printed["future"]),
            (&3.into(), &true.into()),
            "{printed}"
        );
        assert_sockets(&holder.ask(), &THEN, "netnice", LOWER_EFFORT);

        output(&mut netnice(&["renice", "--off", "--pid", &holder.pid()]));
        assert_sockets(&holder.ask(), &THEN, &usual, 0);
        assert_eq!(cgroup_of(holder.process.pid()), before);
    }
}

#[test]
fn renice_reaches_children_and_changes_what_run_has_chosen() {
    let script = format!("{} hold 4; true", probe().display());
    let (mut holder, printed) = Holder::start(&mut netnice(&["run", "--", "sh", "-c", &script]));
    assert_sockets(&printed, &FIRST, "netnice", LOWER_EFFORT);
    // The shell is the process, and the probe its child.
    let pid = holder.pid();
    output(&mut netnice(&[
        "renice",
        "--control",
        "tcplp",
        "--pid",
        &pid,
    ]));
    assert_sockets(&holder.ask(), &THEN, "tcplp", LOWER_EFFORT);
    output(&mut netnice(&["renice", "--off", "--pid", &pid]));
    let usual = usual_control();
    assert_sockets(&holder.ask(), &THEN, &usual, 0);
}

#[test]
fn without_root_renice_reaches_the_open_connections_of_ones_own_processes() {
    let _registered = keep_registered();
    let usual = usual_control();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    let (mut holder, _) = Holder::start(command.arg(probe()).arg("hold"));
    let pid = holder.pid();

    let printed = json(&mut netnice_as_nobody(&["renice", "--json", "--pid", &pid]));
    assert_eq!(
        (&printed["sockets"], &printed["future"]),
        (&3.into(), &false.into()),
        "{printed}"
    );
    let printed = holder.ask();
    assert_sockets(&printed[..3], &FIRST, "netnice", LOWER_EFFORT);
    assert_sockets(&printed[3..], &THEN[3..], &usual, 0);
    output(&mut netnice_as_nobody(&["renice", "--off", "--pid", &pid]));
    assert_sockets(&holder.ask(), &THEN, &usual, 0);
}

#[test]
fn without_root_processes_of_others_are_refused() {
    let _registered = keep_registered();
    for off in [&[][..], &["--off"]] {
        let pid = std::process::id().to_string();
        let said = say(netnice_as_nobody(&["renice", "--yes", "--pid", &pid]).args(off));
        said.ended(1, "belongs to another user");
    }
}

#[test]
fn attach_covers_a_cgroup_with_open_connections_until_it_is_detached() {
    let usual = usual_control();
    let cgroup = TestCgroup::new("attach");
    let (mut holder, printed) = Holder::start(cgroup.contain(&mut hold()));
    assert_sockets(&printed, &FIRST, &usual, 0);

    output(&mut netnice(&["attach", cgroup.path()]));
    assert_sockets(&holder.ask(), &THEN, "netnice", LOWER_EFFORT);
    // It stays when nothing of netnice runs, and again is no mistake.
    output(&mut netnice(&["run", "--", "true"]));
    output(&mut netnice(&[
        "attach",
        "--control",
        "tcplp",
        "--no-dscp",
        cgroup.path(),
    ]));
    let printed = holder.ask();
    assert_sockets(&printed[3..], &THEN[3..], "tcplp", 0);
    assert!(
        printed[..3].iter().all(|line| line.contains(" tcplp ")),
        "{printed:?}"
    );

    let status = json(&mut netnice(&["status", "--json"]));
    let name = cgroup.0.file_name().unwrap().to_str().unwrap();
    let attached = status["attached"].as_array().unwrap();
    assert!(
        attached
            .iter()
            .any(|path| path.as_str().unwrap().ends_with(name)),
        "{status}"
    );
    // A process in it can not be taken out by itself, and that is said.
    let printed = json(&mut netnice(&[
        "renice",
        "--json",
        "--off",
        "--pid",
        &holder.pid(),
    ]));
    assert!(
        printed["attached"].as_str().unwrap().ends_with(name),
        "{printed}"
    );

    output(&mut netnice(&["detach", name]));
    assert_sockets(&holder.ask(), &THEN, &usual, 0);
    let again = say(&mut netnice(&["detach", name]));
    again.ended(1, "has not been given low priority");
}

/// Returns true if `status` lists a cgroup under one of the members that name paths.
fn lists(member: &str, name: &str) -> bool {
    let status = json(&mut netnice(&["status", "--json"]));
    let mut paths = status[member].as_array().unwrap().iter();
    paths.any(|path| path.as_str().unwrap().ends_with(name))
}

#[test]
fn a_restarted_service_is_no_longer_attached_until_detached() {
    let above = TestCgroup::new("restart");
    let service = TestCgroup(above.0.join("up.service"));
    let name = service.path().strip_prefix(cgroup2().to_str().unwrap());
    let name = name.unwrap();
    fs::create_dir(service.path()).unwrap();
    for restarts in [true, false] {
        output(&mut netnice(&["attach", service.path()]));
        assert!(lists("attached", name));
        fs::remove_dir(service.path()).unwrap();
        if restarts {
            fs::create_dir(service.path()).unwrap();
        }
        // Calls that clear what others have left do not clear this.
        for _ in 0..2 {
            output(&mut netnice(&["run", "true"]));
            assert!(!lists("attached", name));
            assert!(lists("no_longer_attached", name));
        }
        output(&mut netnice(&["detach", service.path()]));
        assert!(!lists("no_longer_attached", name));
        let said = say(&mut netnice(&["detach", service.path()]));
        assert_eq!(said.code, Some(1), "{}", said.err);
        let _ = fs::create_dir(service.path());
    }
    output(&mut netnice(&["attach", service.path()]));
    fs::remove_dir(service.path()).unwrap();
    fs::create_dir(service.path()).unwrap();
    // As good as detaching.
    output(&mut netnice(&["attach", service.path()]));
    assert!(!lists("no_longer_attached", name));
    output(&mut netnice(&["detach", service.path()]));
}

/// A script in a mount namespace where a systemd seems to run that knows one service, `up.service`,
/// in the cgroup `$CGROUP`; its units are in an empty directory.
fn beside_systemd(script: &str, cgroup: &str) -> Command {
    let systemctl = directory().join(format!("systemctl-{}", cgroup.replace('/', "-")));
    let answers = "#!/bin/sh\ncase \"$*\" in\n\
         *ControlGroup*up*) echo CGROUP ;;\n\
         *Id*up*) echo up.service ;;\n\
         *FragmentPath*up*) echo /lib/systemd/system/up.service ;;\n\
         *Id*) echo other.service ;;\n\
         esac\n";
    fs::write(&systemctl, answers.replace("CGROUP", cgroup)).unwrap();
    let all = format!(
        "set -e; mount -t tmpfs none /etc/systemd; mount -t tmpfs none /run/systemd\n\
         mkdir /etc/systemd/system /run/systemd/system\n\
         chmod 755 {0}; mount --bind {0} /usr/bin/systemctl\n\
         drop=/etc/systemd/system/up.service.d/50-netnice.conf\n{script}",
        systemctl.display(),
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &all]);
    command
}

#[test]
fn a_service_stays_attached_by_a_drop_in_until_detached() {
    let above = TestCgroup::new("persist");
    let service = TestCgroup(above.0.join("up.service"));
    fs::create_dir(service.path()).unwrap();
    let path = service.path().strip_prefix(cgroup2().to_str().unwrap());
    let path = path.unwrap();
    let netnice = netnice(&[]).get_program().to_str().unwrap().to_owned();
    let script = format!(
        "{netnice} attach --persist up --control tcplp\n\
         cat $drop\n\
         {netnice} detach up\n\
         test ! -e ${{drop%/*}}\n\
         {netnice} attach --persist other 2>&1 || echo code $?"
    );
    let printed = output(&mut beside_systemd(&script, path));
    let line =
        format!("ExecStartPre=-+\"{netnice}\" \"attach\" \"up.service\" \"--control\" \"tcplp\"\n");
    assert!(printed.contains(&line), "{printed}");
    assert!(printed.contains("`other` is not a service"), "{printed}");
    assert!(printed.ends_with("code 1\n"), "{printed}");
    // Run the command of the line, as systemd does when the service starts.
    output(&mut beside_systemd(
        &format!("{netnice} attach up.service --control tcplp"),
        path,
    ));
    assert!(lists("attached", path));
    output(&mut self::netnice(&["detach", service.path()]));
}

#[test]
fn without_systemd_nothing_persists() {
    let script = "mount -t tmpfs none /run/systemd && exec \"$0\" attach --persist up.service";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]);
    let said = say(command.arg(netnice(&[]).get_program()));
    said.ended_in_one_line(1, "no systemd runs here");
}

#[test]
fn status_filters_and_sorts() {
    let cgroups = ["netnice", "tcplp"].map(|control| {
        let cgroup = TestCgroup::new(control);
        output(&mut netnice(&[
            "attach",
            "--control",
            control,
            cgroup.path(),
        ]));
        cgroup
    });
    let mut holders = cgroups.each_ref().map(|cgroup| {
        let (holder, _) = Holder::start(cgroup.contain(&mut hold()));
        holder
    });
    // Only this one's client sends.
    holders[1].ask();
    let shown = |arguments: &[&str]| {
        let status = json(netnice(&["status", "--json"]).args(arguments));
        let connections = status["connections"].as_array().unwrap().clone();
        let name = |one: &Value| one["control"].as_str().unwrap().to_owned();
        connections.iter().map(name).collect::<Vec<_>>()
    };
    for (cgroup, control) in cgroups.iter().zip(["netnice", "tcplp"]) {
        let unit = cgroup.0.file_name().unwrap().to_str().unwrap();
        // Each has a client and a server.
        assert_eq!(shown(&["--unit", unit]), [control; 2]);
        assert_eq!(shown(&["--unit", unit, "--control", "ledbat"]), [""; 0]);
        assert!(
            shown(&["--control", control])
                .iter()
                .all(|found| found == control)
        );
    }
    // Other tests' connections may have moved more.
    let status = |arguments: &[&str]| {
        let status = json(netnice(&["status", "--json"]).args(arguments));
        let connections = status["connections"].as_array().unwrap().clone();
        let of = |one: &Value| (one["local"].clone(), one["control"].clone());
        connections.iter().map(of).collect::<Vec<_>>()
    };
    let units = cgroups.each_ref().map(|cgroup| {
        let unit = cgroup.0.file_name().unwrap().to_str().unwrap();
        status(&["--unit", unit])
    });
    let ours = units.concat();
    for by in ["sent", "bytes", "received"] {
        let sorted = status(&["--sort", by]);
        let first = sorted.into_iter().find(|one| ours.contains(one));
        assert_eq!(first.unwrap().1, "tcplp", "{by}");
    }
    for wrong in [["--control", "netnic"], ["--sort", "size"]] {
        let said = say(netnice(&["status"]).args(wrong));
        assert_eq!(said.code, Some(2), "{}", said.err);
    }
    drop(holders);
    for cgroup in &cgroups {
        output(&mut netnice(&["detach", cgroup.path()]));
    }
}

#[test]
fn status_shows_the_rate_over_half_a_second() {
    // 20 kB each 0.1 s, in bursts whose momentary rate over loopback is far higher.
    let script = "import socket, threading, time\n\
        server = socket.create_server(('127.0.0.1', 0))\n\
        client = socket.create_connection(server.getsockname())\n\
        peer = server.accept()[0]\n\
        threading.Thread(target=lambda: [0 for _ in iter(lambda: peer.recv(65536), b'')], \
        daemon=True).start()\n\
        while True:\n    client.sendall(bytes(20000))\n    time.sleep(0.1)\n";
    let child = netnice(&["run", "--", "python3", "-c", script]).spawn();
    let sender = Process(child.unwrap());
    let rate = || {
        let status = json(&mut netnice(&["status", "--json"]));
        let connections = status["connections"].as_array().unwrap().iter();
        let mut ours = connections.filter(|one| one["pid"] == sender.pid());
        let one = ours.find(|one| one["bytes_sent"].as_u64() > Some(100_000))?;
        one["rate_bits_per_second"].as_f64()
    };
    eventually("data", || rate().is_some());
    // 1.6 Mb/s; a busy machine sends less.
    let rate = rate().unwrap();
    assert!((1e5..3.2e6).contains(&rate), "{rate} bit/s");
}

#[test]
fn what_is_no_longer_of_low_priority_is_no_longer_marked() {
    let (mut holder, printed) = Holder::start(netnice(&["run", "--"]).arg(probe()).arg("hold"));
    assert_sockets(&printed, &FIRST, "netnice", LOWER_EFFORT);
    let pid = holder.pid();
    let options = ["--control", "dstcp", "--target", "2mbit", "--c", "classes"];
    let printed = output(netnice(&["renice", "--pid", &pid]).args(options));
    assert!(printed.contains("have TCP for Diff-Serv now"), "{printed}");
    assert_sockets(&holder.ask(), &THEN, "dstcp", 0);
}

#[test]
fn status_shows_the_target_and_the_threshold_that_follows_from_it() {
    let options = ["--control", "dstcp", "--target", "2gbit", "--"];
    let mut command = netnice(&["run"]);
    let (mut holder, _) = Holder::start(command.args(options).arg(probe()).arg("hold"));
    holder.ask();
    let status = json(&mut netnice(&["status", "--json"]));
    let pid = holder.process.pid();
    let connections = status["connections"].as_array().unwrap();
    let ours: Vec<&Value> = connections.iter().filter(|one| one["pid"] == pid).collect();
    let client = ours.iter().find(|one| one["bytes_sent"] == 100_000);
    let client = client.expect("the connection is listed");
    assert_eq!(client["target_bits_per_second"], 2_000_000_000_u64);
    // The target rate times the round trip, in whole packets; each ACK moves both.
    let round_trip = client["rtt_ms"].as_f64().unwrap() / 1e3;
    let packet_bytes = client["mss_bytes"].as_f64().unwrap() + 52.0;
    let target = (2e9 * round_trip / 8.0 / packet_bytes).max(2.0);
    let ssthresh = client["ssthresh_packets"].as_f64().unwrap();
    assert!((0.5..=2.0).contains(&(ssthresh / target)), "{client}");

    let table = output(&mut netnice(&["status"]));
    let process = format!("probe ({pid})");
    let line = table.lines().find(|line| line.contains(&process));
    assert!(line.unwrap().contains("target 2.00 Gb/s"), "{table}");
}

#[test]
fn the_nearest_cgroup_decides() {
    let cgroup = TestCgroup::new("outer");
    output(&mut netnice(&[
        "attach",
        "--control",
        "tcplp",
        cgroup.path(),
    ]));
    let mut command = netnice(&["run", "--no-dscp", "--"]);
    let printed = output(cgroup.contain(command.arg(probe()).arg("once")));
    let printed: Vec<String> = printed.lines().map(str::to_owned).collect();
    assert_sockets(&printed, &FIRST, "netnice", 0);
    output(&mut netnice(&["detach", cgroup.path()]));
}

#[test]
fn status_shows_the_connection_with_its_figures() {
    let (mut holder, _) = Holder::start(netnice(&["run", "--"]).arg(probe()).arg("hold"));
    for _ in 0..5 {
        holder.ask();
    }
    let status = json(&mut netnice(&["status", "--json"]));
    let pid = holder.process.pid();
    let connections = status["connections"].as_array().unwrap();
    let ours: Vec<&Value> = connections.iter().filter(|one| one["pid"] == pid).collect();
    assert_eq!(ours.len(), 2, "two ends: {status}");
    let client = ours
        .iter()
        .find(|one| one["bytes_sent"] == 500_000)
        .unwrap();
    let server = ours
        .iter()
        .find(|one| one["bytes_received"] == 500_000)
        .unwrap();
    assert_eq!(client["peer"], server["local"]);
    assert_eq!(client["local"], server["peer"]);
    for (member, expected) in [("process", "probe"), ("control", "netnice")] {
        assert_eq!(client[member], expected, "{client}");
    }
    assert_eq!(client["signal"], "one-way delay", "{client}");
    let rtt = client["rtt_ms"].as_f64().unwrap();
    assert!(rtt > 0.0 && rtt < 100.0, "{client}");
    assert!(client["cwnd_packets"].as_u64().unwrap() >= 1, "{client}");

    let table = output(&mut netnice(&["status"]));
    let process = format!("probe ({pid})");
    let line = table
        .lines()
        .find(|line| line.contains(&process) && line.contains("500 kB"));
    assert!(line.unwrap().contains("netnice"), "{table}");
    assert!(
        !table.contains('\x1b'),
        "no colours but on a terminal: {table}"
    );
}

/// The connection of a user that has sent 100000 bytes, as nobody sees it. Other tests may have such a one of another
/// user.
fn seen_by_nobody(user: u32) -> Value {
    let status = json(&mut netnice_as_nobody(&["status", "--json"]));
    let connections = status["connections"].as_array().unwrap();
    let sent = |one: &&Value| one["bytes_sent"] == 100_000 && one["user"] == user;
    connections.iter().find(sent).unwrap().clone()
}

#[test]
fn status_without_root_shows_figures_but_not_the_policys_state() {
    let (mut holder, _) = Holder::start(netnice(&["run", "--"]).arg(probe()).arg("hold"));
    holder.ask();
    let seen = seen_by_nobody(0);
    assert!(seen["cwnd_packets"].as_u64().unwrap() > 0, "{seen}");
    for unknown in ["state", "yields", "delay_over_minimum_ms", "age_ms", "pid"] {
        assert_eq!(seen[unknown], Value::Null, "{unknown} of {seen}");
    }
    let table = output(&mut netnice_as_nobody(&["status"]));
    assert!(
        table.contains("`sudo netnice status` shows them"),
        "{table}"
    );
}

#[test]
fn status_without_root_shows_all_of_ones_own_programs() {
    let _registered = keep_registered();
    let mut command = netnice_as_nobody(&["run", "--"]);
    let (mut holder, _) = Holder::start(command.arg(probe()).arg("hold"));
    holder.ask();
    let seen = seen_by_nobody(NOBODY);
    assert!(seen["state"].is_string(), "{seen}");
    assert!(seen["age_ms"].as_f64().unwrap() > 0.0, "{seen}");
    assert_eq!(seen["user"], NOBODY, "{seen}");
}

#[test]
fn status_of_another_network_namespace_is_for_root_only() {
    let mut command = netnice(&["run", "--", "unshare", "--net"]);
    let (mut holder, _) = Holder::start(command.arg(probe()).arg("hold"));
    holder.ask();
    let namespace = fs::metadata(format!("/proc/{}/ns/net", holder.pid()))
        .unwrap()
        .ino();
    let is_listed = |command: &mut Command| {
        let status = json(command);
        let connections = status["connections"].as_array().unwrap();
        connections
            .iter()
            .any(|one| one["network_namespace"] == namespace)
    };
    assert!(is_listed(&mut netnice(&["status", "--json"])));
    assert!(!is_listed(&mut netnice_as_nobody(&["status", "--json"])));
}

#[test]
fn check_says_that_run_works() {
    let found = json(&mut netnice(&["check", "--json"]));
    assert_eq!(found["run_works"], true, "{found}");
    let _registered = keep_registered();
    let found = json(&mut netnice_as_nobody(&["check", "--json"]));
    assert_eq!(found["run_works"], true, "{found}");
}

#[test]
fn check_names_every_command() {
    let found = json(&mut netnice(&["check", "--json"]));
    let checked: Vec<_> = found["commands"].as_array().unwrap().iter().collect();
    let help = output(&mut netnice(&["--help"]));
    let listed = help.split_once("\nCommands:\n").unwrap().1;
    let names: Vec<_> = listed
        .lines()
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().unwrap())
        .filter(|name| !["check", "version", "help"].contains(name))
        .collect();
    assert!(names.contains(&"run"), "{help}");
    for name in names {
        let is_checked = checked.iter().any(|one| one["command"] == name);
        assert!(is_checked, "{name} is not in {found}");
    }
}

#[test]
fn renice_asks_before_it_changes_the_machine_or_ones_own_session() {
    let refused = |said: Said, pid: &str| {
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert_eq!(said.err.lines().count(), 1, "{}", said.err);
        assert!(
            said.err.contains(&format!("PID {pid}")) && said.err.contains("--yes"),
            "{}",
            said.err
        );
    };
    refused(say(&mut netnice(&["renice", "--pid", "1"])), "1");
    let test = std::process::id().to_string();
    refused(say(&mut netnice(&["renice", "--pid", &test])), &test);

    // The leader of a session of its own, so that nothing else is moved.
    let script = "echo $$; \"$0\" renice \"$@\" --pid $$";
    let own_session = |options: &[&str]| {
        let mut command = Command::new("setsid");
        command.args(["-w", "sh", "-c", script, env!("CARGO_BIN_EXE_netnice")]);
        say(command.args(options))
    };
    let said = own_session(&[]);
    let pid = said.out.lines().next().unwrap().to_owned();
    refused(said, &pid);
    let said = own_session(&["--yes"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("0 open TCP sockets"), "{}", said.out);
}

#[test]
fn what_is_not_there_is_named_in_one_line() {
    for (command, named) in [
        (&["renice", "--pid", "2147483647"][..], "2147483647"),
        (&["attach", "/no/such/cgroup"], "/no/such/cgroup"),
        (&["attach", "no-such-unit.service"], "no-such-unit.service"),
        (&["detach", "/no/such/cgroup"], "/no/such/cgroup"),
        // An argument that names no cgroup must not stand for all of them.
        (&["attach", "."], "`"),
        (&["attach", "/."], "`"),
    ] {
        let said = say(&mut netnice(command));
        assert_eq!(said.code, Some(1), "{command:?}");
        assert_eq!(said.err.lines().count(), 1, "{}", said.err);
        assert!(
            said.err.starts_with("netnice: ") && said.err.contains(named),
            "{}",
            said.err
        );
    }
    for command in ["attach", "detach"] {
        assert_eq!(say(&mut netnice(&[command, ""])).code, Some(2), "{command}");
    }
}
