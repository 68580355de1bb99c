// SPDX-License-Identifier: MIT OR Apache-2.0
//! Beside programs of others that are called for the same sockets, live: one on the cgroup above, which runs after
//! netnice's, replaces the callback flags and sets another control.

mod support;

use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use libbpf_rs::{Link, ObjectBuilder};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use support::*;

static OBJECT: LazyLock<PathBuf> = LazyLock::new(|| {
    let object = directory().join("other.bpf.o");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/other.bpf.c");
    let compiled = Command::new("clang")
        .args(["-O2", "-g", "--target=bpf", "-c", source, "-o"])
        .arg(&object)
        .status();
    assert!(compiled.unwrap().success());
    object
});

/// Attaches the program of `tests/support/other.bpf.c` to a cgroup while the value lives.
fn tuned(cgroup: &TestCgroup) -> Link {
    let open = ObjectBuilder::default().open_file(&*OBJECT).unwrap();
    let loaded = open.load().unwrap();
    let directory = std::fs::File::open(&cgroup.0).unwrap();
    let program = loaded.progs_mut().next().unwrap();
    program.attach_cgroup(directory.as_raw_fd()).unwrap()
}

#[test]
fn a_control_set_by_others_is_set_back_and_told() {
    let cgroup = TestCgroup::new("others");
    let _tuned = tuned(&cgroup);
    let once = [probe().to_str().unwrap(), "once"];
    let said = say(cgroup.contain(netnice(&["run", "--json", "--"]).args(once)));
    let roles = ["listener", "client", "server"];
    assert_sockets(&lines(&said.out), &roles, "netnice", 4);
    let printed: Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!(printed["connections"], 2, "{printed}");
    assert_eq!(printed["restored"], 2, "{printed}");
    assert_eq!(printed["ungoverned_connections"], 0, "{printed}");
    let others = printed["other_programs"].to_string();
    assert!(others.contains("the program tune (id "), "{printed}");
    let said = say(cgroup.contain(netnice(&["run", "-v", "--"]).args(once)));
    said.ended(0, "another control was set by the program tune (id ");
}

/// Of connections from before the program came nothing is known; those after it are governed again.
#[test]
fn others_attached_behind_are_overtaken_again() {
    let cgroup = TestCgroup::new("behind");
    let _first = tuned(&cgroup);
    let once = [probe().to_str().unwrap(), "once"];
    let _registered = keep_registered();
    say(cgroup.contain(netnice(&["run", "--"]).args(once)));
    let _second = tuned(&cgroup);
    let said = say(cgroup.contain(netnice(&["run", "--"]).args(once)));
    let roles = ["listener", "client", "server"];
    assert_sockets(&lines(&said.out), &roles, "netnice", 4);
}

/// The flags that they replace are those by which received data is governed.
#[test]
fn a_download_yields_where_others_replace_flags() {
    let cgroup = TestCgroup::new("flags");
    let _tuned = tuned(&cgroup);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/downloads.py");
    let server = format!("exec python3 {script} serve");
    let link = ["--rate", "10mbit", "--delay", "20ms", "--queue", "83p"];
    let program = env!("CARGO_BIN_EXE_netnice");
    measure_until(
        || {
            let before = ["link", "--quiet", "--far", &server];
            let after = ["--", "python3", script, "beside", program];
            let mut command = netnice(&[&before[..], &link, &after].concat());
            let said = say(cgroup.contain(&mut command));
            assert_eq!(said.code, Some(0), "{}", said.err);
            serde_json::from_str::<Value>(&said.out).unwrap()
        },
        |printed| {
            let rate = |name: &str| printed[name].as_f64().unwrap();
            let both = rate("low_beside") + rate("plain_beside");
            rate("low") > 0.7 * rate("plain") && rate("low_beside") < 0.1 * both
        },
    );
}

/// As the network of containers without root is one: the name and the command line tell.
#[test]
fn attach_names_the_program_that_carries_the_traffic() {
    let cgroup = TestCgroup::new("carried");
    let mut inside = Command::new("unshare");
    inside.args(["--net", "sleep", "300"]);
    let inside = Process(cgroup.contain(&mut inside).spawn().unwrap());
    let carrier = directory().join("slirp4netns");
    output(Command::new("cp").arg("/bin/sleep").arg(&carrier));
    let ours = std::fs::read_link("/proc/self/ns/net").unwrap();
    eventually("a network namespace", || {
        let theirs = std::fs::read_link(format!("/proc/{}/ns/net", inside.pid()));
        theirs.is_ok_and(|theirs| theirs != ours)
    });
    // It sleeps for both numbers.
    let carrier = Command::new(carrier)
        .args(["300".to_owned(), inside.pid().to_string()])
        .spawn();
    let carrier = Process(carrier.unwrap());
    let said = say(&mut netnice(&["attach", cgroup.path()]));
    let words = format!("process {} (slirp4netns) carries", carrier.pid());
    said.ended_in_one_line(0, &words);
    drop(carrier);
    let said = say(&mut netnice(&["attach", cgroup.path()]));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    // pasta sees no file that its command line names; TUNSETIFF with IFF_TAP.
    let script = "import fcntl, time; device = open('/dev/net/tun', 'r+b', 0); \
                  fcntl.ioctl(device, 0x400454ca, b'tap0'.ljust(16, bytes(1)) + bytes([2, 16]) + bytes(22)); \
                  open('/proc/self/comm', 'w').write('pasta'); time.sleep(300)";
    let namespace = format!("--net=/proc/{}/ns/net", inside.pid());
    let carrier = Command::new("nsenter")
        .args([&namespace, "python3", "-c", script])
        .spawn();
    let carrier = Process(carrier.unwrap());
    eventually("a device", || {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", carrier.pid()));
        name.is_ok_and(|name| name == "pasta\n")
    });
    let said = say(&mut netnice(&["attach", cgroup.path()]));
    said.ended_in_one_line(0, &format!("process {} (pasta) carries", carrier.pid()));
    output(&mut netnice(&["detach", cgroup.path()]));
}

/// A route's control may be locked: then nobody can set another.
#[test]
fn a_control_that_the_kernel_refuses_is_counted() {
    let script = "ip link set lo up; \
                  ip route replace local 127.0.0.1 dev lo table local congctl lock reno; exec \"$@\"";
    let run = netnice(&["run", "--json", "--"]);
    let said = say(Command::new("unshare")
        .args(["--net", "sh", "-ec", script, "sh"])
        .arg(run.get_program())
        .args(run.get_args())
        .arg(probe())
        .args(["once", "4"]));
    assert!(said.out.contains("client reno"), "{}", said.out);
    let printed: Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!(printed["ungoverned_connections"], 2, "{printed}");
}

/// Processes that do nothing while this lives.
struct Stopped(Vec<Pid>);

impl Stopped {
    fn all(pids: Vec<i32>) -> Self {
        let stopped = Self(pids.into_iter().map(Pid::from_raw).collect());
        for pid in &stopped.0 {
            kill(*pid, Signal::SIGSTOP).unwrap();
        }
        stopped
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        for pid in &self.0 {
            let _ = kill(*pid, Signal::SIGCONT);
        }
    }
}

/// As a service has them that gets its connections from somebody else, after it was attached: for as long as nothing has looked.
#[test]
fn status_names_who_holds_connections_made_elsewhere() {
    let cgroup = TestCgroup::new("elsewhere");
    output(&mut netnice(&["attach", cgroup.path()]));
    let keepers = || processes_called("nn-sockets", "attach");
    eventually("what looks for sockets", || keepers().len() == 1);
    let stopped = Stopped::all(keepers());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let connection = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut holder = Command::new("sleep");
    holder
        .arg("300")
        .stdin(std::os::fd::OwnedFd::from(connection));
    let holder = Process(cgroup.contain(&mut holder).spawn().unwrap());
    let words = format!("no low priority: 1 connection of process {}", holder.pid());
    let status = output(&mut netnice(&["status"]));
    assert!(status.contains(&words), "{status}");
    output(&mut netnice(&[
        "renice",
        "--pid",
        &holder.pid().to_string(),
    ]));
    let status = output(&mut netnice(&["status"]));
    assert!(!status.contains("no low priority"), "{status}");
    drop((holder, stopped));
    output(&mut netnice(&["detach", cgroup.path()]));
}
