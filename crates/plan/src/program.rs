//! Row programs: what it takes to run a plan a row at a time.
//!
//! A program is made once of a plan that is kept, and says for each of its nodes how the
//! expressions are computed of rows of values.

use crate::expr::Computed;

/// Rows that an operator of a program may have. An execution that has more is run again as a
/// pipeline.
pub const ROWS_MAX: usize = 2048;

/// How the expressions of a plan are computed.
#[derive(Debug)]
pub struct Program {
    codes: Vec<Code>,
}

/// The expressions of a node.
#[derive(Debug, Default)]
pub struct Code {
    /// Tests rows of a scan, of a filter, or pairs of a join.
    pub filter: Option<Computed>,
    /// Tests rows of the inner table of a join.
    pub inner_filter: Option<Computed>,
    /// Columns of a projection, keys of a join or of an order, values that groups are made of and
    /// aggregates are computed of.
    pub exprs: Vec<Computed>,
}

impl Program {
    /// A program of nodes with these expressions, in the order of the nodes' numbers.
    pub(crate) fn new(codes: Vec<Code>) -> Program {
        Program { codes }
    }

    /// The expressions of the node with this number.
    pub fn code(&self, node: usize) -> &Code {
        &self.codes[node]
    }
}
