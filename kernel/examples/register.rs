// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers a control until Enter is pressed: `cargo run -p netnice-kernel --example register netnice`

use netnice_kernel::control::Control;
use netnice_kernel::pins::Pins;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "netnice".into());
    let control = Control::find(&name)?;
    let pins = Pins::open()?;
    let start = std::time::Instant::now();
    match control.register(&pins) {
        Ok(done) => println!(
            "{name}: {done:?} in {:?}; Enter unregisters it",
            start.elapsed()
        ),
        Err(error) => {
            eprintln!("{}", error.log().unwrap_or_default());
            pins.close()?;
            return Err(error.into());
        }
    }
    std::io::stdin().read_line(&mut String::new())?;
    let cleared = pins.close()?;
    println!("cleared: {cleared}");
    Ok(())
}
