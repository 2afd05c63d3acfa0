//! Parameters as columns of one row.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use datafusion_common::DFSchema;
use datafusion_sql::sqlparser::ast::{self, Ident, visit_expressions_mut};
use types::parse::ColumnParser;
use types::{Column, LogicalType, SqlResult, oid};

use crate::error::{from_arrow, from_library};
use crate::parse::Parameter;
use crate::point::placeholder;

/// What the row of the values is called: no table can have this name.
const VALUES: &str = "\u{1}values";

/// The types of a statement's parameters.
pub(super) struct Values {
    /// As they were given.
    given: Vec<Given>,
    /// Those of their columns; `None` is a value that stands for a column only, as text.
    types: Vec<Option<LogicalType>>,
}

/// A type, and the number of the one that the client has in its place.
type Given = (Option<LogicalType>, Option<u32>);

fn given(parameter: &Parameter) -> Given {
    (parameter.ty, parameter.told)
}

impl Values {
    /// `None` for types of which a column is not the same as a literal.
    pub(super) fn of(parameters: &[Parameter]) -> Option<Values> {
        let is_known = |parameter: &Parameter| {
            matches!(parameter.told, None | Some(oid::VARCHAR)) && parameter.ty.is_none_or(is_plain)
        };
        parameters.iter().all(is_known).then(|| Values {
            given: parameters.iter().map(given).collect(),
            types: parameters.iter().map(|parameter| parameter.ty).collect(),
        })
    }

    pub(super) fn fits(&self, parameters: &[Parameter]) -> bool {
        self.given.iter().copied().eq(parameters.iter().map(given))
    }

    /// An unknown literal that is assigned to a column has its type.
    pub(super) fn settle(&mut self, value: &ast::Expr, column: LogicalType) {
        let ty = match column {
            LogicalType::Varchar(_) => LogicalType::Text,
            plain @ (LogicalType::Text
            | LogicalType::Bool
            | LogicalType::Int16
            | LogicalType::Int32
            | LogicalType::Int64) => plain,
            _ => return,
        };
        if let Some(open @ None) = placeholder(value).and_then(|number| self.types.get_mut(number))
        {
            *open = Some(ty);
        }
    }

    /// The type of a parameter, if it has a column.
    pub(super) fn type_of(&self, number: usize) -> Option<LogicalType> {
        self.types.get(number).copied().flatten()
    }

    pub(super) fn schema(&self) -> SqlResult<DFSchema> {
        DFSchema::try_from_qualified_schema(VALUES, &self.arrow()).map_err(from_library)
    }

    fn arrow(&self) -> Schema {
        let field = |(number, ty): (usize, &Option<LogicalType>)| {
            Field::new(name(number), ty.unwrap_or(LogicalType::Text).arrow(), true)
        };
        Schema::new(self.types.iter().enumerate().map(field).collect::<Vec<_>>())
    }

    /// The values as a row.
    ///
    /// # Errors
    /// 22P02 and 22003 for what is no value of its type.
    pub(super) fn row(&self, parameters: &[Parameter]) -> SqlResult<RecordBatch> {
        let array = |(parameter, ty): (&Parameter, &Option<LogicalType>)| {
            let (text, ty) = match ty {
                Some(ty) => (parameter.value.as_deref(), *ty),
                None => (None, LogicalType::Text),
            };
            let column = Column { name: String::new(), ty, nullable: true };
            let mut parser = ColumnParser::new(&column);
            parser.push(text)?;
            SqlResult::Ok(parser.finish())
        };
        let arrays = parameters.iter().zip(&self.types).map(array).collect::<SqlResult<_>>()?;
        let one_row = RecordBatchOptions::new().with_row_count(Some(1));
        RecordBatch::try_new_with_options(Arc::new(self.arrow()), arrays, &one_row)
            .map_err(from_arrow)
    }
}

/// Types whose text says all of a value.
fn is_plain(ty: LogicalType) -> bool {
    use LogicalType as T;
    matches!(
        ty,
        T::Bool
            | T::Int16
            | T::Int32
            | T::Int64
            | T::Float32
            | T::Float64
            | T::Decimal { .. }
            | T::Text
            | T::Date
            | T::Timestamp
            | T::TimestampTz
            | T::Uuid
            | T::Bytea
    )
}

fn name(number: usize) -> String {
    format!("{}", number + 1)
}

/// The expression with columns of the values in the places of its parameters.
pub(super) fn placed(mut expr: ast::Expr) -> ast::Expr {
    // The visit itself never stops.
    let _ = visit_expressions_mut(&mut expr, |expr| {
        if let Some(number) = placeholder(expr) {
            let parts = [VALUES.to_owned(), name(number)];
            let quoted = parts.map(|part| Ident::with_quote('"', part));
            *expr = ast::Expr::CompoundIdentifier(quoted.into());
        }
        ControlFlow::<()>::Continue(())
    });
    expr
}
