//! The expressions that are the same on both roads, whatever the moment, the session and the catalog.
//!
//! Planning computes what is constant even where no row asks for it: in a branch that is not taken, or without
//! any row. So it is noted, and computed at each execution; where that fails the planned road is taken.

use std::cell::{Cell, RefCell};

use datafusion_sql::sqlparser::ast::{
    self, BinaryOperator, CastKind, DataType, ExactNumberInfo, FunctionArg, FunctionArgExpr,
    FunctionArguments, SelectItem, TimezoneInfo, UnaryOperator,
};
use plan::catalog::TableDef;
use types::LogicalType;
use types::datetime::speaks_of_now;

use super::values::{Values, is_now};
use crate::parse::dml::OnConflict;
use crate::parse::object_name::identifier;
use crate::point::placeholder;

/// Parts of an expression; larger ones are planned, beside the workers.
const PARTS_MAX: usize = 64;

/// Functions whose value follows from their arguments alone.
const FUNCTIONS: &[&str] = &[
    "abs", "btrim", "coalesce", "concat", "greatest", "least", "left", "length", "lower", "ltrim",
    "nullif", "replace", "right", "rtrim", "substr", "upper",
];

/// What an expression may name.
pub(super) struct Scope<'a> {
    pub(super) table: &'a TableDef,
    /// The names of rows of the table.
    pub(super) names: &'a [&'a str],
    /// Parameters, where there may be some.
    pub(super) values: Option<&'a Values>,
    /// Where it is noted what is computed of no column, unless that is all the same.
    pub(super) constants: Option<&'a RefCell<Vec<ast::Expr>>>,
}

impl<'a> Scope<'a> {
    /// Expressions over rows alone.
    pub(super) fn of_row(table: &'a TableDef, names: &'a [&'a str]) -> Scope<'a> {
        Scope { table, names, values: None, constants: None }
    }

    /// Whether an expression is one of those.
    pub(super) fn admits(&self, expr: &ast::Expr) -> bool {
        Look { scope: self, parts: Cell::new(0) }.at(expr).is_some()
    }

    /// The same of what is returned.
    pub(super) fn admits_item(&self, item: &SelectItem) -> bool {
        match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                self.admits(expr)
            }
            SelectItem::Wildcard(_) => true,
            _ => false,
        }
    }

    /// The same of what happens to rows that are in the way.
    pub(super) fn admits_conflict(&self, conflict: &OnConflict) -> bool {
        let Some((assignments, condition)) = &conflict.update else { return true };
        let values = assignments.iter().map(|assignment| &assignment.value);
        values.chain(condition).all(|expr| self.admits(expr))
    }

    /// The ordinal of the column that an expression is.
    pub(super) fn column(&self, expr: &ast::Expr) -> Option<usize> {
        let column = match expr {
            ast::Expr::Identifier(column) => column,
            ast::Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [name, column] if self.names.contains(&identifier(name).as_str()) => column,
                _ => return None,
            },
            _ => return None,
        };
        self.table.schema.ordinal(&identifier(column))
    }
}

/// A look at an expression.
struct Look<'a> {
    scope: &'a Scope<'a>,
    parts: Cell<usize>,
}

impl Look<'_> {
    /// Whether it depends on a column; `None` for what is not admitted.
    fn at(&self, expr: &ast::Expr) -> Option<bool> {
        use ast::Expr as E;
        self.parts.set(self.parts.get() + 1);
        if self.parts.get() > PARTS_MAX {
            return None;
        }
        if number(expr).is_some() {
            return Some(false);
        }
        let whole = expr;
        match expr {
            E::Identifier(_) | E::CompoundIdentifier(_) => self.scope.column(expr).map(|_| true),
            E::Value(value) => self.value(expr, &value.value).then_some(false),
            E::Nested(inner) => self.at(inner),
            E::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Not, expr } => {
                self.computed(whole, [&**expr])
            }
            E::BinaryOp { left, op, right } if is_plain(op) => {
                self.computed(whole, [&**left, right])
            }
            E::IsNull(inner)
            | E::IsNotNull(inner)
            | E::IsTrue(inner)
            | E::IsNotTrue(inner)
            | E::IsFalse(inner)
            | E::IsNotFalse(inner) => self.computed(whole, [&**inner]),
            E::IsDistinctFrom(left, right) | E::IsNotDistinctFrom(left, right) => {
                self.computed(whole, [&**left, right])
            }
            E::Between { expr, low, high, .. } => self.computed(whole, [&**expr, low, high]),
            E::InList { expr, list, .. } => {
                self.computed(whole, std::iter::once(&**expr).chain(list))
            }
            E::Case { operand, conditions, else_result, .. } => {
                let branches = conditions.iter().flat_map(|when| [&when.condition, &when.result]);
                let ends = operand.iter().chain(else_result).map(|expr| &**expr);
                self.computed(whole, branches.chain(ends))
            }
            E::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon,
                expr,
                data_type,
                array: false,
                format: None,
            } => self.cast(whole, expr, data_type),
            E::Substring { expr, substring_from, substring_for, .. } => {
                let bounds = substring_from.iter().chain(substring_for).map(|expr| &**expr);
                self.computed(whole, std::iter::once(&**expr).chain(bounds))
            }
            E::Function(_) if is_now(expr) => self.scope.values.map(|_| false),
            E::Function(function) => self.computed(whole, arguments(function)?),
            _ => None,
        }
    }

    fn computed<'e>(
        &self,
        whole: &ast::Expr,
        parts: impl IntoIterator<Item = &'e ast::Expr>,
    ) -> Option<bool> {
        let mut has_column = false;
        for part in parts {
            has_column |= self.at(part)?;
        }
        self.note(whole, has_column);
        Some(has_column)
    }

    /// An expression is computed, of a column or not.
    fn note(&self, expr: &ast::Expr, has_column: bool) {
        if let Some(constants) = self.scope.constants.filter(|_| !has_column) {
            constants.borrow_mut().push(expr.clone());
        }
    }

    fn value(&self, expr: &ast::Expr, value: &ast::Value) -> bool {
        match value {
            ast::Value::Boolean(_) | ast::Value::Null => true,
            ast::Value::SingleQuotedString(text) => !speaks_of_now(text),
            ast::Value::Placeholder(_) => {
                let number = placeholder(expr).zip(self.scope.values);
                number.is_some_and(|(number, values)| values.type_of(number).is_some())
            }
            _ => false,
        }
    }

    /// A cast of which the value and its type say everything.
    fn cast(&self, whole: &ast::Expr, inner: &ast::Expr, to: &DataType) -> Option<bool> {
        let has_column = self.at(inner)?;
        let given = match placeholder(inner) {
            Some(number) => self.scope.values?.type_of(number),
            None => {
                self.scope.column(inner).map(|ordinal| self.scope.table.schema.columns[ordinal].ty)
            }
        };
        match to {
            // The zone is the one that the statement was compiled for.
            DataType::Timestamp(None, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)
            | DataType::Date
                if is_now(inner) => {}
            DataType::Numeric(ExactNumberInfo::None) | DataType::Decimal(ExactNumberInfo::None)
                if given.is_some_and(has_digits) => {}
            _ => {
                let to = cast_type(to)?;
                if given != Some(to) {
                    self.note(whole, has_column);
                }
            }
        }
        Some(has_column)
    }
}

/// Whether the type of a number says how many digits it has behind the point.
fn has_digits(ty: LogicalType) -> bool {
    use LogicalType as T;
    matches!(ty, T::Int16 | T::Int32 | T::Int64 | T::Decimal { .. })
}

/// A number as it is written, with its sign.
pub(super) fn number(expr: &ast::Expr) -> Option<String> {
    let plain = |expr: &ast::Expr| match expr {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Number(text, _) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    };
    match expr {
        ast::Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            plain(expr).map(|text| format!("-{text}"))
        }
        other => plain(other),
    }
}

fn is_plain(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(
        op,
        B::Plus
            | B::Minus
            | B::Multiply
            | B::Divide
            | B::Modulo
            | B::Eq
            | B::NotEq
            | B::Lt
            | B::LtEq
            | B::Gt
            | B::GtEq
            | B::And
            | B::Or
            | B::StringConcat
    )
}

/// Types that a cast to depends on nothing but the value.
fn cast_type(data_type: &DataType) -> Option<LogicalType> {
    Some(match data_type {
        DataType::SmallInt(None) | DataType::Int2(None) => LogicalType::Int16,
        DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None) => LogicalType::Int32,
        DataType::BigInt(None) | DataType::Int8(None) => LogicalType::Int64,
        DataType::Boolean | DataType::Bool => LogicalType::Bool,
        DataType::DoublePrecision | DataType::Float8 => LogicalType::Float64,
        DataType::Text => LogicalType::Text,
        _ => return None,
    })
}

/// The arguments of a function that is one of [`FUNCTIONS`].
fn arguments(function: &ast::Function) -> Option<Vec<&ast::Expr>> {
    let name = function.name.to_string().to_ascii_lowercase();
    let is_plain = FUNCTIONS.contains(&name.as_str())
        && function.over.is_none()
        && function.filter.is_none()
        && function.null_treatment.is_none()
        && function.within_group.is_empty()
        && matches!(function.parameters, FunctionArguments::None);
    let FunctionArguments::List(list) = &function.args else { return None };
    if !is_plain || list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
        return None;
    }
    list.args.iter().map(plain_argument).collect()
}

fn plain_argument(argument: &FunctionArg) -> Option<&ast::Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}
