// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiled BPF objects, embedded in the binary, and their loading.

use std::cell::RefCell;

use libbpf_rs::libbpf_sys::{bpf_insn, bpf_program__set_log_buf};
use libbpf_rs::{AsRawLibbpf, ErrorKind, MapCore, MapHandle, MapType, OpenObject};
use nix::errno::Errno;

use crate::error::{Error, Result};
use crate::objects::pin_directory::PinDirectory;
use crate::objects::shared_map;
use crate::{features, libbpf_log, release};

/// Aligns the bytes so that libelf reads them without copying.
#[repr(C, align(16))]
struct Aligned<T>(T);

/// Role of an object, which `build.rs` reads from its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A congestion control that yields to all other traffic: all users may choose it.
    LowPriorityControl,
    /// Another congestion control.
    Control,
    /// Programs to attach to cgroups or network interfaces.
    CgroupPrograms,
}

/// One compiled `src/bpf/NAME.bpf.c`, or a control in a file.
pub(crate) struct Object {
    /// File name without `.bpf.c`.
    pub(crate) name: &'static str,
    /// Hash of the compiled file, in 16 hexadecimal digits; identifies the version.
    pub(crate) version: &'static str,
    pub(crate) kind: Kind,
    pub(crate) bytes: &'static [u8],
}

/// What the kernel's verifier tells of a program that it has taken.
pub struct Verified {
    /// Name of the program's object.
    pub object: &'static str,
    /// Lines with figures: `processed N insns`, and `stack depth A+B`, the bytes of each function.
    pub figures: String,
    /// The program, and behind it the functions that it calls, as they were loaded.
    pub instructions: Vec<bpf_insn>,
}

/// Has the verifier write its figures alone into the log (BPF_LOG_STATS in the kernel's bpf_verifier.h).
const LOG_FIGURES: u32 = 4;

/// Room for the figures.
const LOG_BYTES: usize = 64 << 10;

/// All objects, by name.
pub(crate) static OBJECTS: &[Object] = &include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// `BPF_F_LINK`: a link registers the map.
const F_LINK: u32 = 1 << 13;

/// The verifier's objection to a control that writes what this kernel does not let it write: of what netnice's controls do,
/// this is the pacing.
const NO_PACING: &str = "no write support to tcp_sock";

impl Object {
    /// Returns the object called `name`.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        OBJECTS.iter().find(|object| object.name == name)
    }

    /// Loads the object with the pinned maps that all objects of netnice share. A control that may not set the pacing rate
    /// here is loaded without that, if it can do without.
    pub(crate) fn load(&self, pins: &PinDirectory) -> Result<libbpf_rs::Object> {
        self.load_adjusted(pins, |_| ())
    }

    /// Does [`Self::load`]; `adjust` may change the object before the kernel sees it.
    fn load_adjusted(
        &self,
        pins: &PinDirectory,
        adjust: impl Fn(&mut OpenObject),
    ) -> Result<libbpf_rs::Object> {
        let paces = features::PACING.is_there();
        let mut loaded = self.try_to_load(pins, paces, &adjust);
        if paces && matches!(loaded, Err(Error::Lacks(features::PACING))) {
            loaded = self.try_to_load(pins, false, &adjust);
            if loaded.is_ok() {
                features::pacing_was_refused();
            }
        }
        let loaded = loaded?;
        shared_map::open_to_all(pins)?;
        Ok(loaded)
    }

    /// Loads the object as commands do, and returns what the verifier tells of its programs.
    pub(crate) fn verify(&self, pins: &PinDirectory) -> Result<Vec<Verified>> {
        let logs = RefCell::new(Vec::new());
        let loaded = self.load_adjusted(pins, |open| {
            let mut logs = logs.borrow_mut();
            logs.clear();
            for mut program in open.progs_mut() {
                let mut log = vec![0_u8; LOG_BYTES];
                program.set_log_level(LOG_FIGURES);
                // SAFETY: the bytes stay where they are until `loaded` is gone, and so does what is loaded first.
                let _ = unsafe {
                    let program = program.as_libbpf_object().as_ptr();
                    bpf_program__set_log_buf(program, log.as_mut_ptr().cast(), log.len() as _)
                };
                logs.push(log);
            }
        })?;
        let told = |(program, log): (libbpf_rs::Program<'_>, &Vec<u8>)| Verified {
            object: self.name,
            figures: String::from_utf8_lossy(log)
                .trim_end_matches('\0')
                .to_owned(),
            instructions: program.insns().to_vec(),
        };
        Ok(loaded.progs().zip(&*logs.borrow()).map(told).collect())
    }

    fn try_to_load(
        &self,
        pins: &PinDirectory,
        paces: bool,
        adjust: impl Fn(&mut OpenObject),
    ) -> Result<libbpf_rs::Object> {
        libbpf_log::begin();
        let load = || {
            let mut open = libbpf_rs::ObjectBuilder::default()
                .name(self.name)?
                .pin_root_path(pins.maps())?
                .open_memory(self.bytes)?;
            tell_of_kernel(&mut open, paces);
            // Programs for cgroups need not wait until the kernel's types are read.
            if self.kind != Kind::CgroupPrograms && !features::LINKS.is_there() {
                register_by_maps(&mut open)?;
            }
            adjust(&mut open);
            unpin_changed_maps(pins, &open);
            open.load()
        };
        load().map_err(|error| self.explain(&error))
    }

    /// Explains why the kernel rejects this object.
    pub(crate) fn explain(&self, error: &libbpf_rs::Error) -> Error {
        if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Error::NoBtf;
        }
        if error.kind() == ErrorKind::PermissionDenied && !nix::unistd::geteuid().is_root() {
            return Error::NeedsRoot {
                action: "loading a congestion control into the kernel",
            };
        }
        if self.kind != Kind::CgroupPrograms && !features::CONTROLS.is_there() {
            return Error::Lacks(features::CONTROLS);
        }
        let log = libbpf_log::said();
        let text = format!("{error:#}");
        let reason = match (verdict(&log), errno(&text)) {
            (Some(verdict), _) if verdict.starts_with(NO_PACING) => {
                return Error::Lacks(features::PACING);
            }
            (Some(verdict), _) => format!("its verifier says `{verdict}`"),
            (None, errno) => {
                let meaning = errno.map_or("libbpf cannot read it".to_owned(), meaning);
                // What such a kernel lacks has no number of its own.
                let lacks = matches!(
                    errno,
                    None | Some(Errno::EINVAL | Errno::ENOTSUP | Errno::ESRCH)
                );
                match first_warning(&log).filter(|_| lacks) {
                    Some(said) => format!("{meaning}: libbpf says `{said}`"),
                    None => meaning,
                }
            }
        };
        let (major, minor) = release::kernel();
        let hint = match (major, minor) < release::OLDEST {
            true => format!("; Linux {major}.{minor} is older than those that netnice is tried on"),
            false => String::new(),
        };
        Error::Refused {
            object: self.name.to_owned(),
            reason: reason + &hint,
            log: format!("{text}\n{log}"),
        }
    }
}

/// Fills in what an object asks to know of the kernel: `struct kernel_features` in its section `.rodata.kernel`.
fn tell_of_kernel(open: &mut OpenObject, paces: bool) {
    for mut map in open.maps_mut() {
        if map.name().to_string_lossy().ends_with(".rodata.kernel") {
            if let Some(value) = map.initial_value_mut() {
                if let Some(arguments) = features::cong_control_arguments() {
                    value[..4].copy_from_slice(&(arguments as u32).to_ne_bytes());
                }
                value[4..8].copy_from_slice(&u32::from(paces).to_ne_bytes());
            }
        }
    }
}

/// Has controls registered by their maps themselves, in place of links.
fn register_by_maps(open: &mut OpenObject) -> libbpf_rs::Result<()> {
    for mut map in open.maps_mut() {
        if map.map_type() == MapType::StructOps {
            let flags = map.map_flags() & !F_LINK;
            map.set_map_flags(flags)?;
        }
    }
    Ok(())
}

/// Removes the pins of shared maps whose definitions differ from this object's: another version created them. Their
/// current users keep them.
fn unpin_changed_maps(pins: &PinDirectory, open: &OpenObject) {
    for map in open.maps() {
        let pin = pins.maps().join(map.name());
        if let Ok(pinned) = MapHandle::from_pinned_path(&pin) {
            let same = pinned.map_type() == map.map_type()
                && pinned.key_size() == map.key_size()
                && pinned.value_size() == map.value_size()
                && (pinned.info()).is_ok_and(|pinned| pinned.info.map_flags == map.map_flags());
            if !same {
                // If this fails, the load fails and reports why.
                let _ = std::fs::remove_file(pin);
            }
        }
    }
}

/// Returns the error number in an error of libbpf-rs, which shows it only in its text.
fn errno(text: &str) -> Option<Errno> {
    let (_, number) = text.rsplit_once("(os error ")?;
    let (number, _) = number.split_once(')')?;
    Some(Errno::from_raw(number.parse().ok()?))
}

/// Returns the error number's name, and its usual meaning when loading a BPF object (man 2 bpf).
fn meaning(errno: Errno) -> String {
    let usual = match errno {
        Errno::EPERM => {
            "kernel lockdown, a security module, or a missing capability (CAP_BPF, CAP_PERFMON, \
             CAP_NET_ADMIN) forbids it"
        }
        Errno::EACCES => "its verifier or a security module does not accept it",
        Errno::EINVAL | Errno::ENOTSUP => "the kernel lacks a kind of program or map that it uses",
        Errno::ENOSYS => "the kernel is built without CONFIG_BPF_SYSCALL",
        Errno::ESRCH => "the kernel's type description (BTF) lacks what it uses",
        Errno::ENOMEM => "there is too little memory, or RLIMIT_MEMLOCK is too low",
        _ => return errno.to_string(),
    };
    format!("{errno:?}, {usual}")
}

/// The verifier's objection: the last line before its figures.
fn verdict(log: &str) -> Option<&str> {
    let (before, _) = log.rsplit_once("\nprocessed ")?;
    before.lines().next_back()
}

/// libbpf's first warning, which names what later ones follow from.
fn first_warning(log: &str) -> Option<&str> {
    log.lines().find_map(|line| line.strip_prefix("libbpf: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_number_is_named_with_its_usual_meaning() {
        let error = libbpf_rs::Error::from(std::io::Error::from_raw_os_error(libc::EPERM));
        let errno = errno(&format!("{error:#}")).unwrap();
        let meaning = meaning(errno);
        assert!(meaning.starts_with("EPERM, kernel lockdown"), "{meaning}");
        assert_eq!(super::errno("no such section"), None);
        assert_eq!(super::meaning(Errno::EBUSY), Errno::EBUSY.to_string());
    }

    /// Some kernels refuse other types, such as iterators over maps.
    #[test]
    fn objects_have_only_programs_that_all_kernels_take() {
        use libbpf_rs::ProgramType::{CgroupSockAddr, CgroupSockopt, SchedCls, SockOps, StructOps};
        for object in OBJECTS {
            let mut builder = libbpf_rs::ObjectBuilder::default();
            let open = builder.open_memory(object.bytes).unwrap();
            for program in open.progs() {
                let found = program.prog_type();
                let fits = match object.kind {
                    Kind::LowPriorityControl | Kind::Control => found == StructOps,
                    // Loaded for `--no-quic` only.
                    Kind::CgroupPrograms if object.name == "quic" => found == CgroupSockAddr,
                    // All kernels take the type, too; Linux before 6.6 cannot attach it, and closes no window.
                    Kind::CgroupPrograms if matches!(object.name, "utp" | "udp") => {
                        found == SchedCls
                    }
                    Kind::CgroupPrograms if object.name == "receive_netnice" => {
                        matches!(found, SockOps | CgroupSockopt | SchedCls)
                    }
                    Kind::CgroupPrograms => matches!(found, SockOps | CgroupSockopt),
                };
                assert!(fits, "{} has a program of type {found:?}", object.name);
            }
        }
    }

    #[test]
    fn a_control_is_told_whether_it_may_pace() {
        for name in ["netnice", "tcplp", "hstcplp", "tcpnice"] {
            for paces in [false, true] {
                let bytes = Object::find(name).unwrap().bytes;
                let mut open = libbpf_rs::ObjectBuilder::default()
                    .open_memory(bytes)
                    .unwrap();
                tell_of_kernel(&mut open, paces);
                let mut maps = open.maps_mut();
                let mut told = maps.find(|map| map.name() == ".rodata.kernel").unwrap();
                let value = told.initial_value_mut().unwrap();
                assert_eq!(value[4..8], u32::from(paces).to_ne_bytes(), "{name}");
            }
        }
    }

    #[test]
    fn a_kernel_that_lacks_a_member_is_told_which() {
        let log = "libbpf: struct_ops init_kern netnice: Cannot find member undo_cwnd in kernel BTF\n\
                   libbpf: failed to load object 'netnice'\n";
        libbpf_log::begin();
        libbpf_log::add(log);
        let error = libbpf_rs::Error::from(std::io::Error::from_raw_os_error(libc::ENOTSUP));
        let told = Object::find("netnice").unwrap().explain(&error).to_string();
        for expected in ["`netnice`", "EOPNOTSUPP", "Cannot find member undo_cwnd"] {
            assert!(told.contains(expected), "{told}");
        }
    }

    #[test]
    fn the_verifiers_objection_is_found_in_its_log() {
        let log = "libbpf: prog 'a': BPF program load failed: -EACCES\n\
                   71: (63) *(u32 *)(r6 +412) = r2\n\
                   no write support to tcp_sock at off 412\n\
                   processed 71 insns (limit 1000000)\n\
                   -- END PROG LOAD LOG --\n";
        assert_eq!(
            verdict(log),
            Some("no write support to tcp_sock at off 412")
        );
        assert_eq!(verdict("libbpf: failed to open\n"), None);
    }
}
