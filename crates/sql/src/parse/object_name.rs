//! Names of objects and columns as statements write them.

use std::fmt;
use std::ops::Deref;

use datafusion_sql::sqlparser::ast::{self, ObjectName};
use types::{SqlError, SqlResult, SqlState};

/// The schema in which temporary tables of the session are found.
pub const TEMPORARY_SCHEMA: &str = "pg_temp";

/// The name of a relation, and where a statement says that it is. It is used as its last part,
/// which is the name in the catalog that the statement sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelationName {
    /// The last part.
    pub name: String,
    /// The schema; `None` where the search path says.
    pub schema: Option<String>,
    /// The database, if that is named.
    pub database: Option<String>,
}

impl RelationName {
    /// A name that the search path finds.
    pub fn unqualified(name: String) -> RelationName {
        RelationName { name, schema: None, database: None }
    }

    pub(crate) fn of_parts(parts: Vec<String>) -> SqlResult<RelationName> {
        let whole = parts.join(".");
        let mut parts = parts.into_iter().rev();
        let (name, schema, database) = (parts.next(), parts.next(), parts.next());
        let Some(name) = name.filter(|_| parts.next().is_none()) else {
            let message = format!("improper relation name (too many dotted names): {whole}");
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        };
        Ok(RelationName { name, schema, database })
    }

    /// True if the statement says that it is a temporary table.
    pub fn is_temporary(&self) -> bool {
        self.schema.as_deref() == Some(TEMPORARY_SCHEMA)
    }

    /// The name with what stands before it.
    pub fn whole(&self) -> String {
        let parts = [self.database.as_deref(), self.schema.as_deref(), Some(&*self.name)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(".")
    }
}

impl Deref for RelationName {
    type Target = String;

    fn deref(&self) -> &String {
        &self.name
    }
}

impl fmt::Display for RelationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A relation of a statement.
pub(crate) fn relation(object: &ast::ObjectName) -> SqlResult<RelationName> {
    RelationName::of_parts(parts(object))
}

fn parts(object: &ast::ObjectName) -> Vec<String> {
    object.0.iter().filter_map(|p| p.as_ident()).map(identifier).collect()
}

/// The plain name of an object; only the schema `public` exists.
pub(crate) fn name(object: &ast::ObjectName) -> SqlResult<String> {
    let RelationName { name, schema, .. } = relation(object)?;
    in_public(schema.as_deref(), &name)
}

/// The name of what must be in the schema `public`.
pub(crate) fn in_public(schema: Option<&str>, name: &str) -> SqlResult<String> {
    match schema {
        None | Some("public" | TEMPORARY_SCHEMA) => Ok(name.to_owned()),
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
