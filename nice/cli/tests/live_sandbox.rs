// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sandbox cannot take privileges from its supervisor. The supervisor's process that makes a
//! socket in the sandbox is inspected from outside, at each of its system calls.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::ptr::null_mut;

use support::*;

/// The only supervisor among the processes that were started with the marker.
fn supervisor(marker: &str) -> i32 {
    let found = processes_called("nn-supervisor", marker);
    assert_eq!(found.len(), 1);
    found[0]
}

fn trace(request: libc::c_uint, pid: i32, data: *mut libc::c_void) {
    // SAFETY: of the requests made here only PTRACE_GETEVENTMSG writes, a number to where its
    // callers have one.
    let answer = unsafe { libc::ptrace(request, pid, null_mut::<libc::c_void>(), data) };
    let error = std::io::Error::last_os_error();
    assert_eq!(answer, 0, "request {request:#x}: {error}");
}

/// Waits until a process that we trace stops; `false` if it ends instead.
fn stops(pid: i32) -> bool {
    let mut status = 0;
    // SAFETY: the kernel writes to `status`, which outlives the call.
    let stopped = unsafe { libc::waitpid(pid, &mut status, libc::__WALL) };
    assert_eq!(stopped, pid);
    libc::WIFSTOPPED(status)
}

#[test]
fn a_process_that_enters_a_sandbox_brings_nothing_that_could_be_taken() {
    let _registered = keep_registered();
    let marker = "a-marker-of-the-sandbox";
    let script = format!(
        ": {marker}; echo up; read go; {} part namespace",
        probe().display()
    );
    let mut command = netnice_as_nobody(&["run", "--", "sh", "-c", &script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut sandbox = Process(command.spawn().unwrap());
    let mut printed = BufReader::new(sandbox.0.stdout.take().unwrap()).lines();
    assert_eq!(printed.next().unwrap().unwrap(), "up");

    let supervisor = supervisor(marker);
    let options = libc::PTRACE_O_TRACEFORK as usize;
    trace(libc::PTRACE_SEIZE, supervisor, options as *mut _);
    writeln!(sandbox.0.stdin.take().unwrap()).unwrap();
    assert!(stops(supervisor), "it forks");
    let mut child: libc::c_ulong = 0;
    trace(
        libc::PTRACE_GETEVENTMSG,
        supervisor,
        (&raw mut child).cast(),
    );
    let child = child as i32;
    assert!(stops(child), "it begins");
    trace(libc::PTRACE_DETACH, supervisor, null_mut());

    let proc = |name: &str| format!("/proc/{child}/{name}");
    let outside = fs::read_link("/proc/self/ns/user").unwrap();
    let mut looked = 0;
    loop {
        trace(libc::PTRACE_SYSCALL, child, null_mut());
        if !stops(child) {
            break;
        }
        if fs::read_link(proc("ns/user")).unwrap() == outside {
            continue;
        }
        looked += 1;
        // The kernel gives the files of a process that may not be traced to root.
        assert_eq!(fs::metadata(proc("fd")).unwrap().uid(), 0);
        for file in fs::read_dir(proc("fd")).unwrap() {
            let file = fs::read_link(file.unwrap().path()).unwrap();
            let file = file.to_str().unwrap();
            let kind = file.split(':').next().unwrap();
            assert!(["user", "net", "socket"].contains(&kind), "{file}");
        }
    }
    assert!(looked > 0, "the process has entered the sandbox");
    assert_eq!(printed.next().unwrap().unwrap(), "same");
    assert!(
        printed
            .next()
            .unwrap()
            .unwrap()
            .starts_with("client netnice ")
    );
    assert!(sandbox.0.wait().unwrap().success());
}
