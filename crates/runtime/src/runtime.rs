//! Starting and stopping a runtime, and handing work to it from ordinary threads.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;

use crate::affinity::Affinity;
use crate::config::{Config, RingChoice, RingReport, StartError};
use crate::inbox::{self, Inbox, Message, Unparker};
use crate::lock::lock;
use crate::ring::context::Context;
use crate::ring::kind::RingKind;
use crate::ring::pool::Pool;
use crate::ring::setup::{self, Wish};
use crate::ring::uring::Uring;
use crate::ring::{Driver, Ring};
use crate::sim::disk::Disk;
use crate::sim::run;
use crate::stack;
use crate::stats::WorkerStats;
use crate::task::aborted::Aborted;
use crate::task::remote::{RemoteHandle, Urgency, promise, send_task};
use crate::task::scoped;
use crate::worker::portions::Portions;
use crate::worker::{self, Shared, Worker};

/// Workers that run tasks. Dropping it stops them: tasks are dropped, operations in flight are
/// awaited, rings closed, threads joined.
pub struct Runtime {
    handle: Handle,
    rings: Vec<RingReport>,
    threads: Vec<JoinHandle<()>>,
}

/// Hands work to a runtime; any number of clones, from any thread.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

impl Runtime {
    /// Starts the workers.
    pub fn start(config: Config) -> Result<Runtime, StartError> {
        config.check()?;
        let shared = Arc::new(share(&config)?);
        let handle = Handle { shared: shared.clone() };
        let mut runtime = Runtime { handle, rings: Vec::new(), threads: Vec::new() };
        if let RingChoice::Sim(disk) = config.ring {
            runtime.rings = simulated(config.workers);
            runtime.threads.push(start_simulation(shared, disk)?);
            return Ok(runtime);
        }
        for index in 0..config.workers {
            // On an error, dropping `runtime` stops the workers started so far.
            let (thread, report) = start_worker(shared.clone(), index, &config)?;
            runtime.threads.push(thread);
            runtime.rings.push(report);
        }
        Ok(runtime)
    }

    /// The ring of each worker, and why it is that one.
    pub fn rings(&self) -> &[RingReport] {
        &self.rings
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.handle.shared.inboxes.len()
    }

    /// For ordinary threads that outlive this borrow.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// What each worker has done so far.
    pub fn stats(&self) -> Vec<WorkerStats> {
        self.handle.stats()
    }

    /// See [`Handle::block_on`].
    pub fn block_on<T: Send + 'static, F: Future<Output = T> + 'static>(
        &self,
        make: impl FnOnce() -> F + Send + 'static,
    ) -> T {
        self.handle.block_on(make)
    }
}

impl Handle {
    /// Runs a future on worker 0 while the calling ordinary thread sleeps. A panic of the future
    /// is raised here again.
    ///
    /// # Panics
    /// Inside of a task (it would block the worker), and when the runtime has stopped.
    pub fn block_on<T: Send + 'static, F: Future<Output = T> + 'static>(
        &self,
        make: impl FnOnce() -> F + Send + 'static,
    ) -> T {
        let inside = worker::try_with(|_| ()).is_some();
        assert!(!inside, "block_on inside of a task would block its worker");
        let (promise, output) = promise();
        send_task(&self.shared.inboxes[0], None, Urgency::Awaited, promise, make);
        match output.wait() {
            Ok(output) => output,
            Err(Aborted::Panicked(message)) => resume_unwind(Box::new(message)),
            Err(Aborted::Cancelled) => self.explain_end(),
        }
    }

    /// As [`Handle::block_on`], for work that borrows from the calling thread, which does `beside`
    /// meanwhile. A panic of either is raised here again, when both have ended.
    ///
    /// # Panics
    /// As [`Handle::block_on`].
    pub fn block_on_scoped<'a, T: Send + 'a>(
        &self,
        work: impl FnOnce() -> Pin<Box<dyn Future<Output = T> + 'a>> + Send + 'a,
        beside: impl FnOnce(),
    ) -> T {
        let inside = worker::try_with(|_| ()).is_some();
        assert!(!inside, "block_on inside of a task would block its worker");
        match scoped::run(&self.shared.inboxes[0], work, beside) {
            Ok(output) => output,
            Err(Aborted::Panicked(message)) => resume_unwind(Box::new(message)),
            Err(Aborted::Cancelled) => self.explain_end(),
        }
    }

    fn explain_end(&self) -> ! {
        let failure = lock(&self.shared.failure).clone();
        match failure {
            Some(message) => panic!("{message}"),
            None => panic!("the runtime has stopped"),
        }
    }

    /// Starts a task on a worker, from any thread.
    pub fn spawn_on<T: Send + 'static, F: Future<Output = T> + 'static>(
        &self,
        worker: usize,
        make: impl FnOnce() -> F + Send + 'static,
    ) -> RemoteHandle<T> {
        let (promise, handle) = promise();
        send_task(&self.shared.inboxes[worker], None, Urgency::Free, promise, make);
        handle
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.shared.inboxes.len()
    }

    /// The longest portions by kind of task, by name: what tasks computed without giving way.
    /// Kinds whose portions were all short are left out. Empty in a simulation.
    pub fn portions(&self) -> Vec<Portions> {
        self.shared.portions.by_kind()
    }

    /// What each worker has done so far.
    pub fn stats(&self) -> Vec<WorkerStats> {
        self.shared.counters.iter().map(|counters| counters.read()).collect()
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        for inbox in &self.handle.shared.inboxes {
            inbox.send(Message::Stop);
        }
        for thread in self.threads.drain(..) {
            // A worker that panics aborts the process, so there is no error to see.
            let _ = thread.join();
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.ids.iter().for_each(|id| inbox::unregister(*id));
    }
}

fn share(config: &Config) -> Result<Shared, StartError> {
    let mut shared = Shared {
        inboxes: (0..config.workers).map(|_| Arc::<Inbox>::default()).collect(),
        ids: Vec::new(),
        counters: (0..config.workers).map(|_| Default::default()).collect(),
        window: config.window,
        depth: config.depth,
        seed: config.seed,
        attack: config.attack,
        migrate: config.migrate,
        sockets: config.sockets,
        unstarted: (0..config.workers).map(|_| Default::default()).collect(),
        sleepers: Default::default(),
        first_ring: AtomicI32::new(-1),
        job_count: AtomicUsize::new(0),
        failure: Mutex::new(None),
        portions: Default::default(),
    };
    for index in 0..config.workers {
        let Some(id) = inbox::register(&shared.inboxes[index]) else {
            return Err(StartError::Config("too many workers in this process".to_owned()));
        };
        shared.ids.push(id);
    }
    Ok(shared)
}

fn simulated(workers: usize) -> Vec<RingReport> {
    let report = RingReport { kind: RingKind::Sim, reason: "as configured".to_owned() };
    vec![report; workers]
}

/// All workers of a simulation share a thread: one thread, since their tasks need not be `Send`.
fn start_simulation(shared: Arc<Shared>, disk: Disk) -> Result<JoinHandle<()>, StartError> {
    let (seed, told) = (shared.seed, disk.clone());
    let thread = stack::start("dovetail-sim".to_owned(), move || {
        if catch_unwind(AssertUnwindSafe(|| run::start(shared, disk))).is_err() {
            eprintln!("the simulation failed; runtime seed {seed}, {told:?}");
            std::process::abort();
        }
    })?;
    Ok(thread)
}

type Started = Result<RingReport, StartError>;

fn start_worker(
    shared: Arc<Shared>,
    index: usize,
    config: &Config,
) -> Result<(JoinHandle<()>, RingReport), StartError> {
    let (tell, told) = mpsc::channel();
    let config = config.clone();
    let work = move || worker_thread(shared, index, &config, &tell);
    let thread = stack::start(format!("dovetail-{index}"), work)?;
    match told.recv().expect("a worker reports its start") {
        Ok(report) => Ok((thread, report)),
        Err(error) => {
            let _ = thread.join();
            Err(error)
        }
    }
}

fn worker_thread(shared: Arc<Shared>, index: usize, config: &Config, tell: &mpsc::Sender<Started>) {
    // Threads of the pool are not bound with their worker: each may use all cores.
    let all = Affinity::current();
    if config.pin
        && let Some(one) = all.and_then(|all| all.nth(index))
    {
        one.apply();
    }
    let (driver, polled, report) = match choose_driver(&shared, index, config) {
        Ok(chosen) => chosen,
        Err(error) => {
            // The starter waits for exactly this message.
            let _ = tell.send(Err(error));
            return;
        }
    };
    let context = Context {
        uring: report.kind == RingKind::Uring,
        iopoll: polled.is_some(),
        passthrough: config.passthrough,
    };
    let pool = Pool::new(config.depth, context, all);
    let ring = Ring::new(driver, pool).with_polled(polled);
    let worker = Worker::new(shared, index, ring, None);
    let _ = tell.send(Ok(report));
    let entered = worker.enter();
    let ran = catch_unwind(AssertUnwindSafe(|| {
        worker.run();
        worker.close();
    }));
    if ran.is_err() {
        // Operations may be in flight into memory that unwinding would free.
        std::process::abort();
    }
    drop(entered);
}

type Chosen = (Driver, Option<Uring>, RingReport);

fn choose_driver(shared: &Shared, index: usize, config: &Config) -> Result<Chosen, StartError> {
    let inbox = &shared.inboxes[index];
    let threads = |reason: String| {
        inbox.set_unparker(Unparker::Park(std::thread::current()));
        (Driver::Threads, None, RingReport { kind: RingKind::Threads, reason })
    };
    if matches!(config.ring, RingChoice::Threads) {
        return Ok(threads("as configured".to_owned()));
    }
    match open_rings(shared, inbox, config) {
        Ok(chosen) => Ok(chosen),
        // What was asked of io_uring is not left out in silence.
        Err(StartError::Ring(reason))
            if matches!(config.ring, RingChoice::Auto)
                && config.sqpoll.is_none()
                && !config.iopoll
                && !config.passthrough =>
        {
            Ok(threads(reason))
        }
        Err(error) => Err(error),
    }
}

fn open_rings(shared: &Shared, inbox: &Arc<Inbox>, config: &Config) -> Result<Chosen, StartError> {
    let first = Some(shared.first_ring.load(Ordering::SeqCst)).filter(|fd| *fd >= 0);
    let opened = setup::open(&Wish::of(config, first)).map_err(StartError::Ring)?;
    let mut reason = opened.flags.clone();
    let polled = match config.iopoll {
        false => None,
        true => {
            let opened = setup::open(&Wish::polled(config)).map_err(StartError::Ring)?;
            reason.push_str("; for direct files ");
            reason.push_str(&opened.flags);
            Some(Uring::polled(opened, config.submission))
        }
    };
    let ring = Uring::new(opened, inbox, config.submission, config.sockets.ring_messages)?;
    if first.is_none() {
        shared.first_ring.store(ring.fd(), Ordering::SeqCst);
    }
    let report = RingReport { kind: RingKind::Uring, reason };
    Ok((Driver::Uring(Box::new(ring)), polled, report))
}
