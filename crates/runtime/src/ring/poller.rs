//! Readiness where there is no ring: one thread of a worker waits for all of its sockets.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use stdx::Key;

use crate::inbox::{Inbox, Message, lock};
use crate::net::{Interest, Node};
use crate::op::Outcome;

/// Events taken from the kernel at once.
const EVENT_COUNT: usize = 64;
/// Stack of the thread; it makes system calls and little else.
const STACK_BYTES: usize = 128 << 10;
/// The event of the descriptor that ends the thread; no key has these bits.
const STOP: u64 = u64::MAX;

/// What is waited for: each a descriptor of its own, since one descriptor can be registered only
/// once, but may be waited for by a reader and a writer.
type Watches = Mutex<HashMap<u64, OwnedFd>>;

struct Shared {
    epoll: OwnedFd,
    stop: OwnedFd,
    watches: Watches,
    reply: Arc<Inbox>,
}

/// The poll thread of one worker.
pub(crate) struct Poller {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

fn owned(fd: i32) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

impl Poller {
    /// Starts the thread; it sends `Done` to `reply`.
    pub(crate) fn start(reply: &Arc<Inbox>) -> io::Result<Poller> {
        // SAFETY: plain calls.
        let epoll = owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: as above.
        let stop = owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) })?;
        let shared =
            Arc::new(Shared { epoll, stop, watches: Watches::default(), reply: reply.clone() });
        shared.add(&shared.stop, libc::EPOLLIN, STOP)?;
        let ours = shared.clone();
        let builder = std::thread::Builder::new().name("dovetail-poll".to_owned());
        let thread = builder.stack_size(STACK_BYTES).spawn(move || ours.serve())?;
        Ok(Poller { shared, thread: Some(thread) })
    }

    /// Has `Done` sent once the socket is ready.
    pub(crate) fn watch(&self, key: Key, node: &Node, interest: Interest) {
        let watched = node.system().and_then(|fd| self.shared.watch(key.as_u64(), fd, interest));
        if let Err(error) = watched {
            self.shared.done(key.as_u64(), Err(error));
        }
    }

    /// Ends a wait with ECANCELED, unless it has ended already.
    pub(crate) fn forget(&self, key: Key) {
        if self.shared.remove(key.as_u64()) {
            let cancelled = io::Error::from_raw_os_error(libc::ECANCELED);
            self.shared.done(key.as_u64(), Err(cancelled));
        }
    }
}

impl Shared {
    fn add(&self, fd: &OwnedFd, events: i32, data: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: events as u32, u64: data };
        let (epoll, fd) = (self.epoll.as_raw_fd(), fd.as_raw_fd());
        // SAFETY: both descriptors are open; the event is read only.
        match unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn watch(&self, key: u64, fd: &OwnedFd, interest: Interest) -> io::Result<()> {
        let copy = fd.try_clone()?;
        let events = match interest {
            Interest::Read => libc::EPOLLIN | libc::EPOLLRDHUP,
            Interest::Write => libc::EPOLLOUT,
            Interest::HangUp => libc::EPOLLRDHUP,
        };
        // Entered first: the event may come before `add` returns.
        let mut watches = lock(&self.watches);
        self.add(&copy, events | libc::EPOLLONESHOT, key)?;
        watches.insert(key, copy);
        Ok(())
    }

    /// Ends a registration; false when it has ended already. Closing the copy would not end it as
    /// long as the socket itself is open.
    fn remove(&self, key: u64) -> bool {
        let Some(copy) = lock(&self.watches).remove(&key) else { return false };
        let (epoll, fd) = (self.epoll.as_raw_fd(), copy.as_raw_fd());
        // SAFETY: both descriptors are open; no event is passed.
        unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_DEL, fd, std::ptr::null_mut()) };
        true
    }

    fn done(&self, key: u64, result: io::Result<usize>) {
        self.reply.send(Message::Done(Key::from_u64(key), Outcome::Count(result)));
    }

    fn serve(&self) {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENT_COUNT];
        loop {
            let (epoll, place) = (self.epoll.as_raw_fd(), events.as_mut_ptr());
            // SAFETY: room for as many events as are asked for.
            let count = unsafe { libc::epoll_wait(epoll, place, EVENT_COUNT as i32, -1) };
            for event in &events[..usize::try_from(count).unwrap_or(0)] {
                let (key, bits) = (event.u64, event.events);
                if key == STOP {
                    return;
                }
                if self.remove(key) {
                    self.done(key, Ok(bits as usize));
                }
            }
        }
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: 8 readable bytes; the descriptor is open.
        unsafe { libc::write(self.shared.stop.as_raw_fd(), one.as_ptr().cast(), 8) };
        if let Some(thread) = self.thread.take() {
            // The thread makes system calls and does not panic.
            let _ = thread.join();
        }
    }
}
