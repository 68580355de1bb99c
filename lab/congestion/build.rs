// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the policies natively: the same headers that the BPF programs include.

fn main() {
    println!("cargo::rerun-if-changed=../../policies");
    println!("cargo::rerun-if-changed=src/native.c");
    let mut build = cc::Build::new();
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        build.define(
            "POLICY_ASSERT(condition)",
            "((condition) ? (void)0 : __builtin_trap())",
        );
    }
    build
        .file("src/native.c")
        .include("../../policies")
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .compile("netnice_policy");
}
