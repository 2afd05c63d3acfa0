//! Statements that change rows: each in a block, which is its own where no transaction is open.

use std::sync::Arc;

use sql::parse::{Copy, CopyFormat, Delete, Insert, Statement, Update};
use txn::waiting::let_others;
use types::{SqlError, SqlResult};

use super::state::Session;
use crate::block::Block;
use crate::dml;
use crate::isolation::Isolation;
use crate::pipe::PipeReceiver;
use crate::result::StatementResult;
use crate::writing::Writing;

/// A statement that changes rows, and may run several times.
pub(super) enum RowStatement {
    Insert(Arc<Insert>),
    Update(Update),
    Delete(Delete),
}

impl RowStatement {
    /// The statement as one that changes rows, or as it is.
    pub(super) fn new(statement: Statement) -> Result<RowStatement, Box<Statement>> {
        match statement {
            Statement::Insert(insert) => Ok(RowStatement::Insert(Arc::new(insert))),
            Statement::Update(update) => Ok(RowStatement::Update(update)),
            Statement::Delete(delete) => Ok(RowStatement::Delete(delete)),
            other => Err(Box::new(other)),
        }
    }

    async fn run(&self, writing: &Writing<'_>) -> SqlResult<StatementResult> {
        match self {
            RowStatement::Insert(insert) => Box::pin(dml::insert::insert(writing, insert)).await,
            RowStatement::Update(update) => Box::pin(dml::update::update(writing, update)).await,
            RowStatement::Delete(delete) => Box::pin(dml::delete::delete(writing, delete)).await,
        }
    }
}

impl Session {
    /// Runs a statement that changes rows.
    ///
    /// # Errors
    /// Those of the statement, and of its commit where it is a transaction of its own.
    pub(super) async fn change_rows(
        &mut self,
        statement: RowStatement,
    ) -> SqlResult<StatementResult> {
        let is_alone = self.begin_rows().await?;
        let changed = self.changed(&statement).await;
        self.end_rows(is_alone, changed).await
    }

    /// Runs it until nobody has changed meanwhile what it found: what it has locked stays so, hence nobody
    /// can for long. It lets that go only where others would wait for it, and it for them.
    pub(super) async fn changed(&self, statement: &RowStatement) -> SqlResult<StatementResult> {
        let locked_before = self.db.block().map_or(0, |block| block.count_locked());
        loop {
            let writing = self.writing_rows().await?;
            let error = match statement.run(&writing).await {
                Err(error) => error,
                changed => return changed,
            };
            let block = writing.block()?;
            if !block.take_runs_again() && !block.has_let_go(locked_before, &error) {
                return Err(error);
            }
            let_others(&writing.cancel).await?;
        }
    }

    /// Runs `COPY .. FROM`; `input` is what the client sends.
    ///
    /// # Errors
    /// As [`Session::change_rows`].
    pub(crate) async fn copy_rows(
        &mut self,
        copy: &Copy,
        input: Option<PipeReceiver<Vec<u8>>>,
    ) -> SqlResult<StatementResult> {
        let is_alone = self.begin_rows().await?;
        let copied = match copy.options.format {
            CopyFormat::Parquet => Box::pin(self.copy_parquet(copy)).await,
            _ => self.copy_read(copy, input).await,
        };
        self.end_rows(is_alone, copied).await
    }

    /// Runs `COPY .. FROM` of rows that are read here, and puts away those that could not be.
    async fn copy_read(
        &mut self,
        copy: &Copy,
        input: Option<PipeReceiver<Vec<u8>>>,
    ) -> SqlResult<StatementResult> {
        let (copied, rejects) = self.copy_from(copy, input).await?;
        for insert in rejects.inserts()? {
            let insert = RowStatement::new(insert)
                .map_err(|_| SqlError::internal("an INSERT changes rows"))?;
            self.changed(&insert).await?;
        }
        self.notices.extend(rejects.notice());
        Ok(copied)
    }

    /// Runs `COPY .. FROM` of a Parquet file: its rows are inserted as those of a query are.
    async fn copy_parquet(&self, copy: &Copy) -> SqlResult<StatementResult> {
        let insert = RowStatement::Insert(Arc::new(self.copied_insert(copy).await?));
        match self.changed(&insert).await? {
            StatementResult::Command { tag } => {
                let count = tag.rsplit(' ').next().unwrap_or_default();
                Ok(StatementResult::Command { tag: format!("COPY {count}") })
            }
            rows => Ok(rows),
        }
    }

    /// Begins a block for one statement, unless there is one.
    pub(super) async fn begin_rows(&mut self) -> SqlResult<bool> {
        if self.has_written() {
            return Ok(false);
        }
        let isolation = self.isolation();
        drop(self.looked_alone());
        if isolation != Isolation::ReadCommitted && self.db.kept().is_none() {
            self.await_entry().await?;
            let cancel = self.lock_wait().cancel;
            let keeper = Some(self.db.versions().keepers().enter(&cancel).await?);
            self.db = self.db.pinned(isolation == Isolation::Serializable, keeper);
        }
        let begun = self.begin_writing(&self.lock_wait()).await;
        match self.db.block() {
            Some(block) => block.ends_with_statement(),
            None => self.db = self.db.unpinned(),
        }
        begun.map(|()| true)
    }

    /// Ends the block of one statement.
    pub(super) async fn end_rows(
        &mut self,
        is_alone: bool,
        done: SqlResult<StatementResult>,
    ) -> SqlResult<StatementResult> {
        let Some(block) = self.db.block().filter(|_| is_alone).cloned() else { return done };
        let done = match done {
            Ok(done) => Box::pin(self.before_commit()).await.map(|()| done),
            failed => failed,
        };
        self.db = block.public().unpinned();
        let done = match done {
            Ok(done) => done,
            Err(error) => {
                // A client that cancels has its answer at once.
                Block::roll_back(block, &self.lock_wait().cancel).await;
                return Err(error);
            }
        };
        let committed = block.clone().commit(self.waits_for_device()).await;
        if committed.is_err() {
            Block::roll_back(block, &self.lock_wait().cancel).await;
        }
        self.note_acknowledged(committed?);
        Ok(done)
    }
}
