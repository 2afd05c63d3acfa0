//! Names of objects and columns as statements write them.

use datafusion_sql::sqlparser::ast::{self, ObjectName};
use types::{SqlError, SqlResult, SqlState};

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
pub(crate) fn in_public(schema: Option<&str>, name: &str) -> SqlResult<String> {
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

pub(crate) fn last_name(name: &ObjectName) -> String {
    name.0.last().and_then(|p| p.as_ident()).map(identifier).unwrap_or_default()
}
