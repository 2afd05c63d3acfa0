//! Limits of planning and of expressions: time and memory. Both compute without waiting, on a
//! thread that their caller has chosen; now and then they ask whether their result is still wanted,
//! and before they make something large whether there is room for it.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

use datafusion_common::ScalarValue;
use types::zone::Context;
use types::{SqlError, SqlResult, SqlState};

use crate::parameters::Parameters;

/// Says whether to go on: an error ends the work that asks.
pub type InterruptCheck = Arc<dyn Fn() -> SqlResult<()> + Send + Sync>;

/// Limits of the work of a statement.
pub trait Limits: Send + Sync {
    /// True if its result is still wanted: an error ends it.
    ///
    /// # Errors
    /// Why it is not.
    fn go_on(&self) -> SqlResult<()>;

    /// True if so many bytes could be taken now; to be asked before they are allocated.
    ///
    /// # Errors
    /// 53200.
    fn room(&self, _bytes: usize) -> SqlResult<()> {
        Ok(())
    }

    /// Counts bytes that values take which are computed. Who sets the limits gives them back.
    ///
    /// # Errors
    /// 53200.
    fn take(&self, _bytes: usize) -> SqlResult<()> {
        Ok(())
    }

    /// The values of the parameters of the plan that it computes for, if that is kept for all.
    fn parameters(&self) -> Option<&Parameters> {
        None
    }
}

/// Stack that must be left where a part is planned: what the library does with it recurses a few
/// times more.
const STACK_BYTES_MIN: usize = 2 << 20;

/// Calls of `check` between two questions: an expression's part takes about a microsecond.
const CALLS_PER_QUESTION: u32 = 64;

/// Bytes that are taken at once; less is not counted.
const LEAST_BYTES: usize = 16 << 10;

/// The largest value that is computed while a statement is planned. What is larger is computed when
/// it runs.
pub const FOLDED_BYTES_MAX: usize = 64 << 10;

const TOO_LARGE_TO_FOLD: &str =
    "the value is too large to be computed while the statement is planned";

thread_local! {
    /// Of the work that this thread does now: it never crosses a suspension, for there is none.
    static LIMITS: RefCell<Option<Arc<dyn Limits>>> = const { RefCell::new(None) };
    static CALLS: Cell<u32> = const { Cell::new(0) };
    /// True if constants are folded.
    static FOLDS: Cell<bool> = const { Cell::new(false) };
    /// Bytes that were ever taken on this thread.
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

/// Does work within limits.
pub fn with_limits<T>(limits: Arc<dyn Limits>, work: impl FnOnce() -> T) -> T {
    let _restored = Restored(LIMITS.replace(Some(limits)));
    work()
}

/// Does work with values of parameters, within the limits of the work around it.
pub fn with_parameters<T>(parameters: Parameters, work: impl FnOnce() -> T) -> T {
    let around = LIMITS.with_borrow(Option::clone);
    with_limits(Arc::new(Given { around, parameters }), work)
}

/// Limits of other work, with values of parameters.
struct Given {
    around: Option<Arc<dyn Limits>>,
    parameters: Parameters,
}

impl Given {
    fn asked(&self, ask: impl FnOnce(&dyn Limits) -> SqlResult<()>) -> SqlResult<()> {
        self.around.as_deref().map_or(Ok(()), ask)
    }
}

impl Limits for Given {
    fn go_on(&self) -> SqlResult<()> {
        self.asked(|limits| limits.go_on())
    }

    fn room(&self, bytes: usize) -> SqlResult<()> {
        self.asked(|limits| limits.room(bytes))
    }

    fn take(&self, bytes: usize) -> SqlResult<()> {
        self.asked(|limits| limits.take(bytes))
    }

    fn parameters(&self) -> Option<&Parameters> {
        Some(&self.parameters)
    }
}

/// Puts back what was there before, also when the work panics.
struct Restored(Option<Arc<dyn Limits>>);

impl Drop for Restored {
    fn drop(&mut self) {
        LIMITS.set(self.0.take());
    }
}

/// True if an error says that a value is too large to be computed while a statement is planned.
pub fn is_too_large_to_fold(error: &SqlError) -> bool {
    error.message == TOO_LARGE_TO_FOLD
}

/// Computes what is constant while a statement is planned: nothing that grows large. What is as
/// long as the text of the statement is not.
pub fn folding<T>(work: impl FnOnce() -> T) -> T {
    struct Ended(bool);
    impl Drop for Ended {
        fn drop(&mut self) {
            FOLDS.set(self.0);
        }
    }
    let _ended = Ended(FOLDS.replace(true));
    work()
}

/// The value of a parameter of the plan that this thread computes for.
///
/// # Errors
/// XX000 where there is no such plan: nothing else has such parameters.
pub fn parameter(number: usize) -> SqlResult<ScalarValue> {
    let value = |parameters: &Parameters| parameters.values.get(number).cloned();
    let value = LIMITS.with_borrow(|limits| limits.as_deref()?.parameters().and_then(value));
    value.ok_or_else(|| SqlError::internal("a parameter is computed outside of its plan"))
}

/// The moment, zone and the like of the execution that this thread computes for, if its plan is
/// kept for all values.
pub fn context() -> Option<Context> {
    LIMITS.with_borrow(|limits| Some(limits.as_deref()?.parameters()?.context))
}

/// The functions of the session that the plan calls which this thread computes for.
pub fn calls() -> Option<Arc<dyn Any + Send + Sync>> {
    LIMITS.with_borrow(|limits| limits.as_deref()?.parameters()?.calls.clone())
}

/// To be called for each part of what is planned, and for each row of what is computed.
///
/// # Errors
/// That of who is asked whether to go on; 54001 if what is planned is so deep that the stack comes
/// to its end.
pub fn go_on() -> SqlResult<()> {
    if stdx::stack_left().is_some_and(|left| left < STACK_BYTES_MIN) {
        return Err(SqlError::too_deep());
    }
    CALLS.set(CALLS.get().wrapping_add(1));
    match CALLS.get().is_multiple_of(CALLS_PER_QUESTION) {
        true => go_on_now(),
        false => Ok(()),
    }
}

/// The same between two steps of which each may take long.
///
/// # Errors
/// As of [`go_on`].
pub fn go_on_now() -> SqlResult<()> {
    asked(|limits| limits.go_on())
}

/// Asks before so many bytes are allocated for the value of one row.
///
/// # Errors
/// 53200.
pub fn room(bytes: usize) -> SqlResult<()> {
    small_enough(bytes)?;
    match bytes < LEAST_BYTES {
        true => Ok(()),
        false => asked(|limits| limits.room(bytes)),
    }
}

/// Counts bytes of values that were computed.
///
/// # Errors
/// 53200.
pub fn take(bytes: usize) -> SqlResult<()> {
    TAKEN.set(TAKEN.get().wrapping_add(bytes));
    asked(|limits| limits.take(bytes))
}

/// Counts a text that was computed, where it is not small.
///
/// # Errors
/// 53200.
pub fn take_text(text: Option<&str>) -> SqlResult<()> {
    take_value(text.map_or(0, str::len))
}

/// The same of the bytes of any value.
///
/// # Errors
/// 53200.
pub fn take_value(bytes: usize) -> SqlResult<()> {
    match bytes {
        bytes if bytes < LEAST_BYTES => Ok(()),
        // It becomes an element of a column, and is still there then.
        bytes => take(2 * bytes),
    }
}

/// Counts what a call has made of which `counted` says when it began.
///
/// # Errors
/// 53200.
pub fn take_rest(bytes: usize, counted: usize) -> SqlResult<()> {
    match bytes.saturating_sub(taken().wrapping_sub(counted)) {
        rest if rest < LEAST_BYTES => Ok(()),
        rest => take(rest),
    }
}

/// All bytes that were ever taken on this thread.
pub fn taken() -> usize {
    TAKEN.get()
}

/// Counts the bytes of values as they are made.
#[derive(Default)]
pub struct Counted(Cell<usize>);

impl Counted {
    /// Adds so many.
    ///
    /// # Errors
    /// 53200.
    pub fn add(&self, bytes: usize) -> SqlResult<()> {
        let sum = self.0.get() + bytes;
        if sum < LEAST_BYTES {
            self.0.set(sum);
            return Ok(());
        }
        self.0.set(0);
        go_on_now()?;
        take(sum)
    }
}

fn small_enough(bytes: usize) -> SqlResult<()> {
    match FOLDS.get() && bytes > FOLDED_BYTES_MAX {
        true => Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, TOO_LARGE_TO_FOLD)),
        false => Ok(()),
    }
}

fn asked(ask: impl FnOnce(&dyn Limits) -> SqlResult<()>) -> SqlResult<()> {
    LIMITS.with_borrow(|limits| limits.as_deref().map_or(Ok(()), ask))
}
