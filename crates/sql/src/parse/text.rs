//! From text to statements.

use datafusion_sql::sqlparser::ast;
use datafusion_sql::sqlparser::parser::Parser;
use types::{SqlResult, SqlState};

use crate::parse::balance::balance_statement;
use crate::parse::object_name::{identifier, relation};
use crate::parse::refuse::unsupported;
use crate::parse::statement::Statement;
use crate::parse::statement::query::query;
use crate::parse::statement::transaction::Transaction;
use crate::parse::tokens::syntax_error;
use crate::parse::{
    alter, backup, comment, copy, create_view, cursor, ddl, deferral, dialect, dml, exclude,
    explain, files, grouping_items, identity, include, lock, lock_order, locked_first, member,
    no_columns, nominal, normalise, notification, operators, overriding, prepare, refuse, rename,
    reorganize, role, secret, sequence, setting, split, statement_names, table, tokens, vacuum,
    with_writes,
};

/// Parses all statements of `text`, separated by semicolons.
///
/// Errors: 42601 with the position of the first token that does not fit, 54000 and 54001 for text
/// that is too long or too deep, 0A000 for statements that the engine does not have.
pub fn parse(text: &str) -> SqlResult<Vec<Statement>> {
    let statements = split::split(text)?;
    statements.into_iter().map(|tokens| parse_one(text, tokens)).collect()
}

pub(crate) fn parse_one(text: &str, mut tokens: tokens::Tokens) -> SqlResult<Statement> {
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
    let named = copy::statement(text, &tokens).or_else(|| rename::statement(text, &tokens));
    let named = named.or_else(|| member::statement(text, &tokens));
    if let Some(statement) = named.or_else(|| nominal::statement(text, &tokens)) {
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
    let sequences = identity::order_options(text, &mut tokens)?;
    let last = tokens.last().cloned();
    let names_no_list = no_columns::names_no_list(&tokens);
    let unknown = statement_names::refused(&tokens);
    let dialect = dialect::Postgres::for_length(tokens.len());
    let mut parser = Parser::new(&dialect)
        // Parentheses behind an operator take two steps: one for the operand, one for what is in them.
        .with_recursion_limit(2 * tokens::nesting_max())
        .with_tokens_with_locations(tokens);
    let statement = parser.parse_statement();
    let mut statement = statement
        .map_err(|e| unknown.clone().unwrap_or_else(|| syntax_error(text, last.as_ref(), e)))?;
    let rest = parser.peek_token();
    if rest.token != datafusion_sql::sqlparser::tokenizer::Token::EOF {
        return Err(unknown.clone().unwrap_or_else(|| tokens::unexpected(text, &rest)));
    }
    adapt_tree(&mut statement)?;
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
    let dispatched = identity::named(dispatched, sequences);
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
    lock_order::behind_limit(tokens);
    grouping_items::in_parentheses(tokens);
    table::expand(text, tokens)?;
    table::forget_only(tokens);
    exclude::nothing(tokens)?;
    table::with_data(tokens);
    include::mark(tokens);
    operators::before_any(tokens);
    Ok(())
}

/// Puts what follows understands in the place of what the library's parser has read.
fn adapt_tree(statement: &mut ast::Statement) -> SqlResult<()> {
    balance_statement(statement)?;
    no_columns::fill(statement);
    files::as_relations(statement)?;
    normalise::normalise(statement);
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

pub(crate) fn dispatch(statement: ast::Statement) -> SqlResult<Statement> {
    use ast::Statement as S;
    Ok(match statement {
        S::Query(ast) => query_or_change(*ast)?,
        S::Explain { analyze, verbose, statement, format, options, .. } => {
            explain::explain(analyze, verbose, *statement, format, options)?
        }
        S::CreateTable(create) => Statement::CreateTable(ddl::create_table(create)?),
        S::AlterTable(alter) => Statement::AlterTable(alter::alter_table(&alter)?),
        S::CreateView(create) => Statement::CreateView(create_view::create_view(create)?),
        S::CreateIndex(create) => Statement::CreateIndex(ddl::create_index(create)?),
        S::Drop { object_type, if_exists, names, cascade, temporary: false, .. } => {
            Statement::Drop(ddl::drop(object_type, if_exists, &names, cascade)?)
        }
        S::Insert(insert) => Statement::Insert(dml::insert(insert)?),
        S::Update(mut update) => {
            let parts = locked_first::of_update(&mut update)?;
            locked_first::behind(parts, Statement::Update(dml::update(update, None)?))
        }
        S::Delete(mut delete) => {
            let parts = locked_first::of_delete(&mut delete)?;
            locked_first::behind(parts, Statement::Delete(dml::delete(delete, None)?))
        }
        S::Lock(lock) => Statement::Lock(lock::lock(&lock)?),
        S::Truncate(truncate) => Statement::Truncate(dml::truncate(truncate)?),
        S::Analyze(analyze) => {
            Statement::Analyze { table: analyze.table_name.as_ref().map(relation).transpose()? }
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
pub(crate) fn query_or_change(mut ast: ast::Query) -> SqlResult<Statement> {
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
