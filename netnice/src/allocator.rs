// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of the program: from the system's allocator, and for a large simulation in huge pages.
//!
//! A simulation has several small pieces of memory for each flow. Those of a hundred thousand flows lie in hundreds of
//! thousands of pages of 4 KiB; the processor knows of a few thousand at a time where they are. mimalloc asks the system
//! for pages of 2 MiB and keeps pieces of a size together. A small program needs more memory with it, and whatever must
//! be on time may have to wait until a page of 2 MiB is cleared: so all else stays with the system's allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

use mimalloc::MiMalloc;

/// The program's allocator.
pub struct Allocator;

/// Whether memory is asked for in huge pages from now on. It is never unset: as long as it is not set, nothing can be
/// mimalloc's.
static HUGE_PAGES: AtomicBool = AtomicBool::new(false);

/// From now on the program's memory lies in huge pages, where the system has some.
pub fn prefer_huge_pages() {
    HUGE_PAGES.store(true, Ordering::Relaxed);
}

#[inline]
fn huge_pages() -> bool {
    // A thread that has been handed memory sees at least what the thread saw that asked for it.
    HUGE_PAGES.load(Ordering::Relaxed)
}

/// Whether memory came from mimalloc.
#[inline]
fn is_in_huge_pages(memory: *mut u8) -> bool {
    // SAFETY: the function only looks the address up in mimalloc's own table, whatever it is.
    huge_pages() && unsafe { libmimalloc_sys::mi_is_in_heap_region(memory.cast()) }
}

// SAFETY: both allocators keep to the contract, and each is given back what came from it.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are what both ask for.
        unsafe {
            if huge_pages() {
                MiMalloc.alloc(layout)
            } else {
                System.alloc(layout)
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: likewise.
        unsafe {
            if huge_pages() {
                MiMalloc.alloc_zeroed(layout)
            } else {
                System.alloc_zeroed(layout)
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: likewise, and the memory is of the one that takes it back.
        unsafe {
            if is_in_huge_pages(memory) {
                MiMalloc.dealloc(memory, layout);
            } else {
                System.dealloc(memory, layout);
            }
        }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: likewise. What the system's allocator gave stays with it however it grows.
        unsafe {
            if is_in_huge_pages(memory) {
                MiMalloc.realloc(memory, layout, size)
            } else {
                System.realloc(memory, layout, size)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_from_before_and_after_goes_back_where_it_came_from() {
        let layout = Layout::new::<[u64; 100]>();
        // SAFETY: the layout is not empty, and the memory is given back once.
        unsafe {
            let before = System.alloc(layout);
            prefer_huge_pages();
            assert!(!is_in_huge_pages(before));
            before.write(7);
            let before = Allocator.realloc(before, layout, 1 << 20);
            assert_eq!((before.read(), is_in_huge_pages(before)), (7, false));
            Allocator.dealloc(before, Layout::from_size_align_unchecked(1 << 20, 8));
        }
        let mut after = vec![1u8; 100];
        assert!(is_in_huge_pages(after.as_mut_ptr()));
        after.resize(10 << 20, 2);
        assert!(is_in_huge_pages(after.as_mut_ptr()));
        assert_eq!((after[99], after[100]), (1, 2));
        let zeroed = std::thread::spawn(|| vec![0u64; 1 << 20]).join().unwrap();
        assert!(zeroed.iter().all(|&value| value == 0));
    }
}
