//! Memory for what comes over sockets, shared by the receivers of one worker, and given back piece
//! by piece.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;
use std::task::{Poll, Waker};

use crate::ring::provided::Provided;

/// The shape of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolOptions {
    /// Its buffers, 1 to 32,768.
    pub count: usize,
    /// Bytes of each: a piece that is received has no more.
    pub bytes: usize,
    /// Sizes of the sends of peers, as far as they are known: they decide how bytes are received
    /// (`Tuning::multishot_bytes_max`).
    pub message_bytes: usize,
}

/// Buffers for what comes over the sockets of one worker. Clones are the same pool. Receivers that
/// find no free buffer wait until one is given back, and so do their peers then; whoever keeps them
/// all and waits for more waits for ever.
#[derive(Clone)]
pub struct BufferPool(pub(super) Rc<Pool>);

pub(crate) struct Pool {
    provided: Rc<Provided>,
    count: usize,
    worker: u32,
    way: Way,
    /// Takes a group back from the ring of a worker: this module lies below both.
    withdraw: fn(u32, u16),
    /// Marks of the buffers that somebody holds.
    held: RefCell<Vec<bool>>,
    held_count: Cell<usize>,
    /// The others, where no kernel has them.
    free: RefCell<VecDeque<u16>>,
    waiting: RefCell<Vec<Waker>>,
}

/// The party that takes the next buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The kernel, from the group of this number.
    Kernel { group: u16, bundles: bool },
    /// The worker, for one request that is told of bytes again and again.
    Worker { bundles: bool },
    /// Each receive names one.
    Named,
}

/// Bytes that have come, in a buffer of a pool, which gets it back when this is dropped.
pub struct Chunk {
    pool: Rc<Pool>,
    number: u16,
    len: usize,
}

impl BufferPool {
    /// True if one request is told of bytes again and again; else each receive is a request.
    pub fn is_multishot(&self) -> bool {
        self.0.way != Way::Named
    }

    /// True if one completion may tell of several buffers.
    pub fn has_bundles(&self) -> bool {
        matches!(self.0.way, Way::Kernel { bundles: true, .. } | Way::Worker { bundles: true })
    }

    /// Buffers that somebody holds.
    pub fn held_count(&self) -> usize {
        self.0.held_count.get()
    }

    /// Waits until some buffer is free.
    pub(super) async fn vacant(&self) {
        std::future::poll_fn(|cx| {
            if self.held_count() < self.0.count {
                return Poll::Ready(());
            }
            self.0.waiting.borrow_mut().push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

impl fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BufferPool({} of {} held)", self.held_count(), self.0.count)
    }
}

impl Pool {
    /// A pool of which all buffers are free.
    pub(super) fn new(
        (provided, count): (Rc<Provided>, usize),
        worker: u32,
        way: Way,
        withdraw: fn(u32, u16),
    ) -> Pool {
        let pool = Pool {
            provided,
            count,
            worker,
            way,
            withdraw,
            held: RefCell::new(vec![false; count]),
            held_count: Cell::new(0),
            free: RefCell::default(),
            waiting: RefCell::default(),
        };
        (0..count as u16).for_each(|number| pool.put(number));
        pool
    }

    /// The number of the kernel's group, and whether it may fill several buffers at once.
    pub(crate) fn group(&self) -> Option<(u16, bool)> {
        match self.way {
            Way::Kernel { group, bundles } => Some((group, bundles)),
            Way::Worker { .. } | Way::Named => None,
        }
    }

    /// True if a receive names its buffer.
    pub(crate) fn is_named(&self) -> bool {
        self.way == Way::Named
    }

    /// Buffers that are filled at one go, where the worker fills them.
    pub(super) fn bundle_count(&self) -> usize {
        match self.way {
            Way::Worker { bundles: true } => 16,
            Way::Worker { bundles: false } | Way::Named | Way::Kernel { .. } => 1,
        }
    }

    /// Takes a free buffer, where the kernel does not.
    pub(super) fn claim(self: &Rc<Self>) -> Option<Chunk> {
        assert!(self.group().is_none(), "the kernel takes what it was given");
        let number = self.free.borrow_mut().pop_front()?;
        self.hold(number);
        Some(Chunk { pool: self.clone(), number, len: 0 })
    }

    /// Chunks of the bytes that the kernel has filled: so many from the buffer `first` on.
    pub(crate) fn land(self: &Rc<Self>, first: u16, bytes: usize) -> Vec<Chunk> {
        let filled = self.provided.filled(first, bytes);
        let chunk = |(number, len)| {
            self.hold(number);
            Chunk { pool: self.clone(), number, len }
        };
        filled.into_iter().map(chunk).collect()
    }

    fn hold(&self, number: u16) {
        let held = &mut self.held.borrow_mut()[usize::from(number)];
        assert!(!*held, "a buffer has one holder");
        *held = true;
        self.held_count.set(self.held_count.get() + 1);
    }

    /// Gives a buffer back.
    fn give_back(&self, number: u16) {
        {
            let held = &mut self.held.borrow_mut()[usize::from(number)];
            assert!(*held, "a buffer is given back once");
            *held = false;
        }
        self.held_count.set(self.held_count.get() - 1);
        self.put(number);
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        waiting.into_iter().for_each(Waker::wake);
    }

    fn put(&self, number: u16) {
        match self.way {
            Way::Kernel { .. } => self.provided.put(number),
            Way::Worker { .. } | Way::Named => self.free.borrow_mut().push_back(number),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        assert_eq!(self.held_count.get(), 0, "whoever holds a buffer holds its pool");
        if let Way::Kernel { group, .. } = self.way {
            (self.withdraw)(self.worker, group);
        }
    }
}

impl Chunk {
    /// Memory and length of the whole buffer, for the kernel.
    pub(crate) fn memory(&self) -> (*mut u8, usize) {
        (self.pool.provided.at(self.number), self.pool.provided.buffer_bytes())
    }

    /// The whole buffer, to be filled by the worker.
    pub(super) fn room(&mut self) -> &mut [u8] {
        let (memory, len) = self.memory();
        // SAFETY: the buffer is initialised and lies within the pool's memory, which lives as long
        // as the chunk; it has one holder, and that is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(memory, len) }
    }

    /// Says how many bytes are there.
    pub(super) fn set_len(&mut self, len: usize) {
        assert!(len <= self.pool.provided.buffer_bytes(), "bytes lie within their buffer");
        self.len = len;
    }
}

impl Deref for Chunk {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let (memory, len) = self.memory();
        assert!(self.len <= len, "bytes lie within their buffer");
        // SAFETY: the buffer is initialised and lies within the pool's memory, which lives as long
        // as the chunk; nobody writes to it while it has a holder: the kernel gets it back with the
        // drop.
        unsafe { std::slice::from_raw_parts(memory, self.len) }
    }
}

impl fmt::Debug for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chunk({} bytes)", self.len)
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.pool.give_back(self.number);
    }
}
