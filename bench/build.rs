// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the control that represents the kernel's CUBIC in the table of costs.

use std::env;
use std::path::PathBuf;

use libbpf_cargo::SkeletonBuilder;

fn main() {
    println!("cargo::rerun-if-changed=src/bpf");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let built = SkeletonBuilder::new()
        .source("src/bpf/bench_cubic.bpf.c")
        .obj(out.join("bench_cubic.bpf.o"))
        .clang_args(["-Wall", "-Werror", "-mcpu=v3", "-I../kernel/src/bpf"])
        .build();
    if let Err(error) = built {
        eprintln!("{error:#}");
        panic!("bench_cubic.bpf.c does not compile; is clang installed?");
    }
}
