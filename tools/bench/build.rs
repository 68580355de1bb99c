// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the BPF programs: the control that represents the kernel's CUBIC in the table of costs, and the
//! controls that record their calls.

use std::env;
use std::path::PathBuf;

use libbpf_cargo::SkeletonBuilder;

fn main() {
    println!("cargo::rerun-if-changed=src/bpf");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for sources in ["../../nice/kernel/src/bpf", "../../policies"] {
        println!("cargo::rerun-if-changed={sources}");
    }
    for name in ["bench_cubic", "record_netnice", "record_tcplp"] {
        let built = SkeletonBuilder::new()
            .source(format!("src/bpf/{name}.bpf.c"))
            .obj(out.join(format!("{name}.bpf.o")))
            .clang_args([
                "-Wall",
                "-Werror",
                "-mcpu=v3",
                "-I../../nice/kernel/src/bpf",
                "-I../../policies",
            ])
            .build();
        if let Err(error) = built {
            eprintln!("{error:#}");
            panic!("{name}.bpf.c does not compile; is clang installed?");
        }
    }
}
