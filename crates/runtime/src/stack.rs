//! Threads that work on statements: parsing, planning, evaluating and dropping them recurse as deep
//! as the statement is.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Stack of such a thread, of which only what is touched takes memory. A level of an expression
/// takes up to 30 KiB where the SQL library is not optimised.
const STACK_BYTES: usize = 256 << 20;

/// Starts one.
pub(crate) fn start(
    name: String,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let builder = Builder::new().name(name).stack_size(STACK_BYTES);
    builder.spawn(move || stdx::on_stack(STACK_BYTES, work))
}
