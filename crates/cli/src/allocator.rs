//! What the allocator keeps of freed memory.

use std::ffi::{c_int, c_long};

/// Below this limit, memory is worth more than the time that it takes to give it back.
const PLENTY: usize = 1 << 30;

/// `mi_option_purge_delay` of mimalloc 2 and 3: for how many milliseconds freed pages are kept.
const PURGE_DELAY: c_int = 15;

unsafe extern "C" {
    fn mi_option_set(option: c_int, value: c_long);
}

/// Gives freed pages back to the system at once where the database's memory is little: the process peaks
/// 7 to 15 % lower (`docs/results.md`).
pub fn fit_into(memory_bytes: usize) {
    if memory_bytes < PLENTY {
        // SAFETY: the option is a number that the allocator reads whenever pages become free; it is set
        // before any worker runs.
        unsafe { mi_option_set(PURGE_DELAY, 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" {
        fn mi_option_get(option: c_int) -> c_long;
    }

    #[test]
    fn little_memory_is_given_back_at_once() {
        // SAFETY: reads a number.
        let delay = || unsafe { mi_option_get(PURGE_DELAY) };
        fit_into(PLENTY);
        assert!(delay() > 0, "the delay that the allocator comes with");
        fit_into(256 << 20);
        assert_eq!(delay(), 0);
    }
}
