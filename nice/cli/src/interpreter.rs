// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds a missing interpreter: ENOENT of execve(2) may mean the program or its interpreter.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Bytes read of a file: more than the kernel reads of a script's first line (BINPRM_BUF_SIZE, 256), and enough for an
/// ELF file's program headers.
const HEAD_BYTES: u64 = 4096;
/// Depth to which the kernel follows interpreters that are scripts themselves.
const DEPTH: usize = 5;

/// Returns the missing interpreter that a program, or its interpreter in turn, names.
pub fn missing(program: &Path) -> Option<PathBuf> {
    let mut program = program.to_owned();
    for _ in 0..DEPTH {
        program = named_by(&program)?;
        if !program.exists() {
            return Some(program);
        }
    }
    None
}

/// Returns the interpreter in a script's first line or in an ELF file's program headers.
fn named_by(program: &Path) -> Option<PathBuf> {
    let mut head = Vec::new();
    let file = File::open(program).ok()?;
    file.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    let name = match head.strip_prefix(b"#!") {
        Some(line) => {
            let line = line.split(|&byte| byte == b'\n').next()?.trim_ascii_start();
            // A carriage return does not end it: it is part of the name that the kernel looks for.
            line.split(|&byte| byte == b' ' || byte == b'\t').next()?
        }
        None => elf_interpreter(&head)?,
    };
    (!name.is_empty()).then(|| OsString::from_vec(name.to_vec()).into())
}

/// Returns PT_INTERP of a 64-bit ELF file in this machine's byte order.
fn elf_interpreter(head: &[u8]) -> Option<&[u8]> {
    const PT_INTERP: u32 = 3;
    head.strip_prefix(b"\x7fELF\x02")?;
    let short = |at: usize| Some(u16::from_ne_bytes(head.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_ne_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let offset = |at: usize| {
        let value = u64::from_ne_bytes(head.get(at..at + 8)?.try_into().ok()?);
        usize::try_from(value)
            .ok()
            .filter(|&value| value < head.len())
    };
    let (table, entry_size, entries) = (offset(32)?, short(54)?, short(56)?);
    let header = (0..entries)
        .map(|entry| table + usize::from(entry) * usize::from(entry_size))
        .find(|&header| word(header) == Some(PT_INTERP))?;
    let name = head.get(offset(header + 8)?..)?;
    name.split(|&byte| byte == 0).next()
}

/// Returns its name for people, with invisible characters such as a carriage return escaped.
pub fn written(interpreter: &Path) -> String {
    let name = interpreter.as_os_str().as_bytes();
    name.escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_name_their_interpreter() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("script");
        let by = directory.path().join("by");
        std::fs::write(&by, "#!/no/such\n").unwrap();
        let by_text = format!("#!{} -x\n", by.display());
        for (text, expected) in [
            ("#!/no/such/python\nexit\n", Some("/no/such/python")),
            ("#! \t/no/such/python -u", Some("/no/such/python")),
            ("#!/bin/sh\r\nexit\r\n", Some("/bin/sh\\r")),
            (&by_text, Some("/no/such")),
            ("#!/bin/sh\n", None),
            ("#!\n", None),
            ("exit\n", None),
            ("", None),
        ] {
            std::fs::write(&script, text).unwrap();
            let found = missing(&script).map(|path| written(&path));
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn programs_name_their_loader() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("program");
        let own = std::fs::read("/proc/self/exe").unwrap();
        let Some(name) = elf_interpreter(&own[..HEAD_BYTES as usize]) else {
            panic!("this test program has no loader");
        };
        let at = name.as_ptr() as usize - own.as_ptr() as usize;
        let mut other = own[..HEAD_BYTES as usize].to_vec();
        std::fs::write(&program, &other).unwrap();
        assert_eq!(missing(&program), None);
        other[at + 1] = b'?';
        std::fs::write(&program, &other).unwrap();
        let missing = missing(&program).unwrap();
        assert!(
            missing.starts_with("/?ib64") || missing.starts_with("/?ib"),
            "{missing:?}"
        );
        // A truncated header, or one that points beyond the file.
        for length in 0..200 {
            elf_interpreter(&other[..length]);
        }
    }
}
