//! Calls of `read_parquet`, `read_csv` and `iceberg_scan` in `FROM`, and names of files there, as relations of the
//! schema of files.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, ObjectNamePart, Statement, TableAlias,
    TableFactor, UnaryOperator, Value, VisitMut, VisitorMut,
};
use types::{SqlError, SqlResult, SqlState};

use crate::parse::file_call::{FILES_SCHEMA, FileCall, FileFormat};
use crate::parse::object_name::identifier;

/// Puts relations into the places of calls and names.
///
/// # Errors
/// 42601 for a text that names no file, 42883 and 0A000 for arguments that are not as they should be.
pub(super) fn as_relations(statement: &mut Statement) -> SqlResult<()> {
    match VisitMut::visit(statement, &mut Files) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Files;

impl VisitorMut for Files {
    type Break = SqlError;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        let TableFactor::Table { name, alias, args, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let found = match args {
            None => named(name),
            Some(args) => called(name, &args.args),
        };
        match found {
            Err(error) => return ControlFlow::Break(error),
            Ok(None) => {}
            Ok(Some((call, known_as))) => {
                *name = relation(&call);
                *args = None;
                let known_as = Ident::with_quote('"', known_as);
                alias.get_or_insert(TableAlias {
                    explicit: true,
                    name: known_as,
                    columns: vec![],
                    at: None,
                });
            }
        }
        ControlFlow::Continue(())
    }
}

/// A call, and the name that its relation has in the query.
type Found = SqlResult<Option<(FileCall, String)>>;

fn relation(call: &FileCall) -> ObjectName {
    let part = |name: &str| ObjectNamePart::Identifier(Ident::with_quote('"', name));
    ObjectName(vec![part(FILES_SCHEMA), part(&call.relation_name())])
}

/// A text in the place of a name.
fn named(name: &ObjectName) -> Found {
    let [part] = name.0.as_slice() else { return Ok(None) };
    let Some(path) = part.as_ident().filter(|ident| ident.quote_style == Some('\'')) else {
        return Ok(None);
    };
    let path = &path.value;
    let Some(format) = FileFormat::of_path(path) else {
        let message = format!("syntax error at or near \"'{path}'\"");
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, message).with_hint(
            "Only the name of a file that ends in .parquet, .csv or .tsv can stand in the place of a \
             table; read_parquet and read_csv read files of any name.",
        ));
    };
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_owned();
    Ok(Some((FileCall { format, paths: vec![path.clone()], options: vec![] }, stem)))
}

/// A call of a function in `FROM`.
fn called(name: &ObjectName, args: &[FunctionArg]) -> Found {
    let [part] = name.0.as_slice() else { return Ok(None) };
    let Some(function) = part.as_ident().map(identifier) else { return Ok(None) };
    let Some(format) = FileFormat::of_function(&function) else { return Ok(None) };
    let (mut paths, mut options) = (None, vec![]);
    for arg in args {
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(given)) if paths.is_none() => {
                paths = Some(texts(given).ok_or_else(|| no_constant(&function))?);
            }
            FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => {
                let name = identifier(name);
                let text = text_of(value).ok_or_else(|| no_constant_option(&function, &name))?;
                options.push((name, text));
            }
            _ => return Err(wrong_arguments(&function)),
        }
    }
    let paths = paths.filter(|paths| !paths.is_empty());
    let paths = paths.ok_or_else(|| wrong_arguments(&function))?;
    Ok(Some((FileCall { format, paths, options }, function)))
}

/// The texts of a constant, or of a list of them.
fn texts(expr: &Expr) -> Option<Vec<String>> {
    match expr {
        Expr::Array(array) => array.elem.iter().map(string).collect(),
        one => string(one).map(|text| vec![text]),
    }
}

fn string(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => value.value.clone().into_string(),
        Expr::Nested(inner) => string(inner),
        _ => None,
    }
}

/// The value of an option as a text.
fn text_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => Some(number.clone()),
            Value::Boolean(value) => Some(value.to_string()),
            other => other.clone().into_string(),
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Some(format!("-{}", text_of(expr)?)),
        Expr::Identifier(word) => Some(identifier(word)),
        _ => None,
    }
}

fn no_constant(function: &str) -> SqlError {
    SqlError::unsupported(format!("{function} of what is no constant"))
        .with_hint("Give a path as a text, or ARRAY['..', '..'] of several.")
}

fn no_constant_option(function: &str, option: &str) -> SqlError {
    SqlError::unsupported(format!("option \"{option}\" of {function} with what is no constant"))
}

fn wrong_arguments(function: &str) -> SqlError {
    let message = format!("function {function} does not exist with these arguments");
    SqlError::new(SqlState::UNDEFINED_FUNCTION, message).with_hint(
        "The first argument is a path or an array of paths; options follow as name => value.",
    )
}
