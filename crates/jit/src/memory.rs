//! Memory of machine code: bounded, given back with the last function that lies in it, and never
//! writable and executable at once.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::refusal::NotCompiled;

/// The unit in which the system protects memory: that of x86-64, for which code is generated.
const PAGE_BYTES: usize = 4096;

/// How many bytes of code there may be.
#[derive(Debug)]
pub(crate) struct Budget {
    used: AtomicUsize,
    limit: usize,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Budget {
        Budget { used: AtomicUsize::new(0), limit }
    }

    /// Bytes of code that there are.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: usize) -> Result<(), NotCompiled> {
        let more = |used: usize| used.checked_add(bytes).filter(|all| *all <= self.limit);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(()),
            Err(_) => Err(NotCompiled::Budget { bytes, limit: self.limit }),
        }
    }

    fn give_back(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        assert!(before >= bytes, "more code is given back than was taken");
    }
}

/// Executable pages.
#[derive(Debug)]
pub(crate) struct Code {
    at: NonNull<u8>,
    bytes: usize,
    budget: Arc<Budget>,
}

// SAFETY: nobody writes to the pages once they are made, and executing them does not change them.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Code {
    /// Pages with this code.
    pub(crate) fn new(code: &[u8], budget: &Arc<Budget>) -> Result<Code, NotCompiled> {
        assert!(!code.is_empty(), "there is code");
        let bytes = code.len().next_multiple_of(PAGE_BYTES);
        budget.take(bytes)?;
        let at = match map(bytes) {
            Ok(at) => at,
            Err(why) => {
                budget.give_back(bytes);
                return Err(why);
            }
        };
        let pages = Code { at, bytes, budget: Arc::clone(budget) };
        // SAFETY: the pages are fresh, ours, writable, and no shorter than the code.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), at.as_ptr(), code.len()) };
        // SAFETY: the pages are ours; nothing refers to them.
        let rc =
            unsafe { libc::mprotect(at.as_ptr().cast(), bytes, libc::PROT_READ | libc::PROT_EXEC) };
        match rc {
            0 => Ok(pages),
            _ => Err(refused("mprotect")),
        }
    }

    /// The address of what lies at an offset.
    pub(crate) fn at(&self, offset: usize) -> *const u8 {
        assert!(offset < self.bytes, "an entry lies in its code");
        // SAFETY: the offset is inside of the pages.
        unsafe { self.at.as_ptr().add(offset) }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the pages were mapped with this length, and who runs their code holds them.
        let rc = unsafe { libc::munmap(self.at.as_ptr().cast(), self.bytes) };
        assert_eq!(rc, 0, "pages of code can be given back");
        self.budget.give_back(self.bytes);
    }
}

/// Fresh pages that can be written.
fn map(bytes: usize) -> Result<NonNull<u8>, NotCompiled> {
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a mapping at an address that the system chooses touches no other memory.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
    match at == libc::MAP_FAILED {
        true => Err(refused("mmap")),
        false => NonNull::new(at.cast()).ok_or_else(|| refused("mmap")),
    }
}

fn refused(call: &'static str) -> NotCompiled {
    let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
    NotCompiled::ExecutableMemory { call, errno }
}
