//! Rows that come of other rows: arrays, queries of `WITH`, recursion.

use types::zone::Context;

use crate::node::Node;

/// A column of [`Operator::Unnest`].
#[derive(Clone, Copy, Debug)]
pub struct UnnestColumn {
    /// Position in the input.
    pub input: usize,
    /// The values that come out of it.
    pub gives: Unnested,
}

/// The values that a column of [`Operator::Unnest`] makes of a row's value.
#[derive(Clone, Copy, Debug)]
pub enum Unnested {
    /// The value itself, for each row that comes of the row.
    Value,
    /// The elements of the array that it is.
    Elements,
    /// The series that begins with it.
    Series {
        /// Position of its last value in the input.
        stop: usize,
        /// Position of the distance between its values.
        step: usize,
        /// The zone and the moment of the statement: months and days are those of its zone.
        context: Context,
    },
}

/// A scan of the rows of a query of `WITH`, which is computed once, before anything that reads
/// them.
#[derive(Debug)]
pub struct CteScan {
    /// The number of the query; it reads only queries of lower numbers.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// The query, at the first of its scans in pre-order.
    pub query: Option<Box<Node>>,
    /// True if its rows come in an order to be kept.
    pub is_ordered: bool,
    /// Positions of the columns that are produced.
    pub columns: Vec<usize>,
}

/// A recursion: the rows of `base`, then those of `step` over the rows of the round before, until a
/// round has none.
#[derive(Debug)]
pub struct Recursion {
    /// The name of its work table.
    pub name: String,
    /// The first round.
    pub base: Box<Node>,
    /// All other rounds.
    pub step: Box<Node>,
    /// Rows that were produced before are dropped.
    pub distinct: bool,
}
