// SPDX-License-Identifier: MIT OR Apache-2.0
//! The native build of `policies/floor.h`: a floor under a group of connections.

use netnice_parameters::exchange::Parameters;

/// The floor of a group in one direction: `struct floor`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Floor {
    /// Rate that the group gets at least, in bytes per second; 0 for none.
    pub(crate) bytes_per_s: u64,
    rest: [u64; 10],
}

unsafe extern "C" {
    fn native_floor_bytes_per_s(wanted: *const Parameters) -> u64;
    fn native_floor_cube_root(cube: u64) -> u32;
}

impl Floor {
    /// The floor that these parameters ask for, if any.
    pub fn new(parameters: &Parameters) -> Floor {
        Floor {
            // SAFETY: a function of the parameters.
            bytes_per_s: unsafe { native_floor_bytes_per_s(parameters) },
            ..Floor::default()
        }
    }
}

/// Returns the cube root by which the window's rise is computed, rounded down.
pub fn cube_root(cube: u64) -> u32 {
    // SAFETY: a function of a number.
    unsafe { native_floor_cube_root(cube) }
}
