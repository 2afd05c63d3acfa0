//! Out-of-order driving. The coordinator begins with the pieces of a stage itself, one after the
//! other, as long as it need not wait: a statement of few rows is done before anything was shared.
//! As soon as a piece waits for the device, or takes its second slice of the processor, the parts
//! not yet started lie in one queue, and each worker's feeder turns them into tasks while there are
//! permits. Look-ups become tasks at once, and may move until they start. Started tasks never move
//! (anagodb paper, section 2).

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use runtime::sync::Permit;
use types::SqlResult;

use crate::flow::Flow;
use crate::notify::{Notify, locked};
use crate::preempt::breathe;
use crate::sequential::step_into;
use crate::stage::{Op, Piece, Stage};

/// A worker with fewer tasks of the stage than this is about to run dry: look-ups not yet started
/// are sent to it. A few, since each of them waits for the device most of its life.
const DRY_TASKS: usize = 4;

/// Parts that are worked on beside each other while others wait for reads.
const READY_PARTS: usize = 2;

/// More pieces than this are shared at once: that is no small work.
const PIECES_MAX: usize = 32;

/// Times that the work gives way before the rest is shared.
const TURNS_MAX: u32 = 1;

/// The work of a stage that can still move between workers.
pub(crate) struct Shared {
    /// The last is taken first: a depth-first walk keeps the queue short.
    queue: Mutex<Vec<Piece>>,
    workers: Vec<WorkerQueue>,
    /// Pieces in the queue, and tasks not yet ended: at zero the feeders go home.
    pending: AtomicUsize,
}

/// What one worker has to do of the stage.
#[derive(Default)]
struct WorkerQueue {
    notify: Notify,
    has_feeder: AtomicBool,
    /// Tasks given to this worker that have not ended.
    live: AtomicUsize,
    /// Of these, how many work on parts.
    parts: AtomicUsize,
    /// Of these, how many wait for nothing but their next turn.
    ready: AtomicUsize,
    handovers: Mutex<VecDeque<Handover>>,
}

/// A look-up that moves to another worker before it starts. It holds its permit already.
struct Handover {
    at: usize,
    chunk: RecordBatch,
    permit: Permit,
}

impl Shared {
    pub(crate) fn new(worker_count: usize) -> Shared {
        Shared {
            queue: Mutex::default(),
            workers: (0..worker_count).map(|_| WorkerQueue::default()).collect(),
            pending: AtomicUsize::new(0),
        }
    }

    /// Drops what was not started; called when no task is left.
    pub(crate) fn clear(&self) {
        let pieces = std::mem::take(&mut *locked(&self.queue));
        drop(pieces);
        for worker in &self.workers {
            let handovers = std::mem::take(&mut *locked(&worker.handovers));
            drop(handovers);
        }
    }
}

/// A task's or inline part's place in the counts, given up when dropped.
struct Ticket {
    stage: Arc<Stage>,
    worker: usize,
    is_part: bool,
}

impl Ticket {
    /// That of work which the stage has begun with.
    fn new(stage: &Arc<Stage>) -> Ticket {
        let worker = runtime::worker();
        stage.shared.pending.fetch_add(1, Ordering::AcqRel);
        stage.shared.workers[worker].live.fetch_add(1, Ordering::Relaxed);
        Ticket { stage: Arc::clone(stage), worker, is_part: false }
    }

    /// Counts a look-up for the worker that has started it.
    fn move_to(&mut self, worker: usize) {
        let workers = &self.stage.shared.workers;
        if worker != self.worker {
            workers[self.worker].live.fetch_sub(1, Ordering::Relaxed);
            workers[worker].live.fetch_add(1, Ordering::Relaxed);
            self.worker = worker;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let shared = &self.stage.shared;
        let own = &shared.workers[self.worker];
        own.live.fetch_sub(1, Ordering::Relaxed);
        if self.is_part {
            own.parts.fetch_sub(1, Ordering::Relaxed);
            own.notify.notify();
        }
        if shared.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
            shared.workers.iter().for_each(|worker| worker.notify.notify());
        }
    }
}

/// The pieces that are not begun, the next one last.
struct Left<'a> {
    stage: &'a Arc<Stage>,
    pieces: RefCell<Vec<Piece>>,
}

impl Left<'_> {
    fn next(&self) -> Option<Piece> {
        self.pieces.borrow_mut().pop()
    }

    /// Adds pieces, in order, to be taken before those already there.
    fn add(&self, pieces: impl DoubleEndedIterator<Item = Piece>) {
        self.pieces.borrow_mut().extend(pieces.rev());
        if self.pieces.borrow().len() > PIECES_MAX {
            self.share();
        }
    }

    /// Leaves what is not begun to all workers.
    fn share(&self) {
        let mut pieces = std::mem::take(&mut *self.pieces.borrow_mut());
        pieces.reverse();
        enqueue(self.stage, pieces);
    }
}

/// Works on `pieces`, and shares those that would have to wait for others.
pub(crate) async fn at_once(stage: Arc<Stage>, pieces: Vec<Piece>) -> SqlResult<()> {
    // Feeders stay while this may have more to share.
    let _ticket = Ticket::new(&stage);
    let left = Left { stage: &stage, pieces: RefCell::default() };
    left.add(pieces.into_iter());
    let mut work = pin!(take_all(&stage, &left));
    let mut turns = 0;
    poll_fn(|cx| {
        let polled = work.as_mut().poll(cx);
        if polled.is_pending() {
            turns += 1;
            if turns > TURNS_MAX || !runtime::has_given_way() {
                left.share();
            }
        }
        polled
    })
    .await
}

async fn take_all(stage: &Arc<Stage>, left: &Left<'_>) -> SqlResult<()> {
    let mut flow = Flow::new(stage).keeping_last();
    while let Some(piece) = left.next() {
        if stage.is_stopped() {
            return Ok(());
        }
        match piece {
            Piece::Rows(rows) => flow.feed(stage.first, rows).await?,
            Piece::Part(part) => {
                let parts = step_into(stage, &mut flow, part).await?;
                left.add(parts.into_iter().map(Piece::Part));
            }
        }
        breathe().await;
    }
    Ok(())
}

/// Adds pieces, in order, to be taken before those already there; calls workers to take them.
fn enqueue(stage: &Arc<Stage>, pieces: Vec<Piece>) {
    let piece_count = pieces.len();
    if piece_count == 0 {
        return;
    }
    stage.shared.pending.fetch_add(piece_count, Ordering::AcqRel);
    locked(&stage.shared.queue).extend(pieces.into_iter().rev());
    let (here, worker_count) = (runtime::worker(), stage.run.worker_count);
    for i in 0..piece_count.min(worker_count) {
        call(stage, (here + i) % worker_count);
    }
}

/// Wakes the feeder of `worker`, or starts it.
fn call(stage: &Arc<Stage>, worker: usize) {
    let own = &stage.shared.workers[worker];
    if own.has_feeder.swap(true, Ordering::AcqRel) {
        own.notify.notify();
    } else {
        let inner = Arc::clone(stage);
        stage.tasks.launch(worker, move || Box::pin(feed(inner, worker)));
    }
}

/// The feeder of a worker: starts tasks for handovers and parts; without a permit works on a part
/// itself.
async fn feed(stage: Arc<Stage>, worker: usize) -> SqlResult<()> {
    let shared = &stage.shared;
    let own = &shared.workers[worker];
    loop {
        let handover = locked(&own.handovers).pop_front();
        if let Some(handover) = handover {
            start_lookup(&stage, worker, handover);
        } else if let Some(piece) = next_piece(&stage, worker) {
            start_piece(&stage, worker, piece).await?;
        } else if shared.pending.load(Ordering::Acquire) == 0 {
            return Ok(());
        } else {
            own.notify.notified().await;
        }
        breathe().await;
    }
}

/// Takes a piece if this worker may have more in work.
fn next_piece(stage: &Arc<Stage>, worker: usize) -> Option<Piece> {
    let own = &stage.shared.workers[worker];
    let in_work = own.parts.load(Ordering::Relaxed);
    let ready = own.ready.load(Ordering::Relaxed);
    // What is in memory is worked on one part after the other, as long as it is in the caches. Where reads are
    // waited for, there is always something to do meanwhile, and more reads are on their way.
    let is_busy = ready > 0 && (in_work <= ready || ready >= READY_PARTS);
    if is_busy || in_work >= stage.run.query.parts_per_worker.max(1) {
        return None;
    }
    locked(&stage.shared.queue).pop()
}

/// A part's task beside those of its worker: whether it waits, or only for its next turn.
struct Turns {
    stage: Arc<Stage>,
    worker: usize,
    is_ready: bool,
}

impl Turns {
    fn new(stage: &Arc<Stage>, worker: usize) -> Turns {
        let mut turns = Turns { stage: Arc::clone(stage), worker, is_ready: false };
        turns.set_ready(true);
        turns
    }

    fn set_ready(&mut self, is_ready: bool) {
        let own = &self.stage.shared.workers[self.worker];
        match (std::mem::replace(&mut self.is_ready, is_ready), is_ready) {
            (false, true) => _ = own.ready.fetch_add(1, Ordering::Relaxed),
            (true, false) => _ = own.ready.fetch_sub(1, Ordering::Relaxed),
            _ => {}
        }
    }

    /// Polls the work, and notes what it waits for.
    fn poll<F: Future>(&mut self, work: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.set_ready(true);
        let polled = work.poll(cx);
        if polled.is_pending() && !runtime::has_given_way() {
            self.set_ready(false);
            // Others can be begun while this one waits.
            self.stage.shared.workers[self.worker].notify.notify();
        }
        polled
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        self.set_ready(false);
    }
}

async fn start_piece(stage: &Arc<Stage>, worker: usize, piece: Piece) -> SqlResult<()> {
    let own = &stage.shared.workers[worker];
    own.live.fetch_add(1, Ordering::Relaxed);
    own.parts.fetch_add(1, Ordering::Relaxed);
    let ticket = Ticket { stage: Arc::clone(stage), worker, is_part: true };
    let Some(permit) = stage.run.policy.child(&stage.run.query.permits) else {
        return work_on(ticket, piece).await;
    };
    stage.part_task();
    let mut turns = Turns::new(stage, worker);
    stage.tasks.launch(worker, move || {
        Box::pin(async move {
            let _permit = permit;
            let mut work = pin!(work_on(ticket, piece));
            poll_fn(|cx| turns.poll(work.as_mut(), cx)).await
        })
    });
    Ok(())
}

async fn work_on(ticket: Ticket, piece: Piece) -> SqlResult<()> {
    let stage = &ticket.stage;
    let mut flow = Flow::new(stage);
    match piece {
        Piece::Rows(rows) => flow.feed(stage.first, rows).await,
        Piece::Part(part) => {
            let (rows, parts) = stage.step(part).await?;
            enqueue(stage, parts.into_iter().map(Piece::Part).collect());
            if let Some(rows) = rows {
                flow.feed(stage.first, rows).await?;
            }
            stage.part_done();
            Ok(())
        }
    }
}

/// Makes a task of a look-up and the rest of its pipeline: here, or on a worker that runs dry.
pub(crate) fn spawn_lookup(stage: &Arc<Stage>, at: usize, chunk: RecordBatch, permit: Permit) {
    if let Some(Op::Lookup(op)) = stage.tail.ops.get(at) {
        let figures = stage.run.query.progress.node(op.node());
        figures.tasks.fetch_add(1, Ordering::Relaxed);
    }
    let shared = &stage.shared;
    let here = runtime::worker();
    let worker = dry_worker(shared, here).unwrap_or(here);
    shared.pending.fetch_add(1, Ordering::AcqRel);
    shared.workers[worker].live.fetch_add(1, Ordering::Relaxed);
    let handover = Handover { at, chunk, permit };
    if worker == here {
        // It may still move until it starts.
        start_lookup(stage, worker, handover);
    } else {
        locked(&shared.workers[worker].handovers).push_back(handover);
        call(stage, worker);
    }
}

/// Another worker that is nearly out of work while this one has plenty.
fn dry_worker(shared: &Shared, here: usize) -> Option<usize> {
    let busy = shared.workers[here].live.load(Ordering::Relaxed);
    let worker_count = shared.workers.len();
    // One candidate, another one each time: a scan of all workers would cost more than it gains.
    let there = (here + 1 + busy % worker_count.max(2).saturating_sub(1)) % worker_count;
    let idle = shared.workers[there].live.load(Ordering::Relaxed);
    (there != here && idle < DRY_TASKS && idle < busy).then_some(there)
}

fn start_lookup(stage: &Arc<Stage>, worker: usize, handover: Handover) {
    let mut ticket = Ticket { stage: Arc::clone(stage), worker, is_part: false };
    let Handover { at, chunk, permit } = handover;
    stage.tasks.launch_anywhere(move || {
        Box::pin(async move {
            let _permit = permit;
            ticket.move_to(runtime::worker());
            Flow::new(&ticket.stage).keeping_last().look_up_all(at, chunk).await
        })
    });
}
