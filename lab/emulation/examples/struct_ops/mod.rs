// SPDX-License-Identifier: MIT OR Apache-2.0
//! A congestion control in BPF, compiled by clang when it is used, and registered for as long as it lives.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use libbpf_rs::libbpf_sys::API_HEADERS;
use libbpf_rs::{Link, MapCore as _, MapType, Object, ObjectBuilder};

/// A registered control.
pub struct Registered {
    /// The loaded object.
    #[allow(dead_code, reason = "not every example reads its maps")]
    pub object: Object,
    _link: Link,
}

/// Compiles and registers the control in a file below `examples/`.
pub fn register(source: &str) -> Result<Registered> {
    let directory = tempfile::tempdir()?;
    let headers = directory.path().join("bpf");
    fs::create_dir(&headers)?;
    for (name, content) in API_HEADERS {
        fs::write(headers.join(name), content)?;
    }
    let path = directory.path().join("control.bpf.o");
    let compiled = Command::new("clang")
        .args(["--target=bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror"])
        .args(["-D__TARGET_ARCH_x86", "-fno-stack-protector", "-I"])
        .arg(directory.path())
        .args(["-I", "../../nice/kernel/src/bpf", "-I", "../../policies"])
        .args(["-c", &format!("examples/{source}"), "-o"])
        .arg(&path)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .context("running clang")?;
    ensure!(compiled.success(), "{source} does not compile");
    let mut object = ObjectBuilder::default()
        .open_file(&path)?
        .load()
        .with_context(|| format!("the kernel refuses {source}"))?;
    let mut map = object
        .maps_mut()
        .find(|map| map.map_type() == MapType::StructOps)
        .with_context(|| format!("{source} has no struct_ops map"))?;
    let link = map.attach_struct_ops().with_context(|| {
        format!("registering {source}: if `netnice status` shows its control, end its users first")
    })?;
    Ok(Registered {
        object,
        _link: link,
    })
}
