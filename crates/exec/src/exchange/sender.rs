//! The coroutine that sends to a peer: what the lane says is next, rows only with credit.

use std::sync::Arc;

use runtime::net::{Shutdown, Socket};
use runtime::{spawn, time};
use types::SqlResult;

use super::frame::{self, Kind};
use super::frames::lost;
use super::lane::{Filled, Next};
use super::shared::{Alive, Shared};

/// Frames that say "I live" within the patience of the peer: two may be late.
const PINGS: u32 = 3;

/// Sends to the node of this number until all is said.
pub(crate) async fn send(shared: Arc<Shared>, node: usize, socket: Socket, alive: Alive) {
    let sent = shared.within_grace(run(&shared, node, &socket)).await;
    // A peer that is gone already has nothing to learn from it.
    let _ = socket.shutdown(Shutdown::Write);
    alive.end(sent.unwrap_or(Ok(())));
}

async fn run(shared: &Arc<Shared>, node: usize, socket: &Socket) -> SqlResult<()> {
    let lane = shared.lane(node);
    loop {
        let next = shared.failure.or(&lane.changed, || lane.next());
        let frame = match time::timeout(shared.patience / PINGS, next).await {
            Err(_) => frame::frame(Kind::Ping, &[]),
            Ok(Err(error)) => {
                let frame = frame::error_frame(&error);
                return socket.send_vec(frame).await.0.map_err(|error| lost(node, error));
            }
            Ok(Ok(Next::Buffer(filled))) => {
                send_buffer(shared, node, socket, filled).await?;
                continue;
            }
            Ok(Ok(Next::Hello)) => shared.hello.frame(),
            Ok(Ok(Next::Credit(count))) => {
                frame::frame(Kind::Credit, &(count as u32).to_le_bytes())
            }
            Ok(Ok(Next::Enough)) => frame::frame(Kind::Enough, &[]),
            Ok(Ok(Next::End(count))) => frame::frame(Kind::End, &count.to_le_bytes()),
            Ok(Ok(Next::Close)) => return Ok(()),
        };
        socket.send_vec(frame).await.0.map_err(|error| lost(node, error))?;
    }
}

/// Sends a buffer; the lane has it again when nobody reads it any more.
async fn send_buffer(
    shared: &Arc<Shared>,
    node: usize,
    socket: &Socket,
    filled: Filled,
) -> SqlResult<()> {
    let (sent, lent) = socket.send_buf(filled.buf, 0..filled.len).await;
    if lent.is_read() {
        let shared = Arc::clone(shared);
        spawn(async move {
            let (buf, report) = lent.back().await;
            shared.traffic.sent(report);
            shared.lane(node).give_empty(buf);
        });
    } else {
        let (buf, report) = lent.back().await;
        shared.traffic.sent(report);
        shared.lane(node).give_empty(buf);
    }
    sent.map_err(|error| lost(node, error))
}
