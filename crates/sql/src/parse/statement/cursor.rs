//! What statements about cursors say.

use crate::parse::statement::query::Query;

/// A statement about a cursor.
#[derive(Clone, Debug)]
pub enum CursorStatement {
    /// `DECLARE .. CURSOR FOR`.
    Declare(DeclareCursor),
    /// `FETCH` and `MOVE`.
    Fetch(Fetch),
    /// `CLOSE`; `None` closes all.
    Close(Option<String>),
}

/// `DECLARE .. CURSOR FOR`.
#[derive(Clone, Debug)]
pub struct DeclareCursor {
    /// The name.
    pub name: String,
    /// Rows are given in binary format.
    pub binary: bool,
    /// It outlives its transaction.
    pub hold: bool,
    /// `SCROLL`.
    pub scroll: bool,
    /// What it goes over.
    pub query: Query,
    /// The text of the whole statement.
    pub text: String,
}

/// `FETCH` and `MOVE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The cursor.
    pub cursor: String,
    /// Which rows.
    pub which: Which,
    /// `MOVE`: the rows are not given.
    pub is_move: bool,
}

/// Which rows a `FETCH` is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// So many from here on; backwards when negative.
    Forward(i64),
    /// All from here on.
    All,
    /// All from here back.
    BackwardAll,
    /// The row with this number; from the end when negative.
    Absolute(i64),
    /// The row that is so far from this one.
    Relative(i64),
}
