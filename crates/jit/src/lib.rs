//! Typed programs to machine code, and coroutines in machine code.
//!
//! [`Compiler::compile`] makes functions over vectors of the programs of `ir`: one loop for all
//! steps, with the answers and refusals of the interpreter, which stays the oracle and the way for
//! whatever is [`NotCompiled`]. [`Script`] describes a coroutine whose [`Coroutine`] awaits native
//! futures in its own frame (the codegen coroutines of Umbra, section 4.1). Pure: the crate knows
//! no runtime, does no I/O and has no `async fn`; whoever runs a coroutine hands in what it awaits
//! as [`Proxy`].

mod assembly;
mod batch;
mod compiler;
mod coroutine;
mod counts;
pub mod fuzz;
pub mod lookup;
mod lower;
mod memory;
mod program;
mod refusal;

#[cfg(test)]
mod tests;

pub use batch::ColumnKind;
pub use compiler::{Compiler, Source};
pub use coroutine::{
    ARGUMENTS_MAX, Coroutine, Expr, Failed, Fault, Local, Proxy, ProxyId, Running, Script, Slice,
    Statement,
};
pub use counts::Counts;
pub use program::{Compiled, NotRun};
pub use refusal::NotCompiled;
