//! Statements whose texts have come before.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use sql::{Depends, Parameter, Shape, Template};
use types::datetime::speaks_of_now;
use types::{SqlResult, SqlState, oid};

use super::state::Session;
use super::statements::weight;
use crate::activity::Announced;
use crate::activity::status::TransactionStatus;
use crate::prepared::Prepared;
use crate::settings::PlanCache;
use crate::statements::{Definitions, Described, Executed, NamedStatement, no_statement};
use crate::system::catalog;
use crate::texts::lexed::{Lexed, Literal};
use crate::texts::{Form, Known, KnownStatement, key};

/// Longest text that is parsed at once: it takes some milliseconds.
pub(super) const AT_ONCE_BYTES_MAX: usize = 16 << 10;

/// The knowledge of a text.
enum Recalled {
    /// A statement with its values, to be run, and what it has in common with others.
    Statement(Executed, Arc<Shape>),
    /// Texts that differ in literals alone have come before: their form is to be found, for this
    /// skeleton.
    NewForm(String),
    /// It came before and is to be read with parameters in the places of values, of these types,
    /// where 0 is not known.
    New(String, Vec<u32>),
}

impl Session {
    /// The statement that a text with values is, where the like has come before, with its shape.
    ///
    /// # Errors
    /// 57014, also when reading it takes longer than a statement may.
    pub async fn recalled(&self, text: &str) -> SqlResult<Option<(Executed, Arc<Shape>)>> {
        let mut recalled = self.recall(text);
        if let Some(Recalled::NewForm(skeleton)) = recalled {
            let form = Box::pin(self.read_beside(text, form_of)).await?;
            self.database().texts().keep_form(skeleton, form);
            recalled = self.recall(text);
        }
        if let Some(Recalled::New(without, oids)) = recalled {
            Box::pin(self.learn(&without, oids)).await?;
            recalled = self.recall(text);
        }
        Ok(match recalled {
            Some(Recalled::Statement(executed, shape)) => Some((executed, shape)),
            Some(Recalled::New(..) | Recalled::NewForm(_)) | None => None,
        })
    }

    fn recall(&self, text: &str) -> Option<Recalled> {
        let is_too_long = self.database().texts().is_too_long(text.len());
        if self.settings.plan_cache == PlanCache::ForceCustom || is_too_long {
            return None;
        }
        let lexed = Lexed::of(text)?;
        let skeleton = lexed.skeleton();
        let (taken, shape) = match self.database().texts().form(&skeleton) {
            Ok(Form::Free(taken, shape)) => (taken, shape),
            Ok(Form::Fixed) => return None,
            Err(comes_again) => {
                let is_wanted = comes_again || self.forces_generic();
                return is_wanted.then_some(Recalled::NewForm(skeleton));
            }
        };
        let (without, oids) = lexed.parameterized(&taken);
        let key = key(&without, &oids);
        let Some(known) = self.known(&key) else {
            // Texts that differ in what is part of the statement may come once each. Where nothing
            // is, its form has come again, and so has the statement.
            let is_whole = taken.iter().all(|is_taken| *is_taken);
            let is_wanted =
                is_whole || self.database().texts().comes_again(&key) || self.forces_generic();
            return is_wanted.then_some(Recalled::New(without, oids));
        };
        let statement = known.statement?;
        let executed = self.with_literals(&statement, &lexed, &taken)?;
        Some(Recalled::Statement(executed, shape))
    }

    /// The columns that a statement has, if its text has come before and a client was told of them.
    pub fn described_columns(&self, statement: &NamedStatement) -> Option<Option<SchemaRef>> {
        let described = statement.described.as_ref()?;
        let columns = described.columns.get()?;
        self.means(described).then(|| columns.clone())
    }

    /// The definitions that names have for this session, as for all others.
    fn definitions(&self) -> Option<Definitions> {
        let snapshot = self.database().snapshot();
        let now = catalog::Definitions::of(&snapshot, self.role(), self.settings.finds_public());
        Some(Arc::new(now?))
    }

    fn means(&self, described: &Described) -> bool {
        let are_now = |held: &Definitions| {
            let (held, snapshot) = (held.downcast_ref(), self.database().snapshot());
            let finds_public = self.settings.finds_public();
            held.is_some_and(|held: &catalog::Definitions| {
                held.are_of(&snapshot, self.role(), finds_public)
            })
        };
        let hold = |depends: &Depends| depends.hold(&self.system_catalog());
        self.lent.relations.is_empty() && described.holds(are_now, hold, || self.definitions())
    }

    /// The definitions by which what is read now may be kept; `None` where others see other ones.
    fn may_keep(&self) -> Option<Definitions> {
        let is_shared = self.lent.relations.is_empty()
            && !self.database().block().is_some_and(|block| block.defines());
        self.definitions().filter(|_| is_shared)
    }

    /// The text that is kept for a key, if it means the same to this session now.
    fn known(&self, key: &str) -> Option<Known> {
        let known = self.database().texts().of(key)?;
        // The statement before may have meant tables that temporary ones hide.
        self.database().leave_aside(BTreeSet::new());
        self.means(&known.described).then_some(known)
    }

    /// A statement with the literals of a text as values of its parameters, where it has a plan for
    /// all values or may have one.
    fn with_literals(
        &self,
        known: &KnownStatement,
        lexed: &Lexed<'_>,
        taken: &[bool],
    ) -> Option<Executed> {
        let _entered = types::zone::enter(self.context());
        let (prepared, text) = (&known.prepared, lexed.text);
        let plain = |(value, oid): (Parameter, &u32)| match value.ty {
            None if is_plain(*oid) && !value.text().is_some_and(|text| speaks_of_now(&text)) => {
                read(*oid, value)
            }
            _ => value,
        };
        let values = lexed.values(taken)?.into_iter().zip(&*known.oids).map(plain);
        let values: Vec<Parameter> = values.collect();
        if let Some(statement) = self.compiled(prepared, &values, Some(text)) {
            return Some(Executed::Statement(Box::new(statement)));
        }
        // Errors are reported of the text as it was written.
        if let Some(point) = self.point(prepared, &values).ok().flatten() {
            return Some(Executed::Point(Box::new(point)));
        }
        let typed = |(value, oid): (Parameter, &u32)| match value.ty {
            Some(_) => Some(value),
            // How many digits it has is told by its text, which its place need not ask for.
            None if *oid == oid::NUMERIC => None,
            None => Some(read(*oid, value)),
        };
        let values: Option<Vec<Parameter>> =
            values.into_iter().zip(&*known.oids).map(typed).collect();
        let statement = self.bound_from(prepared.template(), &values?, text)?;
        Some(Executed::Statement(Box::new(statement)))
    }

    /// The statement that a client prepares again, if it is known.
    ///
    /// # Errors
    /// 53200 when the session may keep no more.
    pub fn prepared_before(&self, text: &str, oids: &[u32]) -> SqlResult<Option<NamedStatement>> {
        let Some(Known { described, statement: Some(known) }) = self.known(&key(text, oids)) else {
            return Ok(None);
        };
        let KnownStatement { prepared, oids, shape } = known;
        let held = self.account.hold(weight(text, Some(prepared.template())))?;
        let (statement, text) = (Some(prepared), Announced::from(text));
        let named = NamedStatement::new(statement, oids.to_vec(), text, Some(shape));
        Ok(Some(NamedStatement { described: Some(described), held: Some(held), ..named }))
    }

    /// The statement of a text with literals, where the like has come before: it is found by its
    /// text for each execution.
    ///
    /// # Errors
    /// As [`Session::recalled`], 53200 when the session may keep no more.
    pub async fn prepared_by_text(&self, text: &str) -> SqlResult<Option<NamedStatement>> {
        let is_failed = self.transaction_status() == TransactionStatus::Failed;
        if is_failed || text.len() > AT_ONCE_BYTES_MAX {
            return Ok(None);
        }
        let Some((_, shape)) = self.recalled(text).await? else { return Ok(None) };
        let held = self.account.hold(weight(text, None))?;
        let named = NamedStatement::new(None, vec![], Announced::from(text), Some(shape));
        Ok(Some(NamedStatement { by_text: Some(text.into()), held: Some(held), ..named }))
    }

    /// The statement that such a text is now.
    pub(super) fn bound_by_text(&self, text: &str) -> SqlResult<Executed> {
        if self.transaction_status() != TransactionStatus::Failed
            && let Some(Recalled::Statement(executed, _)) = self.recall(text)
        {
            return Ok(executed);
        }
        let template = only(Template::all(text)?).ok_or_else(|| no_statement(""))?;
        self.bound(&Prepared::new(template), &[])
    }

    /// A statement that a client prepares, from its template, as [`Session::statement`]. It is
    /// known from then on if its text has come before.
    ///
    /// # Errors
    /// As that.
    pub async fn prepared_now(
        &self,
        template: Option<Template>,
        oids: Vec<u32>,
        text: &str,
    ) -> SqlResult<NamedStatement> {
        let key = key(text, &oids).into_owned();
        let now = self.may_keep();
        let noted = self.statement_noted(template, oids, text.into(), false).await?;
        let (mut statement, depends) = noted;
        let comes_again = self.database().texts().comes_again(&key) || self.forces_generic();
        if let Some(now) = now.filter(|_| comes_again)
            && let Some(known) = known(&statement)
        {
            let described = Arc::new(Described::new(now, depends));
            statement.described = Some(described.clone());
            self.database().texts().keep(key, Known { described, statement: Some(known) });
        }
        Ok(statement)
    }

    /// Reads a text with parameters of these types in the places of literals, to be known from then
    /// on. An error of the statement is reported of the text as it was written.
    async fn learn(&self, text: &str, oids: Vec<u32>) -> SqlResult<()> {
        let Some(now) = self.may_keep() else { return Ok(()) };
        let key = key(text, &oids).into_owned();
        let statement = match self.read_beside(text, Template::all).await {
            Err(error) => Err(error),
            Ok(templates) => self.statement_noted(only(templates), oids, text.into(), false).await,
        };
        let (statement, depends) = match statement {
            Err(error) if error.state == SqlState::QUERY_CANCELED => return Err(error),
            Err(_) => (None, None),
            Ok((read, depends)) => (known(&read), depends),
        };
        let described = Arc::new(Described::new(now, depends));
        self.database().texts().keep(key, Known { described, statement });
        Ok(())
    }

    /// Reads a text: a long one beside the worker, which answers others meanwhile, and until
    /// somebody cancels.
    ///
    /// # Errors
    /// Those of `read`, 53200 for a text that takes more than the memory, 57014.
    pub async fn read_beside<T: Send + 'static>(
        &self,
        text: &str,
        read: fn(&str) -> SqlResult<T>,
    ) -> SqlResult<T> {
        if text.len() <= AT_ONCE_BYTES_MAX {
            return read(text);
        }
        self.admit_text(text)?;
        let text = text.to_owned();
        self.beside_workers(move || read(&text)).await?
    }
}

/// The part of a statement that is kept; `None` of one that is read each time.
fn known(read: &NamedStatement) -> Option<KnownStatement> {
    let prepared = read.statement.as_ref().filter(|prepared| prepared.may_be_kept())?;
    let (oids, shape) = (read.oids.as_slice().into(), read.shape.clone()?);
    Some(KnownStatement { prepared: prepared.clone(), oids, shape })
}

/// The one statement of a text.
pub(super) fn only(mut templates: Vec<Template>) -> Option<Template> {
    templates.pop().filter(|_| templates.is_empty())
}

/// The form of a text. One that is wrong is read, and refused, each time.
fn form_of(text: &str) -> SqlResult<Form> {
    Ok(Lexed::of(text).and_then(|lexed| found(&lexed)).unwrap_or(Form::Fixed))
}

fn found(lexed: &Lexed<'_>) -> Option<Form> {
    let template = only(Template::all(lexed.text).ok()?)?;
    let operands = template.operands().ok()??;
    let is_taken = |literal: &Literal| match literal.is_list() {
        true => operands.lists.binary_search(&literal.unsigned).is_ok(),
        false => operands.literals.binary_search(&literal.unsigned).is_ok(),
    };
    let taken = lexed.literals.iter().map(is_taken).collect();
    Some(Form::Free(taken, Arc::new(template.shape())))
}

/// True of a type whose values a change of rows takes as they are, and of which a literal says all.
fn is_plain(oid: u32) -> bool {
    matches!(
        oid,
        oid::BOOL
            | oid::INT2
            | oid::INT4
            | oid::INT8
            | oid::FLOAT4
            | oid::FLOAT8
            | oid::DATE
            | oid::TIMESTAMP
            | oid::TIMESTAMPTZ
            | oid::UUID
            | oid::BYTEA
            | oid::TEXT
            | oid::VARCHAR
    )
}

/// An unknown literal as a value of the type of its place. A text that is none is left: its plan
/// says so.
fn read(oid: u32, literal: Parameter) -> Parameter {
    let read = literal.text().and_then(|text| Parameter::read(oid, &text).ok());
    read.unwrap_or_else(|| Parameter::of_type(oid, literal.value))
}
