//! What an operator does between two pipelines, cut into jobs, so that all workers can do it.

use std::sync::{Arc, Mutex};

use types::SqlResult;

use crate::notify::locked;
use crate::partition::Queue;
use crate::preempt::breathe;
use crate::run::Run;
use crate::scope::{Scope, halted};
use crate::source::LocalFuture;
use crate::task::TaskGroup;
use crate::timing::busy;
use crate::workspace::Workspace;

/// Some work. It gives other tasks their turn where it is long.
pub(crate) type Job = Box<dyn FnOnce() -> LocalFuture<'static, SqlResult<()>> + Send>;

/// How many tasks do the jobs of an operator.
pub(crate) enum Parallelism<'a> {
    /// The task that asks, one after the other.
    One,
    /// A task on each worker, where the mode has more than one at work.
    AllWorkers { run: &'a Arc<Run>, scope: &'a Arc<Scope>, space: &'a Workspace },
}

/// Results of jobs, each at the place of its job.
pub(crate) struct Results<T>(Arc<Mutex<Vec<Option<T>>>>);

/// Where a job puts its result.
pub(crate) struct Slot<T> {
    all: Results<T>,
    at: usize,
}

/// A job of something that computes without waiting.
pub(crate) fn job(work: impl FnOnce() -> SqlResult<()> + Send + 'static) -> Job {
    Box::new(move || Box::pin(async move { work() }))
}

impl Parallelism<'_> {
    /// How many jobs are done at once.
    pub(crate) fn count(&self) -> usize {
        match self {
            Parallelism::One => 1,
            Parallelism::AllWorkers { space, .. } => space.lanes,
        }
    }

    /// Does all jobs, in any order.
    ///
    /// # Errors
    /// That of a job, or that the query was stopped.
    pub(crate) async fn run_all(&self, jobs: Vec<Job>) -> SqlResult<()> {
        match self {
            Parallelism::AllWorkers { run, scope, space } if space.lanes > 1 && jobs.len() > 1 => {
                on_all_workers(run, scope, space, jobs).await
            }
            _ => {
                for job in jobs {
                    job().await?;
                    breathe().await;
                }
                Ok(())
            }
        }
    }
}

async fn on_all_workers(
    run: &Arc<Run>,
    scope: &Arc<Scope>,
    space: &Workspace,
    jobs: Vec<Job>,
) -> SqlResult<()> {
    let tasks = TaskGroup::new(run, Arc::clone(scope));
    let queue = Arc::new(Queue::new(jobs));
    for worker in 0..run.worker_count {
        let (queue, space) = (Arc::clone(&queue), space.clone());
        tasks.launch(worker, move || {
            Box::pin(async move {
                let all = async {
                    while let Some(job) = queue.take() {
                        job().await?;
                        breathe().await;
                    }
                    Ok(())
                };
                busy(&space.figures().busy_ns, all).await
            })
        });
    }
    tasks.gone().await;
    if scope.is_stopped() { Err(halted()) } else { Ok(()) }
}

impl<T> Clone for Results<T> {
    fn clone(&self) -> Results<T> {
        Results(Arc::clone(&self.0))
    }
}

impl<T> Results<T> {
    /// Places for the results of so many jobs.
    pub(crate) fn of(count: usize) -> Results<T> {
        Results(Arc::new(Mutex::new((0..count).map(|_| None).collect())))
    }

    /// The place of one of them.
    pub(crate) fn slot(&self, at: usize) -> Slot<T> {
        Slot { all: self.clone(), at }
    }

    /// Takes the results of all jobs that have ended.
    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut *locked(&self.0)).into_iter().flatten().collect()
    }
}

impl<T> Slot<T> {
    /// Puts the result there.
    pub(crate) fn put(self, result: T) {
        locked(&self.all.0)[self.at] = Some(result);
    }
}
