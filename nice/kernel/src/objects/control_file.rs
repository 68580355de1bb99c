// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion controls in C files, compiled for this kernel when they are used.
//!
//! The simulator compiles the same files for the processor (`lab/congestion/src/control_file`). Here nothing of a file runs
//! in this process: the kernel's verifier proves that the programs end and stay within their memory.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use libbpf_rs::libbpf_sys::API_HEADERS;

use crate::error::{Context, Error, Result, need_root};
use crate::objects::compiled::{Kind, Object};
use crate::objects::control::{Control, FILE_PREFIX};
use crate::objects::hash::hash;

/// The kernel's names of congestion controls have at most 15 bytes (`TCP_CA_NAME_MAX`).
const NAME_BYTES: usize = 15;
/// Where clang is looked for: `PATH` may be another user's.
const COMPILERS: [&str; 2] = ["/usr/bin/clang", "/usr/local/bin/clang"];

macro_rules! sources {
    ($($directory:literal: $($name:literal)*),*) => {
        &[$($(($name, include_str!(concat!($directory, $name)))),*),*]
    };
}

/// The program, and the headers that it and a file include.
const SOURCES: &[(&str, &str)] = sources!(
    "../bpf/": "abi.h" "connection.h" "control_file.c" "kernel_types.h" "maps.h",
    "../../../../policies/": "control.h" "integer.h" "parameters.h" "report.h"
);

impl Control {
    /// Compiles the control in a C file (`policies/control.h`) for the kernel. Its name is `file_` and the file's
    /// own, shortened to what the kernel takes. It is for root only, and not of low priority, whatever it does.
    ///
    /// # Errors
    /// If the caller is not root, the file cannot be read or does not compile, or clang is missing.
    pub fn from_file(path: &Path) -> Result<Self> {
        let shown = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|error| Error::ControlFile {
            file: shown.clone(),
            reason: error.to_string(),
        })?;
        Self::from_text(&shown, &text)
    }

    /// Does [`Self::from_file`] with a file's text; `shown` is its path as the user wrote it.
    ///
    /// # Errors
    /// As [`Self::from_file`].
    pub fn from_text(shown: &str, text: &str) -> Result<Self> {
        need_root("loading a control from a file")?;
        let refused = |reason: String| Error::ControlFile {
            file: shown.to_owned(),
            reason,
        };
        let name = name_of(Path::new(shown));
        let bytes =
            compile(&name, shown, text).doing(|| format!("compiling {shown} for the kernel"))?;
        let bytes = bytes.map_err(refused)?;
        // A few kilobytes for the rest of the process.
        Ok(Self::of(Box::leak(Box::new(Object {
            name: name.leak(),
            kind: Kind::Control,
            version: format!("{:016x}", hash(&bytes)).leak(),
            bytes: bytes.leak(),
        }))))
    }
}

/// Returns the control's name: `file_mine` of `mine.h`.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let characters = stem.chars().map(|character| match character {
        'a'..='z' | '0'..='9' => character,
        'A'..='Z' => character.to_ascii_lowercase(),
        _ => '_',
    });
    FILE_PREFIX
        .chars()
        .chain(characters)
        .take(NAME_BYTES)
        .collect()
}

/// Compiles the program with the text of the file that the user calls `shown`. The inner error is the compiler's message,
/// which names the file's lines.
fn compile(
    name: &str,
    shown: &str,
    text: &str,
) -> std::io::Result<std::result::Result<Vec<u8>, String>> {
    let directory = tempfile::tempdir()?;
    let at = |file: &str| directory.path().join(file);
    fs::create_dir(at("bpf"))?;
    for (header, text) in API_HEADERS {
        fs::write(at("bpf").join(header), text)?;
    }
    for (source, text) in SOURCES {
        fs::write(at(source), text)?;
    }
    let quoted = shown.replace('\\', "\\\\").replace('"', "\\\"");
    fs::write(
        at("control_in_file.h"),
        format!("#line 1 \"{quoted}\"\n{text}\n"),
    )?;
    let Some(compiler) = COMPILERS.iter().find(|path| Path::new(path).exists()) else {
        let places = COMPILERS.join(" or ");
        return Ok(Err(format!(
            "needs clang to compile it for the kernel, at {places}: install clang"
        )));
    };
    let done = Command::new(compiler)
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-nostdinc"])
        .args(["-Wall", "-Werror", "-Wno-unused-parameter"])
        .args(["-fno-color-diagnostics", "-fdebug-compilation-dir=."])
        .arg(format!("-D__TARGET_ARCH_{}", target_architecture()))
        .arg("-DCONTROL_FILE=\"control_in_file.h\"")
        .arg(format!("-DCONTROL_NAME=\"{name}\""))
        .args(["-I.", "-c", "control_file.c", "-o", "control.o"])
        .current_dir(directory.path())
        .env_clear()
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        let lines = said
            .lines()
            .filter(|line| !line.starts_with("In file included from"));
        let lines: Vec<&str> = lines.collect();
        return Ok(Err(format!(
            "does not compile for the kernel:\n{}",
            lines.join("\n")
        )));
    }
    fs::read(at("control.o")).map(Ok)
}

/// Returns the architecture's name in libbpf's macros for tracing programs.
fn target_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "arm64",
        "x86_64" => "x86",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_the_kernel_takes() {
        for (path, name) in [
            ("mine.h", "file_mine"),
            ("/a/My control-2.h", "file_my_control"),
            ("../x/..h", "file__"),
        ] {
            assert_eq!(name_of(Path::new(path)), name);
        }
    }
}
