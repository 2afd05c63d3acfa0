//! Requests of one task under way together, their answers in the order of the requests.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll};

use types::SqlResult;

use crate::source::LocalFuture;

/// At most so many works at once. Dropping it drops them.
pub(crate) struct InFlight<'a, T> {
    limit: usize,
    works: VecDeque<Work<'a, T>>,
}

enum Work<'a, T> {
    Open(LocalFuture<'a, SqlResult<T>>),
    Done(SqlResult<T>),
}

impl<'a, T> InFlight<'a, T> {
    pub(crate) fn new(limit: usize) -> InFlight<'a, T> {
        InFlight { limit: limit.max(1), works: VecDeque::new() }
    }

    /// Whether one more may be added.
    pub(crate) fn has_room(&self) -> bool {
        self.works.len() < self.limit
    }

    /// Adds a work; it begins when the next answer is waited for.
    pub(crate) fn add(&mut self, work: LocalFuture<'a, SqlResult<T>>) {
        self.works.push_back(Work::Open(work));
    }

    /// What the oldest work gave; `None` when there is none.
    pub(crate) async fn next(&mut self) -> SqlResult<Option<T>> {
        if self.works.is_empty() {
            return Ok(None);
        }
        poll_fn(|cx| self.poll_all(cx)).await;
        match self.works.pop_front() {
            Some(Work::Done(result)) => result.map(Some),
            _ => unreachable!("the oldest is done when the poll is"),
        }
    }

    /// Ready when the oldest is.
    fn poll_all(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for work in &mut self.works {
            if let Work::Open(open) = work
                && let Poll::Ready(result) = open.as_mut().poll(cx)
            {
                *work = Work::Done(result);
            }
        }
        match self.works.front() {
            Some(Work::Done(_)) => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }
}
