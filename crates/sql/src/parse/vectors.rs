//! Vectors and sets in the queries of clients.
//!
//! `int2vector` and `oidvector` columns are text (`1 2`), for that is what clients parse. Where a
//! query takes one as an array it becomes one; their subscripts begin at 0. `_pg_expandarray`, whose
//! rows are (element `x`, number `n`), becomes the elements, and its `n` their numbers. Names are text;
//! their subscript 0 is the first letter.

use datafusion_sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    Ident, ObjectName, ObjectNamePart, Query, SelectItem, SetExpr, Subscript, TableAlias,
    TableAliasColumnDef, TableFactor, Value,
};
use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::parser::Parser;

use crate::parse::expressions::select_of;
use crate::parse::expressions::{call_with, take};
use crate::parse::object_name::identifier;
use crate::parse::set_functions::SET_FUNCTIONS;

/// Columns that are vectors, and names that clients give them.
const VECTORS: [&str; 10] = [
    "indkey",
    "indclass",
    "indoption",
    "indcollation",
    "proargtypes",
    "partattrs",
    "partclass",
    "prattrs",
    "stxkeys",
    "i_indoption",
];

/// Columns that are names, which PostgreSQL has as arrays of letters.
const NAMES: [&str; 6] = ["typname", "relname", "attname", "nspname", "proname", "conname"];

/// Functions that take an array first.
const ARRAY_FUNCTIONS: [&str; 7] = [
    "unnest",
    "array_upper",
    "array_lower",
    "array_length",
    "array_to_string",
    "cardinality",
    "generate_subscripts",
];

/// Functions in `FROM` whose rows are those of a relation of the same name.
const RELATION_FUNCTIONS: [&str; 2] = ["pg_get_keywords", "pg_show_all_settings"];

/// Rewrites one expression, whose parts are done.
pub(crate) fn expression(expr: &mut Expr) {
    match expr {
        Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } => as_array(right),
        Expr::Function(function) => {
            if let Some(replaced) = set_function(function) {
                *expr = replaced;
            }
        }
        Expr::CompoundFieldAccess { root, access_chain } => {
            merge_qualifier(root, access_chain);
            if let Some(replaced) =
                letter(root, access_chain).or_else(|| access(root, access_chain))
            {
                *expr = replaced;
            }
        }
        _ => {}
    }
}

/// The rows of `pg_options_to_table`, whose one argument takes the place of `NULL`.
const OPTIONS: &str = "select split_part(o, '=', 1) as option_name, \
    case when strpos(o, '=') > 0 then substr(o, strpos(o, '=') + 1) end as option_value \
    from unnest(NULL) as __options(o)";

/// `pg_options_to_table(options)` as the query that takes options apart at their `=`.
fn options_apart(factor: &mut TableFactor) {
    let (name, args, alias) = match factor {
        TableFactor::Table { name, args: Some(args), alias, .. } => (name, &args.args, alias),
        TableFactor::Function { name, args, alias, .. } => (name, &*args, alias),
        _ => return,
    };
    let last = name.0.last().and_then(ObjectNamePart::as_ident).map(identifier);
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(options))] = args.as_slice() else { return };
    if last.as_deref() != Some("pg_options_to_table") {
        return;
    }
    let Some(mut rows) = parsed(OPTIONS) else { return };
    if let SetExpr::Select(select) = rows.body.as_mut()
        && let Some(TableFactor::UNNEST { array_exprs, .. }) =
            select.from.first_mut().map(|item| &mut item.relation)
    {
        *array_exprs = vec![options.clone()];
    }
    let alias = alias.take().or_else(|| named("pg_options_to_table"));
    *factor = TableFactor::Derived { lateral: true, subquery: Box::new(rows), alias, sample: None };
}

fn named(name: &str) -> Option<TableAlias> {
    Some(TableAlias { explicit: true, name: Ident::new(name), columns: vec![], at: None })
}

/// Rewrites a function in `FROM`: `unnest(a, b) WITH ORDINALITY` as a subquery with such outputs.
pub(crate) fn relation(factor: &mut TableFactor) {
    options_apart(factor);
    numbered_rows(factor);
    if let TableFactor::Table { name, args: args @ Some(_), .. } = factor {
        let last = name.0.last().and_then(ObjectNamePart::as_ident).map(identifier);
        let no_arguments = args.as_ref().is_some_and(|a| a.args.is_empty());
        if no_arguments && last.is_some_and(|n| RELATION_FUNCTIONS.contains(&n.as_str())) {
            *args = None;
            plain_relation(name);
        }
        return;
    }
    let TableFactor::UNNEST { alias, array_exprs, with_ordinality, .. } = factor else { return };
    array_exprs.iter_mut().for_each(as_array);
    if array_exprs.len() == 1 && !*with_ordinality {
        return;
    }
    if *with_ordinality && array_exprs.len() == 1 {
        name_numbered(alias, "unnest");
    }
    let numbers = with_ordinality.then(|| subscripts(array_exprs[0].clone(), 1));
    let rows = array_exprs.iter().map(|e| call_with("unnest", vec![e.clone()], vec![]));
    let outputs: Vec<Expr> = rows.chain(numbers).collect();
    let named =
        |(i, expr)| SelectItem::ExprWithAlias { expr, alias: Ident::new(format!("__output_{i}")) };
    let Ok(subquery) = select_of(outputs.into_iter().enumerate().map(named).collect()) else {
        return;
    };
    let (alias, subquery) = (alias.take(), Box::new(subquery));
    *factor = TableFactor::Derived { lateral: true, subquery, alias, sample: None };
}

/// Names both columns of a function `WITH ORDINALITY`, as far as its alias does not.
fn name_numbered(alias: &mut Option<TableAlias>, function: &str) {
    if alias.is_none() {
        *alias = named(function);
    }
    let Some(alias) = alias else { return };
    let column = |name: Ident| TableAliasColumnDef { name, data_type: None };
    if alias.columns.is_empty() {
        alias.columns.push(column(alias.name.clone()));
    }
    if alias.columns.len() == 1 {
        alias.columns.push(column(Ident::new("ordinality")));
    }
}

/// A function whose rows are an array's elements, `WITH ORDINALITY`, as `UNNEST` of that array.
fn numbered_rows(factor: &mut TableFactor) {
    let (name, args, alias) = match factor {
        TableFactor::Table { name, args: Some(args), alias, with_ordinality: true, .. } => {
            (name, &args.args, alias)
        }
        TableFactor::Function { name, args, alias, with_ordinality: true, .. } => {
            (name, &*args, alias)
        }
        _ => return,
    };
    let last = name.0.last().and_then(ObjectNamePart::as_ident).map(identifier);
    let of_array = |(function, array): &(&str, &'static str)| {
        (last.as_deref() == Some(*function)).then_some(*array)
    };
    let Some(array) = SET_FUNCTIONS.iter().find_map(of_array) else { return };
    let function = last.unwrap_or_default();
    let plain = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => Some(e.clone()),
        _ => None,
    };
    let Some(arguments) = args.iter().map(plain).collect::<Option<Vec<_>>>() else { return };
    let mut alias = alias.take();
    name_numbered(&mut alias, &function);
    *factor = TableFactor::UNNEST {
        alias,
        array_exprs: vec![call_with(array, arguments, vec![])],
        with_offset: false,
        with_offset_alias: None,
        with_ordinality: true,
    };
}

/// All settings are a relation by another name.
fn plain_relation(name: &mut ObjectName) {
    let last = name.0.last().and_then(ObjectNamePart::as_ident).map(identifier);
    if last.as_deref() == Some("pg_show_all_settings") {
        *name = ObjectName::from(vec![Ident::new("pg_settings")]);
    }
}

pub(crate) fn parsed(text: &str) -> Option<Query> {
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text);
    parser.and_then(|mut p| p.parse_query()).ok().map(|query| *query)
}

fn is_vector(expr: &Expr) -> bool {
    is_one_of(expr, &VECTORS)
}

/// Whether it is a column with one of these names.
fn is_one_of(expr: &Expr, columns: &[&str]) -> bool {
    let name = match expr {
        Expr::Identifier(ident) => identifier(ident),
        Expr::CompoundIdentifier(parts) => parts.last().map(identifier).unwrap_or_default(),
        _ => return false,
    };
    columns.contains(&name.as_str())
}

fn as_array(expr: &mut Expr) {
    match expr {
        Expr::Nested(inner) => as_array(inner),
        Expr::Cast { expr: inner, .. } if is_vector(inner) => as_array(inner),
        other if is_vector(other) => {
            let vector = take(other);
            *other = call_with("vector_array", vec![vector], vec![]);
        }
        _ => {}
    }
}

/// The numbers of an array's elements, as rows.
fn subscripts(array: Expr, first: i64) -> Expr {
    let number = |n: i64| Expr::Value(Value::Number(n.to_string(), false).into());
    let count = call_with("cardinality", vec![array], vec![]);
    let last = match first {
        0 => Expr::BinaryOp {
            left: Box::new(count),
            op: BinaryOperator::Minus,
            right: Box::new(number(1)),
        },
        _ => count,
    };
    call_with("generate_series", vec![number(first), last], vec![])
}

fn set_function(function: &mut Function) -> Option<Expr> {
    let name = function.name.0.last().and_then(ObjectNamePart::as_ident).map(identifier)?;
    let FunctionArguments::List(list) = &mut function.args else { return None };
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(first))) = list.args.first_mut() else {
        return None;
    };
    match name.as_str() {
        "_pg_expandarray" => {
            as_array(first);
            Some(call_with("unnest", vec![take(first)], vec![]))
        }
        "generate_subscripts" => {
            let start = if is_vector(first) { 0 } else { 1 };
            as_array(first);
            Some(subscripts(take(first), start))
        }
        name if ARRAY_FUNCTIONS.contains(&name) => {
            as_array(first);
            None
        }
        _ => None,
    }
}

/// `t.column[i]` parses as a field of `t`: its column.
fn merge_qualifier(root: &mut Expr, chain: &mut Vec<AccessExpr>) {
    if let [AccessExpr::Dot(Expr::Identifier(column)), AccessExpr::Subscript(_)] = chain.as_slice()
        && let Expr::Identifier(table) = root
        && VECTORS.iter().chain(&NAMES).any(|known| *known == identifier(column))
    {
        *root = Expr::CompoundIdentifier(vec![table.clone(), column.clone()]);
        chain.remove(0);
    }
}

/// `name[0]`, the first letter. An array that has such a name begins at 1.
fn letter(root: &mut Expr, chain: &mut [AccessExpr]) -> Option<Expr> {
    let [AccessExpr::Subscript(Subscript::Index { index })] = chain else { return None };
    let zero = Value::Number("0".into(), false);
    let is_zero = matches!(index, Expr::Value(number) if number.value == zero);
    let one = || Expr::Value(Value::Number("1".into(), false).into());
    (is_one_of(root, &NAMES) && is_zero)
        .then(|| call_with("substr", vec![take(root), one(), one()], vec![]))
}

/// `vector[i]`, and the fields of `_pg_expandarray`.
fn access(root: &mut Expr, chain: &mut [AccessExpr]) -> Option<Expr> {
    match chain {
        [AccessExpr::Subscript(Subscript::Index { index })] if is_vector(root) => {
            as_array(root);
            let one = Expr::Value(Value::Number("1".into(), false).into());
            let left = Box::new(Expr::Nested(Box::new(take(index))));
            *index = Expr::BinaryOp { left, op: BinaryOperator::Plus, right: Box::new(one) };
            None
        }
        [AccessExpr::Dot(Expr::Identifier(field))] => expanded(root, &identifier(field)),
        _ => None,
    }
}

/// `x` and `n` of an array that `_pg_expandarray` took apart, under the names that clients give it.
fn expanded(root: &mut Expr, field: &str) -> Option<Expr> {
    let Expr::Nested(inner) = root else { return None };
    match (inner.as_mut(), field) {
        // Its elements already: see above.
        (Expr::Function(function), "n") => {
            let FunctionArguments::List(list) = &mut function.args else { return None };
            match list.args.as_mut_slice() {
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(array))] => {
                    Some(subscripts(take(array), 1))
                }
                _ => None,
            }
        }
        (Expr::Function(_), "x") => Some(take(inner)),
        (Expr::CompoundIdentifier(parts), "x")
            if parts.last().is_some_and(|p| identifier(p) == "keys") =>
        {
            Some(take(inner))
        }
        _ => None,
    }
}
