// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's receivers are the simulator's.

use netnice_congestion::receivers;
use netnice_kernel::control::Control;

#[test]
fn the_kernels_receivers_are_those_of_the_registry() {
    let mut ours: Vec<&str> = Control::receivers().map(Control::name).collect();
    let names = receivers::names().iter().copied();
    let mut registered: Vec<&str> = names.filter(|name| receivers::is_in_kernel(name)).collect();
    ours.sort_unstable();
    registered.sort_unstable();
    assert_eq!(ours, registered);
}
