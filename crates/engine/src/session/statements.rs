//! Prepared statements of a session.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use exec::LocalFuture;
use runtime::sync::Cancel;
use sql::parse::{Discard, Execute, Prepare};
use sql::{Depends, Parameter, Query, Recorder, Statement, Template};
use types::{SqlError, SqlResult, SqlState};

use super::state::Session;
use crate::activity::Announced;
use crate::activity::status::TransactionStatus;
use crate::prepared::Prepared;
use crate::result::{StatementResult, tag};
use crate::settings::PlanCache;
use crate::statements::{Executed, NamedStatement, no_statement, nulls};
use crate::system::catalog::SystemCatalog;
use crate::timeout::StatementTimeout;

/// Memory of a prepared statement besides its text.
const STATEMENT_BYTES: usize = 1 << 10;

/// Memory of each word and sign: a number in a list is a node of some hundred bytes.
const TOKEN_BYTES: usize = 160;

/// The memory that a prepared statement takes, about: its text, and the tree of what was read.
pub(super) fn weight(text: &str, template: Option<&Template>) -> usize {
    let tokens = template.map_or(0, Template::token_count);
    STATEMENT_BYTES + 2 * text.len() + TOKEN_BYTES * tokens
}

/// The definitions that a statement depends on, if it can be checked without a moment.
fn depends(statement: &Statement, catalog: &SystemCatalog) -> Option<Depends> {
    let recorder = Recorder::new(catalog);
    sql::check(statement, &recorder).ok()?;
    recorder.depends()
}

impl Session {
    /// A statement from its template, with the definitions that it depends on, where these are
    /// known one by one.
    ///
    /// # Errors
    /// As [`Session::statement`].
    pub(super) fn statement_noted(
        &self,
        template: Option<Template>,
        mut oids: Vec<u32>,
        text: Announced,
        from_sql: bool,
    ) -> LocalFuture<'_, SqlResult<(NamedStatement, Option<Depends>)>> {
        Box::pin(async move {
            let held = self.account.hold(weight(text.shown(), template.as_ref()))?;
            let needed = template.as_ref().map_or(0, Template::parameter_count);
            oids.resize(needed.max(oids.len()), 0);
            oids.iter_mut().filter(|oid| **oid == types::oid::UNKNOWN).for_each(|oid| *oid = 0);
            let mut depends = None;
            if let Some(template) = &template {
                // Reports what cannot be planned now rather than when it runs.
                let looked = Box::pin(self.look_at(template, &oids)).await;
                (oids, depends) = looked.map_err(|error| template.located(error))?;
            }
            let shape = template.as_ref().map(|template| Arc::new(template.shape()));
            let statement = template.map(|template| Arc::new(Prepared::new(template)));
            let named = NamedStatement::new(statement, oids, text, shape);
            let statement = NamedStatement { from_sql, held: Some(held), ..named };
            Ok((statement, depends))
        })
    }

    /// A statement from its template. Types that are given stay, those left open (0) follow from
    /// where the parameters stand, as far as that tells.
    ///
    /// # Errors
    /// Those of parsing and binding.
    pub fn statement(
        &self,
        template: Option<Template>,
        oids: Vec<u32>,
        text: Announced,
        from_sql: bool,
    ) -> LocalFuture<'_, SqlResult<NamedStatement>> {
        let noted = self.statement_noted(template, oids, text, from_sql);
        Box::pin(async move { noted.await.map(|(statement, _)| statement) })
    }

    /// Finds the types that are open, and names that are not there. Who may do it is asked when it
    /// runs.
    async fn look_at(
        &self,
        template: &Template,
        oids: &[u32],
    ) -> SqlResult<(Vec<u32>, Option<Depends>)> {
        let cancel = Cancel::default();
        self.listen_to(cancel.clone());
        let clock = StatementTimeout::start(&self.settings, &cancel);
        let (catalog, is_large) = self.catalog_with_files(template, oids).await?;
        let (template, oids) = (template.clone(), oids.to_vec());
        let look = move || {
            let oids = sql::parameter_types(&template, &oids, &catalog)?;
            let bound = template.bind(&nulls(&oids))?;
            let depends = match sql::check(&bound, &catalog) {
                Err(error) if error.state != SqlState::INSUFFICIENT_PRIVILEGE => return Err(error),
                Err(_) => None,
                Ok(()) => depends(&bound, &catalog),
            };
            Ok((oids, depends))
        };
        clock.judge(self.planner().plan(is_large, &cancel, look).await)
    }

    /// The catalog in which a statement is bound that does not run, with the files that its query
    /// names; and whether binding it may keep others waiting.
    async fn catalog_with_files(
        &self,
        template: &Template,
        oids: &[u32],
    ) -> SqlResult<(SystemCatalog, bool)> {
        let (catalog, query, is_large) = {
            let _entered = types::zone::enter(self.context());
            if !template.is_long() {
                template.read()?;
            }
            let statement = template.bind(&nulls(oids))?;
            self.mean(&statement);
            let catalog = self.catalog_for(&statement)?;
            let query = match statement {
                Statement::Query(query) => Some(query),
                Statement::Insert(insert) => sql::query_of(&insert, &catalog)?,
                Statement::Explain(explain) => Some(explain.query),
                _ => None,
            };
            let views = &self.database().snapshot().views;
            let is_large = |query: &Query| query.is_large(&|name| views.get(name).cloned());
            let is_large = template.is_long() || query.as_ref().is_some_and(is_large);
            (catalog, query, is_large)
        };
        if let Some(query) = query {
            catalog.open_files(&query, &Cancel::default()).await?;
        }
        Ok((catalog, is_large))
    }

    /// Keeps a statement under a name.
    ///
    /// # Errors
    /// 42P05 when there is one of this name.
    pub fn keep_statement(&mut self, name: &str, statement: NamedStatement) -> SqlResult<()> {
        if self.statements.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_STATEMENT, message));
        }
        Arc::make_mut(&mut self.statements).insert(name.to_owned(), Arc::new(statement));
        Ok(())
    }

    /// The statement of this name.
    ///
    /// # Errors
    /// 26000 when there is none.
    pub fn named_statement(&self, name: &str) -> SqlResult<&Arc<NamedStatement>> {
        self.statements.get(name).ok_or_else(|| no_statement(name))
    }

    /// Forgets the statement of this name, or all of them; whether there was one.
    pub fn forget_statements(&mut self, name: Option<&str>) -> bool {
        let statements = Arc::make_mut(&mut self.statements);
        match name {
            Some(name) => statements.remove(name).is_some(),
            None => {
                statements.clear();
                true
            }
        }
    }

    /// `PREPARE`.
    ///
    /// # Errors
    /// 42P05 for a name that is taken, and what is wrong with the statement.
    pub fn prepare<'a>(&'a mut self, prepare: &'a Prepare) -> LocalFuture<'a, SqlResult<()>> {
        Box::pin(async move {
            if self.statements.contains_key(&prepare.name) {
                let message = format!("prepared statement \"{}\" already exists", prepare.name);
                return Err(SqlError::new(SqlState::DUPLICATE_STATEMENT, message));
            }
            let (template, types) = (prepare.template.clone(), prepare.types.clone());
            let text = Announced::from(prepare.text.as_str());
            let statement = self.statement(Some(template), types, text, true).await?;
            self.keep_statement(&prepare.name, statement)
        })
    }

    /// What an `EXECUTE` stands for.
    ///
    /// # Errors
    /// 26000 for a name that is none, and what is wrong with the arguments.
    pub fn executed(&self, execute: &Execute) -> SqlResult<Executed> {
        let named = self.named_statement(&execute.name)?;
        let values = sql::arguments(execute, &named.oids, &self.system_catalog())?;
        let Some(prepared) = &named.statement else {
            return Err(SqlError::unsupported("EXECUTE of an empty statement"));
        };
        let Some(explaining) = execute.explain else {
            return self.bound(prepared, &values);
        };
        let explain = explaining.of(prepared.template().bind(&values)?)?;
        Ok(Executed::Statement(Box::new(explain)))
    }

    /// A statement of a client with values for its parameters; `None` of the empty one.
    ///
    /// # Errors
    /// As [`Session::bound`].
    pub fn bound_named(
        &self,
        named: &NamedStatement,
        values: &[Parameter],
    ) -> SqlResult<Option<Executed>> {
        match (&named.by_text, &named.statement) {
            (Some(text), _) => self.bound_by_text(text).map(Some),
            (None, Some(prepared)) => self.bound(prepared, values).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// A prepared statement with values for its parameters. In a failed block nothing is planned; what
    /// may still run needs no plan.
    ///
    /// # Errors
    /// What parsing and planning say.
    pub fn bound(&self, prepared: &Prepared, values: &[Parameter]) -> SqlResult<Executed> {
        if let Some(statement) = prepared.transaction() {
            return Ok(Executed::Statement(Box::new(statement)));
        }
        let is_custom = self.settings.plan_cache == PlanCache::ForceCustom;
        if self.transaction_status() != TransactionStatus::Failed && !is_custom {
            if let Some(statement) = self.compiled(prepared, values, None) {
                return Ok(Executed::Statement(Box::new(statement)));
            }
            if let Some(point) = self.point(prepared, values)? {
                return Ok(Executed::Point(Box::new(point)));
            }
        }
        let statement = self.bound_again(prepared.template(), values)?;
        prepared.keep_transaction(&statement);
        Ok(Executed::Statement(Box::new(statement)))
    }

    /// The columns of a query's result, without running it.
    ///
    /// # Errors
    /// What planning says, and 57014, also when it takes longer than a statement may.
    pub fn describe<'a>(&'a self, query: &'a Query) -> LocalFuture<'a, SqlResult<SchemaRef>> {
        Box::pin(async move {
            let bound = query.bound.as_deref();
            if let Some(schema) = bound.and_then(|bound| self.described_before(bound)) {
                return Ok(schema);
            }
            let cancel = Cancel::default();
            self.listen_to(cancel.clone());
            let clock = StatementTimeout::start(&self.settings, &cancel);
            // To be described is not to run: a plan that was kept serves, none is made to be kept.
            let mut query = query.clone();
            query.bound.take_if(|bound| bound.generic().is_none());
            Ok(clock.judge(self.plan(&query, &cancel).await)?.1.root.schema.clone())
        })
    }

    /// The columns that a statement which writes returns; `None` when it returns none.
    ///
    /// # Errors
    /// What binding its `RETURNING` says.
    pub fn returned(&self, statement: &Statement) -> SqlResult<Option<SchemaRef>> {
        let (returns, execution, bound) = match statement {
            Statement::Insert(of) => (of.returns_rows(), of.execution(), of.bound.as_ref()),
            Statement::Update(of) => (of.returns_rows(), of.execution(), of.bound.as_ref()),
            Statement::Delete(of) => (of.returns_rows(), of.execution(), of.bound.as_ref()),
            _ => return Ok(None),
        };
        if !returns {
            return Ok(None);
        }
        let (catalog, _entered) = (self.system_catalog(), types::zone::enter(self.context()));
        let compiled = execution.filter(|execution| {
            let table = catalog.snapshot().table(execution.table_name());
            table.is_ok_and(|table| execution.fits(&table.def))
        });
        let generic = bound.and_then(|bound| bound.generic());
        let generic = generic.filter(|generic| generic.holds(&catalog));
        let kept = match (compiled, generic) {
            (Some(compiled), _) => compiled.returning(),
            (None, Some(generic)) => generic.change().and_then(|how| how.returning.as_ref()),
            (None, None) => None,
        };
        if let Some(columns) = kept {
            return Ok(Some(columns.schema.clone()));
        }
        let columns = match statement {
            Statement::Insert(insert) => sql::dml::returning(insert, &catalog)?,
            Statement::Update(update) => sql::dml::returning(update, &catalog)?,
            Statement::Delete(delete) => sql::dml::returning(delete, &catalog)?,
            _ => None,
        };
        Ok(columns.map(|columns| columns.schema))
    }

    /// `DEALLOCATE`.
    pub(crate) fn deallocate(&mut self, name: Option<&str>) -> SqlResult<StatementResult> {
        match name {
            None => {
                self.forget_statements(None);
                Ok(tag("DEALLOCATE ALL"))
            }
            Some(name) if self.forget_statements(Some(name)) => Ok(tag("DEALLOCATE")),
            Some(name) => Err(no_statement(name)),
        }
    }

    /// `DISCARD`: the session is as it began, or that part of it.
    pub(crate) async fn discard(&mut self, what: Discard) -> SqlResult<StatementResult> {
        Ok(tag(match what {
            Discard::All => {
                self.drop_all_temporary().await?;
                self.info = self.info.authorized(&self.database().snapshot(), None)?;
                self.reset("all")?;
                self.forget_statements(None);
                self.numbers.forget();
                self.mailbox.unlisten_all();
                "DISCARD ALL"
            }
            // Plans are checked before they are used again.
            Discard::Plans => "DISCARD PLANS",
            Discard::Sequences => {
                self.numbers.forget();
                "DISCARD SEQUENCES"
            }
            Discard::Temporary => {
                self.drop_all_temporary().await?;
                "DISCARD TEMP"
            }
        }))
    }

    /// Drops all temporary tables of the session.
    async fn drop_all_temporary(&self) -> SqlResult<()> {
        let names = self.database().snapshot().temporary_names();
        match names.is_empty() {
            true => Ok(()),
            false => self.drop_temporary(names).await,
        }
    }
}
