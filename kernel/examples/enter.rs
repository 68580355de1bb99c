// SPDX-License-Identifier: MIT OR Apache-2.0
use std::os::unix::process::CommandExt;
fn main() {
    let t = std::time::Instant::now();
    match netnice_kernel::run::enter(&Default::default()) {
        Ok(e) => {
            eprintln!("{:?} {:?}", e.means(), t.elapsed());
            std::mem::forget(e);
        }
        Err(e) => {
            eprintln!("{e}\n{}", e.log().unwrap_or_default());
            std::process::exit(1)
        }
    }
    let a: Vec<_> = std::env::args().skip(1).collect();
    panic!("{}", std::process::Command::new(&a[0]).args(&a[1..]).exec());
}
