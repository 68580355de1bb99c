// SPDX-License-Identifier: MIT OR Apache-2.0
//! The policies compile for BPF as they are: no signed division, no floating point, no stack beyond 512 bytes.

use std::path::Path;
use std::process::Command;

/// What the kernel's glue includes in place of `stdint.h`.
const KERNEL_TYPES: &str =
    "typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32;
typedef unsigned long long u64; typedef int s32;";

/// Calls every function that the glue will call, with nothing known at compile time.
const HSTCPLP: &str = r#"
#include "hstcplp.h"
_Static_assert(sizeof(struct hstcplp) <= 104, "state must fit icsk_ca_priv");
void begin(struct hstcplp *s, struct policy_parameters *p) { hstcplp_init(s, p); }
void sample(struct hstcplp *s, struct tcplp_ack *a) { hstcplp_sample(s, a); }
u32 ack(struct hstcplp *s, struct tcplp_ack *a) { return hstcplp_on_ack(s, a); }
u32 loss(struct hstcplp *s, u32 w, u32 t) { return hstcplp_on_loss(s, w, t); }
void restart(struct hstcplp *s) { hstcplp_on_restart(s); }
"#;

const DSTCP: &str = r#"
#include "dstcp.h"
_Static_assert(sizeof(struct dstcp) <= 104, "state must fit icsk_ca_priv");
void begin(struct dstcp *s, struct policy_parameters *p) { dstcp_init(s, p); }
void ack(struct dstcp *s, struct dstcp_ack *a, struct dstcp_window *w) { dstcp_on_ack(s, a, w); }
u32 loss(struct dstcp *s, u32 w) { return dstcp_on_loss(s, w); }
u32 timeout(struct dstcp *s, u32 w) { return dstcp_on_timeout(s, w); }
void echo(struct dstcp *s, u32 in, struct dstcp_window *w) { dstcp_on_ecn_echo(s, in, w); }
u32 within(struct dstcp *s, u32 w) { return dstcp_within_profile(s, w); }
u32 threshold(struct dstcp *s, u32 w) { return dstcp_ssthresh(s, w); }
"#;

fn compile(name: &str, source: &str) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory).expect("a directory for the source");
    std::fs::write(directory.join("kernel_types.h"), KERNEL_TYPES).expect("types are written");
    let file = directory.join("policy.bpf.c");
    std::fs::write(&file, source).expect("the source is written");
    let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("policy");
    let output = Command::new("clang")
        .args([
            "--target=bpf",
            "-mcpu=v2",
            "-O2",
            "-g",
            "-Wall",
            "-Werror",
            "-c",
        ])
        .arg("-I")
        .arg(&directory)
        .arg("-I")
        .arg(policy)
        .arg(&file)
        .arg("-o")
        .arg(directory.join("policy.bpf.o"))
        .output()
        .expect("clang runs; the BPF programs need it as well");
    assert!(
        output.status.success(),
        "{name}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn hstcplp_compiles_for_bpf() {
    compile("hstcplp", HSTCPLP);
}

#[test]
fn dstcp_compiles_for_bpf() {
    compile("dstcp", DSTCP);
}
