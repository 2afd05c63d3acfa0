//! The one that is planted.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

static CHOSEN: OnceLock<String> = OnceLock::new();
static REACHED: AtomicU64 = AtomicU64::new(0);

/// Plants a fault for as long as the process runs.
///
/// # Panics
/// When another one is planted.
pub fn plant(name: &str) {
    CHOSEN.set(name.to_owned()).expect("a process has one fault");
}

/// Whether the fault with this name is planted.
pub fn is(name: &str) -> bool {
    let is_it = CHOSEN.get().is_some_and(|chosen| chosen == name);
    REACHED.fetch_add(u64::from(is_it), Ordering::Relaxed);
    is_it
}

/// How often its place was reached.
pub fn reached() -> u64 {
    REACHED.load(Ordering::Relaxed)
}
