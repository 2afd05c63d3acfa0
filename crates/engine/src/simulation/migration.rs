//! Transactions that change definitions and rows, as tools for migrations do: a copy of the client's table comes
//! with them, beside others that write, and the table changes with it or not at all.

use stdx::Prng;
use txn::locks::table::DEADLOCK;

use super::client::{Client, Known, Stop, lock};
use super::interrupted::Ended;
use super::model::{self, Rows};
use super::transaction::{GO_BACK, SAVE};

/// All rows of the copy, as the model has them.
fn copied_rows(number: usize) -> String {
    format!("select k, v, length(s) from c{number} order by k")
}

/// What makes the copy.
fn making(prng: &mut Prng, number: usize) -> Vec<String> {
    let (t, c) = (format!("t{number}"), format!("c{number}"));
    let mut texts = match prng.chance(0.5) {
        true => vec![format!("create table {c} as select k, v, s from {t}")],
        false => vec![
            format!("create table {c} (k bigint primary key, v bigint, s text)"),
            format!("insert into {c} select k, v, s from {t}"),
        ],
    };
    if prng.chance(0.5) {
        texts.push(SAVE.to_owned());
        texts.push(format!("alter table {c} add column more int default 1"));
        texts.push(format!("create table d{number} as select * from {c}"));
        texts.push(format!("update {c} set v = v + 1 where k < 50"));
        texts.push(GO_BACK.to_owned());
    }
    if prng.chance(0.5) {
        texts.push(format!("create index {c}_v on {c} (v)"));
    }
    texts
}

impl Known {
    /// Whether the copy may hold these rows, or not be there, when the table holds those.
    pub(super) fn allows_copy(&self, copy: &Option<Rows>, rows: &Rows) -> bool {
        let Some(after) = &self.migrated else { return self.copies.contains(copy) };
        let is_whole = copy.is_some() == (rows == after) || after == &self.certain;
        self.copies.contains(copy) && is_whole
    }
}

impl Client {
    /// The copy is made anew, in one transaction with a change of the table.
    pub(super) async fn migrate(&mut self) -> Result<(), Stop> {
        if !self.drop_copy().await? {
            return Ok(());
        }
        let before = lock(&self.notes).certain.clone();
        let mut texts = making(&mut self.prng, self.number);
        let step = model::change(&mut self.prng, self.number, &before);
        let mut after = before.clone();
        if let Some(next) = step.next {
            texts.push(step.sql);
            after = next;
        }
        let commits = self.prng.chance(0.7);
        if commits {
            let mut known = lock(&self.notes);
            known.possible = Some(after.clone());
            known.migrated = Some(after.clone());
            known.copies.push(Some(before));
        }
        match self.interrupted(async |client| client.block(&texts, commits).await).await {
            // Two that come to change so much that they write alone.
            Ended::Done(Err(error)) if error.state == DEADLOCK => {
                self.report.refusals += 1;
                self.forget_copy();
            }
            Ended::Done(done) => self.must(&texts.join("; "), done)?,
            Ended::Cancelled => {
                self.report.cancelled_transactions += 1;
                self.forget_copy();
            }
            Ended::Dropped => {}
        }
        self.find_out_copy().await
    }

    /// Nothing of the transaction has stayed.
    fn forget_copy(&self) {
        let mut known = lock(&self.notes);
        (known.possible, known.migrated) = (None, None);
        known.copies = vec![None];
    }

    /// Whether there is no copy now.
    async fn drop_copy(&mut self) -> Result<bool, Stop> {
        let sql = format!("drop table if exists c{}", self.number);
        lock(&self.notes).copies.push(None);
        let done = self.session.run_all(&sql).await.map(drop);
        let is_done = done.is_ok();
        self.must_settle(&sql, done)?;
        let mut known = lock(&self.notes);
        match is_done {
            true => known.copies = vec![None],
            false => drop(known.copies.pop()),
        }
        Ok(is_done)
    }

    /// What has become of it: all or nothing.
    async fn find_out_copy(&mut self) -> Result<(), Stop> {
        self.settle_others().await?;
        let found = self.rows(&model::all_rows(self.number)).await?;
        let copy = self.copy().await?;
        let known = lock(&self.notes).clone();
        let is_known = found == known.certain || Some(&found) == known.possible.as_ref();
        if !is_known || !known.allows_copy(&copy, &found) {
            return Err(Stop::Defect(format!("c{}: half of it was done", self.number)));
        }
        self.report.comparisons += 1;
        self.settle(found);
        let mut known = lock(&self.notes);
        known.settle();
        (known.copies, known.migrated) = (vec![copy], None);
        Ok(())
    }

    /// The rows of the copy, if it is there.
    pub(super) async fn copy(&mut self) -> Result<Option<Rows>, Stop> {
        let is_there = self.db.newest().tables.contains_key(&format!("c{}", self.number));
        match is_there {
            true => self.rows(&copied_rows(self.number)).await.map(Some),
            false => Ok(None),
        }
    }
}
