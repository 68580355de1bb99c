// SPDX-License-Identifier: MIT OR Apache-2.0
//! Room for large arrays in huge pages.
//!
//! The processor knows of a few thousand pages at a time where they are. Of a hundred thousand flows each packet finds its
//! own in other pages of 4 KiB, and has to look up where those are before it can look at them; of pages of 2 MiB all are
//! known.

/// Arrays of fewer bytes fit into the pages that the processor knows, of whatever size.
const SMALL: usize = 4 << 20;

/// Makes room for `more` values, in huge pages where the array is large and the system has some.
pub(crate) fn reserve<T>(array: &mut Vec<T>, more: usize) {
    array.reserve_exact(more);
    advise(array);
}

/// Makes room for one more value where there is none, for twice as many as there are.
#[inline(always)]
pub(crate) fn make_room<T>(array: &mut Vec<T>) {
    if array.len() == array.capacity() {
        double(array);
    }
}

#[cold]
fn double<T>(array: &mut Vec<T>) {
    reserve(array, array.len().max(64));
}

#[cfg(target_os = "linux")]
fn advise<T>(array: &mut Vec<T>) {
    let bytes = array.capacity() * size_of::<T>();
    if bytes < SMALL {
        return;
    }
    // Pages in which other memory may lie are left as they are.
    const PAGE: usize = 4096;
    let skipped = array.as_ptr().addr().wrapping_neg() % PAGE;
    let whole = (bytes - skipped) / PAGE * PAGE;
    let start = array.as_mut_ptr().cast::<u8>().wrapping_add(skipped);
    // SAFETY: the range is part of the array's room, and the advice changes nothing that a program can see. Where the
    // system has no huge pages it says so, and all is as before.
    unsafe { libc::madvise(start.cast(), whole, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_array: &mut Vec<T>) {
    let _ = SMALL;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_grows_and_values_stay() {
        let mut array = Vec::new();
        for value in 0..1_000_000u64 {
            make_room(&mut array);
            array.push(value);
        }
        assert!(array.iter().copied().eq(0..1_000_000));
        let room = array.capacity();
        reserve(&mut array, 2_000_000);
        assert!(array.capacity() >= 3_000_000 && room < 2_000_000);
        assert!(array.iter().copied().eq(0..1_000_000));
    }
}
