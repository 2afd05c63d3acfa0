//! The options of an exchange.

use std::time::Duration;

use arrow_schema::SchemaRef;
use types::{SqlError, SqlResult, SqlState};

use super::lane::CREDIT_MAX;
use super::route::Route;
use crate::memory::Grant;

/// The subject of an exchange; all of its nodes say the same but for `node` and `memory`.
#[derive(Clone)]
pub struct ExchangeOptions {
    /// A number that no other exchange between these nodes has: streams that were mixed up are
    /// refused.
    pub exchange: u64,
    /// The number of this node, from 0.
    pub node: usize,
    /// Columns of the rows; names and nullability do not matter.
    pub schema: SchemaRef,
    /// Which rows go where.
    pub route: Route,
    /// Whose account its memory is in.
    pub memory: Grant,
    /// Bytes of a buffer: what is sent at a time, and what a credit stands for.
    pub buffer_bytes: usize,
    /// Buffers that are filled or under way to a peer, at most; at least 1.
    pub buffers: usize,
    /// Buffers that a peer may have sent and whose rows nobody has taken; at least 1.
    pub credits: usize,
    /// A peer from which no frame came for so long is lost. Nodes that have nothing to say say so
    /// three times in that time; it must be enough for a whole buffer to arrive.
    pub patience: Duration,
}

impl ExchangeOptions {
    /// An exchange with buffers of 1 MiB, as in the paper; two of them in each direction are enough
    /// for one to be filled while another is sent.
    pub fn new(exchange: u64, node: usize, schema: SchemaRef, route: Route) -> ExchangeOptions {
        ExchangeOptions {
            exchange,
            node,
            schema,
            route,
            memory: Grant::unlimited(),
            buffer_bytes: 1 << 20,
            buffers: 2,
            credits: 4,
            patience: Duration::from_secs(30),
        }
    }

    pub(super) fn check(&self, node_count: usize) -> SqlResult<()> {
        let is_right = self.node < node_count
            && (1..=1 << 26).contains(&self.buffer_bytes)
            && self.buffers > 0
            && (1..=CREDIT_MAX).contains(&(self.credits as u64))
            && !self.patience.is_zero();
        match is_right {
            true => Ok(()),
            false => Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("node {} of {node_count} cannot have such an exchange", self.node),
            )),
        }
    }
}
