// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion controls in C files, compiled when they are used: `policies/control.h` says what they are.
//!
//! The same file can be compiled for the kernel. What is loaded here runs in this process. The checks find mistakes:
//! calls of other functions, floating-point numbers, endless loops. They do not hold back somebody who means harm.

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::congestion_control::CongestionControl;
use crate::control_interface::{
    ControlAck, ControlLoss, ControlWindow, Interfaced, NO_SSTHRESH, OutsideControl,
};

/// The headers that a file may include.
const HEADERS: [(&str, &str); 2] = [
    ("control.h", include_str!("../../../../policies/control.h")),
    ("integer.h", include_str!("../../../../policies/integer.h")),
];
const CALLS: &str = include_str!("calls.c");
const GUARD: &str = include_str!("guard.c");

/// Bytes of a control's state: `CONTROL_BYTES`.
const STATE_BYTES: usize = 72;

/// Why a file is no congestion control. The message of a compiler has several lines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlFileError {
    /// There is no compiler, or it cannot be started.
    #[error(
        "the C compiler `{compiler}` cannot be started ({reason}); install gcc, or name one in CC"
    )]
    Compiler {
        /// Its command.
        compiler: String,
        /// The system's answer.
        reason: String,
    },
    /// The compiler or the linker refuses the file.
    #[error("does not compile:\n{0}")]
    Refused(String),
    /// The file calls a function that a kernel does not have.
    #[error(
        "calls `{0}`, which is not in the file: a control does no I/O and calls its own functions only"
    )]
    Outside(String),
    /// The system refuses something else.
    #[error("cannot be loaded: {0}")]
    Load(String),
}

type OnAck = unsafe extern "C" fn(*mut c_void, *const ControlAck, *mut ControlWindow) -> i32;
type OnLoss = unsafe extern "C" fn(*mut c_void, *const ControlLoss, *mut u32) -> i32;

/// The functions of a loaded control.
struct Loaded {
    on_ack: OnAck,
    on_loss: OnLoss,
    on_timeout: OnLoss,
    /// Holds them.
    _library: Library,
}

/// A congestion control that was compiled from a file. Its code is loaded when the first connection needs it: a program
/// that only reads the scenario, or runs it on a kernel, runs none of it.
pub struct ControlFile {
    name: String,
    text: String,
    /// The shared object.
    object: Vec<u8>,
    loaded: OnceLock<Loaded>,
    /// A call took too many steps.
    endless: AtomicBool,
}

impl fmt::Debug for ControlFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControlFile")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl PartialEq for ControlFile {
    fn eq(&self, other: &ControlFile) -> bool {
        self.name == other.name && self.text == other.text
    }
}

impl ControlFile {
    /// Compiles the control whose text is `text`, and runs nothing of it. `name` is its file's, as the user wrote it, for
    /// messages. A text that this process has compiled before is not compiled again.
    ///
    /// # Errors
    /// If it does not compile, or calls what is not in it.
    pub fn compile(name: &str, text: &str) -> Result<Arc<ControlFile>, ControlFileError> {
        type Compiled = HashMap<(String, String), Arc<ControlFile>>;
        static COMPILED: LazyLock<Mutex<Compiled>> = LazyLock::new(Mutex::default);
        let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (name.to_owned(), text.to_owned());
        if let Some(file) = compiled.get(&key) {
            return Ok(file.clone());
        }
        let file = Arc::new(ControlFile {
            name: name.to_owned(),
            text: text.to_owned(),
            object: object(name, text)?,
            loaded: OnceLock::new(),
            endless: AtomicBool::new(false),
        });
        compiled.insert(key, file.clone());
        Ok(file)
    }

    /// The file's name, as the user wrote it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Creates the control of a new connection. The first of a file loads its code.
    ///
    /// # Errors
    /// If the system refuses to load it; never after a first success.
    pub fn create(self: &Arc<Self>) -> Result<Box<dyn CongestionControl>, ControlFileError> {
        if self.loaded.get().is_none() {
            // Another thread may have been faster; either of the two will do.
            let _ = self.loaded.set(load(&self.object)?);
        }
        Ok(Box::new(Interfaced(FileControl {
            file: self.clone(),
            state: [0; STATE_BYTES / 8],
        })))
    }

    /// Returns the reason if a call took too many steps, in which case nothing computed by the control counts.
    pub fn failure(&self) -> Option<String> {
        self.endless.load(Ordering::Relaxed).then(|| {
            format!(
                "a call of the control in {} took more than a million steps: does a loop not end?",
                self.name
            )
        })
    }
}

/// Compiles to a shared object, in a directory that is removed at once.
fn object(name: &str, text: &str) -> Result<Vec<u8>, ControlFileError> {
    let failed = |error: io::Error| ControlFileError::Load(error.to_string());
    let directory = tempfile::tempdir().map_err(failed)?;
    let at = |file: &str| directory.path().join(file);
    for (header, text) in HEADERS {
        fs::write(at(header), text).map_err(failed)?;
    }
    // Messages have the user's name of the file, and its lines.
    let quoted = name.replace('\\', "\\\\").replace('"', "\\\"");
    let lined = format!("#line 1 \"{quoted}\"\n{text}\n");
    fs::write(at("control_file.h"), lined).map_err(failed)?;
    fs::write(at("calls.c"), CALLS).map_err(failed)?;
    fs::write(at("guard.c"), GUARD).map_err(failed)?;
    let each = [
        "-c",
        "-std=gnu11",
        "-O2",
        "-fPIC",
        "-ffreestanding",
        "-nostdinc",
        "-fvisibility=hidden",
        "-ftls-model=initial-exec",
        "-fno-stack-protector",
        "-fno-diagnostics-color",
        "-I.",
    ];
    // A kernel's programs have no floating-point numbers. Steps are counted from the control's blocks alone.
    let calls = [
        "-DCONTROL_FILE=\"control_file.h\"",
        "-mgeneral-regs-only",
        "-fsanitize-coverage=trace-pc",
        "-Wall",
        "-Werror",
        "-Wno-unused-parameter",
        "calls.c",
    ];
    run_compiler(directory.path(), &[&each[..], &calls[..]].concat())?;
    run_compiler(directory.path(), &[&each[..], &["guard.c"]].concat())?;
    let link = [
        "-shared",
        "-nostdlib",
        "-Wl,--no-undefined",
        "-o",
        "control.so",
        "calls.o",
        "guard.o",
    ];
    run_compiler(directory.path(), &link).map_err(outside)?;
    fs::read(at("control.so")).map_err(failed)
}

/// Loads a shared object, from a directory that is removed at once: what is loaded stays in memory.
fn load(object: &[u8]) -> Result<Loaded, ControlFileError> {
    let failed = |error: io::Error| ControlFileError::Load(error.to_string());
    let refused = |error: libloading::Error| ControlFileError::Load(error.to_string());
    let directory = tempfile::tempdir().map_err(failed)?;
    let path = directory.path().join("control.so");
    fs::write(&path, object).map_err(failed)?;
    // SAFETY: the object has no initialisers but those that the user's own code brings; running that code is what the
    // user asked for.
    let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) };
    let library = library.map_err(refused)?;
    // SAFETY: guard.c defines these functions with these types.
    unsafe {
        Ok(Loaded {
            on_ack: *library.get(b"netnice_control_ack").map_err(refused)?,
            on_loss: *library.get(b"netnice_control_loss").map_err(refused)?,
            on_timeout: *library.get(b"netnice_control_timeout").map_err(refused)?,
            _library: library,
        })
    }
}

fn run_compiler(directory: &Path, arguments: &[&str]) -> Result<(), ControlFileError> {
    let compiler = std::env::var("CC").ok().filter(|name| !name.is_empty());
    let compiler = compiler.unwrap_or_else(|| "cc".to_owned());
    let mut words = compiler.split_whitespace();
    let program = words.next().unwrap_or("cc");
    let mut command = Command::new(program);
    command
        .args(words)
        .args(arguments)
        .current_dir(directory)
        .env("LC_ALL", "C");
    let done = command
        .output()
        .map_err(|error| ControlFileError::Compiler {
            compiler: compiler.clone(),
            reason: error.to_string(),
        })?;
    match done.status.success() {
        true => Ok(()),
        false => Err(ControlFileError::Refused(shortened(
            &String::from_utf8_lossy(&done.stderr),
        ))),
    }
}

/// The messages on the user's file, without those that only say from where it was included.
fn shortened(messages: &str) -> String {
    const LINES: usize = 30;
    let kept = messages.lines().filter(|line| {
        !line.starts_with("In file included from") && !line.trim_start().starts_with("from ")
    });
    let kept: Vec<&str> = kept.take(LINES).collect();
    kept.join("\n")
}

/// Names the function that the linker does not find.
fn outside(error: ControlFileError) -> ControlFileError {
    if let ControlFileError::Refused(messages) = &error {
        let quoted = messages.split("undefined reference to ").nth(1);
        let name =
            quoted.and_then(|rest| rest.split(['`', '\'', '\n']).find(|part| !part.is_empty()));
        if let Some(name) = name {
            return ControlFileError::Outside(name.to_owned());
        }
    }
    error
}

/// The control of one connection.
#[derive(Debug, Clone)]
struct FileControl {
    file: Arc<ControlFile>,
    /// Aligned for whatever the control has in it.
    state: [u64; STATE_BYTES / 8],
}

impl FileControl {
    /// Calls the control's function, unless a call before has not ended: the others would waste as much time.
    fn call(&mut self, function: impl FnOnce(&Loaded, *mut c_void) -> i32) {
        if self.file.endless.load(Ordering::Relaxed) {
            return;
        }
        let Some(loaded) = self.file.loaded.get() else {
            unreachable!("the control was loaded before its first connection");
        };
        if function(loaded, self.state.as_mut_ptr().cast()) != 0 {
            self.file.endless.store(true, Ordering::Relaxed);
        }
    }
}

impl OutsideControl for FileControl {
    fn on_ack(&mut self, ack: &ControlAck, window: &mut ControlWindow) {
        // SAFETY: the state is as large as the compiled file expects at most; the others are valid for the call.
        self.call(|loaded, state| unsafe { (loaded.on_ack)(state, ack, window) });
    }

    fn on_loss(&mut self, loss: &ControlLoss) -> u32 {
        let mut ssthresh = NO_SSTHRESH;
        // SAFETY: as in `on_ack`.
        self.call(|loaded, state| unsafe { (loaded.on_loss)(state, loss, &raw mut ssthresh) });
        ssthresh
    }

    fn on_timeout(&mut self, loss: &ControlLoss) -> u32 {
        let mut ssthresh = NO_SSTHRESH;
        // SAFETY: as in `on_ack`.
        self.call(|loaded, state| unsafe { (loaded.on_timeout)(state, loss, &raw mut ssthresh) });
        ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion_control::{Ack, Congestion, Window};

    const GOOD: &str = "#define CONTROL_INTERFACE 1\n#include \"control.h\"\n\
        struct control { u32 acks; };\n\
        POLICY_INLINE void control_on_ack(struct control *state, const struct control_ack *ack, struct control_window *window)\n\
        { state->acks += ack->acked; if (state->acks == 3) window->cwnd = 7; /* HERE */ }\n\
        POLICY_INLINE u32 control_on_loss(struct control *state, const struct control_loss *loss) { return loss->cwnd / 2; }\n\
        POLICY_INLINE u32 control_on_timeout(struct control *state, const struct control_loss *loss) { return 2; }\n";

    fn with(code: &str) -> String {
        GOOD.replace("/* HERE */", code)
    }

    fn window() -> Window {
        Window {
            cwnd: 2.5,
            ssthresh: f64::INFINITY,
        }
    }

    #[test]
    fn a_file_moves_the_window() {
        let file = ControlFile::compile("good.h", GOOD).unwrap();
        let mut control = file.create().unwrap();
        let mut window = window();
        let ack = Ack {
            acked: 1,
            ..Ack::default()
        };
        let cwnds: Vec<f64> = (0..3)
            .map(|_| {
                control.on_ack(&ack, &mut window);
                window.cwnd
            })
            .collect();
        assert_eq!(cwnds, [2.5, 2.5, 7.0]);
        assert_eq!(window.ssthresh, f64::INFINITY);
        control.on_loss(&Congestion::default(), &mut window);
        assert_eq!(window.ssthresh, 3.0);
        control.on_timeout(&Congestion::default(), &mut window);
        assert_eq!(window.ssthresh, 2.0);
        assert_eq!(file.failure(), None);
        // Another connection has a state of its own.
        let mut other = super::tests::window();
        file.create().unwrap().on_ack(&ack, &mut other);
        assert_eq!(other.cwnd, 2.5);
    }

    #[test]
    fn a_loop_without_end_is_ended() {
        let file = ControlFile::compile("endless.h", &with("while (1) state->acks++;")).unwrap();
        file.create()
            .unwrap()
            .on_ack(&Ack::default(), &mut window());
        let failure = file.failure().unwrap();
        assert!(
            failure.contains("endless.h") && failure.contains("million steps"),
            "{failure}"
        );
    }

    #[test]
    fn mistakes_are_named_with_the_files_lines() {
        for (text, expected) in [
            (with("undeclared = 1;"), "mine.h:5:"),
            (
                with("window->cwnd = window->cwnd * 1.5;"),
                "does not compile",
            ),
            (
                GOOD.replace("INTERFACE 1", "INTERFACE 2"),
                "this netnice has interface 1",
            ),
            (
                GOOD.replace("#define CONTROL_INTERFACE 1\n", "\n"),
                "say which interface",
            ),
            (
                GOOD.replace("u32 acks;", "u32 acks; u32 more[18];"),
                "at most 72 bytes",
            ),
            (
                GOOD.replace("u32 control_on_timeout", "u32 another"),
                "control_on_timeout",
            ),
            (format!("#include <stdio.h>\n{GOOD}"), "mine.h:1:"),
            (
                format!("extern int puts(const char *);\n{}", with("puts(\"\");")),
                "calls `puts`, which is not in the file",
            ),
        ] {
            let error = ControlFile::compile("mine.h", &text)
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }
}
