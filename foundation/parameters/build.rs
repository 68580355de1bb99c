// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies the names of netnice's phases and the table of its transitions from `policies/netnice/decisions.h`.

use std::env;
use std::fs;
use std::path::PathBuf;

const SOURCE: &str = "../../policies/netnice/decisions.h";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    let source = fs::read_to_string(SOURCE).expect("the policies lie beside the crates");
    let phases: Vec<&str> = body(&source, "enum netnice_phase {", "};")
        .filter_map(|line| line.strip_prefix("NETNICE_")?.split(' ').next())
        .collect();
    // D(reason, phases before, phase after, cause, "window", "evidence")
    let reasons: Vec<(&str, &str, String)> = body(&source, "#define NETNICE_DECISIONS(D)", "/*")
        .filter_map(|line| {
            let row = line.strip_prefix("D(")?;
            let evidence = row.rsplit('"').nth(1)?;
            let mut columns = row.split(',').map(str::trim);
            let (reason, cause) = (columns.next()?, columns.nth(2)?);
            Some((reason, evidence, cause.to_lowercase()))
        })
        .collect();
    assert!(
        phases.len() > 1 && reasons.len() > 1,
        "{SOURCE} has phases and a table of transitions"
    );
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("phases.rs"), format!("&{phases:?}")).expect("OUT_DIR can be written to");
    fs::write(out.join("reasons.rs"), format!("&{reasons:?}")).expect("OUT_DIR can be written to");
}

/// The lines from one that begins with `from` to one that begins with `to`, without space around them.
fn body<'a>(source: &'a str, from: &str, to: &str) -> impl Iterator<Item = &'a str> {
    let lines = source.lines().map(str::trim);
    let mut lines = lines.skip_while(move |line| !line.starts_with(from));
    lines.next();
    lines.take_while(move |line| !line.starts_with(to))
}
