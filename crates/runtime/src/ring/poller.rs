//! Readiness where there is no ring: one thread of a worker waits for all of its sockets.
//!
//! A wait takes no descriptor of its own: where none are left, clients that are connected are served on.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use foldhash::HashMap;
use stdx::Key;

use crate::inbox::{Inbox, Message};
use crate::lock::lock;
use crate::net::interest::Interest;
use crate::net::node::Node;
use crate::op::Outcome;

/// Events taken from the kernel at once.
const EVENT_COUNT: usize = 64;
/// Stack of the thread; it makes system calls and little else.
const STACK_BYTES: usize = 128 << 10;
/// The event of the descriptor that ends the thread; no descriptor has these bits.
const STOP: u64 = u64::MAX;

/// What is waited for. A descriptor can be registered only once, but may be waited for by a reader and
/// a writer: they share its registration.
#[derive(Default)]
struct Watches {
    /// The registrations so far; the number wraps.
    count: u32,
    of: HashMap<RawFd, Watch>,
    /// The descriptor that a key waits for.
    waiting: HashMap<u64, RawFd>,
}

/// The registration of a descriptor.
struct Watch {
    /// Tells it from others of the same descriptor, of which an event may be on its way.
    number: u32,
    waits: Vec<(u64, Interest)>,
}

struct Shared {
    epoll: OwnedFd,
    stop: OwnedFd,
    watches: Mutex<Watches>,
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
        let shared = Shared { epoll, stop, watches: Mutex::default(), reply: reply.clone() };
        let shared = Arc::new(shared);
        let stop = shared.stop.as_raw_fd();
        shared.control(libc::EPOLL_CTL_ADD, stop, libc::EPOLLIN, STOP)?;
        let ours = shared.clone();
        let builder = std::thread::Builder::new().name("dovetail-poll".to_owned());
        let thread = builder.stack_size(STACK_BYTES).spawn(move || ours.serve())?;
        Ok(Poller { shared, thread: Some(thread) })
    }

    /// Has `Done` sent once the socket is ready. Its descriptor stays open until then.
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

impl Watch {
    /// The event of this registration.
    fn data(&self, fd: RawFd) -> u64 {
        u64::from(self.number) << 32 | u64::from(fd.cast_unsigned())
    }

    /// What is waited for; it is told once.
    fn events(&self) -> i32 {
        let all = self.waits.iter().fold(0, |all, (_, interest)| all | asked(*interest));
        all | libc::EPOLLONESHOT
    }
}

/// The events that a wait asks for.
fn asked(interest: Interest) -> i32 {
    match interest {
        Interest::Read => libc::EPOLLIN | libc::EPOLLRDHUP,
        Interest::Write => libc::EPOLLOUT,
        Interest::HangUp => libc::EPOLLRDHUP,
    }
}

/// Whether these events end a wait: those that it asked for, and those of which all are told.
fn ends(interest: Interest, events: u32) -> bool {
    let ending = asked(interest) | libc::EPOLLHUP | libc::EPOLLERR;
    events & ending.cast_unsigned() != 0
}

impl Shared {
    fn control(&self, what: i32, fd: RawFd, events: i32, data: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: events.cast_unsigned(), u64: data };
        // SAFETY: both descriptors are open; the event is read only.
        match unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), what, fd, &raw mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn watch(&self, key: u64, fd: &OwnedFd, interest: Interest) -> io::Result<()> {
        let fd = fd.as_raw_fd();
        // Held on: the event may come before the wait is noted.
        let mut watches = lock(&self.watches);
        watches.count = watches.count.wrapping_add(1);
        let number = watches.count;
        let watch = watches.of.entry(fd).or_insert(Watch { number, waits: vec![] });
        let what = match watch.waits.is_empty() {
            true => libc::EPOLL_CTL_ADD,
            false => libc::EPOLL_CTL_MOD,
        };
        watch.waits.push((key, interest));
        if let Err(error) = self.control(what, fd, watch.events(), watch.data(fd)) {
            watch.waits.pop();
            if watch.waits.is_empty() {
                watches.of.remove(&fd);
            }
            return Err(error);
        }
        watches.waiting.insert(key, fd);
        Ok(())
    }

    /// Ends a wait; false when it has ended already.
    fn remove(&self, key: u64) -> bool {
        let mut watches = lock(&self.watches);
        let Some(fd) = watches.waiting.remove(&key) else { return false };
        if let Some(watch) = watches.of.get_mut(&fd) {
            watch.waits.retain(|(waiting, _)| *waiting != key);
        }
        for (other, error) in self.rearm(&mut watches, fd) {
            self.done(other, Err(error));
        }
        true
    }

    /// Has the kernel wait for what is left of a registration, which ends with the last wait. The waits
    /// that it refuses, with its error.
    fn rearm(&self, watches: &mut Watches, fd: RawFd) -> Vec<(u64, io::Error)> {
        let Some(watch) = watches.of.get(&fd) else { return vec![] };
        if !watch.waits.is_empty() {
            let again = self.control(libc::EPOLL_CTL_MOD, fd, watch.events(), watch.data(fd));
            let Some(code) = again.err().and_then(|error| error.raw_os_error()) else {
                return vec![];
            };
            let keys: Vec<u64> = watch.waits.iter().map(|(key, _)| *key).collect();
            watches.of.remove(&fd);
            watches.waiting.retain(|key, _| !keys.contains(key));
            return keys.into_iter().map(|key| (key, io::Error::from_raw_os_error(code))).collect();
        }
        watches.of.remove(&fd);
        // It is open still and registered, so that this cannot fail; were it gone, so were the
        // registration.
        let _ = self.control(libc::EPOLL_CTL_DEL, fd, 0, 0);
        vec![]
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
                let (data, bits) = (event.u64, event.events);
                if data == STOP {
                    return;
                }
                self.happened(data, bits);
            }
        }
    }

    /// Ends the waits of a registration that asked for these events.
    fn happened(&self, data: u64, events: u32) {
        // The lower half is the descriptor.
        let fd = (data as u32).cast_signed();
        let mut watches = lock(&self.watches);
        // Another registration of the descriptor waits on.
        let watch = watches.of.get_mut(&fd).filter(|watch| watch.data(fd) == data);
        let Some(watch) = watch else { return };
        let over = |(_, interest): &mut (u64, Interest)| ends(*interest, events);
        let over: Vec<u64> = watch.waits.extract_if(.., over).map(|(key, _)| key).collect();
        for key in &over {
            watches.waiting.remove(key);
        }
        // While the operations that have ended hold the descriptor open.
        let refused = self.rearm(&mut watches, fd);
        over.into_iter().for_each(|key| self.done(key, Ok(events as usize)));
        refused.into_iter().for_each(|(key, error)| self.done(key, Err(error)));
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
