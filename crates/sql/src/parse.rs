//! Text to statements. The syntax tree is dispatched here: only queries go on to the library.

use std::sync::Arc;

use datafusion_sql::sqlparser::ast;
use datafusion_sql::sqlparser::parser::Parser;
use types::{SqlError, SqlResult, SqlState};

use crate::generic::Bound;

mod alter;
mod backup;
mod balance;
mod clauses;
mod comment;
mod common_type;
mod constraint;
mod copy;
mod cursor;
mod ddl;
mod deferral;
pub(crate) mod dialect;
mod dml;
mod exclude;
mod explain;
mod files;
mod filtered;
mod grouping;
mod having;
mod include;
mod lateral;
mod lock;
mod merged;
mod named;
mod natural;
mod needed;
mod no_columns;
mod notification;
mod operators;
mod ordered_set;
mod overriding;
mod place;
mod precedence;
mod prepare;
mod recursion;
mod refuse;
mod relations;
mod reorganize;
mod reread;
mod rewrite;
mod role;
mod rows;
mod secret;
mod sequence;
mod setting;
mod shape;
mod special;
mod statement_names;
mod synonyms;
mod table;
mod template;
#[cfg(test)]
mod tests;
mod tokens;
mod type_names;
mod unqualified;
mod vacuum;
mod values;
mod whole_rows;
mod windows;
mod with_writes;
mod words;

pub use crate::view::CreateView;
pub use alter::{AlterTable, Alteration};
pub use comment::{Comment, Commented};
pub use constraint::{ColumnSpec, ConstraintSpec, ForeignKeySpec};
pub use copy::{
    Compression, Copied, Copy, CopyFormat, CopyOptions, CopySource, CopyTarget, CopyTo,
    ForcedColumns, Header, Ignored, ParquetOptions, file_insert, table_query,
};
pub use cursor::{CursorStatement, DeclareCursor, Fetch, Which, no_block, no_cursor};
pub use deferral::SetConstraints;
pub use dml::{Delete, Insert, Truncate, Update};
pub use explain::{Explain, ExplainWrite};
pub(crate) use having::is_of_many_rows;
pub(crate) use lock::mode_of;
pub use lock::{LockTables, LockedRelation, RowLockMode, RowLocks, TableLock};
pub(crate) use no_columns::{NONE, empty as without_stand_ins, stored_query};
pub use notification::NotificationStatement;
pub use overriding::Overriding;
pub use prepare::{Discard, Execute, Explaining, Prepare};
pub use role::{Grant, GrantTarget, Privilege, RoleName, RoleOptions, RoleStatement, Secret};
pub use secret::{CreateSecret, SecretStatement};
pub use sequence::{AlterSequence, CreateSequence, SequenceChange};
pub use setting::ISOLATION_LEVELS;
pub use shape::Shape;
pub use template::{Parameter, Template};
pub use unqualified::NamedRelation;
pub use vacuum::Vacuum;
pub use with_writes::{RESULTS_SCHEMA, WithWrites};

pub(crate) use balance::balance;
pub(crate) use ddl::column_type;
pub(crate) use dml::{Arbiter, Assignment, InsertSource, OnConflict, row_query};
pub(crate) use precedence::regroup;
pub(crate) use rewrite::{
    SET_FUNCTIONS, last_name, parsed_query, plain_arguments, rewrite, say_integers,
};
pub(crate) use tokens::{syntax_error, too_deep};
pub(crate) use type_names::named_array;

/// A statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// `SELECT`, `VALUES`, `WITH`.
    Query(Query),
    /// `EXPLAIN [ANALYZE]`.
    Explain(Explain),
    /// `CREATE TABLE`.
    CreateTable(CreateTable),
    /// `CREATE INDEX`.
    CreateIndex(CreateIndex),
    /// `CREATE [OR REPLACE] VIEW`.
    CreateView(CreateView),
    /// `ALTER TABLE`.
    AlterTable(AlterTable),
    /// `CREATE SEQUENCE`.
    CreateSequence(CreateSequence),
    /// `ALTER SEQUENCE`.
    AlterSequence(AlterSequence),
    /// `DROP` of a table, an index, a view or a sequence.
    Drop(Drop),
    /// `INSERT`.
    Insert(Insert),
    /// `UPDATE`.
    Update(Update),
    /// `DELETE`.
    Delete(Delete),
    /// `TRUNCATE`.
    Truncate(Truncate),
    /// `LOCK TABLE`.
    Lock(LockTables),
    /// `COPY .. FROM`.
    Copy(Copy),
    /// `COPY .. TO`.
    CopyTo(CopyTo),
    /// `ANALYZE`, of one table or of all.
    Analyze {
        /// The table; `None` is all.
        table: Option<String>,
    },
    /// `VACUUM`.
    Vacuum(Vacuum),
    /// `SET name = value`; `None` is `DEFAULT`.
    Set {
        /// Setting.
        name: String,
        /// New value as text.
        value: Option<String>,
    },
    /// `SET TRANSACTION` and `SET SESSION CHARACTERISTICS`: settings with their values.
    SetTransaction(Vec<(String, String)>),
    /// `SET LOCAL name = value`: until the transaction block ends.
    SetLocal {
        /// Setting.
        name: String,
        /// New value as text; `None` is `DEFAULT`.
        value: Option<String>,
    },
    /// `SHOW name`; the name may be `all` or `tables`.
    Show {
        /// Setting.
        name: String,
    },
    /// `RESET name`; `None` is `ALL`.
    Reset {
        /// Setting.
        name: Option<String>,
    },
    /// A `WITH` whose queries change rows.
    WithWrites(WithWrites),
    /// `EXPLAIN` of what changes rows.
    ExplainWrite(ExplainWrite),
    /// `LISTEN`, `UNLISTEN` and `NOTIFY`.
    Notification(NotificationStatement),
    /// `SET CONSTRAINTS`.
    SetConstraints(SetConstraints),
    /// `REORGANIZE [TABLE]`.
    Reorganize {
        /// The table.
        table: String,
    },
    /// `COMMENT ON`.
    Comment(Comment),
    /// `CHECK DATABASE`.
    CheckDatabase,
    /// `BACKUP DATABASE TO`, a file of the server that does not exist yet.
    Backup {
        /// Its path.
        path: String,
    },
    /// `CHECKPOINT`.
    Checkpoint,
    /// Roles and privileges.
    Role(RoleStatement),
    /// Keys of object stores.
    Secret(SecretStatement),
    /// `BEGIN`, `COMMIT`, `ROLLBACK` and their other names.
    Transaction(Transaction),
    /// `PREPARE`.
    Prepare(Box<Prepare>),
    /// `EXECUTE`.
    Execute(Execute),
    /// `DEALLOCATE`: what is to be forgotten, `None` for all.
    Deallocate {
        /// A prepared statement.
        name: Option<String>,
    },
    /// `DISCARD`.
    Discard(Discard),
    /// `DECLARE`, `FETCH`, `MOVE`, `CLOSE`.
    Cursor(CursorStatement),
}

/// What happens to the transaction block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// One begins.
    Begin(Modes),
    /// It ends, its work kept.
    Commit,
    /// It ends, its work undone.
    Rollback,
    /// `SAVEPOINT`.
    Savepoint(String),
    /// `RELEASE SAVEPOINT`.
    Release(String),
    /// `ROLLBACK TO SAVEPOINT`.
    RollbackTo(String),
}

/// How a transaction block is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// Whether it only reads; `None` is the session's.
    pub read_only: Option<bool>,
    /// The isolation that is asked for, as a setting has it; `None` is the session's.
    pub isolation: Option<String>,
    /// The statement is `START TRANSACTION`.
    pub is_start: bool,
}

/// A parsed query.
#[derive(Clone, Debug)]
pub struct Query {
    pub(crate) ast: Box<ast::Query>,
    /// The statement that it is, where that may run again with other values.
    pub bound: Option<Arc<Bound>>,
}

/// What becomes of a temporary table when a transaction commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnCommit {
    /// Nothing.
    #[default]
    PreserveRows,
    /// It loses its rows.
    DeleteRows,
    /// It is dropped.
    Drop,
}

/// `CREATE TABLE`.
#[derive(Clone, Debug)]
pub struct CreateTable {
    /// The name.
    pub name: String,
    /// No error if it exists.
    pub if_not_exists: bool,
    /// The columns, with the constraints that stand with them.
    pub columns: Vec<ColumnSpec>,
    /// The other constraints.
    pub constraints: Vec<ConstraintSpec>,
    /// `AS query`.
    pub query: Option<Query>,
    /// Only its session sees it.
    pub temporary: bool,
    /// What becomes of it when a transaction commits.
    pub on_commit: OnCommit,
    /// How its rows are kept, if the statement says so.
    pub storage: Option<crate::catalog::TableStorage>,
    /// Where its chunks lie, if not in the file.
    pub location: Option<String>,
}

/// `CREATE INDEX`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateIndex {
    /// The name; made of table and columns when the statement gives none.
    pub name: String,
    /// The table.
    pub table: String,
    /// Names of the indexed columns, in key order.
    pub columns: Vec<String>,
    /// Names of the columns that entries only carry.
    pub included: Vec<String>,
    /// Whether duplicates are refused.
    pub unique: bool,
    /// What the entries are to be ordered by.
    pub method: crate::catalog::IndexMethod,
    /// No error if it exists.
    pub if_not_exists: bool,
}

/// `DROP`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drop {
    /// What kind of object.
    pub object: DropObject,
    /// The names.
    pub names: Vec<String>,
    /// No error if one does not exist.
    pub if_exists: bool,
    /// What depends on them goes too.
    pub cascade: bool,
}

/// What `DROP` drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropObject {
    /// A table with its indexes.
    Table,
    /// A secondary index.
    Index,
    /// A view.
    View,
    /// A sequence.
    Sequence,
}

/// Parses all statements of `text`, separated by semicolons.
///
/// Errors: 42601 with the position of the first token that does not fit, 54000 and 54001 for text
/// that is too long or too deep, 0A000 for statements that the engine does not have.
pub fn parse(text: &str) -> SqlResult<Vec<Statement>> {
    let statements = tokens::split(text)?;
    statements.into_iter().map(|tokens| parse_one(text, tokens)).collect()
}

fn parse_one(text: &str, mut tokens: tokens::Tokens) -> SqlResult<Statement> {
    if tokens::is_word(&tokens, "checkpoint") {
        return Ok(Statement::Checkpoint);
    }
    if tokens::are_words(&tokens, &["check", "database"]) {
        return Ok(Statement::CheckDatabase);
    }
    if backup::is_backup(&tokens) {
        return backup::backup(text, &tokens);
    }
    if vacuum::is_vacuum(&tokens) {
        return vacuum::vacuum(text, &tokens).map(Statement::Vacuum);
    }
    if reorganize::is_reorganize(&tokens) {
        return reorganize::reorganize(text, tokens);
    }
    if let Some(statement) = copy::statement(text, &tokens) {
        return statement;
    }
    if let Some(statement) = of_session(text, &tokens) {
        return statement;
    }
    if let Some(statement) = role::statement(text, &tokens) {
        return statement.map(Statement::Role);
    }
    let of_object = sequence::statement(text, &tokens);
    if let Some(statement) = of_object.or_else(|| secret::statement(text, &tokens)) {
        return statement;
    }
    adapt(text, &mut tokens)?;
    let overriding = overriding::taken(&mut tokens);
    sequence::order_options(text, &mut tokens)?;
    let last = tokens.last().cloned();
    let names_no_list = no_columns::names_no_list(&tokens);
    let unknown = statement_names::refused(&tokens);
    let dialect = dialect::Postgres::for_length(tokens.len());
    let mut parser = Parser::new(&dialect)
        // Parentheses behind an operator take two steps: one for the operand, one for what is in them.
        .with_recursion_limit(2 * tokens::NESTING_MAX)
        .with_tokens_with_locations(tokens);
    let statement = parser.parse_statement();
    let mut statement = statement
        .map_err(|e| unknown.clone().unwrap_or_else(|| syntax_error(text, last.as_ref(), e)))?;
    let rest = parser.peek_token();
    if rest.token != datafusion_sql::sqlparser::tokenizer::Token::EOF {
        return Err(unknown.clone().unwrap_or_else(|| tokens::unexpected(text, &rest)));
    }
    balance(&mut statement)?;
    regroup(&mut statement);
    files::as_relations(&mut statement)?;
    crate::system::normalise(&mut statement);
    let into = match &mut statement {
        ast::Statement::Query(query) => ddl::taken_into(query),
        _ => None,
    };
    refuse::dropped_silently(&statement)?;
    no_columns::check(&statement)?;
    let dispatched = dispatch(statement).map_err(|error| match unknown {
        Some(named) if error.state == SqlState::FEATURE_NOT_SUPPORTED => named,
        _ => error,
    })?;
    no_columns::check_list(&dispatched, names_no_list)?;
    match (overriding::with(dispatched, overriding)?, into) {
        (Statement::Query(query), Some(into)) => {
            Ok(Statement::CreateTable(ddl::select_into(&into, query)?))
        }
        (statement, _) => Ok(statement),
    }
}

/// Puts what the library's parser understands in the place of what it does not.
fn adapt(text: &str, tokens: &mut tokens::Tokens) -> SqlResult<()> {
    table::expand(text, tokens)?;
    table::forget_only(tokens);
    exclude::nothing(tokens)?;
    table::with_data(tokens);
    include::mark(tokens);
    operators::before_any(tokens);
    no_columns::fill(tokens);
    Ok(())
}

/// A statement about the session and its transaction, or about when constraints are checked, if it is one.
fn of_session(text: &str, tokens: &tokens::Tokens) -> Option<SqlResult<Statement>> {
    let of_constraints = deferral::statement(text, tokens);
    let of_constraints = of_constraints.map(|set| set.map(Statement::SetConstraints));
    let notified = || notification::statement(text, tokens).map(|n| n.map(Statement::Notification));
    let altered = || deferral::alteration(text, tokens).map(|a| a.map(Statement::AlterTable));
    of_constraints
        .or_else(altered)
        .or_else(notified)
        .or_else(|| cursor::statement(text, tokens))
        .or_else(|| prepare::statement(text, tokens))
}

fn dispatch(statement: ast::Statement) -> SqlResult<Statement> {
    use ast::Statement as S;
    Ok(match statement {
        S::Query(ast) => query_or_change(*ast)?,
        S::Explain { analyze, verbose, statement, format, options, .. } => {
            explain::explain(analyze, verbose, *statement, format, options)?
        }
        S::CreateTable(create) => Statement::CreateTable(ddl::create_table(create)?),
        S::AlterTable(alter) => Statement::AlterTable(alter::alter_table(&alter)?),
        S::CreateView(create) => Statement::CreateView(CreateView::from_ast(create)?),
        S::CreateIndex(create) => Statement::CreateIndex(ddl::create_index(create)?),
        S::Drop { object_type, if_exists, names, cascade, temporary: false, .. } => {
            Statement::Drop(ddl::drop(object_type, if_exists, &names, cascade)?)
        }
        S::Insert(insert) => Statement::Insert(dml::insert(insert)?),
        S::Update(update) => Statement::Update(dml::update(update, None)?),
        S::Delete(delete) => Statement::Delete(dml::delete(delete, None)?),
        S::Lock(lock) => Statement::Lock(lock::lock(&lock)?),
        S::Truncate(truncate) => Statement::Truncate(dml::truncate(truncate)?),
        S::Analyze(analyze) => {
            Statement::Analyze { table: analyze.table_name.as_ref().map(name).transpose()? }
        }
        S::Set(set) => setting::set(set)?,
        S::ShowVariable { variable } => setting::show(&variable),
        S::ShowTables { .. } => Statement::Show { name: "tables".into() },
        S::Reset(reset) => setting::reset(&reset.reset)?,
        S::StartTransaction { modes, begin, .. } => {
            Statement::Transaction(setting::begin(&modes, !begin)?)
        }
        // Nobody listens: there is nothing to be told about.
        S::Commit { chain: false, .. } => Statement::Transaction(Transaction::Commit),
        S::Comment { object_type, object_name, comment: text, if_exists: false } => {
            Statement::Comment(comment::comment(object_type, &object_name, text)?)
        }
        S::Savepoint { name } => Statement::Transaction(Transaction::Savepoint(identifier(&name))),
        S::ReleaseSavepoint { name } => {
            Statement::Transaction(Transaction::Release(identifier(&name)))
        }
        S::Rollback { chain: false, savepoint: Some(name) } => {
            Statement::Transaction(Transaction::RollbackTo(identifier(&name)))
        }
        S::Rollback { chain: false, savepoint: None } => {
            Statement::Transaction(Transaction::Rollback)
        }
        other => return Err(unsupported(&other)),
    })
}

/// A query, or a change behind a `WITH`.
fn query_or_change(mut ast: ast::Query) -> SqlResult<Statement> {
    if let Some(statement) = with_writes::of(&ast)? {
        return Ok(statement);
    }
    let with = ast.with.take();
    Ok(match *ast.body {
        ast::SetExpr::Insert(ast::Statement::Insert(insert)) => {
            Statement::Insert(dml::insert(dml::with_queries(insert, with))?)
        }
        ast::SetExpr::Update(ast::Statement::Update(update)) => {
            Statement::Update(dml::update(update, with)?)
        }
        ast::SetExpr::Delete(ast::Statement::Delete(delete)) => {
            Statement::Delete(dml::delete(delete, with)?)
        }
        body => {
            let body = Box::new(body);
            Statement::Query(query(Box::new(ast::Query { with, body, ..ast }))?)
        }
    })
}

fn query(ast: Box<ast::Query>) -> SqlResult<Query> {
    match ast.body.as_ref() {
        ast::SetExpr::Insert(s)
        | ast::SetExpr::Update(s)
        | ast::SetExpr::Delete(s)
        | ast::SetExpr::Merge(s) => Err(unsupported(s)),
        _ => Ok(Query::new(ast)),
    }
}

impl Query {
    pub(crate) fn new(ast: Box<ast::Query>) -> Query {
        Query { ast, bound: None }
    }

    /// The query with the queries of a `WITH` at hand.
    pub(crate) fn below(mut self, with: Option<ast::With>) -> Query {
        self.ast.with = with;
        self
    }
}

impl Statement {
    /// Notes where it came from, if it is one that may have a generic plan.
    pub(crate) fn set_bound(&mut self, bound: Bound) {
        match self {
            Statement::Query(query) => query.bound = Some(Arc::new(bound)),
            Statement::Update(update) => update.bound = Some(Arc::new(bound)),
            Statement::Delete(delete) => delete.bound = Some(Arc::new(bound)),
            _ => {}
        }
    }
}

/// The plain name of an object; only the schema `public` exists.
pub(crate) fn name(object: &ast::ObjectName) -> SqlResult<String> {
    let parts: Vec<String> = object.0.iter().filter_map(|p| p.as_ident()).map(identifier).collect();
    match parts.as_slice() {
        [name] => Ok(name.clone()),
        [schema, name] => in_public(Some(schema), name),
        _ => Err(no_schema(&object.to_string())),
    }
}

/// The name of what must be in the schema `public`.
fn in_public(schema: Option<&str>, name: &str) -> SqlResult<String> {
    match schema {
        None | Some("public" | "pg_temp") => Ok(name.to_owned()),
        Some(schema) => Err(no_schema(&format!("{schema}.{name}"))),
    }
}

fn no_schema(object: &str) -> SqlError {
    let message = format!("there is no schema for \"{object}\"");
    SqlError::new(SqlState::UNDEFINED_TABLE, message)
        .with_hint("all tables are in the schema public")
}

/// An identifier, lower case unless it was quoted.
pub(crate) fn identifier(ident: &ast::Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

fn unsupported(statement: &ast::Statement) -> SqlError {
    SqlError::unsupported(keywords(statement))
}

/// The leading keywords of a statement, to name it in a message.
fn keywords(statement: &ast::Statement) -> String {
    let text = statement.to_string();
    let words = text.split_whitespace();
    let upper = |w: &&str| !w.is_empty() && w.chars().all(|c| c.is_ascii_uppercase());
    let words: Vec<&str> = words.take_while(upper).take(3).collect();
    if words.is_empty() { "this statement".into() } else { words.join(" ") }
}
