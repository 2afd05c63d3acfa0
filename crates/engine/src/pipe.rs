//! Pieces of work on their way between tasks, in a queue of bounded length: the data of a `COPY` between
//! its client and the statement, rows between who reads them and those who sort them. Either end may go
//! first; the other one learns of it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::sync::{Semaphore, SemaphorePermit, WaitQueue};

/// Why a pipe ended whose sender went without a word.
const GONE: &str = "the client is gone";

struct Pieces<T> {
    waiting: VecDeque<(T, SemaphorePermit)>,
    end: Option<Result<(), String>>,
    /// Why nobody takes them any more.
    closed: Option<String>,
}

struct Pipe<T> {
    pieces: Mutex<Pieces<T>>,
    filled: WaitQueue,
}

impl<T> Pipe<T> {
    fn pieces(&self) -> MutexGuard<'_, Pieces<T>> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, how: Result<(), String>) {
        self.pieces().end.get_or_insert(how);
        self.filled.wake_all();
    }

    fn next(&self) -> Option<Result<Option<T>, String>> {
        let mut pieces = self.pieces();
        if let Some((piece, room)) = pieces.waiting.pop_front() {
            drop(pieces);
            drop(room);
            return Some(Ok(Some(piece)));
        }
        let end = pieces.closed.clone().map(Err).or_else(|| pieces.end.clone());
        end.map(|end| end.map(|()| None))
    }
}

/// The end where pieces go in. Dropped before it has said that this was all, it has failed.
pub struct PipeSender<T> {
    pipe: Arc<Pipe<T>>,
    room: Semaphore,
}

/// The end where pieces come out.
pub struct PipeReceiver<T> {
    pipe: Arc<Pipe<T>>,
}

/// Both ends of a pipe in which `room` pieces wait at most: who sends faster waits.
pub fn pipe<T>(room: usize) -> (PipeSender<T>, PipeReceiver<T>) {
    let pieces = Pieces { waiting: VecDeque::new(), end: None, closed: None };
    let pipe = Arc::new(Pipe { pieces: Mutex::new(pieces), filled: WaitQueue::new() });
    (PipeSender { pipe: pipe.clone(), room: Semaphore::new(room) }, PipeReceiver { pipe })
}

impl<T> PipeSender<T> {
    /// Sends a piece when there is room.
    ///
    /// # Errors
    /// Why nobody takes pieces any more.
    pub async fn send(&self, piece: T) -> Result<(), String> {
        let room = self.room.acquire().await;
        {
            let mut pieces = self.pipe.pieces();
            if let Some(why) = &pieces.closed {
                return Err(why.clone());
            }
            pieces.waiting.push_back((piece, room));
        }
        self.pipe.filled.wake_one();
        Ok(())
    }

    /// This was all.
    pub fn finish(self) {
        self.pipe.end(Ok(()));
    }

    /// There will be no more, and this is why.
    pub fn fail(self, why: String) {
        self.pipe.end(Err(why));
    }
}

impl<T> Drop for PipeSender<T> {
    fn drop(&mut self) {
        self.pipe.end(Err(GONE.to_owned()));
    }
}

impl<T> PipeReceiver<T> {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// Why there is no more.
    pub async fn next(&self) -> Result<Option<T>, String> {
        self.pipe.filled.wait(|| self.pipe.next()).await
    }

    /// Whether there is nothing to be taken without waiting.
    pub fn is_idle(&self) -> bool {
        let pieces = self.pipe.pieces();
        pieces.waiting.is_empty() && pieces.end.is_none() && pieces.closed.is_none()
    }

    /// Takes no more, because of `why`.
    pub fn close(&self, why: &str) {
        let waiting = {
            let mut pieces = self.pipe.pieces();
            pieces.closed.get_or_insert_with(|| why.to_owned());
            std::mem::take(&mut pieces.waiting)
        };
        // Who waits for room, or for pieces, learns of it.
        drop(waiting);
        self.pipe.filled.wake_all();
    }
}

impl<T> Drop for PipeReceiver<T> {
    fn drop(&mut self) {
        self.close("nobody reads any more");
    }
}
