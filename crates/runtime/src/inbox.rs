//! What reaches a worker from other threads: wakes, new tasks, finished blocking work.
//!
//! The lost wake-up is ruled out as usual: the worker announces that it sleeps, then looks into
//! its inbox once more; a sender fills the inbox, then looks whether the worker sleeps.

use std::cell::RefCell;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::thread::Thread;

use stdx::Key;

use crate::lock::lock;
use crate::op::Outcome;

/// Live workers in one process; a waker has 10 bits for its worker.
const REGISTERED_MAX: usize = 1 << 10;

pub(crate) enum Message {
    /// A task has something to do.
    Wake(Key),
    /// Something to run on the worker, mostly the spawning of a task.
    Run(Box<dyn FnOnce() + Send>),
    /// An operation that a thread of the pool carried out.
    Done(Key, Outcome),
    /// The file or arena of this number is no more: rings that registered it take it out.
    Forget(u64),
    /// Drop all tasks, drain, end.
    Stop,
}

/// How a sleeping worker is woken.
pub(crate) enum Unparker {
    /// Sleeps in its ring, which reads this event descriptor; a descriptor of the ring itself,
    /// where it takes messages of others.
    Event(Arc<OwnedFd>, Option<Arc<OwnedFd>>),
    /// Sleeps in `std::thread::park`.
    Park(Thread),
}

impl Unparker {
    fn unpark(&self) {
        match self {
            Unparker::Park(thread) => thread.unpark(),
            Unparker::Event(event, Some(ring)) => {
                let post = Post { event: event.clone(), ring: ring.clone() };
                if let Err(post) = post.leave() {
                    post.ring_bell();
                }
            }
            Unparker::Event(event, None) => ring_bell(event),
        }
    }
}

/// Ends the sleep of a ring that reads this event descriptor.
fn ring_bell(event: &OwnedFd) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: `one` is 8 readable bytes; the descriptor is open while it is borrowed.
    let written = unsafe { libc::write(event.as_raw_fd(), one.as_ptr().cast(), 8) };
    // A full counter (EAGAIN) means that a wake is under way already.
    debug_assert!(written == 8 || written == -1);
}

/// A message that wakes a worker, for the ring of another to deliver.
pub(crate) struct Post {
    event: Arc<OwnedFd>,
    ring: Arc<OwnedFd>,
}

thread_local! {
    /// Messages that the ring of this thread is to deliver, where it does so.
    static POSTS: RefCell<Option<Vec<Post>>> = const { RefCell::new(None) };
}

impl Post {
    /// Leaves it for the ring of this thread; gives it back where none delivers.
    fn leave(self) -> Result<(), Post> {
        let mut post = Some(self);
        // A destructor of the thread may come here when its posts are gone.
        let _ = POSTS.try_with(|posts| {
            if let Some(posts) = &mut *posts.borrow_mut() {
                posts.extend(post.take());
            }
        });
        post.map_or(Ok(()), Err)
    }

    /// The descriptor of the ring that it goes to; open as long as the message is kept.
    pub(crate) fn ring_fd(&self) -> i32 {
        self.ring.as_raw_fd()
    }

    /// Wakes the worker by a call.
    pub(crate) fn ring_bell(&self) {
        ring_bell(&self.event);
    }
}

/// The ring of this thread delivers messages, from now on or no longer.
pub(crate) fn deliver_posts(delivers: bool) {
    let old = POSTS.with(|posts| posts.replace(delivers.then(Vec::new)));
    old.iter().flatten().for_each(Post::ring_bell);
}

/// Takes what the ring of this thread is to deliver.
pub(crate) fn take_posts() -> Vec<Post> {
    POSTS.with(|posts| posts.borrow_mut().as_mut().map(std::mem::take).unwrap_or_default())
}

/// True if the ring of this thread has something to deliver.
pub(crate) fn has_posts() -> bool {
    POSTS.with(|posts| posts.borrow().as_ref().is_some_and(|posts| !posts.is_empty()))
}

#[derive(Default)]
struct Queue {
    messages: Vec<Message>,
    closed: bool,
}

/// The inbox of one worker.
#[derive(Default)]
pub(crate) struct Inbox {
    queue: Mutex<Queue>,
    filled: AtomicBool,
    asleep: AtomicBool,
    unparker: OnceLock<Unparker>,
}

impl Inbox {
    pub(crate) fn set_unparker(&self, unparker: Unparker) {
        assert!(self.unparker.set(unparker).is_ok(), "a worker has one unparker");
    }

    pub(crate) fn event_fd(&self) -> Option<i32> {
        match self.unparker.get() {
            Some(Unparker::Event(fd, _)) => Some(fd.as_raw_fd()),
            _ => None,
        }
    }

    /// Hands a message over; false (and the message dropped) when the worker has ended.
    pub(crate) fn send(&self, message: Message) -> bool {
        {
            let mut queue = lock(&self.queue);
            if queue.closed {
                drop(queue);
                drop(message);
                return false;
            }
            queue.messages.push(message);
        }
        self.filled.store(true, Ordering::SeqCst);
        self.nudge();
        true
    }

    /// Ends the worker's sleep without a message; false when it was awake.
    pub(crate) fn nudge(&self) -> bool {
        let asleep =
            self.asleep.load(Ordering::SeqCst) && self.asleep.swap(false, Ordering::SeqCst);
        if asleep {
            self.unparker.get().expect("a worker sets its unparker before it sleeps").unpark();
        }
        asleep
    }

    /// True when messages wait.
    #[inline]
    pub(crate) fn filled(&self) -> bool {
        self.filled.load(Ordering::Acquire)
    }

    /// Takes all messages.
    pub(crate) fn take(&self) -> Vec<Message> {
        self.filled.store(false, Ordering::SeqCst);
        std::mem::take(&mut lock(&self.queue).messages)
    }

    /// Announces sleep. False: a message came first, do not sleep.
    pub(crate) fn fall_asleep(&self) -> bool {
        self.asleep.store(true, Ordering::SeqCst);
        if self.filled.load(Ordering::SeqCst) {
            self.asleep.store(false, Ordering::SeqCst);
            return false;
        }
        true
    }

    pub(crate) fn awake(&self) {
        self.asleep.store(false, Ordering::SeqCst);
    }

    /// Refuses all messages from now on and returns the rest.
    pub(crate) fn close(&self) -> Vec<Message> {
        let mut queue = lock(&self.queue);
        queue.closed = true;
        std::mem::take(&mut queue.messages)
    }
}

/// All live workers of the process, so that a waker needs only a number.
static REGISTRY: RwLock<Vec<Option<Arc<Inbox>>>> = RwLock::new(Vec::new());

/// Gives an inbox its number; `None` when the process has too many workers.
pub(crate) fn register(inbox: &Arc<Inbox>) -> Option<u32> {
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    let free = registry.iter().position(Option::is_none);
    let index = free.unwrap_or(registry.len());
    if index >= REGISTERED_MAX {
        return None;
    }
    if index == registry.len() {
        registry.push(None);
    }
    registry[index] = Some(inbox.clone());
    Some(index as u32)
}

/// Frees the number of a worker that ended.
pub(crate) fn unregister(id: u32) {
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    registry[id as usize] = None;
}

/// Wakes a task of another thread's worker; nothing happens if that worker has ended.
pub(crate) fn wake_remote(id: u32, task: Key) {
    send_to(id, Message::Wake(task));
}

/// Has a worker of the process forget a file or an arena that is no more.
pub(crate) fn forget(id: u32, number: u64) {
    send_to(id, Message::Forget(number));
}

/// Sends a message to a worker of the process; it is dropped if that worker has ended.
fn send_to(id: u32, message: Message) {
    let registry = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(Some(inbox)) = registry.get(id as usize) {
        inbox.send(message);
    }
}
