//! Running statements: one text, or one statement for many rows of values.

use std::rc::Rc;
use std::sync::atomic::Ordering;

use engine::{
    Client, Executed, Parameter, Prepared, RowStream, SqlError, SqlResult, SqlState, Statement,
    StatementResult, Transaction, TransactionStatus,
};

use super::known::Known;
use super::{Attendant, Ran, RanRows, Run, RunMany};

impl Attendant {
    /// Runs a text; the result is that of its last statement.
    pub(super) async fn run(&mut self, run: Run) -> SqlResult<Ran> {
        let known = match self.known.of(&run.text, &self.session).await {
            Ok(known) => known,
            Err(error) => {
                self.failed(false).await;
                return Err(error);
            }
        };
        if run.asks {
            let each = known.statements.iter();
            let unknown = each.flat_map(|(one, _)| self.session.unknown_relations(one.template()));
            let unknown: Vec<_> = unknown.collect();
            if !unknown.is_empty() {
                return Ok(Ran::Unknown(unknown));
            }
        }
        let is_first = self.begin(run.begins && !known.transacts).await?;
        match Box::pin(self.run_known(&known, &run.parameters)).await {
            Ok(ran) => {
                let rest = match &ran {
                    Ran::Rows(RanRows { rest: Some(rest), .. }) => Some(rest.id),
                    _ => None,
                };
                self.sole = rest.filter(|_| is_first);
                self.session.end_transaction();
                Ok(ran)
            }
            Err(error) => {
                self.failed(is_first).await;
                Err(error)
            }
        }
    }

    /// Begins a transaction, unless one is open; whether it did.
    async fn begin(&mut self, begins: bool) -> SqlResult<bool> {
        if !begins || self.session.transaction_status() != TransactionStatus::Idle {
            return Ok(false);
        }
        self.session.run_all("begin").await.map(|_| true)
    }

    async fn run_known(&mut self, known: &Rc<Known>, values: &[Parameter]) -> SqlResult<Ran> {
        self.session.activity().announce(&known.text);
        let mut last = Ran::Command { tag: String::new() };
        for (prepared, shape) in &known.statements {
            // What the one before has left is not wanted.
            drop(last);
            check_count(prepared, values)?;
            self.session.activity().announce_shape(shape.clone());
            let ran = Box::pin(self.run_one(prepared, values)).await;
            last = ran.map_err(|error| prepared.template().located(error))?;
        }
        Ok(last)
    }

    async fn run_one(&mut self, prepared: &Prepared, values: &[Parameter]) -> SqlResult<Ran> {
        let statement = match self.session.bound(prepared, values)? {
            Executed::Point(point) => {
                self.session.check_not_failed()?;
                let rows = self.session.look_up(&point).await?;
                return self.opened(rows).await.map(Ran::Rows);
            }
            Executed::Statement(statement) => *statement,
        };
        self.session.admit(&statement)?;
        let result = match statement {
            Statement::Query(query) => {
                let rows = self.session.start(&query).await?;
                return self.opened(rows).await.map(Ran::Rows);
            }
            Statement::Transaction(step) => self.transact(step).await?,
            other => self.session.run(other, Client::default()).await?,
        };
        match result {
            StatementResult::Command { tag } => Ok(Ran::Command { tag }),
            StatementResult::Rows(rows) => {
                self.opened(RowStream::collected(rows)).await.map(Ran::Rows)
            }
        }
    }

    /// Results outlive a transaction that commits, not one that is undone.
    async fn transact(&mut self, step: Transaction) -> SqlResult<StatementResult> {
        let is_open = self.session.transaction_status() == TransactionStatus::Open;
        let (commits, undoes) = match step {
            Transaction::Commit => (is_open, !is_open),
            Transaction::Rollback => (false, true),
            _ => (false, false),
        };
        if undoes {
            self.results.retain(|_, open| !open.in_block);
        }
        let done = self.session.run(Statement::Transaction(step), Client::default()).await;
        match &done {
            Ok(_) if commits => self.results.values_mut().for_each(|open| open.in_block = false),
            Err(_) if commits => self.results.retain(|_, open| !open.in_block),
            _ => {}
        }
        done
    }

    /// Runs a statement for each row of values; how many rows it has changed in all.
    pub(super) async fn run_many(&mut self, run: RunMany) -> SqlResult<u64> {
        let is_first = self.begin(run.begins).await?;
        let mut count = 0;
        let ran = Box::pin(self.run_each(&run, &mut count)).await;
        self.sole = None;
        match ran {
            Ok(()) => self.session.end_transaction(),
            Err(_) => self.failed(is_first).await,
        }
        ran.map(|()| count)
    }

    async fn run_each(&mut self, run: &RunMany, count: &mut u64) -> SqlResult<()> {
        let known = self.known.of(&run.text, &self.session).await?;
        let [(prepared, shape)] = known.statements.as_slice() else {
            let message = "executemany takes one statement";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        };
        self.session.activity().announce(&known.text);
        self.session.activity().announce_shape(shape.clone());
        for values in &run.rows {
            let changed = async {
                check_count(prepared, values)?;
                let statement = self.session.bound(prepared, values)?;
                let Some(statement) = without_rows(statement) else { return Err(gives_rows()) };
                self.session.run(statement, Client::default()).await
            };
            let changed = Box::pin(changed).await;
            let changed = changed.map_err(|error| prepared.template().located(error))?;
            *count += changed.row_count();
            self.go_on().await?;
        }
        Ok(())
    }

    /// Gives way to others when its turn is over.
    async fn go_on(&self) -> SqlResult<()> {
        if runtime::need_preempt() {
            runtime::yield_now().await;
        }
        match self.signs.stop.load(Ordering::Acquire) {
            true => Err(SqlError::cancelled()),
            false => Ok(()),
        }
    }
}

/// A statement that is no query.
fn without_rows(executed: Executed) -> Option<Statement> {
    match executed {
        Executed::Statement(statement) => match *statement {
            Statement::Query(_) => None,
            other => Some(other),
        },
        Executed::Point(_) => None,
    }
}

fn gives_rows() -> SqlError {
    SqlError::new(SqlState("0A000"), "executemany takes no query")
        .with_hint("Run it by execute, for one row of values after the other.")
}

/// 08P01, as of the protocol: too few or too many values are the program's mistake.
fn check_count(prepared: &Prepared, values: &[Parameter]) -> SqlResult<()> {
    let (given, wanted) = (values.len(), prepared.template().parameter_count());
    if given == wanted {
        return Ok(());
    }
    let message = format!("the statement has {wanted} parameters, {given} values were given");
    Err(SqlError::new(SqlState::PROTOCOL_VIOLATION, message))
}
