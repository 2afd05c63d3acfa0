//! Aggregate functions that the front end hands in.

use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use types::SqlResult;

/// An aggregate function without its arguments, filter and name.
pub trait AggregateFunction: Send + Sync {
    /// The types of the columns of its state.
    ///
    /// # Errors
    /// Those of the front end.
    fn state_types(&self) -> SqlResult<Vec<DataType>>;

    /// True if rows can be taken out of its state without a loss: a sum of floats has lost digits.
    fn forgets(&self) -> bool;

    /// Its state for any number of groups.
    ///
    /// # Errors
    /// Those of the front end.
    fn groups(&self) -> SqlResult<Box<dyn Groups>>;

    /// Its state for one group, from which rows can be taken out where it knows how to.
    ///
    /// # Errors
    /// Those of the front end.
    fn single(&self) -> SqlResult<Box<dyn Single>>;
}

/// The state of an aggregate function for groups `0..total`. Errors are those of the function.
pub trait Groups: Send {
    /// Adds rows: their arguments, the group of each, and which of them count.
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> SqlResult<()>;

    /// Adds states: the group of each.
    fn merge(&mut self, state: &[ArrayRef], groups: &[usize], total: usize) -> SqlResult<()>;

    /// Takes the states of all groups.
    fn state(&mut self) -> SqlResult<Vec<ArrayRef>>;

    /// Takes the result of each group.
    fn evaluate(&mut self) -> SqlResult<ArrayRef>;

    /// Bytes held.
    fn size(&self) -> usize;
}

/// The state of an aggregate function for one group. Errors are those of the function.
pub trait Single: Send {
    /// Adds rows.
    fn update(&mut self, args: &[ArrayRef]) -> SqlResult<()>;

    /// True if it knows how to take rows out.
    fn retracts(&self) -> bool;

    /// Takes out rows that were added first.
    fn retract(&mut self, args: &[ArrayRef]) -> SqlResult<()>;

    /// Adds a state: columns of one row.
    fn merge(&mut self, state: &[ArrayRef]) -> SqlResult<()>;

    /// Its state, as columns of one row.
    fn state(&mut self) -> SqlResult<Vec<ArrayRef>>;

    /// The result by now.
    fn evaluate(&mut self) -> SqlResult<ScalarValue>;
}
