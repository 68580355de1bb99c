// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice version`: which build this is, and which BPF objects it contains.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use netnice_kernel::objects::{self, Kind};
use serde::Serialize;

use netnice_terminal::text;

const EXAMPLES: &str = "\
Examples:
  netnice version
  netnice version --json | jq -r .build_id

Values:
  build_id  identifies the compiled program and its file of debug information
            (man 1 ld, --build-id)
  commit    the sources' commit, if the build names it
  objects   each BPF object, \"control\" or \"programs\" for cgroups, with a hash:
            programs with equal hashes share these objects in the kernel";

/// The version's number.
pub(super) const NUMBER: &str = env!("CARGO_PKG_VERSION");
/// The sources' commit, where the build names one.
pub(super) const COMMIT: Option<&str> = option_env!("NETNICE_COMMIT");

/// Print the version, the build and the hashes of the BPF objects.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The facts that tell one build of netnice from another.
#[derive(Serialize)]
pub(super) struct Version {
    version: &'static str,
    build_id: Option<String>,
    commit: Option<&'static str>,
    objects: Vec<Object>,
}

#[derive(Serialize)]
struct Object {
    name: &'static str,
    kind: &'static str,
    hash: &'static str,
}

/// Prints the version.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let version = Version::read()?;
    if arguments.json {
        text::print(&format!("{}\n", serde_json::to_string(&version)?))?;
    } else {
        text::print(&version.lines())?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Version {
    /// Reads the running program's build ID. Fails if the program file cannot be read.
    pub(super) fn read() -> Result<Self> {
        Ok(Self {
            version: NUMBER,
            build_id: File::open("/proc/self/exe")
                .and_then(|program| build_id(&program))
                .context("reading this program's file")?,
            commit: COMMIT,
            objects: objects::versions()
                .map(|(name, kind, hash)| Object {
                    name,
                    kind: match kind {
                        Kind::LowPriorityControl | Kind::Control => "control",
                        Kind::CgroupPrograms => "programs",
                    },
                    hash,
                })
                .collect(),
        })
    }

    /// Returns one line for the version, the build and each object.
    pub(super) fn lines(&self) -> String {
        let mut lines = format!("netnice {}\n", self.version);
        for (name, value) in [
            ("build ID", self.build_id.as_deref()),
            ("commit", self.commit),
        ] {
            if let Some(value) = value {
                let _ = writeln!(lines, "{name:<20} {value}");
            }
        }
        for object in &self.objects {
            let name = format!("{} {}", object.kind, object.name);
            let _ = writeln!(lines, "{name:<20} {}", object.hash);
        }
        lines
    }
}

const PT_NOTE: u32 = 4;
const NT_GNU_BUILD_ID: u32 = 3;

/// Returns the build ID of a 64-bit little-endian ELF file in hexadecimal digits: the note `GNU` of type
/// `NT_GNU_BUILD_ID` (man 5 elf). `None` if the file has none.
fn build_id(program: &File) -> io::Result<Option<String>> {
    let header: [u8; 64] = read(program, 0)?;
    if header[..6] != *b"\x7fELF\x02\x01" {
        return Ok(None);
    }
    let segments = u64_at(&header, 32);
    let size = u64::from(u16_at(&header, 54));
    for index in 0..u64::from(u16_at(&header, 56)) {
        let segment: [u8; 56] = read(program, segments + index * size)?;
        if u32_at(&segment, 0) != PT_NOTE {
            continue;
        }
        // Notes are small; a size beyond that is no file of a linker's.
        let mut notes = vec![0; u64_at(&segment, 32).min(1 << 16) as usize];
        program.read_exact_at(&mut notes, u64_at(&segment, 8))?;
        if let Some(id) = build_id_in(&notes) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

fn build_id_in(mut notes: &[u8]) -> Option<String> {
    while notes.len() >= 12 {
        let (head, rest) = notes.split_at(12);
        let name_size = u32_at(head, 0) as usize;
        let size = u32_at(head, 4) as usize;
        let name = rest.get(..name_size)?;
        let rest = rest.get(name_size.next_multiple_of(4)..)?;
        let content = rest.get(..size)?;
        if u32_at(head, 8) == NT_GNU_BUILD_ID && name == b"GNU\0" {
            return Some(content.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        notes = rest.get(size.next_multiple_of(4)..)?;
    }
    None
}

fn read<const N: usize>(file: &File, offset: u64) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    match file.read_exact_at(&mut bytes, offset) {
        // A shorter file has no notes.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok([0; N]),
        other => other.map(|()| bytes),
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_id_is_found_behind_other_notes() {
        let mut notes = Vec::new();
        for (kind, name, content) in [
            (1_u32, b"GNU\0".as_slice(), [0; 5].as_slice()),
            (3, b"Xen\0", &[9; 4]),
            (3, b"GNU\0", &[0xab, 0x01, 0xff]),
        ] {
            for word in [name.len() as u32, content.len() as u32, kind] {
                notes.extend(word.to_le_bytes());
            }
            for part in [name, content] {
                notes.extend(part);
                notes.resize(notes.len().next_multiple_of(4), 0);
            }
        }
        assert_eq!(build_id_in(&notes).as_deref(), Some("ab01ff"));
        for length in 0..notes.len() - 1 {
            assert_eq!(build_id_in(&notes[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn a_file_that_is_no_program_has_no_build_id() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(build_id(&file).unwrap(), None);
        file.write_all_at(&[0xff; 300], 0).unwrap();
        assert_eq!(build_id(&file).unwrap(), None);
    }

    #[test]
    fn each_object_has_a_hash_of_its_own() {
        let version = Version::read().unwrap();
        let mut hashes: Vec<_> = version.objects.iter().map(|object| object.hash).collect();
        assert!(version.lines().contains("control netnice "));
        assert!(hashes.iter().all(|hash| hash.len() == 16), "{hashes:?}");
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), version.objects.len());
    }
}
