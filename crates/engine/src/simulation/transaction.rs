//! Transactions of several statements, with savepoints: all of them stay or none. A statement that a cancel ends fails
//! the block; what came before a savepoint goes on from there.

use txn::locks::table::DEADLOCK;
use types::{SqlError, SqlResult, SqlState};

use super::client::{Client, Stop, lock};
use super::interrupted::Ended;
use super::model::{self, Step};

/// The savepoint of those that have one.
pub(super) const SAVE: &str = "savepoint s";
pub(super) const GO_BACK: &str = "rollback to savepoint s";

impl Client {
    /// Several statements, of which all or none stay.
    pub(super) async fn transaction(&mut self) -> Result<(), Stop> {
        let before = lock(&self.notes).certain.clone();
        let (mut rows, mut texts) = (before.clone(), vec![]);
        for _ in 0..=self.prng.below(3) {
            if self.prng.chance(0.3) {
                let undone = model::change(&mut self.prng, self.number, &rows);
                let changes = undone.next.map(|_| undone.sql);
                texts.push(SAVE.to_owned());
                texts.extend(changes);
                texts.push(GO_BACK.to_owned());
            }
            let step = model::change(&mut self.prng, self.number, &rows);
            if let Some(next) = step.next {
                rows = next;
                texts.push(step.sql);
            }
        }
        let commits = self.prng.chance(0.7);
        lock(&self.notes).possible = commits.then(|| rows.clone());
        let next = if commits { rows } else { before };
        let step = Step::of(texts.join("; "), Some(next));
        match self.interrupted(async |client| client.block(&texts, commits).await).await {
            // Two that come to change so much that they write alone.
            Ended::Done(Err(error)) if error.state == DEADLOCK => self.report.refusals += 1,
            Ended::Done(done) => return self.judge(&step, done),
            Ended::Cancelled => self.report.cancelled_transactions += 1,
            Ended::Dropped => return self.find_out(&step).await,
        }
        lock(&self.notes).possible = None;
        Ok(())
    }

    /// Runs statements in a block.
    ///
    /// # Errors
    /// Of the one that has failed it; XX000 where it has not failed.
    pub(super) async fn block(&mut self, texts: &[String], commits: bool) -> SqlResult<()> {
        self.session.run_all("begin").await?;
        let mut rest = texts;
        while let Some((text, after)) = rest.split_first() {
            rest = after;
            let Err(error) = self.session.run_all(text).await else { continue };
            self.check_failed().await?;
            match undone_part(after).filter(|_| self.is_cancel(&error)) {
                Some(end) => {
                    self.report.cancels += 1;
                    self.report.cancelled_transactions += 1;
                    rest = end;
                }
                None => {
                    self.session.run_all("rollback").await?;
                    return Err(error);
                }
            }
        }
        let end = if commits { "commit" } else { "rollback" };
        self.session.run_all(end).await.map(drop)
    }

    /// A block that has failed does nothing any more.
    async fn check_failed(&mut self) -> SqlResult<()> {
        let query = format!("select count(*) from t{}", self.number);
        match self.session.run_all(&query).await {
            Err(error) if error.state == SqlState("25P02") => Ok(()),
            other => Err(SqlError::internal(format!("a block that has failed gives {other:?}"))),
        }
    }
}

/// From where a block goes on when a statement fails that was to be undone in any case.
fn undone_part(after: &[String]) -> Option<&[String]> {
    let end = after.iter().position(|text| [SAVE, GO_BACK].contains(&text.as_str()))?;
    (after[end] == GO_BACK).then(|| &after[end..])
}
