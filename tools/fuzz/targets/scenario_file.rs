// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever is in a file, the parser answers with scenarios that can be laid out and explained, or with errors.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netnice_scenario::{ScenarioFile, explain};

fuzz_target!(|text: &str| {
    match ScenarioFile::parse("fuzz.toml", text, &[], None) {
        Ok(file) => {
            assert!(!explain(&file).is_empty());
            assert!(!file.runs().is_empty());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
