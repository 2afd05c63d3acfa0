//! One worker per core: coroutines over a ring.
//!
//! A runtime runs tasks on worker threads; a task that waits for the disk, a timer or another
//! task suspends, and its worker goes on with the next. Idle workers sleep in the kernel.

#![allow(clippy::disallowed_methods, reason = "this crate is the seam to the system")]

mod account;
mod affinity;
mod buf;
mod clock;
pub mod code;
mod config;
mod counters;
mod entropy;
pub mod fs;
mod inbox;
mod known;
mod lock;
pub mod net;
mod nvme;
mod offload;
mod op;
mod pending;
pub mod probe;
mod ring;
mod runtime;
pub mod sim;
mod stack;
mod stats;
pub mod sync;
mod task;
pub mod time;
mod timers;
mod trace;
mod worker;
mod yielding;

pub use account::enter::Enter;
pub use account::{Account, AccountSnapshot};
pub use buf::{Arena, BUFFER_ALIGN, IoBuf};
pub use config::{
    Config, DEPTH_MAX, RingChoice, RingReport, Sqpoll, StartError, Submission, WORKER_COUNT_MAX,
};
pub use counters::IoCounters;
pub use entropy::entropy;
pub use offload::offload;
pub use ring::kind::RingKind;
pub use runtime::{Handle, Runtime};
pub use stats::WorkerStats;
pub use task::aborted::Aborted;
pub use task::begun::{to_end, unless_panicked};
pub use task::frame::frame_bytes;
pub use task::join::{JoinHandle, spawn};
pub use task::remote::{RemoteHandle, spawn_anywhere, spawn_anywhere_detached, spawn_on};
pub use trace::{IoPoint, IoSample, IoTrace};
pub use worker::portions::{PORTION_NS_MAX, Portions};
pub use yielding::{
    has_given_way, interleave, need_preempt, random_u64, step_aside, worker, worker_count,
    yield_now,
};
