//! Code beside the interpreter; coroutines that wait never, always, sometimes, and no longer;
//! memory.

mod coroutines;
mod forbidden;
mod memory;
mod programs;

use crate::Compiler;

/// A compiler with room for whatever a test needs.
fn compiler() -> Compiler {
    Compiler::new(16 << 20)
}
