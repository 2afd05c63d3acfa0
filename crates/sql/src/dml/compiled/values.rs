//! Parameters as columns of one row.

use std::ops::ControlFlow;

use arrow_schema::{Field, Schema};
use datafusion_common::DFSchema;
use datafusion_sql::sqlparser::ast::{self, FunctionArguments, Ident};
use types::cells::{Cells, Value};
use types::{LogicalType, SqlResult, oid};

use crate::error::{from_arrow, from_library};
use crate::parse::object_name::last_name;
use crate::parse::parameter::Parameter;
use crate::point::placeholder;
use crate::quote::unspelled::unspelled;
use crate::walk::{visit_expressions, visit_expressions_mut};

/// What the row of the values is called: no table has this name.
fn relation() -> String {
    unspelled("values")
}

/// The column of the beginning of the statement.
const NOW: &str = "now";

/// The types of a statement's parameters.
pub(super) struct Values {
    /// As they were given.
    given: Vec<Given>,
    /// Those of their columns; `None` is a value that stands for a column only, as text: one
    /// without a type, or of a type that no column of the row has.
    types: Vec<Option<LogicalType>>,
}

/// A type, and the number of the one that the client has in its place.
type Given = (Option<LogicalType>, Option<u32>);

fn given(parameter: &Parameter) -> Given {
    (parameter.ty, parameter.told)
}

impl Values {
    /// `None` for types of which a column is not the same as a literal. Values of `char(n)` have
    /// lost their blanks, and are texts.
    pub(super) fn of(parameters: &[Parameter]) -> Option<Values> {
        let is_known = |parameter: &Parameter| {
            matches!(parameter.told, None | Some(oid::VARCHAR | oid::BPCHAR))
        };
        parameters.iter().all(is_known).then(|| Values {
            given: parameters.iter().map(given).collect(),
            types: parameters
                .iter()
                .map(|parameter| parameter.ty.filter(|ty| is_plain(*ty)))
                .collect(),
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
        let number = placeholder(value).filter(|number| self.has_no_type(*number));
        if let Some(open @ None) = number.and_then(|number| self.types.get_mut(number)) {
            *open = Some(ty);
        }
    }

    fn has_no_type(&self, number: usize) -> bool {
        matches!(self.given.get(number), Some((None, _)))
    }

    /// True if the text of a parameter without a column says the value of a column of this type.
    pub(super) fn is_read_as(&self, number: usize, column: LogicalType) -> bool {
        let Some((ty, _)) = self.given.get(number) else { return false };
        ty.is_none_or(|ty| ty == column && !ty.has_limit())
    }

    /// The type of a parameter, if it has a column.
    pub(super) fn type_of(&self, number: usize) -> Option<LogicalType> {
        self.types.get(number).copied().flatten()
    }

    pub(super) fn schema(&self) -> SqlResult<DFSchema> {
        DFSchema::try_from_qualified_schema(relation(), &self.arrow()).map_err(from_library)
    }

    /// The columns at some places.
    pub(super) fn schema_of(&self, places: &[usize]) -> SqlResult<DFSchema> {
        let columns = self.arrow().project(places).map_err(from_arrow)?;
        DFSchema::try_from_qualified_schema(relation(), &columns).map_err(from_library)
    }

    /// The places of columns that stand for parameters of an expression, and for the clock.
    pub(super) fn places(&self, expr: &ast::Expr) -> Vec<usize> {
        let mut places = vec![];
        // The visit itself never stops.
        let _ = visit_expressions(expr, |part| {
            places.extend(placeholder(part));
            places.extend(is_now(part).then_some(self.types.len()));
            ControlFlow::<()>::Continue(())
        });
        places
    }

    /// The columns of the row.
    pub(super) fn arrow(&self) -> Schema {
        let field = |(number, ty): (usize, &Option<LogicalType>)| {
            Field::new(name(number), ty.unwrap_or(LogicalType::Text).arrow(), true)
        };
        let now = Field::new(NOW, LogicalType::TimestampTz.arrow(), true);
        Schema::new(self.types.iter().enumerate().map(field).chain([now]).collect::<Vec<_>>())
    }

    /// The values as a row, with the beginning of the statement.
    ///
    /// # Errors
    /// 22P02 and 22003 for what is no value of its type.
    pub(super) fn row(&self, parameters: &[Parameter], now_us: Option<i64>) -> SqlResult<Cells> {
        let mut row = Cells::new(parameters.len() + 1);
        for (parameter, ty) in parameters.iter().zip(&self.types) {
            match ty {
                Some(ty) => parameter.value.push(*ty, &mut row)?,
                None => row.push(Value::Null),
            }
        }
        row.push(now_us.map_or(Value::Null, Value::Word));
        row.end_row();
        Ok(row)
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

/// The expression with columns of the values in the places of its parameters and of the clock.
pub(super) fn placed(mut expr: ast::Expr) -> ast::Expr {
    // The visit itself never stops.
    let _ = visit_expressions_mut(&mut expr, |expr| {
        let column = placeholder(expr).map(name);
        if let Some(column) = column.or_else(|| is_now(expr).then(|| NOW.to_owned())) {
            let quoted = [relation(), column].map(|part| Ident::with_quote('"', part));
            *expr = ast::Expr::CompoundIdentifier(quoted.into());
        }
        ControlFlow::<()>::Continue(())
    });
    expr
}

/// Whether an expression is the beginning of the statement.
pub(super) fn is_now(expr: &ast::Expr) -> bool {
    let ast::Expr::Function(function) = expr else { return false };
    let plain = match &function.args {
        FunctionArguments::None => true,
        FunctionArguments::List(list) => list.args.is_empty(),
        FunctionArguments::Subquery(_) => false,
    };
    let name = last_name(&function.name);
    plain
        && function.over.is_none()
        && matches!(name.as_str(), "now" | "current_timestamp" | "transaction_timestamp")
}
