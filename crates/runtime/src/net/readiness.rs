//! Waiting until a socket is ready.

use std::io;
use std::sync::Arc;

use crate::net::interest::{Interest, Purpose};
use crate::net::node::Node;
use crate::op::Op;
use crate::pending::begin;
use crate::time::Instant;

/// Waits until a socket is ready. Dropping the future ends the wait.
pub(crate) async fn ready(
    node: &Arc<Node>,
    interest: Interest,
    purpose: Purpose,
) -> io::Result<()> {
    begin(Op::Ready(node.clone(), interest, purpose)).await.0.into_count().map(drop)
}

/// The same until `deadline` at most; `TimedOut` then.
pub(crate) async fn ready_until(
    node: &Arc<Node>,
    interest: Interest,
    purpose: Purpose,
    deadline: Instant,
) -> io::Result<()> {
    let waiting = begin(Op::Ready(node.clone(), interest, purpose));
    match waiting.until(deadline).await {
        (_, _, true) => Err(io::ErrorKind::TimedOut.into()),
        (outcome, ..) => outcome.into_count().map(drop),
    }
}

/// Makes a call that does not block until it has an answer, waiting for readiness in between.
pub(crate) async fn retry<T>(
    node: &Arc<Node>,
    interest: Interest,
    purpose: Purpose,
    mut call: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                ready(node, interest, purpose).await?
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
