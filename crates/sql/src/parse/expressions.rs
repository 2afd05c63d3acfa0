//! Parts of syntax trees, made and taken apart.

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentClause, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
    ObjectNamePart, Query, SelectItem, SetExpr,
};
use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::parser::Parser;
use types::{SqlError, SqlResult};

/// The arguments of a call that has nothing else.
pub(crate) fn plain_arguments(function: &Function) -> Option<Vec<Expr>> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let bare = list.duplicate_treatment.is_none() && list.clauses.is_empty();
    if !bare || function.over.is_some() || function.filter.is_some() {
        return None;
    }
    let plain = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    list.args.iter().map(plain).collect()
}

pub(crate) fn cast_as(expr: Expr, data_type: DataType) -> Expr {
    let (kind, expr) = (CastKind::DoubleColon, Box::new(expr));
    Expr::Cast { kind, expr, data_type, array: false, format: None }
}

/// `char` without a length.
pub(crate) fn bpchar() -> DataType {
    DataType::Custom(ObjectName::from(vec![Ident::new("bpchar")]), vec![])
}

pub(crate) fn call(name: &str, args: Vec<Expr>) -> Expr {
    let args = args.into_iter().map(|e| FunctionArg::Unnamed(FunctionArgExpr::Expr(e)));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.collect(),
            clauses: vec![],
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    })
}

pub(crate) fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::Nested(Box::new(Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }))
}

pub(crate) fn parsed_query(text: &str) -> SqlResult<Query> {
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text);
    let query = parser.and_then(|mut p| p.parse_query());
    query.map(|q| *q).map_err(|e| SqlError::internal(e.to_string()))
}

/// A query of one row with these outputs.
pub(crate) fn select_of(outputs: Vec<SelectItem>) -> SqlResult<Query> {
    let mut query = parsed_query("select 1")?;
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.projection = outputs;
    }
    Ok(query)
}

pub(crate) fn take(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, Expr::Identifier(Ident::new("")))
}

pub(crate) fn call_with(
    name: &str,
    arguments: Vec<Expr>,
    clauses: Vec<FunctionArgumentClause>,
) -> Expr {
    let args = arguments.into_iter().map(|e| FunctionArg::Unnamed(FunctionArgExpr::Expr(e)));
    let list = FunctionArgumentList { duplicate_treatment: None, args: args.collect(), clauses };
    Expr::Function(Function {
        name: ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(list),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    })
}

/// The number of a placeholder, from 0.
pub(crate) fn index(name: &str) -> Option<usize> {
    name.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)
}
