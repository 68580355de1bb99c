// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file for node_exporter's textfile collector. It is replaced whole, so that no reader finds a part of it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::linkat;

/// The file, and where it is written before it gets its name.
#[derive(Clone, Debug)]
pub struct Textfile {
    path: PathBuf,
    unfinished: PathBuf,
}

/// Parses the option; refuses a name that node_exporter would not read.
pub fn parse(text: &str) -> Result<Textfile, String> {
    let path = Path::new(text);
    match path.extension().is_some_and(|end| end == "prom") {
        true => Ok(Textfile::new(path)),
        false => Err("node_exporter reads only files whose name ends in .prom".to_owned()),
    }
}

impl Textfile {
    fn new(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self {
            path: path.to_owned(),
            unfinished: path.with_file_name(format!(".{name}.unfinished")),
        }
    }

    /// Replaces the file. All users may read it, as node_exporter has one of its own.
    pub fn write(&self, text: &str) -> Result<()> {
        // Of a call that was killed between two names, or where the file system has no files without one.
        let _ = fs::remove_file(&self.unfinished);
        let written = (self.make(text)).and_then(|()| fs::rename(&self.unfinished, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&self.unfinished);
        }
        written.with_context(|| format!("writing {}", self.path.display()))
    }

    fn make(&self, text: &str) -> io::Result<()> {
        let (mut file, named) = self.open()?;
        // The caller's umask may be strict.
        file.set_permissions(Permissions::from_mode(0o644))?;
        file.write_all(text.as_bytes())?;
        if named {
            return Ok(());
        }
        let open = format!("/proc/self/fd/{}", file.as_raw_fd());
        let follow = AtFlags::AT_SYMLINK_FOLLOW;
        Ok(linkat(
            AT_FDCWD,
            open.as_str(),
            AT_FDCWD,
            &self.unfinished,
            follow,
        )?)
    }

    /// Opens a file that has no name until it is complete, so that a call which is killed meanwhile leaves none. Not all file
    /// systems have such files: returns whether it has its name already.
    fn open(&self) -> io::Result<(File, bool)> {
        let directory = match self.path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let mut options = OpenOptions::new();
        options.write(true);
        let unnamed = options
            .clone()
            .custom_flags(libc::O_TMPFILE)
            .open(directory);
        unnamed.map(|file| (file, false)).or_else(|_| {
            // Follows no link that somebody else has put there.
            Ok((options.create_new(true).open(&self.unfinished)?, true))
        })
    }

    /// Removes the file.
    pub fn remove(&self) {
        // Without it there is nothing to do.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_whole_or_the_old_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("netnice.prom");
        let textfile = parse(path.to_str().unwrap()).unwrap();
        fs::write(directory.path().join(".netnice.prom.unfinished"), "half").unwrap();
        textfile.write("one\n").unwrap();
        textfile.write("two\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two\n");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        textfile.remove();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        drop(directory);
        let error = textfile.write("three\n").unwrap_err();
        assert!(error.to_string().contains("netnice.prom"), "{error}");
    }

    #[test]
    fn a_file_that_is_not_complete_has_no_name() {
        let directory = tempfile::tempdir().unwrap();
        let textfile = Textfile::new(&directory.path().join("netnice.prom"));
        let (mut file, named) = textfile.open().unwrap();
        file.write_all(b"half").unwrap();
        // A process that is killed at this point leaves no file with a name.
        let left = fs::read_dir(directory.path()).unwrap().count();
        assert_eq!((named, left), (false, 0));
    }

    #[test]
    fn a_link_in_its_way_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let victim = directory.path().join("victim");
        fs::write(&victim, "kept").unwrap();
        let path = directory.path().join("netnice.prom");
        for link in [".netnice.prom.unfinished", "netnice.prom"] {
            std::os::unix::fs::symlink(&victim, directory.path().join(link)).unwrap();
        }
        Textfile::new(&path).write("one\n").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "kept");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
    }

    #[test]
    fn a_name_that_nobody_would_read_is_refused() {
        for wrong in ["netnice", "netnice.txt", "/tmp/.prom", ".."] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
