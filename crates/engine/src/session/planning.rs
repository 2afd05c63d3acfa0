//! Plans the statements of a session.

use std::sync::Arc;

use runtime::sync::Cancel;
use runtime::time;
use sql::{Bound, Query, Statement};
use txn::waiting::unless_cancelled;
use types::{SqlError, SqlResult, SqlState};

use super::state::Session;
use crate::activity::status::TransactionStatus;
use crate::catalog::entry::TableEntry;
use crate::planning::{Planned, Planner};
use crate::plans::are_many;
use crate::recent::LONG_TEXT_BYTES;

/// Memory of a token until its statement has run, in the lists that take the most: as a token, in
/// the syntax tree, in the plans before and after each rule (measured for `IN`, `VALUES` and
/// `ARRAY`: 0.8 to 1.3 kB).
const TOKEN_BYTES: usize = 1_000;

/// Copies of a text that there are at once, of which literals may be most.
const TEXT_COPIES: usize = 4;

/// Longest message of a client; a statement has at most 64 MiB, parameters come on top.
const MESSAGE_BYTES_MAX: usize = 256 << 20;

fn too_large() -> SqlError {
    SqlError::new(SqlState::OUT_OF_MEMORY, "the statement is too large for the memory")
        .with_hint("Give more with --memory, or load large amounts of data with COPY.")
}

impl Session {
    /// True if a text may be parsed: what a statement takes follows from its tokens.
    ///
    /// # Errors
    /// 53200 for one that takes more than the database's memory.
    pub fn admit_text(&self, text: &str) -> SqlResult<()> {
        let bytes = sql::parse::token_count(text) * TOKEN_BYTES + text.len() * TEXT_COPIES;
        if bytes <= self.database().shares().total { Ok(()) } else { Err(too_large()) }
    }

    /// The longest message that is read, and the error of longer ones.
    pub fn message_bytes_max(&self) -> (usize, SqlError) {
        (MESSAGE_BYTES_MAX.min(self.database().shares().total / 2), too_large())
    }

    pub(crate) fn planner(&self) -> Planner {
        let db = self.database();
        let (permits, governor) = (db.beside().planners.clone(), db.governor().clone());
        Planner { permits, governor, context: self.context() }
    }

    /// Does work that comes before a statement begins, such as parsing, on a thread beside the workers;
    /// it can be cancelled.
    ///
    /// # Errors
    /// 57014; XX000 when it panics.
    pub async fn beside_workers<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> SqlResult<T> {
        let cancel = Cancel::default();
        self.listen_to(cancel.clone());
        self.planner().beside(&cancel, work).await
    }

    /// Plans a query. Outside of a block, tables that other databases write are brought up to what is there now.
    pub(crate) async fn plan(&self, query: &Query, cancel: &Cancel) -> SqlResult<Planned> {
        let planned = self.plan_over_what_is_known(query, cancel).await?;
        let is_in_block = self.transaction_status() != TransactionStatus::Idle;
        if is_in_block || self.database().block().is_some() {
            return Ok(planned);
        }
        let followed = crate::ddl::refresh::following(&planned.1.root, planned.0.snapshot());
        // Most statements read none, and the future is large.
        match followed.is_empty() || !Box::pin(self.follow(followed, &planned, cancel)).await? {
            true => Ok(planned),
            false => self.plan_over_what_is_known(query, cancel).await,
        }
    }

    /// Brings tables that other databases write up to what is there now; whether one was old.
    async fn follow(
        &self,
        followed: Vec<Arc<TableEntry>>,
        (catalog, ..): &Planned,
        cancel: &Cancel,
    ) -> SqlResult<bool> {
        let mut was_old = false;
        for entry in followed {
            let is_old = crate::ddl::refresh::is_old(catalog.snapshot(), &entry);
            if unless_cancelled(cancel, is_old).await?? {
                let writing = self.writing_alone().await?;
                let refreshed = crate::ddl::refresh::refresh(&writing, &entry.def.name);
                let refreshed = unless_cancelled(cancel, refreshed).await.flatten();
                writing.settle(refreshed).await?;
                was_old = true;
            }
        }
        Ok(was_old)
    }

    async fn plan_over_what_is_known(&self, query: &Query, cancel: &Cancel) -> SqlResult<Planned> {
        let known = query.bound.as_ref().filter(|bound| bound.generic().is_some());
        match known {
            // Its plan for all values has the keys of the rows besides.
            Some(bound) if query.row_locks().is_some() => self.plan_as_bound(bound, cancel).await,
            Some(bound) => self.plan_again(bound, cancel).await,
            None => self.plan_anew(query, cancel).await,
        }
    }

    /// Puts values into a generic plan, unless that is good no more.
    async fn plan_again(&self, bound: &Arc<Bound>, cancel: &Cancel) -> SqlResult<Planned> {
        let is_long = bound.template.text().len() >= LONG_TEXT_BYTES || are_many(&bound.parameters);
        let mut planned = self.planned_before(bound, &self.system_catalog(), !is_long);
        if planned.is_none() && is_long {
            planned = self.planned_beside(bound, cancel).await?;
        }
        match planned {
            Some(planned) => Ok(planned),
            None => self.plan_as_bound(bound, cancel).await,
        }
    }

    async fn plan_as_bound(&self, bound: &Bound, cancel: &Cancel) -> SqlResult<Planned> {
        match bound.again()? {
            Statement::Query(query) => self.plan_anew(&query, cancel).await,
            _ => Err(SqlError::internal("a query is another statement now")),
        }
    }

    /// The same of a long statement, whose values are put in beside the workers.
    async fn planned_beside(
        &self,
        bound: &Arc<Bound>,
        cancel: &Cancel,
    ) -> SqlResult<Option<Planned>> {
        let (catalog, options) = (self.system_catalog(), self.planner_options_now());
        let (bound, theirs) = (Arc::clone(bound), catalog.clone());
        let work = move || {
            let begun = time::now();
            let generic = bound.generic().filter(|generic| generic.holds(&theirs));
            let plan = generic.map(|generic| generic.plan(&bound.parameters, &theirs, &options));
            Ok(plan.and_then(Result::ok).map(|plan| (plan, begun.elapsed())))
        };
        let planned = self.planner().plan(true, cancel, work).await?;
        Ok(planned.map(|(plan, planning)| (catalog, Arc::new(plan), planning)))
    }

    async fn plan_anew(&self, query: &Query, cancel: &Cancel) -> SqlResult<Planned> {
        let snapshot = self.database().snapshot();
        let is_large = query.is_large(&|name| snapshot.views.get(name).cloned());
        let keeps_version = self.database().block().is_some_and(|block| block.keeps_version());
        let notes = keeps_version && !snapshot.read_view.notes_reads();
        let catalog = match notes && query.row_locks().is_some() {
            true => self.catalog_over(snapshot.with_view(snapshot.read_view.locking())),
            false => self.system_catalog(),
        };
        // Boxed: what a store is asked for is a deep future, in a place where futures are deep already.
        Box::pin(catalog.open_files(query, cancel)).await?;
        let options = self.planner_options_now();
        // A query that locks rows is planned with their keys besides.
        let wish = match query.row_locks() {
            None => self.wish(query.bound.as_ref()),
            Some(_) => None,
        };
        let (query, theirs) = (query.clone(), catalog.clone());
        let work = move || {
            let begun = time::now();
            let mut plan = sql::plan_query(&query, &theirs, &options)?;
            let made = wish.map(|wish| {
                let generic = wish.made(&plan, &theirs, &options)?;
                if let Some(generic) = generic.as_ref().filter(|_| wish.is_forced) {
                    plan = generic.plan(&wish.bound.parameters, &theirs, &options)?;
                }
                Ok((wish, generic))
            });
            let made = made.transpose()?;
            Ok((plan, made, begun.elapsed()))
        };
        let (plan, made, planning) = self.planner().plan(is_large, cancel, work).await?;
        self.activity().planned(planning);
        if let Some((wish, generic)) = made {
            self.keep_plan(wish, generic);
        }
        Ok((catalog, Arc::new(plan), planning))
    }
}
