//! Machine code of the expressions of a statement: when it is made, and what came of it.
//!
//! Evaluators of the front end find the code generator of the work that their thread does
//! ([`current`]), decide and count there. They never wait, so what may be done later they ask for,
//! and the tasks of the plan do it beside their workers.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Work of the code generator, to be done on any thread.
pub type Work = Box<dyn FnOnce() + Send>;

/// Does work and says how long it took.
pub type Timer = fn(&mut dyn FnMut()) -> Duration;

/// Programs that wait to be compiled: what finds no place is asked for again, many rows later.
const ASKED_MAX: usize = 64;

/// When the program of an expression becomes machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Beside the work, when it has gone through many rows.
    ManyRows,
    /// At once, before it goes through any.
    FirstUse,
}

/// How a program went through rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As machine code.
    Compiled,
    /// Step by step.
    Interpreted,
    /// Not at all: it refused them, and they were evaluated without it.
    Refused,
}

/// Figures of the code generator for one statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeFigures {
    /// Functions that were made.
    pub functions: u64,
    /// Bytes of their code.
    pub code_bytes: u64,
    /// The time that making them took, and finding out that some cannot be made.
    pub elapsed: Duration,
    /// Functions that could not be made.
    pub failures: u64,
    /// Why the last of these could not.
    pub why: Option<String>,
    /// Rows that code went through, those of each program counted.
    pub compiled_rows: u64,
    /// Rows that programs went through step by step.
    pub interpreted_rows: u64,
    /// Rows that programs refused.
    pub refused_rows: u64,
}

/// The code generator as a statement sees it.
pub struct Codegen {
    start: Start,
    timer: Timer,
    functions: AtomicU64,
    code_bytes: AtomicU64,
    elapsed_ns: AtomicU64,
    failures: AtomicU64,
    why: Mutex<Option<String>>,
    /// By [`Way`].
    rows: [AtomicU64; 3],
    asked: Mutex<VecDeque<Work>>,
    /// True if something is asked for: most who look find nothing.
    is_asked: AtomicBool,
}

thread_local! {
    /// Of the work that this thread does now: it never crosses a suspension, for there is none.
    static CURRENT: RefCell<Option<Arc<Codegen>>> = const { RefCell::new(None) };
}

/// Does work whose expressions have this code generator, or none.
pub fn with<T>(codegen: Option<Arc<Codegen>>, work: impl FnOnce() -> T) -> T {
    let _restored = Restored(CURRENT.replace(codegen));
    work()
}

/// The code generator of the work that this thread does, where expressions may become code.
pub fn current() -> Option<Arc<Codegen>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Puts back what was there before, also when the work panics.
struct Restored(Option<Arc<Codegen>>);

impl Drop for Restored {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

impl Codegen {
    /// A code generator that has done nothing yet.
    pub fn new(start: Start, timer: Timer) -> Codegen {
        Codegen {
            start,
            timer,
            functions: AtomicU64::new(0),
            code_bytes: AtomicU64::new(0),
            elapsed_ns: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            why: Mutex::default(),
            rows: [const { AtomicU64::new(0) }; 3],
            asked: Mutex::default(),
            is_asked: AtomicBool::new(false),
        }
    }

    /// When programs become code.
    pub fn start(&self) -> Start {
        self.start
    }

    /// Makes a function of so many bytes, and counts it, or why there is none.
    pub fn made<T, E: Display>(&self, make: impl FnOnce() -> Result<(T, usize), E>) -> Option<T> {
        let (mut make, mut made) = (Some(make), None);
        let elapsed = (self.timer)(&mut || made = make.take().map(|make| make()));
        self.elapsed_ns.fetch_add(elapsed.as_nanos() as u64, Relaxed);
        match made? {
            Ok((function, bytes)) => {
                self.functions.fetch_add(1, Relaxed);
                self.code_bytes.fetch_add(bytes as u64, Relaxed);
                Some(function)
            }
            Err(why) => {
                self.failed(&why);
                None
            }
        }
    }

    /// Counts a function that could not be made.
    pub fn failed(&self, why: &dyn Display) {
        self.failures.fetch_add(1, Relaxed);
        *locked(&self.why) = Some(why.to_string());
    }

    /// Counts rows that a program was given.
    pub fn count(&self, way: Way, rows: usize) {
        self.rows[way as usize].fetch_add(rows as u64, Relaxed);
    }

    /// Asks for work to be done beside; it is forgotten where much is asked for already.
    pub fn ask(&self, work: Work) {
        let mut asked = locked(&self.asked);
        if asked.len() < ASKED_MAX {
            asked.push_back(work);
            self.is_asked.store(true, Relaxed);
        }
    }

    /// Work that was asked for, the first first.
    pub fn take_asked(&self) -> Option<Work> {
        if !self.is_asked.load(Relaxed) {
            return None;
        }
        let mut asked = locked(&self.asked);
        let work = asked.pop_front();
        self.is_asked.store(!asked.is_empty(), Relaxed);
        work
    }

    /// All that was done so far.
    pub fn figures(&self) -> CodeFigures {
        let rows = |way: Way| self.rows[way as usize].load(Relaxed);
        CodeFigures {
            functions: self.functions.load(Relaxed),
            code_bytes: self.code_bytes.load(Relaxed),
            elapsed: Duration::from_nanos(self.elapsed_ns.load(Relaxed)),
            failures: self.failures.load(Relaxed),
            why: locked(&self.why).clone(),
            compiled_rows: rows(Way::Compiled),
            interpreted_rows: rows(Way::Interpreted),
            refused_rows: rows(Way::Refused),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
