//! Memory that a ring hands out by itself: a queue of free buffers that the kernel takes from when
//! bytes have come, and that whoever has read them puts back into.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;

use crate::buf::IoBuf;

/// Most buffers of one queue: so many the kernel allows.
pub(crate) const PROVIDED_COUNT_MAX: usize = 32_768;

/// The memory of a queue of buffers. The ring that it is registered with keeps it until it is taken
/// out or the ring is closed.
pub(crate) struct Provided {
    buffers: IoBuf,
    buffer_bytes: usize,
    /// The queue, as the kernel lays it out: its tail lies in the first entry.
    entries: IoBuf,
    mask: u16,
    tail: Cell<u16>,
    /// The buffer that was put last at each place of the queue, and the place where each was put
    /// last.
    order: RefCell<Vec<u16>>,
    places: RefCell<Vec<u16>>,
}

impl Provided {
    /// `count` buffers, none of them in the queue.
    pub(crate) fn new(count: usize, buffer_bytes: usize) -> Provided {
        assert!(count > 0 && count <= PROVIDED_COUNT_MAX, "a queue has 1 to 32768 buffers");
        assert!(buffer_bytes > 0 && u32::try_from(buffer_bytes).is_ok(), "a buffer holds bytes");
        let entry_count = count.next_power_of_two();
        Provided {
            buffers: IoBuf::alloc(count * buffer_bytes),
            buffer_bytes,
            entries: IoBuf::alloc(entry_count * size_of::<BufRingEntry>()),
            mask: (entry_count - 1) as u16,
            tail: Cell::new(0),
            order: RefCell::new(vec![0; entry_count]),
            places: RefCell::new(vec![0; count]),
        }
    }

    /// Where a buffer begins.
    pub(crate) fn at(&self, number: u16) -> *mut u8 {
        let offset = usize::from(number) * self.buffer_bytes;
        assert!(offset < self.buffers.len(), "a buffer lies within its memory");
        // SAFETY: in bounds by the assertion.
        unsafe { self.buffers.as_ptr().add(offset) }
    }

    pub(crate) fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    /// Address and entries of the queue, as the kernel wants to have them named.
    pub(super) fn queue(&self) -> (u64, u16) {
        (self.entries.as_ptr().addr() as u64, self.mask + 1)
    }

    /// Puts a buffer into the queue, that is in the hands of nobody else: from now on the kernel
    /// may write to it.
    pub(crate) fn put(&self, number: u16) {
        let (tail, memory) = (self.tail.get(), self.at(number));
        let place = tail & self.mask;
        let first = self.entries.as_ptr().cast::<BufRingEntry>();
        // SAFETY: the place lies within the queue, whose memory is zeroed and aligned; the kernel
        // reads an entry only after the tail has passed it, and a full turn later the buffer here
        // was taken. The setters leave the rest of the entry, which is the tail in the first, as it
        // is.
        let entry = unsafe { &mut *first.add(usize::from(place)) };
        entry.set_addr(memory.addr() as u64);
        entry.set_len(self.buffer_bytes as u32);
        entry.set_bid(number);
        self.order.borrow_mut()[usize::from(place)] = number;
        self.places.borrow_mut()[usize::from(number)] = place;
        self.tail.set(tail.wrapping_add(1));
        // SAFETY: the first entry is there and initialised; its last field is the tail, two aligned
        // bytes which only this thread writes and the kernel reads.
        let shown = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(first).cast_mut()) };
        shown.store(tail.wrapping_add(1), Ordering::Release);
    }

    /// The buffers that hold `bytes`, of which `first` has the first ones: they follow each other
    /// in the queue. Each with its count of bytes.
    pub(crate) fn filled(&self, first: u16, bytes: usize) -> Vec<(u16, usize)> {
        let (order, mut place) = (self.order.borrow(), self.places.borrow()[usize::from(first)]);
        let (mut rest, mut filled) = (bytes, vec![]);
        while rest > 0 || filled.is_empty() {
            let count = rest.min(self.buffer_bytes);
            filled.push((order[usize::from(place)], count));
            rest -= count;
            place = place.wrapping_add(1) & self.mask;
        }
        filled
    }
}
