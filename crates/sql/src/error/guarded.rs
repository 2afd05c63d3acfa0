//! Panics of the library as errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use types::{SqlError, SqlResult};

/// The library has panics on paths that its own engine never takes: they become errors, and so do ours.
pub(crate) fn guarded<T>(plan: impl FnOnce() -> SqlResult<T>) -> SqlResult<T> {
    catch_unwind(AssertUnwindSafe(plan)).unwrap_or_else(|payload| {
        let said = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied());
        Err(SqlError::internal("the planner failed on this query")
            .with_detail(said.unwrap_or("no message").to_string())
            .with_hint("please report the query; a simpler form of it may work"))
    })
}
