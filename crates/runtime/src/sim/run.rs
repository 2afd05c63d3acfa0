//! The simulated machine: which worker takes a turn, when time passes, when nothing is left.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use stdx::{Key, Prng};

use super::disk::Disk;
use super::flights::{Flight, Flights, Port, land};
use super::network::{Due, Network};
use crate::inbox::Unparker;
use crate::lock::lock;
use crate::op::{Op, Outcome};
use crate::ring::context::Context;
use crate::ring::pool::Pool;
use crate::ring::{Driver, Ring};
use crate::worker::{Shared, Worker};

/// Virtual nanoseconds that one poll takes.
const POLL_NS: u64 = 100;
/// Polls of one turn at most; few, so that workers interleave finely.
const TURN_POLL_COUNT: u64 = 4;
/// Virtual clocks start here: not at zero, so that subtractions are seen to be right.
const BEGIN_NS: u64 = 1_000_000_000;

struct Machine {
    workers: Vec<Worker>,
    flights: Rc<RefCell<Flights>>,
    clock: Rc<Cell<u64>>,
    disk: Disk,
    network: Network,
    prng: Prng,
    shared: Arc<Shared>,
}

/// Runs the simulation in the calling thread until the runtime stops.
pub(crate) fn start(shared: Arc<Shared>, disk: Disk) {
    for inbox in &shared.inboxes {
        inbox.set_unparker(Unparker::Park(std::thread::current()));
    }
    let (network, flights) = (disk.network(), Rc::<RefCell<Flights>>::default());
    let clock = Rc::new(Cell::new(BEGIN_NS));
    let worker = |index| {
        let port = Port {
            disk: disk.clone(),
            network: network.clone(),
            flights: flights.clone(),
            clock: clock.clone(),
            worker: index,
        };
        let ring = Ring::new(Driver::Sim(port), Pool::new(1, Context::default(), None));
        Worker::new(shared.clone(), index, ring, Some(clock.clone()))
    };
    let workers = (0..shared.inboxes.len()).map(worker).collect();
    let prng = Prng::new(shared.seed);
    Machine { workers, flights, clock, disk, network, prng, shared: shared.clone() }.run();
}

impl Machine {
    fn run(mut self) {
        // The order to stop reaches the workers one after the other, at moments that do not follow
        // from the seed: the first one is for all.
        while !self.workers.iter().any(Worker::is_stopping) {
            if self.shared.job_count.load(Ordering::SeqCst) == 0 {
                self.pause();
                continue;
            }
            self.deliver_due();
            if !self.take_turn() && !self.pass_time() {
                self.note_deadlock();
                break;
            }
        }
        self.shut_down();
    }

    /// Without a `block_on` the machine stands still, so that what ordinary threads do meanwhile
    /// takes no virtual time. Messages alone (a task sent from outside) do not start it either,
    /// but they are looked at, since one of them may be the order to stop.
    fn pause(&self) {
        let quiet = self.shared.inboxes.iter().all(|inbox| inbox.fall_asleep());
        if quiet && self.shared.job_count.load(Ordering::SeqCst) == 0 {
            std::thread::park();
        }
        self.shared.inboxes.iter().for_each(|inbox| inbox.awake());
        if self.shared.job_count.load(Ordering::SeqCst) == 0 {
            for worker in &self.workers {
                let _entered = worker.enter();
                worker.take_messages();
            }
        }
    }

    /// Some worker with something to do polls a few of its tasks.
    fn take_turn(&mut self) -> bool {
        let busy = |worker: &&Worker| {
            worker.inbox().filled() || worker.has_ready() || worker.finds_surplus()
        };
        let busy: Vec<&Worker> = self.workers.iter().filter(busy).collect();
        if busy.is_empty() {
            return false;
        }
        let worker = busy[self.prng.below(busy.len() as u64) as usize];
        let polls = 1 + self.prng.below(TURN_POLL_COUNT);
        self.disk.note(&[3, worker.index as u64, polls, self.clock.get()]);
        let _entered = worker.enter();
        worker.take_messages();
        if !worker.has_ready()
            && let Some((from, count)) = worker.take_surplus()
        {
            self.disk.note(&[4, worker.index as u64, from as u64, count as u64]);
        }
        worker.slice(polls as u32);
        self.clock.set(self.clock.get() + polls * POLL_NS);
        true
    }

    fn deliver_due(&self) {
        let now_ns = self.clock.get();
        while let Some(flight) = self.pop_flight(now_ns) {
            self.complete(&flight);
        }
        self.deliver_network(now_ns);
        for worker in &self.workers {
            let _entered = worker.enter();
            worker.fire_timers();
        }
    }

    fn pop_flight(&self, now_ns: u64) -> Option<Flight> {
        let mut flights = self.flights.borrow_mut();
        let first = flights.0.first_entry().filter(|entry| entry.key().0 <= now_ns)?;
        Some(first.remove())
    }

    fn complete(&self, flight: &Flight) {
        let worker = &self.workers[flight.worker];
        let _entered = worker.enter();
        let outcome = {
            let mut ops = worker.ops.borrow_mut();
            let entry = ops.get_mut(flight.key).expect("an operation stays until it completes");
            land(&self.disk, flight, &mut entry.op, self.clock.get())
        };
        worker.complete(flight.key, outcome);
        worker.publish();
    }

    /// Lets the network go on until `now_ns`.
    fn deliver_network(&self, now_ns: u64) {
        while let Some(due) = self.network.next_due(now_ns) {
            let (worker, key) = match &due {
                Due::Woken(worker, key, _) | Due::Lent(worker, key) => (*worker, *key),
            };
            let worker = &self.workers[worker];
            let _entered = worker.enter();
            let count = match due {
                Due::Woken(_, _, None) => Ok(0),
                Due::Woken(_, _, Some(error)) => Err(io::Error::from_raw_os_error(error)),
                Due::Lent(..) => send_lent(worker, key),
            };
            worker.arrived(key, Outcome::Count(count));
            worker.publish();
        }
    }

    /// Sets the clock to the next completion or timer; false when there is none.
    fn pass_time(&self) -> bool {
        let flight = self.flights.borrow().0.first_key_value().map(|(place, _)| place.0);
        let timer = |worker: &Worker| worker.timers.borrow_mut().next_ns();
        let timers = self.workers.iter().filter_map(timer).min();
        let all = flight.into_iter().chain(timers).chain(self.network.next_ns());
        let Some(next) = all.min() else { return false };
        let before = self.clock.get();
        let after = before.max(next);
        self.clock.set(after);
        for worker in &self.workers {
            worker.accounting.slept(after - before, after);
        }
        true
    }

    fn note_deadlock(&self) {
        let tasks: usize = self.workers.iter().map(|worker| worker.live_tasks().0).sum();
        let message = format!(
            "deadlock in the simulation with seed {} (disk seed {}): {tasks} tasks wait, nothing \
             is ready, in flight or timed",
            self.shared.seed,
            self.disk.state().seed,
        );
        *lock(&self.shared.failure) = Some(message);
    }

    /// Drops all tasks, lets operations under way complete, closes the workers.
    fn shut_down(self) {
        for worker in &self.workers {
            let _entered = worker.enter();
            worker.stop();
        }
        while let Some(flight) = self.pop_flight(u64::MAX) {
            self.complete(&flight);
        }
        self.deliver_network(u64::MAX);
        for worker in &self.workers {
            let _entered = worker.enter();
            worker.close();
        }
        self.network.clear();
    }
}

/// Sends what an operation lends, as far as there is room.
fn send_lent(worker: &Worker, key: Key) -> io::Result<usize> {
    let ops = worker.ops.borrow();
    let entry = ops.get(key).expect("an operation stays until it completes");
    let Op::Send(outgoing) = &entry.op else { unreachable!("only sends lend bytes") };
    outgoing.node.send(outgoing.rest())
}
