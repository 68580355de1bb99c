// SPDX-License-Identifier: MIT OR Apache-2.0
//! The user's shell, with a prompt that describes the link.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::{User, getuid};

/// Returns the shell, interactive if its standard input is a terminal. `link` appears in its prompt.
pub fn command(link: &str) -> Result<Command> {
    let shell = env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let shell = shell.unwrap_or_else(login_shell);
    let mut command = Command::new(&shell);
    match Path::new(&shell).file_name().and_then(|name| name.to_str()) {
        // Bash sets the prompt in its start-up files: this one reads those, and then adds the hint.
        Some("bash") => {
            command.arg("--rcfile").arg(bash_start_up(link)?);
        }
        Some("fish") => {
            command.arg("--init-command").arg(format!(
                "functions --copy fish_prompt netnice_inner_prompt; \
                 function fish_prompt; echo -n '({link}) '; netnice_inner_prompt; end"
            ));
        }
        // A plain shell takes the prompt from PS1; others at least have $NETNICE_LINK.
        _ => {
            command.env("PS1", format!("({link}) $ "));
        }
    }
    Ok(command)
}

fn login_shell() -> OsString {
    let user = User::from_uid(getuid()).ok().flatten();
    user.map(|user| user.shell.into_os_string())
        .filter(|shell| !shell.is_empty())
        .unwrap_or_else(|| "/bin/sh".into())
}

/// Creates Bash's start-up file in memory, inherited by the shell, so that it needs no place in the file system.
fn bash_start_up(link: &str) -> Result<String> {
    let making = "making the shell's start-up file";
    // Without close-on-exec, so that the shell finds it; the shell closes it.
    let mut file = File::from(memfd_create(c"netnice-bashrc", MFdFlags::empty()).context(making)?);
    let number = file.as_raw_fd();
    write!(
        file,
        "for netnice_file in /etc/bash.bashrc ~/.bashrc; do\n\
         [ -r \"$netnice_file\" ] && . \"$netnice_file\"\n\
         done\n\
         unset netnice_file\n\
         PS1=\"({link}) $PS1\"\n\
         exec {number}<&-\n"
    )
    .context(making)?;
    Ok(format!("/proc/self/fd/{}", file.into_raw_fd()))
}
