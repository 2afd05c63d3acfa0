//! Loading pages: one read per absent page, however many tasks ask for it.
//!
//! A load is a task of its own, detached from whoever started it: a dropped fixer never disturbs
//! the read that others wait for. This is the asynchronous parking lot that the Umbra paper
//! (section 5) leaves as future work: waiters sleep on the load and each is handed a pin when the
//! page arrives, so it cannot be evicted before they run.

use std::future::Future;
use std::pin::Pin as Pinned;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use runtime::{IoBuf, IoCounters};

use super::double_write::DoubleWriteRead;
use super::free::TakeFrame;
use super::memory::Place;
use super::{Pin, Pool};
use crate::error::{Damage, Result, StorageError};
use crate::page::{self, PageId};
use crate::places::Entry;

/// Most pages that one vectored read asks for: 256 KiB of 4 KiB pages, from where larger requests
/// gain little.
pub const RUN_PAGES_MAX: usize = 64;

/// A page on its way into the pool.
pub(super) struct Load {
    state: Mutex<LoadState>,
}

enum LoadState {
    Pending(Waiters),
    Loaded(u32),
    Failed(StorageError),
}

/// Those who wait for a load; each keeps its place until it has its pin or gives up.
#[derive(Default)]
struct Waiters {
    present: u64,
    wakers: Vec<Option<Waker>>,
}

impl Load {
    pub fn new() -> Arc<Load> {
        Arc::new(Load { state: Mutex::new(LoadState::Pending(Waiters::default())) })
    }

    /// Registers a waiter; the caller holds the page's shard, so the load is still pending.
    pub fn join<'p>(self: &Arc<Self>, pool: &'p Pool) -> LoadWait<'p> {
        let mut state = self.state.lock().expect("load");
        let LoadState::Pending(waiters) = &mut *state else {
            panic!("a load in the list of loads has ended");
        };
        waiters.present += 1;
        waiters.wakers.push(None);
        let place = waiters.wakers.len() - 1;
        LoadWait { pool, load: Arc::clone(self), place, over: false }
    }

    /// Ends the load. `publish` is told the number of waiters while they cannot change.
    fn end(&self, outcome: Result<u32>, publish: impl FnOnce(u64)) {
        let mut state = self.state.lock().expect("load");
        let next = match outcome {
            Ok(frame) => LoadState::Loaded(frame),
            Err(error) => LoadState::Failed(error),
        };
        let LoadState::Pending(waiters) = std::mem::replace(&mut *state, next) else {
            panic!("a load ends twice");
        };
        publish(waiters.present);
        drop(state);
        waiters.wakers.into_iter().flatten().for_each(Waker::wake);
    }
}

/// Waits for a load, and becomes a pin.
pub(super) struct LoadWait<'p> {
    pool: &'p Pool,
    load: Arc<Load>,
    place: usize,
    over: bool,
}

impl<'p> Future for LoadWait<'p> {
    type Output = Result<Pin<'p>>;

    fn poll(mut self: Pinned<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = match &mut *self.load.state.lock().expect("load") {
            LoadState::Pending(waiters) => {
                waiters.wakers[self.place] = Some(cx.waker().clone());
                return Poll::Pending;
            }
            LoadState::Loaded(frame) => Ok(Pin { pool: self.pool, frame: *frame }),
            LoadState::Failed(error) => Err(error.clone()),
        };
        self.over = true;
        Poll::Ready(outcome)
    }
}

impl Drop for LoadWait<'_> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let handed = match &mut *self.load.state.lock().expect("load") {
            LoadState::Pending(waiters) => {
                waiters.present -= 1;
                waiters.wakers[self.place] = None;
                None
            }
            LoadState::Loaded(frame) => Some(*frame),
            LoadState::Failed(_) => None,
        };
        if let Some(frame) = handed {
            drop(Pin { pool: self.pool, frame });
        }
    }
}

/// One page of a read.
struct Item {
    pid: PageId,
    source: Source,
    load: Arc<Load>,
    frame: Option<u32>,
    /// The operating system may still write into the frame.
    in_flight: bool,
}

/// Where the image of a page lies.
#[derive(Clone, Copy)]
enum Source {
    /// In its place.
    Own,
    /// In the double-write buffer.
    DoubleWrite(DoubleWriteRead),
    /// Where the map says.
    Placed(Entry),
    /// The map has no place for it: it is a free page that somebody still had the number of.
    Nowhere,
}

impl Item {
    /// The page of the file that is read; 0: none.
    fn place(&self) -> PageId {
        match self.source {
            Source::Own => self.pid,
            Source::DoubleWrite(read) => read.place,
            Source::Placed(entry) => entry.place,
            Source::Nowhere => 0,
        }
    }

    /// True if one request reads it together with the page before it.
    fn adjoins(&self, before: &Item) -> bool {
        before.place() > 0 && before.place() + 1 == self.place()
    }
}

/// The pages of one read; whatever happens, each load in it ends.
struct Batch {
    pool: Arc<Pool>,
    items: Vec<Item>,
}

impl Drop for Batch {
    fn drop(&mut self) {
        // Reached with items left only when the task is dropped, that is when the runtime stops.
        while let Some(item) = self.items.pop() {
            self.pool.finish_load(item, Err(StorageError::Stopped));
        }
    }
}

impl Pool {
    /// Starts reading `pid`; the caller has entered it as loading and waits on `load`.
    pub(super) fn spawn_load(self: &Arc<Self>, pid: PageId, load: Arc<Load>, io: &IoCounters) {
        io.add_read(self.page_size as u64);
        let source = self.begin_read(pid);
        let item = Item { pid, source, load, frame: None, in_flight: false };
        let batch = Batch { pool: Arc::clone(self), items: vec![item] };
        drop(runtime::spawn(load_one(batch)));
    }

    /// Starts reading all pages of `pids` that are absent, without waiting: runs of consecutive
    /// numbers in one request each. Gives up silently when free frames are short, since a fix will
    /// do the same later.
    pub fn prefetch(self: &Arc<Self>, pids: impl IntoIterator<Item = PageId>, io: &IoCounters) {
        let mut run: Vec<Item> = Vec::new();
        for pid in pids {
            if self.translation.get(pid) != Place::Absent {
                continue;
            }
            match self.claim(pid) {
                Claim::Item(item) => {
                    let adjoins = run.last().is_none_or(|last| item.adjoins(last));
                    if !adjoins || run.len() == RUN_PAGES_MAX {
                        self.spawn_run(std::mem::take(&mut run), io);
                    }
                    run.push(item);
                }
                Claim::Busy => {}
                Claim::NoFrame => break,
            }
        }
        self.spawn_run(run, io);
    }

    /// Waits for all loads that have begun, whoever waits for them besides.
    pub(crate) async fn finish_loads(self: &Arc<Self>) {
        for shard in &self.loads {
            loop {
                let first = {
                    let loads = shard.lock().expect("list of loads");
                    loads.first().map(|(_, load)| load.join(self))
                };
                let Some(wait) = first else { break };
                // A failed load is its owner's business.
                drop(wait.await);
            }
        }
    }

    fn spawn_run(self: &Arc<Self>, items: Vec<Item>, io: &IoCounters) {
        if items.is_empty() {
            return;
        }
        io.add_read((items.len() * self.page_size) as u64);
        let batch = Batch { pool: Arc::clone(self), items };
        drop(runtime::spawn(load_run(batch)));
    }

    /// Enters `pid` as loading into a frame that is free now.
    fn claim(self: &Arc<Self>, pid: PageId) -> Claim {
        let Some(frame) = self.take_free_frame(self.prefetch_reserve) else {
            return Claim::NoFrame;
        };
        let mut loads = self.shard(pid);
        if self.translation.get(pid) != Place::Absent {
            drop(loads);
            self.release_frame(frame);
            return Claim::Busy;
        }
        let load = Load::new();
        loads.push((pid, Arc::clone(&load)));
        self.translation.set(pid, Place::Loading);
        let source = self.begin_read(pid);
        Claim::Item(Item { pid, source, load, frame: Some(frame), in_flight: false })
    }

    /// Where the page's image lies, until `end_read`.
    fn begin_read(&self, pid: PageId) -> Source {
        match &self.map {
            Some(map) => map.begin_read(pid).map_or(Source::Nowhere, Source::Placed),
            None => self.double_write.begin_read(pid).map_or(Source::Own, Source::DoubleWrite),
        }
    }

    fn end_read(&self, source: Source) {
        match (source, &self.map) {
            (Source::DoubleWrite(read), _) => self.double_write.end_read(read),
            (Source::Placed(entry), Some(map)) => map.end_read(entry),
            _ => {}
        }
    }

    /// Ends the load of one page: publishes the frame with a pin for each waiter, or frees it and
    /// tells the waiters why.
    fn finish_load(&self, item: Item, outcome: Result<()>) {
        self.end_read(item.source);
        let mut loads = self.shard(item.pid);
        let position = loads.iter().position(|(pid, _)| *pid == item.pid);
        loads.swap_remove(position.expect("the load is listed until it ends"));
        match (outcome, item.frame) {
            (Ok(()), Some(frame)) => item.load.end(Ok(frame), |waiters| {
                self.frames[frame as usize].install(item.pid, waiters, false);
                self.translation.set(item.pid, Place::Frame(frame));
            }),
            (Ok(()), None) => panic!("page {} was loaded into no frame", item.pid),
            (Err(error), frame) => {
                item.load.end(Err(error), |_| self.translation.set(item.pid, Place::Absent));
                drop(loads);
                // A frame that the system may still write into is lost until the pool is gone.
                if let Some(frame) = frame.filter(|_| !item.in_flight) {
                    self.release_frame(frame);
                }
                return;
            }
        }
        drop(loads);
        if self.free.waiting() > 0 {
            self.free.nudge();
        }
    }

    fn frame_buffer(self: &Arc<Self>, frame: u32) -> IoBuf {
        // SAFETY: the frame is in state Loading and belongs to the load that asks, which hands the
        // buffer to one read and looks at the bytes only after it has come back; anonymous
        // memory is zeroed.
        unsafe { IoBuf::of_arena(&self.announced, frame as usize * self.page_size, self.page_size) }
    }
}

enum Claim {
    Item(Item),
    Busy,
    NoFrame,
}

async fn load_one(mut batch: Batch) {
    let pool = Arc::clone(&batch.pool);
    let outcome = match TakeFrame::new(&pool).await {
        Ok(frame) => {
            batch.items[0].frame = Some(frame);
            read_page(&pool, &mut batch.items[0]).await
        }
        Err(error) => Err(error),
    };
    let item = batch.items.pop().expect("the batch holds its one item");
    pool.finish_load(item, outcome);
}

async fn load_run(mut batch: Batch) {
    let pool = Arc::clone(&batch.pool);
    let arrived = match batch.items.len() {
        1 => 0,
        _ => read_together(&pool, &mut batch.items).await,
    };
    for _ in 0..arrived {
        let item = batch.items.remove(0);
        let outcome = pool.check_frame(&item);
        pool.finish_load(item, outcome);
    }
    while !batch.items.is_empty() {
        let outcome = read_page(&pool, &mut batch.items[0]).await;
        let item = batch.items.remove(0);
        pool.finish_load(item, outcome);
    }
}

/// One request for the whole run; returns the number of pages that came, all or none. After an
/// error they are read page by page, so that it is pinned on the right one.
async fn read_together(pool: &Arc<Pool>, items: &mut [Item]) -> usize {
    let buffers = items
        .iter_mut()
        .map(|item| {
            item.in_flight = true;
            pool.frame_buffer(item.frame.expect("a run has its frames"))
        })
        .collect();
    let offset = pool.offset(items[0].place());
    let (outcome, _) = pool.file.read_vectored_exact_at(buffers, offset).await;
    items.iter_mut().for_each(|item| item.in_flight = false);
    if outcome.is_ok() { items.len() } else { 0 }
}

/// Reads and checks one page. A failed read is tried once more: a disk may recover a weak sector
/// (RELIABILITY.md, section 2, rule 15); a damaged page is not.
async fn read_page(pool: &Arc<Pool>, item: &mut Item) -> Result<()> {
    let frame = item.frame.expect("a page is read into a frame");
    if let Source::Nowhere = item.source {
        // SAFETY: the frame is Loading, and this load is the only one that knows it.
        page::clear(unsafe { pool.frame_bytes_mut(frame) }, item.pid, 0);
        return Ok(());
    }
    let mut attempts = 0;
    loop {
        attempts += 1;
        item.in_flight = true;
        let buffer = pool.frame_buffer(frame);
        let (outcome, _) = pool.file.read_exact_at(buffer, pool.offset(item.place())).await;
        item.in_flight = false;
        match outcome {
            Ok(()) => return pool.check_frame(item),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Err(StorageError::Corrupt { pid: item.pid, reason: Damage::BeyondEnd });
            }
            Err(error) if attempts == 2 => return Err(StorageError::io("read a page", &error)),
            Err(_) => {}
        }
    }
}

impl Pool {
    fn check_frame(&self, item: &Item) -> Result<()> {
        let frame = item.frame.expect("a loaded page has a frame");
        // SAFETY: the frame is Loading and its read has ended: this load is the only one that knows
        // it.
        let bytes = unsafe { self.frame_bytes(frame) };
        let is_meant = |entry: Entry| page::stored_checksum(bytes) == entry.checksum;
        let checked = page::check(bytes, item.pid).and_then(|()| match item.source {
            Source::Placed(entry) if !is_meant(entry) => Err(Damage::Outdated),
            _ => Ok(()),
        });
        checked.map_err(|reason| StorageError::Corrupt { pid: item.pid, reason })
    }
}
