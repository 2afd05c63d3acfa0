//! Ctrl-C: cancels the statement that runs; ends the shell when none does.
//!
//! The signal is blocked in every thread and taken by one that waits for it, so no code ever runs
//! inside a signal handler.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::signal;

type Canceller = Box<dyn Fn() + Send>;

/// Exit code of a process that SIGINT ends: 128 + 2.
const EXIT_INTERRUPTED: i32 = 130;

/// The watch over Ctrl-C.
#[derive(Clone, Default)]
pub struct Interrupts {
    running: Arc<Mutex<Option<Canceller>>>,
    seen: Arc<AtomicBool>,
}

impl Interrupts {
    /// Takes Ctrl-C over. Called before any other thread starts: threads inherit the mask.
    pub fn install() -> Interrupts {
        let interrupts = Interrupts::default();
        let watch = interrupts.clone();
        let signals = signal::block(&[libc::SIGINT]);
        std::thread::spawn(move || {
            loop {
                signal::wait(&signals);
                watch.on_signal();
            }
        });
        interrupts
    }

    /// Runs `work`; Ctrl-C meanwhile calls `cancel`.
    pub fn during<T>(&self, cancel: Canceller, work: impl FnOnce() -> T) -> T {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(cancel);
        let result = work();
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = None;
        result
    }

    /// Whether Ctrl-C was pressed since the last call.
    pub fn take(&self) -> bool {
        self.seen.swap(false, Ordering::Relaxed)
    }

    fn on_signal(&self) {
        self.seen.store(true, Ordering::Relaxed);
        match &*self.running.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(cancel) => cancel(),
            None => std::process::exit(EXIT_INTERRUPTED),
        }
    }
}
