//! The interleave window: a ring of fixed size, since every cache miss passes through it.

use std::cell::Cell;

use stdx::Key;

pub(super) struct Window {
    slots: Box<[Cell<Key>]>,
    head: Cell<usize>,
    len: Cell<usize>,
}

impl Window {
    pub(super) fn new(size: usize) -> Window {
        let slots = (0..size.next_power_of_two()).map(|_| Cell::new(Key::from_u64(0))).collect();
        Window { slots, head: Cell::new(0), len: Cell::new(0) }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len.get()
    }

    #[inline]
    fn place(&self, offset: usize) -> &Cell<Key> {
        &self.slots[(self.head.get() + offset) & (self.slots.len() - 1)]
    }

    #[inline]
    pub(super) fn push_back(&self, task: Key) {
        let len = self.len.get();
        assert!(len < self.slots.len(), "the window is refilled only while it has room");
        self.place(len).set(task);
        self.len.set(len + 1);
    }

    #[inline]
    pub(super) fn pop_front(&self) -> Option<Key> {
        let len = self.len.get().checked_sub(1)?;
        let task = self.place(0).get();
        self.head.set(self.head.get().wrapping_add(1));
        self.len.set(len);
        Some(task)
    }
}
