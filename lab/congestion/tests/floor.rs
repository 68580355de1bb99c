// SPDX-License-Identifier: MIT OR Apache-2.0
//! The floor's arithmetic. What it promises is tested in the simulator, `lab/sim/tests/floor.rs`.

use netnice_congestion::floor::cube_root;

#[test]
fn cube_roots_are_rounded_down() {
    for root in [1_u32, 2, 9, 1000, 65_536, 137_000, (1 << 18) - 1] {
        let cube = u64::from(root).pow(3);
        assert_eq!(cube_root(cube), root);
        assert_eq!(cube_root(cube + 1), root);
        assert_eq!(cube_root(cube - 1), root - 1);
    }
}
