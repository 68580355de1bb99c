// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hints to the processor on the memory that will be needed next.

use std::ops::Range;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Begins to fetch the first `lines` cache lines of `value`, or as many as it has. Changes only the time that the next
/// access takes; does nothing on processors other than x86-64.
#[inline(always)]
pub fn prefetch<T>(value: &T, lines: usize) {
    prefetch_lines(value, 0..lines);
}

/// Begins to fetch the cache lines of `value` that have these numbers, as far as it has them; see [`prefetch`].
#[inline(always)]
pub fn prefetch_lines<T>(value: &T, lines: Range<usize>) {
    let first = std::ptr::from_ref(value).cast::<u8>();
    let mut offset = lines.start * LINE;
    while offset < size_of::<T>().min(lines.end * LINE) {
        prefetch_address(first.wrapping_add(offset));
        offset += LINE;
    }
}

/// Begins to fetch the first cache line of a value of any type; see [`prefetch`].
#[inline(always)]
pub fn prefetch_object<T: ?Sized>(value: &T) {
    prefetch_address(std::ptr::from_ref(value).cast());
}

/// Begins to fetch the cache line at an address, whatever is there; see [`prefetch`].
#[inline(always)]
pub fn prefetch_address(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no effect on memory and faults on no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
