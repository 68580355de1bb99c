// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles every `src/bpf/*.bpf.c` and writes a table of the objects for `objects/compiled.rs`.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use libbpf_cargo::SkeletonBuilder;

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
    let prefixes = [
        format!("-ffile-prefix-map={here}=kernel"),
        "-fdebug-compilation-dir=kernel".into(),
    ];

    let mut table = String::from("[\n");
    for name in &names {
        let object = out.join(format!("{name}.bpf.o"));
        let built = SkeletonBuilder::new()
            .source(sources.join(format!("{name}.bpf.c")))
            .obj(&object)
            .clang_args([
                "-Wall".into(),
                "-Werror".into(),
                "-mcpu=v3".into(),
                format!("-I{}", sources.display()),
                format!("-I{}", policy.display()),
                prefixes[0].clone(),
                prefixes[1].clone(),
            ])
            .build();
        if let Err(error) = built {
            eprintln!("{error:#}");
            panic!("{name}.bpf.c does not compile; is clang installed?");
        }
        let source = fs::read_to_string(sources.join(format!("{name}.bpf.c")))
            .expect("the source was just compiled");
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
