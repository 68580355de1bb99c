// SPDX-License-Identifier: MIT OR Apache-2.0
//! What libbpf says. It explains why a load failed, and is never printed.

use std::cell::RefCell;

use libbpf_rs::PrintLevel;

thread_local! {
    /// Messages of libbpf on this thread since [`begin`].
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

/// From here on keeps what libbpf says on this thread, in place of printing it on stderr.
pub(crate) fn begin() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, line| add(&line))));
    SAID.with_borrow_mut(String::clear);
}

/// What libbpf has said on this thread since [`begin`].
pub(crate) fn said() -> String {
    SAID.with_borrow(String::clone)
}

/// Takes note of a message of libbpf.
pub(crate) fn add(line: &str) {
    SAID.with_borrow_mut(|said| said.push_str(line));
}
