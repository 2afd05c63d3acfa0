//! The life of tasks on their worker: spawned, queued, polled, awaited, aborted, freed.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::task::Context;

use stdx::Key;

use super::migration::MARK;
use super::{Queue, Worker};
use crate::stats::{add, bump, subtract};
use crate::task::frame::{Frame, Header};
use crate::task::waker;

impl Worker {
    /// Starts a task under the paying account.
    pub(crate) fn spawn<F: Future + 'static>(&self, future: F, joined: bool) -> Key {
        self.spawn_as::<F, F>(future, joined)
    }

    /// The same for a task that is known by the type `N`, where its future is only a cover of
    /// that.
    pub(crate) fn spawn_as<N, F: Future + 'static>(&self, future: F, joined: bool) -> Key {
        let task = self.place::<N, F>(future, joined);
        let frame = self.frame(task).expect("a new task is in the table");
        // SAFETY: a frame lives while the table knows it; nothing foreign runs here.
        self.line(unsafe { frame.as_ref() }).borrow_mut().push_back(task);
        task
    }

    /// Starts a task under the paying account whose turn it is: the caller polls it. It is known
    /// by the type `N`.
    #[inline]
    pub(crate) fn place<N, F: Future + 'static>(&self, future: F, joined: bool) -> Key {
        let account = self.accounting.current();
        if let Some(local) = &account {
            add(&local.shard().created, 1);
            add(&local.shard().runnable, 1);
        }
        let place = self.frames.alloc(Frame::<F>::VTABLE.layout);
        // SAFETY: the place was allocated for this layout.
        let frame = unsafe { Frame::write::<N>(place, account, joined, future) };
        let task = self.tasks.borrow_mut().insert(frame);
        assert!(task.slot() < waker::TASK_COUNT_MAX, "too many tasks on one worker");
        bump(&self.counters().spawned, 1);
        task
    }

    #[inline]
    pub(super) fn frame(&self, task: Key) -> Option<NonNull<Header>> {
        self.tasks.borrow().get(task).copied()
    }

    /// The queue in which a ready task waits: that of long accounts, or the one for all others.
    #[inline]
    pub(super) fn line(&self, header: &Header) -> &RefCell<VecDeque<Key>> {
        match header.account.as_ref().is_some_and(|local| local.is_long()) {
            true => &self.long,
            false => &self.ready,
        }
    }

    /// Queues a task that has something to do; one that no longer exists is left alone.
    #[inline]
    pub(crate) fn wake(&self, task: Key) {
        let Some(frame) = self.frame(task) else { return };
        // SAFETY: a frame lives while the table knows it; nothing foreign runs here.
        let header = unsafe { frame.as_ref() };
        if header.queued.get() || header.done.get() {
            return;
        }
        header.queued.set(true);
        // What is aborted has nobody who waits for it.
        match header.account.is_some() || header.abort.get() {
            true => self.line(header).borrow_mut().push_back(task),
            false => self.urgent.borrow_mut().push_back(task),
        }
        if self.current.get() != Some(task)
            && let Some(local) = &header.account
        {
            add(&local.shard().runnable, 1);
        }
    }

    pub(crate) fn abort(&self, task: Key) {
        let Some(frame) = self.frame(task) else { return };
        // SAFETY: a frame lives while the table knows it; nothing foreign runs here.
        unsafe { frame.as_ref() }.abort.set(true);
        self.wake(task);
    }

    pub(crate) fn is_finished(&self, task: Key) -> bool {
        // SAFETY: a frame lives while the table knows it; nothing foreign runs here.
        self.frame(task).is_none_or(|frame| unsafe { frame.as_ref() }.done.get())
    }

    /// Takes the output of a finished task, or notes who waits for it.
    ///
    /// # Safety
    /// `out` must point to an `Option<Result<T, Aborted>>`, where `T` is the task's output.
    pub(crate) unsafe fn poll_join(&self, task: Key, cx: &Context<'_>, out: *mut ()) -> bool {
        let Some(frame) = self.frame(task) else { return true };
        // SAFETY: the frame lives until `release` below, after which it is not used.
        let header = unsafe { frame.as_ref() };
        if !header.done.get() {
            let old = header.join_waker.replace(Some(cx.waker().clone()));
            drop(old);
            return false;
        }
        // SAFETY: the task is finished, its output not yet taken (its entry would be gone).
        unsafe { (header.vtable.take)(frame, out) };
        self.release(task);
        true
    }

    /// Nobody will ask for the output.
    pub(crate) fn detach(&self, task: Key) {
        let Some(frame) = self.frame(task) else { return };
        // SAFETY: the frame lives until `release` below, after which it is not used.
        let header = unsafe { frame.as_ref() };
        header.joined.set(false);
        if header.done.get() {
            self.release(task);
        }
    }

    /// Forgets a finished task and frees its frame.
    pub(super) fn release(&self, task: Key) {
        let frame = self.tasks.borrow_mut().remove(task).expect("a task is released once");
        // SAFETY: the frame is live, and nothing can find it any more.
        unsafe {
            let vtable = frame.as_ref().vtable;
            assert!(frame.as_ref().done.get(), "only a finished task is released");
            (vtable.drop)(frame);
            self.frames.free(frame.cast(), vtable.layout);
        }
    }

    /// Polls a task taken from a queue.
    #[inline]
    pub(crate) fn poll_task(&self, task: Key) {
        let Some(frame) = self.frame(task) else {
            if task == MARK {
                self.start_marked();
            }
            return;
        };
        // SAFETY: the frame lives while the table knows it, and nobody releases an unfinished
        // task. `finish` may, after which `header` is not used.
        let header = unsafe { frame.as_ref() };
        header.queued.set(false);
        if header.done.get() {
            return;
        }
        self.account_to(header.account.as_ref());
        if let Some(local) = &header.account {
            local.note_poll();
        }
        self.current.set(Some(task));
        let done = if header.abort.get() {
            // SAFETY: unfinished and not being polled.
            unsafe { (header.vtable.cancel)(frame) };
            true
        } else {
            // Our wakers own nothing: no need to run a destructor.
            let waker = ManuallyDrop::new(waker::waker(self.id, task));
            let cx = &mut Context::from_waker(&waker);
            // SAFETY: as above.
            unsafe { (header.vtable.poll)(frame, cx) }
        };
        self.meter_portion(header.vtable.name);
        self.current.set(None);
        match done {
            true => self.finish(task, frame),
            false => self.suspend(task, header),
        }
    }

    /// Notes what the task whose turn ends has computed, where that was much. One that waits for a
    /// cache line has computed little, and its turn costs less than some looks: the next look
    /// tells of it.
    #[inline]
    fn meter_portion(&self, of: fn() -> &'static str) {
        if self.gave_way.get() == Some(Queue::Window) {
            return;
        }
        if let Some(cpu_ns) = self.look_at_processor() {
            self.shared.portions.note(of, cpu_ns);
        }
    }

    /// Processor time since the last look, if that may be much; never in a simulation.
    #[inline]
    pub(super) fn look_at_processor(&self) -> Option<u64> {
        match self.is_simulated() {
            true => None,
            false => self.meter.look(self.accounting.settled_cpu_ns()),
        }
    }

    #[inline]
    fn suspend(&self, task: Key, header: &Header) {
        let gave_way = self.gave_way.take();
        if header.queued.get() {
            return;
        }
        match gave_way {
            Some(queue) => {
                header.queued.set(true);
                match queue {
                    Queue::Window => {
                        self.window_is_due.set(false);
                        self.window.push_back(task);
                    }
                    Queue::Ready => self.line(header).borrow_mut().push_back(task),
                    Queue::First => self.line(header).borrow_mut().push_front(task),
                }
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
        header.done.set(true);
        let waker = header.join_waker.take();
        if !header.joined.get() {
            self.release(task);
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Cancels and frees every task; what their destructors spawn too.
    pub(super) fn drop_tasks(&self) {
        loop {
            self.drop_unstarted();
            let unfinished: Vec<Key> = {
                let tasks = self.tasks.borrow();
                tasks.keys().filter(|task| !self.is_finished(*task)).collect()
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
        self.long.borrow_mut().clear();
        self.urgent.borrow_mut().clear();
        while self.window.pop_front().is_some() {}
    }

    /// Live tasks, and the bytes of their frames.
    pub(crate) fn live_tasks(&self) -> (usize, usize) {
        (self.tasks.borrow().len(), self.frames.live_bytes())
    }
}
