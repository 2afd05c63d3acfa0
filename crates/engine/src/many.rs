//! Many look-ups by key in one call: their keys descend together, in one version of the data, and while
//! one of them waits for memory or the device others go on (corobase paper, section 5.8).

use exec::LocalFuture;
use runtime::IoCounters;
use sql::Parameter;
use types::SqlResult;

use crate::prepared::Prepared;
use crate::relation::seek::{FoundRows, Seek};
use crate::session::state::Session;

impl Session {
    /// Runs a prepared look-up by the whole primary key for many values, all in the same version of
    /// the data; what is null finds nothing. Call it in a task of the database's runtime.
    ///
    /// `None` when the statement is no such look-up, or one of the values is none of its column's
    /// type, or all are null: then run it for each ([`Session::look_up`]).
    ///
    /// # Errors
    /// What planning says, of the first execution; what reading says; 25P02 in a failed block.
    pub fn get_many<'a>(
        &'a mut self,
        prepared: &'a Prepared,
        values: &'a [Vec<Parameter>],
    ) -> LocalFuture<'a, SqlResult<Option<FoundRows>>> {
        Box::pin(async move {
            let found = self.find_many(prepared, values).await;
            // What is no such look-up was none, and keeps no version.
            drop(self.looked_alone());
            found
        })
    }

    async fn find_many(
        &mut self,
        prepared: &Prepared,
        values: &[Vec<Parameter>],
    ) -> SqlResult<Option<FoundRows>> {
        self.check_not_failed()?;
        let is_whole = |values: &[Parameter]| !values.iter().any(Parameter::is_null);
        let mut whole = values.iter().enumerate().filter(|(_, values)| is_whole(values)).peekable();
        let Some((_, first)) = whole.peek() else { return Ok(None) };
        let Some(point) = self.point(prepared, first)? else { return Ok(None) };
        self.look().await;
        self.look_alone();
        let (plan, access) = point.planned();
        let snapshot = self.database().snapshot();
        let Some(seek) = Seek::of(plan, access, &snapshot)? else { return Ok(None) };
        let (mut keys, mut positions) = (vec![], vec![]);
        for (position, values) in whole {
            let Some(access) = point.with_values(values) else { return Ok(None) };
            let Some(key) = seek.key_of(&access)? else { return Ok(None) };
            keys.push(key);
            positions.push(position);
        }
        self.begin();
        let found = seek.run_many(&keys, &positions, &IoCounters::default()).await;
        let count = found.as_ref().map_or(0, |found| found.positions.len() as u64);
        let ended = self.activity().end_in(self.settings.execution_mode, found, count);
        let ended = self.looked(ended);
        self.or_fail(ended).map(Some)
    }
}
