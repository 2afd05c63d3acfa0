//! Syntax that the library does not take, written as syntax that it does: done on the syntax tree,
//! before names are bound.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, CharacterLength, DataType, DateTimeField, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArguments, Ident, Interval, LimitClause, ObjectName, Query, Select,
    SelectItem, SetExpr, TableAlias, TableFactor, UnaryOperator, Value, VisitorMut,
};
use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::parser::Parser;
use types::{SqlError, SqlResult};

use crate::catalog::Catalog;
use crate::parse::expressions::{call, cast_as, parsed_query, plain_arguments};
use crate::parse::object_name::{identifier, last_name};
use crate::parse::set_functions::{SERIES, SET_FUNCTIONS};
use crate::rewrite::relations::Relations;
use crate::rewrite::windows::OpenWindows;
use crate::rewrite::{
    filtered, grouping, having, merged, natural, ordered_set, recursion, rows, special, values,
    whole_rows,
};
use crate::walk::{WalkMut, visit_expressions};

/// Rewrites a query in place.
pub(crate) fn rewrite(query: &mut Query, catalog: &dyn Catalog) -> SqlResult<()> {
    let relations = Relations::of(query, catalog);
    natural::write_columns(query, &relations);
    match query.walk_mut(&mut Rewrite { relations, windows: OpenWindows::default() }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Rewrite<'a> {
    relations: Relations<'a>,
    windows: OpenWindows,
}

impl Rewrite<'_> {
    fn enter_query(&mut self, query: &mut Query) -> SqlResult<()> {
        // Windows have merged columns, too, before they are written out.
        merged::merge_columns(query, &self.relations)?;
        // Of the outermost, types are settled when all else is known.
        if self.windows.is_inside() {
            say_integers(&mut query.body);
        }
        self.windows.enter_query(query)?;
        values::as_selects(query)
    }

    fn enter_select(&mut self, select: &mut Select) -> SqlResult<()> {
        self.windows.enter_select(select)?;
        merged::qualify(select, &self.relations);
        grouping::as_keys(select)?;
        having::without_groups(select);
        rows::in_conditions(select)?;
        whole_rows::count_existing(select)?;
        Ok(())
    }
}

fn flow(result: SqlResult<()>) -> ControlFlow<Box<SqlError>> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(Box::new(error)),
    }
}

impl VisitorMut for Rewrite<'_> {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        fetch_as_limit(query);
        if let Err(error) = recursion::apart(query) {
            return flow(Err(error));
        }
        if let SetExpr::Select(select) = query.body.as_mut() {
            crate::rewrite::lateral::join_what_is_before(select);
        }
        flow(self.enter_query(query))
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<Self::Break> {
        self.windows.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        flow(self.enter_select(select))
    }

    fn post_visit_select(&mut self, _select: &mut Select) -> ControlFlow<Self::Break> {
        self.windows.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        flow(function_relation(factor))
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::Function(Function { over: Some(over), .. }) => flow(self.windows.write_out(over)),
            _ => ControlFlow::Continue(()),
        }
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        filtered::ask_where_counted(expr);
        flow(rewritten(expr))
    }
}

/// `FETCH FIRST n ROWS ONLY` is `LIMIT n`.
fn fetch_as_limit(query: &mut Query) {
    if query.fetch.as_ref().is_none_or(|f| f.with_ties || f.percent) {
        return;
    }
    let quantity = query.fetch.take().and_then(|f| f.quantity);
    let one = Expr::Value(Value::Number("1".into(), false).into());
    let given = Some(quantity.unwrap_or(one));
    match &mut query.limit_clause {
        Some(LimitClause::LimitOffset { limit, .. }) => *limit = given,
        other => {
            *other =
                Some(LimitClause::LimitOffset { limit: given, offset: None, limit_by: vec![] });
        }
    }
}

fn rewritten(expr: &mut Expr) -> SqlResult<()> {
    let replaced = match expr {
        Expr::AnyOp { left, compare_op, right, .. } if !is_subquery(right) => {
            compared("any", left, compare_op, right)?
        }
        Expr::AllOp { left, compare_op, right } if !is_subquery(right) => {
            compared("all", left, compare_op, right)?
        }
        // Of an array's own syntax the library does not see that an element is an outer column.
        Expr::Array(array) => call("make_array", std::mem::take(&mut array.elem)),
        Expr::Function(function)
            if SET_FUNCTIONS.iter().any(|(n, _)| *n == last_name(&function.name)) =>
        {
            set_function(function)
        }
        Expr::Function(function) if !function.within_group.is_empty() => {
            match ordered_set::rewritten(function)? {
                Some(replaced) => replaced,
                None => return Ok(()),
            }
        }
        Expr::Function(function) => {
            crate::rewrite::named::in_order(function)?;
            if let Some(over) = &mut function.over {
                crate::rewrite::windows::check(over)?;
            }
            special::word_as_text(function);
            match cast_by_name(function).or_else(|| searched(function)) {
                Some(replaced) => replaced,
                None => return Ok(()),
            }
        }
        Expr::Substring { expr, substring_from: Some(from), substring_for: None, .. }
            if is_text(from) =>
        {
            call("regexp_substring", vec![(**expr).clone(), (**from).clone()])
        }
        Expr::Interval(interval) => match interval_text(interval)? {
            Some(text) => {
                let (fields, precision) = (None, interval_digits(interval)?);
                let ty = DataType::Interval { fields, precision };
                cast_as(Expr::value(Value::SingleQuotedString(text)), ty)
            }
            None => return Ok(()),
        },
        Expr::Cast { expr, data_type, format: None, array: false, .. } => {
            match shortened(expr, data_type) {
                Some(replaced) => replaced,
                None => return Ok(()),
            }
        }
        Expr::TypedString(typed) => {
            match shortened(&Expr::Value(typed.value.clone()), &typed.data_type) {
                Some(replaced) => replaced,
                None => return Ok(()),
            }
        }
        Expr::UnaryOp { op, expr } => match prefix_operator(op, expr) {
            Some(replaced) => replaced,
            None => return Ok(()),
        },
        _ => match special::rewritten(expr)? {
            Some(replaced) => replaced,
            None => return Ok(()),
        },
    };
    *expr = replaced;
    Ok(())
}

/// Prefix operators that have a function, or another operator, for a name.
fn prefix_operator(op: &UnaryOperator, operand: &Expr) -> Option<Expr> {
    let operand = operand.clone();
    Some(match op {
        UnaryOperator::PGSquareRoot => call("sqrt", vec![operand]),
        UnaryOperator::PGCubeRoot => call("cbrt", vec![operand]),
        UnaryOperator::PGAbs => call("abs", vec![operand]),
        UnaryOperator::BitwiseNot => Expr::Nested(Box::new(Expr::BinaryOp {
            left: Box::new(Expr::Nested(Box::new(operand))),
            op: BinaryOperator::PGBitwiseXor,
            right: Box::new(Expr::value(Value::Number("-1".into(), false))),
        })),
        _ => return None,
    })
}

/// Types that are functions too: `date(x)` is `x::date`.
const TYPE_NAMES: [&str; 11] = [
    "bool",
    "date",
    "float4",
    "float8",
    "int2",
    "int4",
    "int8",
    "numeric",
    "text",
    "timestamp",
    "timestamptz",
];

/// A call that is a cast.
fn cast_by_name(function: &Function) -> Option<Expr> {
    let name = last_name(&function.name);
    let name = TYPE_NAMES.iter().find(|known| **known == name)?;
    let [only]: [Expr; 1] = plain_arguments(function)?.try_into().ok()?;
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(name);
    let data_type = parser.and_then(|mut parser| parser.parse_data_type()).ok()?;
    Some(cast_as(only, data_type))
}

/// `substring(text, pattern)`, where the pattern is written out.
fn searched(function: &Function) -> Option<Expr> {
    let [text, pattern]: [Expr; 2] = plain_arguments(function)?.try_into().ok()?;
    let applies = last_name(&function.name) == "substring" && is_text(&pattern);
    applies.then(|| call("regexp_substring", vec![text, pattern]))
}

fn is_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(v) if matches!(v.value, Value::SingleQuotedString(_)))
}

/// The text of an interval literal, a number with the unit that stands behind it.
fn interval_text(interval: &Interval) -> SqlResult<Option<String>> {
    let Expr::Value(value) = interval.value.as_ref() else { return Ok(None) };
    let Value::SingleQuotedString(text) = &value.value else { return Ok(None) };
    let Some(unit) = &interval.leading_field else { return Ok(Some(text.clone())) };
    let last = interval.last_field.as_ref().unwrap_or(unit);
    if let Ok(number) = text.trim().parse::<f64>() {
        // Only seconds have a fraction.
        let seconds = matches!(last, DateTimeField::Second | DateTimeField::Seconds);
        let number = if seconds { number } else { number.trunc() };
        return Ok(Some(format!("{number} {last}")));
    }
    // What is below the last unit would have to be cut off.
    match last {
        DateTimeField::Second if *unit == DateTimeField::Minute => {
            Ok(Some(text.split(' ').map(without_hours).collect::<Vec<_>>().join(" ")))
        }
        DateTimeField::Second | DateTimeField::Seconds | DateTimeField::Month => {
            Ok(Some(text.clone()))
        }
        last => Err(SqlError::unsupported(format!("an interval literal cut to {last}"))),
    }
}

/// Of minutes to seconds, `2:03` has no hours.
fn without_hours(word: &str) -> String {
    match word.matches(':').count() {
        1 if word.starts_with('-') => format!("-0:{}", &word[1..]),
        1 => format!("0:{}", word.trim_start_matches('+')),
        _ => word.to_owned(),
    }
}

/// Digits of a second that an interval literal keeps; the parser takes those of `second(2)` for digits before
/// the point.
fn interval_digits(interval: &Interval) -> SqlResult<Option<u64>> {
    match (&interval.leading_field, interval.leading_precision) {
        (Some(DateTimeField::Second), digits) => Ok(digits),
        (Some(unit), Some(_)) => {
            Err(SqlError::unsupported(format!("digits of the unit {unit} of an interval")))
        }
        _ => Ok(interval.fractional_seconds_precision),
    }
}

/// A cast to text of limited length: what is longer is cut off.
fn shortened(expr: &Expr, ty: &DataType) -> Option<Expr> {
    match ty {
        DataType::Varchar(Some(length))
        | DataType::CharacterVarying(Some(length))
        | DataType::CharVarying(Some(length)) => shortened_to(expr, length, false),
        DataType::Char(length) | DataType::Character(length) => {
            let one = CharacterLength::IntegerLength { length: 1, unit: None };
            shortened_to(expr, length.as_ref().unwrap_or(&one), true)
        }
        _ => None,
    }
}

fn shortened_to(expr: &Expr, written: &CharacterLength, padded: bool) -> Option<Expr> {
    let CharacterLength::IntegerLength { length, .. } = written else { return None };
    if !(1..=10_485_760).contains(length) {
        return None;
    }
    let plain = if padded { DataType::Text } else { DataType::Varchar(None) };
    let given = Some(*written);
    let count = Expr::value(Value::Number(length.to_string(), false));
    let cut = call("left", vec![cast_as(expr.clone(), plain), count]);
    // Blanks at the end of `char` mean nothing and are not kept.
    Some(match padded {
        true => cast_as(call("rtrim", vec![cut]), DataType::Char(given)),
        false => cast_as(cut, DataType::Varchar(given)),
    })
}

fn is_subquery(expr: &Expr) -> bool {
    match expr {
        Expr::Subquery(_) => true,
        Expr::Nested(inner) => is_subquery(inner),
        _ => false,
    }
}

/// `x op ANY (array)` as a call of the function that compares so.
fn compared(word: &str, left: &Expr, op: &BinaryOperator, right: &Expr) -> SqlResult<Expr> {
    let name = match op {
        BinaryOperator::Eq => "eq",
        BinaryOperator::NotEq => "ne",
        BinaryOperator::Lt => "lt",
        BinaryOperator::LtEq => "le",
        BinaryOperator::Gt => "gt",
        BinaryOperator::GtEq => "ge",
        other => return Err(SqlError::unsupported(format!("{other} {word} (array)"))),
    };
    Ok(call(&format!("{word}_{name}"), vec![left.clone(), right.clone()]))
}

/// Says of named outputs, and of an only one, that are integers in PostgreSQL that they are: to the library's binder
/// whole numbers are bigint, and what stands beside a column of them would be too.
pub(crate) fn say_integers(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            if let [only] = select.projection.as_mut_slice()
                && let SelectItem::UnnamedExpr(expr) = only
                && is_integer(expr)
            {
                let alias = Ident::with_quote('"', "?column?");
                *only = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
            for item in &mut select.projection {
                if let SelectItem::ExprWithAlias { expr, .. } = item {
                    say_integer(expr);
                }
            }
        }
        SetExpr::SetOperation { left, right, .. } => {
            say_integers(left);
            say_integers(right);
        }
        _ => {}
    }
}

/// Says of a whole number that is an `integer` in PostgreSQL that it is: to the library's binder all are `bigint`.
fn say_integer(expr: &mut Expr) {
    if is_integer(expr) {
        *expr = cast_as(std::mem::replace(expr, Expr::value(Value::Null)), DataType::Integer(None));
    }
}

fn is_integer(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => {
            matches!(&value.value, Value::Number(digits, _) if digits.parse::<i32>().is_ok())
        }
        Expr::Nested(inner) => is_integer(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => is_integer(expr),
        _ => false,
    }
}

/// A call of a set-returning function as the rows of an array.
fn set_function(function: &Function) -> Expr {
    let name = last_name(&function.name);
    let array = SET_FUNCTIONS.iter().find(|(n, _)| *n == name).map_or("", |(_, array)| array);
    let mut array_call = function.clone();
    if let (SERIES, FunctionArguments::List(list)) = (array, &mut array_call.args) {
        for arg in &mut list.args {
            if let FunctionArg::Unnamed(FunctionArgExpr::Expr(bound)) = arg {
                say_integer(bound);
            }
        }
    }
    array_call.name = ObjectName::from(vec![Ident::new(array)]);
    call("unnest", vec![Expr::Function(array_call)])
}

/// Functions that have no one value to be the row of a relation.
const MANY_ROWS: [&str; 1] = ["generate_subscripts"];

/// A function in FROM as a subquery that unnests an array.
fn function_relation(factor: &mut TableFactor) -> SqlResult<()> {
    let (name, arguments, alias) = match factor {
        TableFactor::Table { name, args: Some(args), alias, with_ordinality: false, .. } => {
            (last_name(name), args.args.clone(), alias.clone())
        }
        TableFactor::Function { name, args, alias, with_ordinality: false, .. } => {
            (last_name(name), args.clone(), alias.clone())
        }
        TableFactor::UNNEST { alias, array_exprs, with_offset: false, .. }
            if array_exprs.len() == 1 =>
        {
            let args = array_exprs.iter().cloned().map(FunctionArgExpr::Expr);
            ("unnest".to_owned(), args.map(FunctionArg::Unnamed).collect(), alias.clone())
        }
        _ => return Ok(()),
    };
    let plain = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => Ok(e.clone()),
        other => Err(SqlError::unsupported(format!("the argument {other}"))),
    };
    let mut args = arguments.iter().map(plain).collect::<SqlResult<Vec<_>>>()?;
    let array = match SET_FUNCTIONS.iter().find(|(n, _)| *n == name) {
        Some((_, SERIES)) => {
            args.iter_mut().for_each(say_integer);
            call(SERIES, args)
        }
        Some((_, array)) => call(array, args),
        None if name == "unnest" && args.len() == 1 => args[0].clone(),
        // They return rows in PostgreSQL, and one value here.
        None if MANY_ROWS.contains(&name.as_str()) => {
            return Err(SqlError::unsupported(format!("the function {name} in FROM")));
        }
        // One row with the value.
        None => {
            let column = alias.as_ref().map_or(name.clone(), |a| identifier(&a.name));
            let mut query = parsed_query("select 1 as x")?;
            if let SetExpr::Select(select) = query.body.as_mut() {
                let (expr, alias) = (call(&name, args), Ident::with_quote('"', column));
                select.projection = vec![SelectItem::ExprWithAlias { expr, alias }];
            }
            let alias = alias.or_else(|| table_alias(&name));
            let (lateral, subquery) = (arguments.iter().any(names_columns), Box::new(query));
            *factor = TableFactor::Derived { lateral, subquery, alias, sample: None };
            return Ok(());
        }
    };
    let column = alias.as_ref().map_or(name.clone(), |a| identifier(&a.name));
    let mut query = parsed_query("select 1 as x")?;
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.projection = vec![SelectItem::ExprWithAlias {
            expr: call("unnest", vec![array]),
            alias: Ident::with_quote('"', column),
        }];
    }
    let alias = alias.or_else(|| table_alias(&name));
    let lateral = arguments.iter().any(names_columns);
    *factor = TableFactor::Derived { lateral, subquery: Box::new(query), alias, sample: None };
    Ok(())
}

fn table_alias(name: &str) -> Option<TableAlias> {
    let query = parsed_query(&format!("select 1 from x as {name}")).ok()?;
    let SetExpr::Select(select) = *query.body else { return None };
    match select.from.into_iter().next()?.relation {
        TableFactor::Table { alias, .. } => alias,
        _ => None,
    }
}

/// Whether an argument names columns of other relations.
fn names_columns(arg: &FunctionArg) -> bool {
    let mut found = false;
    let named = |e: &Expr| -> ControlFlow<()> {
        found |= matches!(e, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
        ControlFlow::Continue(())
    };
    // The visit itself never stops.
    let _ = visit_expressions(arg, named);
    found
}
