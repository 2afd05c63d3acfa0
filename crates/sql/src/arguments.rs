//! The arguments of `EXECUTE`: expressions without columns, converted as an assignment does.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion_common::DFSchema;
use datafusion_sql::sqlparser::ast::{self, Value};
use types::text::format_value;
use types::{Column, SqlError, SqlResult, SqlState, oid};

use crate::analyze::expression::bind_scalar;
use crate::catalog::Catalog;
use crate::dml::insert::{cell, has_query};
use crate::error::from_arrow;
use crate::expr::scalar;
use crate::parse::parameter::Parameter;
use crate::parse::statement::prepare::Execute;

/// The values for a prepared statement whose parameters have these types; 0 is an open one.
///
/// # Errors
/// 42601 for a wrong number of them, 42804 for a type that is not assigned to the parameter's, 0A000 for a
/// subquery, and what evaluating them says.
pub fn arguments(
    execute: &Execute,
    oids: &[u32],
    catalog: &dyn Catalog,
) -> SqlResult<Vec<Parameter>> {
    let (given, expected) = (execute.arguments.len(), oids.len());
    if given != expected {
        let name = &execute.name;
        let message = format!("wrong number of parameters for prepared statement \"{name}\"");
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, message)
            .with_detail(format!("Expected {expected} parameters but got {given}.")));
    }
    let each = execute.arguments.iter().zip(oids).enumerate();
    each.map(|(index, (expr, oid))| argument(index, expr, *oid, catalog)).collect()
}

fn argument(
    index: usize,
    expr: &ast::Expr,
    oid: u32,
    catalog: &dyn Catalog,
) -> SqlResult<Parameter> {
    if has_query(expr) {
        return Err(SqlError::unsupported("a subquery in an EXECUTE parameter"));
    }
    let typed = oid::parameter(oid, None).filter(|_| oid != oid::NUMERIC);
    let value = match typed {
        Some(ty) => {
            let column = Column { name: format!("${}", index + 1), ty, nullable: true };
            cell(expr, &column, catalog).map_err(|error| mismatch(index, error))?
        }
        None => plain(expr, catalog)?,
    };
    let read = |text: &String| Parameter::read(oid, text);
    // The planner tells of a text that is no value of the type.
    let read = value.as_ref().and_then(|text| read(text).ok());
    Ok(read.unwrap_or_else(|| Parameter::of_type(oid, value.into())))
}

/// What is wrong is the parameter, not a column of a table.
fn mismatch(index: usize, error: SqlError) -> SqlError {
    if error.state != SqlState::DATATYPE_MISMATCH {
        return error;
    }
    let number = index + 1;
    let from_to = error.message.strip_prefix(&format!("column \"${number}\" is of type "));
    let Some((to, from)) = from_to.and_then(|m| m.split_once(" but expression is of type ")) else {
        return error;
    };
    let message =
        format!("parameter ${number} of type {from} cannot be coerced to the expected type {to}");
    SqlError::new(SqlState::DATATYPE_MISMATCH, message)
        .with_hint("You will need to rewrite or cast the expression.")
}

/// The text form of a value of whatever type.
fn plain(expr: &ast::Expr, catalog: &dyn Catalog) -> SqlResult<Option<String>> {
    if let ast::Expr::Value(value) = expr {
        match &value.value {
            Value::Null => return Ok(None),
            Value::SingleQuotedString(text) | Value::Number(text, _) => {
                return Ok(Some(text.clone()));
            }
            _ => {}
        }
    }
    let schema = DFSchema::empty();
    let compiled = scalar::compile(&bind_scalar(expr.clone(), &schema, catalog)?, &schema)?;
    let one_row = RecordBatchOptions::new().with_row_count(Some(1));
    let empty = Arc::new(arrow_schema::Schema::empty());
    let batch = RecordBatch::try_new_with_options(empty, vec![], &one_row).map_err(from_arrow)?;
    let value: ArrayRef = compiled.evaluate(&batch)?;
    Ok(format_value(&value, 0))
}
