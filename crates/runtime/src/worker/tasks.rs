//! The life of tasks on their worker: spawned, queued, polled, awaited, aborted, freed.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::task::Context;

use stdx::Key;

use super::{Queue, Worker};
use crate::account::{add, subtract};
use crate::stats::bump;
use crate::task::frame::{Frame, Header};
use crate::task::waker;

/// A task in the worker's table.
pub(crate) struct TaskEntry {
    frame: NonNull<Header>,
    /// In the ready queue or the window.
    queued: bool,
    /// A `JoinHandle` may still take the output.
    joined: bool,
    /// The output is stored.
    done: bool,
    /// To be cancelled instead of polled.
    abort: bool,
}

impl Worker {
    /// Starts a task under the paying account.
    pub(crate) fn spawn<F: Future + 'static>(&self, future: F, joined: bool) -> Key {
        let account = self.till.payer();
        if let Some(local) = &account {
            add(&local.shard().created, 1);
            add(&local.shard().runnable, 1);
        }
        let place = self.frames.alloc(Frame::<F>::VTABLE.layout);
        // SAFETY: the place was allocated for this layout.
        let frame = unsafe { Frame::write(place, account, future) };
        let entry = TaskEntry { frame, queued: true, joined, done: false, abort: false };
        let task = self.tasks.borrow_mut().insert(entry);
        assert!(task.slot() < waker::TASK_COUNT_MAX, "too many tasks on one worker");
        self.ready.borrow_mut().push_back(task);
        bump(&self.counters().spawned, 1);
        task
    }

    /// Queues a task that has something to do. False: it no longer exists.
    #[inline]
    pub(crate) fn wake(&self, task: Key) -> bool {
        let mut tasks = self.tasks.borrow_mut();
        let Some(entry) = tasks.get_mut(task) else { return true };
        if entry.queued || entry.done {
            return true;
        }
        entry.queued = true;
        self.ready.borrow_mut().push_back(task);
        if self.current.get() != Some(task) {
            // SAFETY: the frame lives while its entry does.
            if let Some(local) = unsafe { &entry.frame.as_ref().account } {
                add(&local.shard().runnable, 1);
            }
        }
        true
    }

    pub(crate) fn abort(&self, task: Key) {
        if let Some(entry) = self.tasks.borrow_mut().get_mut(task)
            && !entry.done
        {
            entry.abort = true;
        }
        self.wake(task);
    }

    pub(crate) fn is_finished(&self, task: Key) -> bool {
        self.tasks.borrow().get(task).is_none_or(|entry| entry.done)
    }

    /// Takes the output of a finished task, or notes who waits for it.
    ///
    /// # Safety
    /// `out` must point to an `Option<Result<T, Aborted>>`, where `T` is the task's output.
    pub(crate) unsafe fn poll_join(&self, task: Key, cx: &Context<'_>, out: *mut ()) -> bool {
        let found = self.tasks.borrow().get(task).map(|entry| (entry.frame, entry.done));
        let Some((frame, done)) = found else { return true };
        // SAFETY: the frame lives while its entry does.
        let header = unsafe { frame.as_ref() };
        if !done {
            *header.join_waker.borrow_mut() = Some(cx.waker().clone());
            return false;
        }
        // SAFETY: the task is finished, its output not yet taken (its entry would be gone).
        unsafe { (header.vtable.take)(frame, out) };
        self.release(task);
        true
    }

    /// Nobody will ask for the output.
    pub(crate) fn detach(&self, task: Key) {
        let done = match self.tasks.borrow_mut().get_mut(task) {
            None => return,
            Some(entry) => {
                entry.joined = false;
                entry.done
            }
        };
        if done {
            self.release(task);
        }
    }

    /// Forgets a finished task and frees its frame.
    pub(super) fn release(&self, task: Key) {
        let entry = self.tasks.borrow_mut().remove(task).expect("a task is released once");
        assert!(entry.done, "only a finished task is released");
        // SAFETY: the frame is live, and nothing can find it any more.
        unsafe {
            let vtable = entry.frame.as_ref().vtable;
            (vtable.drop)(entry.frame);
            self.frames.free(entry.frame.cast(), vtable.layout);
        }
    }

    /// Polls a task taken from a queue.
    pub(super) fn poll_task(&self, task: Key) {
        let Some((frame, abort)) = self.unqueue(task) else { return };
        // SAFETY: the frame lives while its entry does, and only `release` removes an unfinished
        // task's entry, never during its poll.
        let header = unsafe { frame.as_ref() };
        self.pay(header.account.as_ref());
        self.current.set(Some(task));
        let done = if abort {
            // SAFETY: unfinished (else it would not be queued) and not being polled.
            unsafe { (header.vtable.cancel)(frame) };
            true
        } else {
            // Our wakers own nothing: no need to run a destructor.
            let waker = ManuallyDrop::new(waker::waker(self.id, task));
            // SAFETY: as above.
            unsafe { (header.vtable.poll)(frame, &mut Context::from_waker(&waker)) }
        };
        self.current.set(None);
        match done {
            true => self.finish(task, frame),
            false => self.suspend(task, header),
        }
    }

    fn unqueue(&self, task: Key) -> Option<(NonNull<Header>, bool)> {
        let mut tasks = self.tasks.borrow_mut();
        let entry = tasks.get_mut(task)?;
        entry.queued = false;
        if entry.done {
            return None;
        }
        Some((entry.frame, entry.abort))
    }

    #[inline]
    fn suspend(&self, task: Key, header: &Header) {
        let queue = self.gave_way.take();
        let mut tasks = self.tasks.borrow_mut();
        let entry = tasks.get_mut(task).expect("an unfinished task keeps its entry");
        if entry.queued {
            return;
        }
        match queue {
            Some(queue) => {
                entry.queued = true;
                let queue = if queue == Queue::Window { &self.window } else { &self.ready };
                queue.borrow_mut().push_back(task);
            }
            None => {
                if let Some(local) = &header.account {
                    subtract(&local.shard().runnable, 1);
                }
            }
        }
    }

    fn finish(&self, task: Key, frame: NonNull<Header>) {
        // SAFETY: live until `release` below, after which the reference is not used.
        let header = unsafe { frame.as_ref() };
        self.gave_way.set(None);
        if let Some(local) = &header.account {
            subtract(&local.shard().runnable, 1);
            add(&local.shard().done, 1);
        }
        bump(&self.counters().finished, 1);
        bump(&self.counters().panicked, u64::from(header.panicked.get()));
        let joined = {
            let mut tasks = self.tasks.borrow_mut();
            let entry = tasks.get_mut(task).expect("an unfinished task keeps its entry");
            entry.done = true;
            entry.joined
        };
        let waker = header.join_waker.take();
        match (joined, waker) {
            (true, Some(waker)) => waker.wake(),
            (true, None) => {}
            (false, _) => self.release(task),
        }
    }

    /// Cancels and frees every task; what their destructors spawn too.
    pub(super) fn drop_tasks(&self) {
        loop {
            let unfinished: Vec<Key> = {
                let tasks = self.tasks.borrow();
                tasks.keys().filter(|key| tasks.get(*key).is_some_and(|e| !e.done)).collect()
            };
            if unfinished.is_empty() {
                break;
            }
            for task in unfinished {
                self.abort(task);
                self.poll_task(task);
            }
        }
        // What is left has an output that a leaked handle could still have taken.
        loop {
            let Some(task) = self.tasks.borrow().first_key() else { break };
            self.release(task);
        }
        self.ready.borrow_mut().clear();
        self.window.borrow_mut().clear();
    }

    /// Live tasks, and the bytes of their frames.
    pub(crate) fn live_tasks(&self) -> (usize, usize) {
        (self.tasks.borrow().len(), self.frames.live_bytes())
    }
}
