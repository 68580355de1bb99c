// SPDX-License-Identifier: MIT OR Apache-2.0
//! A headless Chromium, driven by the DevTools protocol over a pair of pipes: no port, no driver program, no crate.
//!
//! `chromium --remote-debugging-pipe` reads commands from descriptor 3 and writes answers and events to descriptor 4, each
//! message as JSON with a zero byte behind it.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// Names of Chromium, by distribution.
const NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

/// A browser that says nothing for so long hangs.
const HANGS: Duration = Duration::from_secs(120);

/// Its pipes are this program's standard input and output, moved to the descriptors that Chromium wants.
const PIPES: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#;

/// A browser with one page.
pub struct Browser {
    child: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    events: VecDeque<Value>,
    last_id: u64,
    session: Option<String>,
    /// The page's complaints: exceptions, `console.error`, and loads that its policy blocked.
    pub problems: Vec<String>,
    directory: TempDir,
}

impl Browser {
    /// Starts one, with an empty page of this size.
    pub fn start(width: u32, height: u32) -> Browser {
        let name = NAMES.iter().find(|name| {
            let found = Command::new("sh")
                .args(["-c", "command -v \"$0\" >/dev/null", name])
                .status();
            found.is_ok_and(|status| status.success())
        });
        let name = name.unwrap_or_else(|| {
            panic!("none of {NAMES:?} is installed: run tools/prerequisites browser")
        });
        let directory = tempfile::tempdir().unwrap();
        let mut child = Command::new("sh")
            .args(["-c", PIPES, name])
            // Root has no sandbox; the page is ours.
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args(["--disable-dev-shm-usage", "--disable-background-networking"])
            .args(["--remote-debugging-pipe", "--hide-scrollbars"])
            .arg(format!(
                "--user-data-dir={}",
                directory.path().join("profile").display()
            ))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let commands = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            let mut message = Vec::new();
            while answers
                .read_until(0, &mut message)
                .is_ok_and(|count| count > 0)
            {
                message.pop();
                let value = serde_json::from_slice(&message).unwrap();
                if sender.send(value).is_err() {
                    return;
                }
                message.clear();
            }
        });
        let mut browser = Browser {
            child,
            commands,
            messages,
            events: VecDeque::new(),
            last_id: 0,
            session: None,
            problems: Vec::new(),
            directory,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        let focus = json!({ "enabled": true });
        browser.call("Emulation.setFocusEmulationEnabled", focus);
        browser.resize(width, height, false);
        browser
    }

    /// A directory that goes with the browser.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The size of the window, or of a phone's screen.
    pub fn resize(&mut self, width: u32, height: u32, phone: bool) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone });
        self.call("Emulation.setDeviceMetricsOverride", size);
        self.call(
            "Emulation.setTouchEmulationEnabled",
            json!({ "enabled": phone }),
        );
    }

    /// Sends a command and waits for its answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut text = serde_json::to_vec(&message).unwrap();
        text.push(0);
        self.commands.write_all(&text).unwrap();
        loop {
            let mut message = self.next(method);
            if message["id"] == json!(self.last_id) {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].take();
            }
            self.events.push_back(message);
        }
    }

    fn next(&mut self, why: &str) -> Value {
        let message = self.messages.recv_timeout(HANGS);
        let message = message.unwrap_or_else(|error| panic!("{why}: the browser: {error}"));
        let details = &message["params"];
        let problem = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => details["type"] == "error",
            Some("Log.entryAdded") => details["entry"]["level"] == "error",
            _ => false,
        };
        if problem {
            self.problems.push(message.to_string());
        }
        message
    }

    /// Waits for an event.
    pub fn wait(&mut self, accept: impl Fn(&str, &Value) -> bool) -> Value {
        loop {
            let message = match self.events.pop_front() {
                Some(message) => message,
                None => self.next("waiting for an event"),
            };
            let method = message["method"].as_str().unwrap_or_default();
            if accept(method, &message["params"]) {
                return message["params"].clone();
            }
        }
    }

    /// Goes to an address and waits until it is there.
    pub fn open(&mut self, address: &str) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": address }));
        self.wait(|method, _| method == "Page.loadEventFired");
        self.settle();
    }

    /// Waits until changes are laid out and drawn.
    pub fn settle(&mut self) {
        let twice = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))";
        self.eval(twice);
    }

    /// The value of an expression in JavaScript.
    pub fn eval(&mut self, expression: &str) -> Value {
        let parameters =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let mut answer = self.call("Runtime.evaluate", parameters);
        assert!(
            answer.get("exceptionDetails").is_none(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].take()
    }

    /// A number that an expression gives.
    pub fn number(&mut self, expression: &str) -> f64 {
        let value = self.eval(expression);
        value
            .as_f64()
            .unwrap_or_else(|| panic!("{expression}: {value}"))
    }

    /// A text that an expression gives.
    pub fn text(&mut self, expression: &str) -> String {
        let value = self.eval(expression);
        value
            .as_str()
            .unwrap_or_else(|| panic!("{expression}: {value}"))
            .to_owned()
    }

    /// A mouse's or wheel's event at a place.
    pub fn mouse(&mut self, kind: &str, (x, y): (f64, f64), more: Value) {
        let mut event = json!({ "type": kind, "x": x, "y": y, "pointerType": "mouse" });
        for (key, value) in more.as_object().unwrap() {
            event[key] = value.clone();
        }
        self.call("Input.dispatchMouseEvent", event);
        self.settle();
    }

    /// Fingers on the screen.
    pub fn touch(&mut self, kind: &str, fingers: &[(f64, f64)]) {
        let fingers: Vec<Value> = fingers
            .iter()
            .enumerate()
            .map(|(id, (x, y))| json!({ "x": x, "y": y, "id": id }))
            .collect();
        let event = json!({ "type": kind, "touchPoints": fingers });
        self.call("Input.dispatchTouchEvent", event);
        self.settle();
    }

    /// A key, pressed and released.
    pub fn key(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call(
                "Input.dispatchKeyEvent",
                json!({ "type": kind, "key": key }),
            );
        }
        self.settle();
    }

    /// Presses the element that a selector finds.
    pub fn click(&mut self, selector: &str) {
        self.eval(&format!("document.querySelector({selector:?}).click()"));
        self.settle();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The shell has become the browser, whose own processes go with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
