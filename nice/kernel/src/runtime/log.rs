// SPDX-License-Identifier: MIT OR Apache-2.0
//! A line in the system's log, from a process in the background: it has no terminal.

use std::os::unix::net::UnixDatagram;

/// Where the system's log listens (man 3 syslog); journald does, too.
const SOCKET: &str = "/dev/log";
/// Facility `user`, severity `warning`.
const PRIORITY: u32 = 1 << 3 | 4;

/// Writes a line. Without a log there is nobody to tell.
pub(crate) fn warn(text: &str) {
    let line = format!("<{PRIORITY}>netnice[{}]: {text}", std::process::id());
    let _ = UnixDatagram::unbound().and_then(|socket| {
        // A log that does not keep up is not waited for.
        socket.set_nonblocking(true)?;
        socket.send_to(line.as_bytes(), SOCKET)
    });
}
