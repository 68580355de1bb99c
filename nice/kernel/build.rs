// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles every `src/bpf/*.bpf.c` and writes a table of the objects for `objects/compiled.rs`.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libbpf_rs::libbpf_sys::API_HEADERS;

#[path = "src/objects/hash.rs"]
mod hash;

use hash::hash;

fn main() {
    let sources = Path::new("src/bpf");
    let policy = Path::new("../../policies");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for directory in [sources, policy] {
        println!("cargo::rerun-if-changed={}", directory.display());
    }

    let mut names: Vec<String> = fs::read_dir(sources)
        .expect("src/bpf can be read")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".bpf.c")?.to_owned()))
        .collect();
    names.sort();

    // Lines of the objects' debug information name files; without the build directory in them, equal sources give
    // equal objects, hence equal versions.
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let include = headers(&out);
    let arguments = [
        "-Wall".to_owned(),
        "-Werror".to_owned(),
        "-mcpu=v3".to_owned(),
        format!("-I{}", sources.display()),
        format!("-I{}", policy.display()),
        format!("-ffile-prefix-map={here}=kernel"),
        "-fdebug-compilation-dir=kernel".to_owned(),
        format!("-I{}", include.display()),
        // BPF has none.
        "-fno-stack-protector".to_owned(),
        format!("-D__TARGET_ARCH_{}", architecture()),
        // The types' information (BTF) is made from it.
        "-g".to_owned(),
        "-O2".to_owned(),
        "--target=bpf".to_owned(),
    ];

    let mut table = String::from("[\n");
    for name in &names {
        let object = out.join(format!("{name}.bpf.o"));
        let source = sources.join(format!("{name}.bpf.c"));
        compile(&source, &object, &arguments);
        let source = fs::read_to_string(source).expect("the source was just compiled");
        writeln!(
            table,
            "    Object {{ name: {name:?}, kind: Kind::{}, version: \"{:016x}\", \
             bytes: &Aligned(*include_bytes!({object:?})).0 }},",
            kind(&source),
            hash(&fs::read(&object).expect("the object was just written")),
        )
        .expect("a String can be written to");
    }
    table.push(']');
    fs::write(out.join("objects.rs"), table).expect("OUT_DIR can be written to");
    compile_natively(policy);
}

/// Compiles what a process in the background asks of a policy.
fn compile_natively(policy: &Path) {
    let source = "src/udp/native.c";
    println!("cargo::rerun-if-changed={source}");
    cc::Build::new()
        .file(source)
        .include(policy)
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .compile("netnice_aggregate");
}

/// Compiles a program. libbpf's linker leaves DWARF out of the object, which names directories of this machine.
fn compile(source: &Path, object: &Path, arguments: &[String]) {
    let compiled = object.with_extension("unlinked.o");
    let status = Command::new("clang")
        .args(arguments)
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(&compiled)
        .status();
    if !status.is_ok_and(|status| status.success()) {
        panic!("{} does not compile; is clang installed?", source.display());
    }
    let linked = libbpf_rs::Linker::new(object).and_then(|mut linker| {
        linker.add_file(&compiled)?;
        linker.link()
    });
    linked.unwrap_or_else(|error| panic!("{} cannot be linked: {error}", object.display()));
}

/// Writes libbpf's own headers, so that no others are needed; returns the directory to search for <bpf/...>.
fn headers(out: &Path) -> PathBuf {
    let include = out.join("include");
    fs::create_dir_all(include.join("bpf")).expect("OUT_DIR can be written to");
    for (name, content) in API_HEADERS {
        fs::write(include.join("bpf").join(name), content).expect("OUT_DIR can be written to");
    }
    include
}

/// Returns the name that libbpf's headers have for the processor.
fn architecture() -> String {
    let name = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets CARGO_CFG_TARGET_ARCH");
    match name.as_str() {
        "x86_64" => "x86".to_owned(),
        "aarch64" => "arm64".to_owned(),
        "powerpc64" => "powerpc".to_owned(),
        "s390x" => "s390".to_owned(),
        "riscv64" => "riscv".to_owned(),
        _ => name,
    }
}

/// Returns the variant of `Kind` in `objects/compiled.rs`. The kernel lets unprivileged users choose exactly the
/// controls with this flag, so these must be the low-priority ones.
fn kind(source: &str) -> &'static str {
    match source.contains("SEC(\".struct_ops") {
        true if source.contains(".flags = TCP_CONG_NON_RESTRICTED") => "LowPriorityControl",
        true => "Control",
        false => "CgroupPrograms",
    }
}
