//! Coroutines in machine code: a function `resume(frame, cx)` that awaits native futures in its own
//! frame.
//!
//! A [`Script`] says what is done, with `Await` where a [`Proxy`] is asked. Its [`Coroutine`] is
//! one function that begins with a switch on the state in the frame: state 0 is the ramp, state `n`
//! waits in the `n`th `Await`. An answer that is there at once goes straight on, with all locals in
//! registers; otherwise the locals are spilled to the frame, and the function returns. [`Running`]
//! makes a future of it, which is polled by whatever polls futures, and drops what it waits for
//! when it is dropped. (Codegen coroutines: Umbra, section 4.1; a state polls its child, instead of
//! a continuation.)

mod compiled;
mod emit;
mod frame;
mod proxy;
mod running;
mod script;

pub use compiled::Coroutine;
pub use frame::ARGUMENTS_MAX;
pub use proxy::{Failed, Proxy};
pub use running::{Fault, Running};
pub use script::{Expr, Local, ProxyId, Script, Slice, Statement};
