// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of the program: from the system's allocator, and in huge pages for a large simulation.
//!
//! A simulation has several small objects for each flow. Those of a hundred thousand flows fill hundreds of thousands
//! of 4 KiB pages, while the processor's TLB holds a few thousand entries. mimalloc requests 2 MiB pages from the
//! system and keeps objects of one size together. A small program needs more memory with it, and code with deadlines
//! may have to wait while a 2 MiB page is cleared, so all else uses the system's allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

use mimalloc::MiMalloc;

/// The program's allocator.
pub struct Allocator;

/// True once memory is requested in huge pages. It is never reset: while it is false, mimalloc owns no memory.
static HUGE_PAGES: AtomicBool = AtomicBool::new(false);

/// mimalloc's option of how many milliseconds it keeps free memory before it gives it back, which the bindings have no name for.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = libmimalloc_sys::mi_option_use_numa_nodes - 1;

/// Places the program's memory in huge pages from now on, if the system has some.
pub fn prefer_huge_pages() {
    // A large simulation frees its description when it begins and its flows when it ends, and takes as much for what follows.
    // SAFETY: the function sets a number.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) };
    HUGE_PAGES.store(true, Ordering::Relaxed);
    give_back();
}

/// Gives all threads memory of one pool from now on. The system's allocator has one for each thread, but only the first of them grows by more than
/// what is missing at a time: a run that is made in another thread asks the system for memory thousands of times. Threads that allocate at the same time
/// would wait for each other.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn share_memory() {
    // SAFETY: the function sets a number.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Elsewhere there is no such pool.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn share_memory() {}

/// Returns to the system what its allocator keeps for later, as nothing comes to it any more: a scenario that has been read and
/// checked leaves a tenth of the memory that its run takes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn give_back() {
    // SAFETY: the function changes nothing that a program can see.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}

#[inline]
fn huge_pages() -> bool {
    // A thread that receives memory sees at least what the allocating thread saw.
    HUGE_PAGES.load(Ordering::Relaxed)
}

/// Returns true if mimalloc allocated `memory`.
#[inline]
fn is_in_huge_pages(memory: *mut u8) -> bool {
    // SAFETY: the function only looks the address up in mimalloc's own table, whatever the address is.
    huge_pages() && unsafe { libmimalloc_sys::mi_is_in_heap_region(memory.cast()) }
}

// SAFETY: both allocators obey the contract, and each frees only its own memory.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees what both require.
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
        // SAFETY: as above.
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
        // SAFETY: as above, and the memory belongs to the allocator that frees it.
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
        // SAFETY: as above. Memory of the system's allocator stays with it when it grows.
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
        // SAFETY: the layout is not empty, and the memory is freed once.
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
