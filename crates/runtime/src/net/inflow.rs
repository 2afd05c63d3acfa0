//! Receives into the buffers of a pool.

use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use super::node::Node;
use super::pool::{Chunk, Pool};
use crate::net::interest::Purpose;

/// Bytes from a socket into buffers of a pool, again and again; or into one that it names, once.
/// Its end with a count above 0 says that the next one may begin, with 0 that the stream has ended.
pub(crate) struct Inflow {
    pub(crate) node: Arc<Node>,
    pub(crate) purpose: Purpose,
    pub(crate) pool: Rc<Pool>,
    /// The buffer that it names.
    pub(crate) named: Option<Chunk>,
    /// Chunks that have come and were not taken.
    pub(crate) arrived: VecDeque<Chunk>,
}

impl Inflow {
    /// Takes what has come, where no ring does so; `None` when more may come.
    pub(crate) fn take(&mut self) -> Option<io::Result<usize>> {
        if let Some(chunk) = &mut self.named {
            return receive(&self.node, chunk).map(|count| {
                let count = count?;
                chunk.set_len(count);
                Ok(count)
            });
        }
        for _ in 0..self.pool.bundle_count() {
            let Some(mut chunk) = self.pool.claim() else {
                return Some(Err(io::Error::from_raw_os_error(libc::ENOBUFS)));
            };
            match receive(&self.node, &mut chunk)? {
                Ok(count) if count > 0 => {
                    chunk.set_len(count);
                    self.arrived.push_back(chunk);
                    if self.node.ends_shot() {
                        return Some(Ok(count));
                    }
                }
                ended => return Some(ended),
            }
        }
        None
    }
}

/// Receives into a buffer; `None` when nothing has come.
fn receive(node: &Node, chunk: &mut Chunk) -> Option<io::Result<usize>> {
    loop {
        match node.recv(chunk.room()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
            received => return Some(received),
        }
    }
}
