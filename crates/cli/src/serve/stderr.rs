//! Lines of the log on standard error, written by a thread of their own: who writes there may have to
//! wait, and a connection must not.

use std::io::Write;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// Lines that wait to be written. When more come than are taken, they are lost, and counted.
const LINE_COUNT_MAX: usize = 4096;

enum Order {
    Write(String),
    /// Answers when all lines before it are written.
    Flush(SyncSender<()>),
}

struct Queue {
    sender: SyncSender<Order>,
    lost: AtomicU64,
}

static QUEUE: LazyLock<Queue> = LazyLock::new(|| {
    let (sender, receiver) = sync_channel(LINE_COUNT_MAX);
    std::thread::Builder::new()
        .name("dovetail-log".to_owned())
        .spawn(move || write_all(&receiver))
        .expect("a thread for the log");
    Queue { sender, lost: AtomicU64::new(0) }
});

/// Takes lines.
pub fn sink() -> impl Fn(String) + Send + Sync {
    |line| {
        if let Err(TrySendError::Full(_)) = QUEUE.sender.try_send(Order::Write(line)) {
            QUEUE.lost.fetch_add(1, Relaxed);
        }
    }
}

/// Waits until all lines are written.
pub fn flush() {
    let (sender, receiver) = sync_channel(1);
    if QUEUE.sender.send(Order::Flush(sender)).is_ok() {
        receiver.recv().ok();
    }
}

fn write_all(receiver: &Receiver<Order>) {
    for order in receiver {
        let mut stderr = std::io::stderr().lock();
        match order {
            // Nobody can be told that standard error is closed.
            Order::Write(line) => drop(writeln!(stderr, "{line}")),
            Order::Flush(done) => done.send(()).unwrap_or(()),
        }
        let lost = QUEUE.lost.swap(0, Relaxed);
        if lost > 0 {
            drop(writeln!(
                stderr,
                "{lost} lines of the log were lost: more came than were written"
            ));
        }
    }
}
