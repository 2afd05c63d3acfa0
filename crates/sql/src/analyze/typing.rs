//! Types of literals and operators as PostgreSQL has them, where the library's differ.
//!
//! Runs before the library's coercion: whole numbers are `integer` when they fit, a quoted literal
//! takes the type of what it is compared with, decimals divide exactly, dates count in days.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_common::{DFSchema, DFSchemaRef, DataFusionError, Result, ScalarValue};
use datafusion_expr::expr::{BinaryExpr, Case, ScalarFunction, WindowFunction};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::utils::merge_schema;
use datafusion_expr::{
    Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, WindowFrameUnits, binary_expr,
    cast,
};
use datafusion_optimizer::AnalyzerRule;
use types::numeric::FREE;

use crate::analyze::inference::Inference;
use crate::functions::library::call;
use crate::functions::number_case::number_case;
use crate::parse::set_functions;
use crate::walk::nodes::{Nodes, erased};
use compared::{are_compared_by_us, has_uuids, is_ordered_by_us};
use moments::settle_dates;
use null_if::null_if_equal;
use numbers::{align, align_list, is_mixed, product, unify};
use operand::typed_operand;

mod blanks;
mod casts;
mod compared;
pub(crate) mod elements;
mod intervals;
mod literals;
mod members;
mod moments;
mod null_if;
mod nulls;
mod numbers;
mod operand;
mod outer;
mod patterns;
mod refusals;
mod subqueries;
mod unions;
mod windows;

/// Gives expressions PostgreSQL's types.
#[derive(Debug)]
pub(crate) struct Typing;

impl AnalyzerRule for Typing {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        outer::typed_plan(plan, &mut vec![], None)
    }

    fn name(&self) -> &str {
        "typing"
    }
}

/// The plan with PostgreSQL's types, while those of its parameters are found.
pub(crate) fn inferred(plan: LogicalPlan, inference: &Inference) -> Result<LogicalPlan> {
    outer::typed_plan(plan, &mut vec![], Some(inference))
}

/// The node over typed inputs; `outer` has the columns of the queries around it.
fn typed_node(
    node: LogicalPlan,
    outer: &[DFSchemaRef],
    inference: Option<&Inference>,
) -> Result<LogicalPlan> {
    if let Some(inference) = inference {
        inference.visit(&node)?;
    }
    match &node {
        // The bounds of a limit are the library's own constants; relations have no expressions.
        LogicalPlan::Limit(_)
        | LogicalPlan::TableScan(_)
        | LogicalPlan::EmptyRelation(_)
        | LogicalPlan::RecursiveQuery(_) => return Ok(node),
        LogicalPlan::Unnest(_) => return node.recompute_schema(),
        _ => {}
    }
    let schema = Arc::new(match &node {
        LogicalPlan::Values(_) => DFSchema::empty(),
        _ => merge_schema(&node.inputs()),
    });
    let names = NamePreserver::new(&node);
    let mapped = node.map_expressions(erased(&mut |expr: Expr| {
        let name = names.save(&expr);
        let expr = outer::with_types_of(expr, outer)?;
        let expr = match inference {
            Some(inference) => inference.typed(expr, &schema)?,
            None => expr,
        };
        Ok(Transformed::yes(name.restore(typed(expr, &schema)?)))
    }))?;
    match mapped.data {
        LogicalPlan::Values(values) => {
            let schema = Arc::clone(&values.schema);
            let plan = LogicalPlanBuilder::values(values.values)?.build()?;
            let renamed = plan.schema().columns().into_iter().zip(schema.fields().iter());
            let same = renamed.clone().all(|(c, f)| c.name == *f.name());
            if same {
                return Ok(plan);
            }
            let exprs = renamed.map(|(c, f)| Expr::Column(c).alias(f.name())).collect::<Vec<_>>();
            LogicalPlanBuilder::from(plan).project(exprs)?.build()
        }
        LogicalPlan::Sort(mut sort) => {
            intervals::sort_by_length(&mut sort.expr, &schema)?;
            Ok(LogicalPlan::Sort(sort))
        }
        LogicalPlan::Union(union) => unions::typed_union(union),
        LogicalPlan::Join(join) => unions::typed_join(join),
        LogicalPlan::Window(window) => windows::typed(window),
        other => other.recompute_schema(),
    }
}

/// The expression over rows of `schema`, with PostgreSQL's types.
pub(crate) fn typed(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    expr.transform_up(|e| typed_one(e, schema)).data()
}

fn typed_one(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    crate::interrupt::check()?;
    Ok(Transformed::yes(match expr {
        Expr::Literal(value, meta) => literals::typed(value, meta)?,
        Expr::Negative(inner) => literals::negative(*inner),
        Expr::BinaryExpr(binary) => operator(binary, schema)?,
        Expr::InList(mut list) => {
            let mut all = vec![*list.expr];
            all.append(&mut list.list);
            blanks::taken_from(&mut all, schema);
            settle(&mut all, schema)?;
            settle_dates(&mut all, schema)?;
            align_list(&mut all, schema)?;
            let varies = |e: &Expr| !matches!(e, Expr::Literal(..) | Expr::Cast(_));
            let varying = all[1..].iter().any(varies);
            if varying {
                intervals::compare_by_length(&mut all, schema)?;
            }
            list.expr = Box::new(all.remove(0));
            list.list = all;
            if varying { members::one_by_one(list)? } else { Expr::InList(list) }
        }
        Expr::Between(mut between) => {
            let mut all = vec![*between.expr, *between.low, *between.high];
            blanks::taken_from(&mut all, schema);
            settle(&mut all, schema)?;
            settle_dates(&mut all, schema)?;
            align(&mut all, schema)?;
            intervals::compare_by_length(&mut all, schema)?;
            if is_mixed(&all, schema)? {
                return two_comparisons(all, between.negated, schema).map(Transformed::yes);
            }
            between.high = Box::new(all.remove(2));
            between.low = Box::new(all.remove(1));
            between.expr = Box::new(all.remove(0));
            Expr::Between(between)
        }
        Expr::InSubquery(test) => Expr::InSubquery(subqueries::member(test, schema)?),
        Expr::SetComparison(test) => Expr::SetComparison(subqueries::compared(test, schema)?),
        Expr::Case(case) => settled_case(case, schema)?,
        Expr::ScalarFunction(call) => function(call, schema)?,
        Expr::AggregateFunction(given) => {
            refusals::check_aggregate(given.func.name(), &given.params.args, schema)?;
            Expr::AggregateFunction(given)
        }
        Expr::WindowFunction(window) => {
            refusals::check_aggregate(window.fun.name(), &window.params.args, schema)?;
            Expr::WindowFunction(Box::new(window_call(*window, schema)?))
        }
        Expr::Cast(given) => casts::typed(given, schema)?,
        Expr::SimilarTo(like) if !like.case_insensitive => {
            let escape = like.escape_char.unwrap_or('\\').to_string();
            let escape = Expr::Literal(ScalarValue::Utf8(Some(escape)), None);
            let pattern = call("similar_to_regex", vec![*like.pattern, escape])?;
            let op = if like.negated { Operator::RegexNotMatch } else { Operator::RegexMatch };
            patterns::operator(*like.expr, op, pattern)?
        }
        other => {
            check_truth(&other, schema)?;
            return Ok(Transformed::no(other));
        }
    }))
}

/// An operator between two operands as they were bound: typed at once, so that the functions around it
/// see the right type.
pub(crate) fn bound_operator(
    left: Expr,
    op: Operator,
    right: Expr,
    schema: &DFSchema,
) -> Result<Expr> {
    let (left, right) = (typed_operand(left, schema)?, typed_operand(right, schema)?);
    operator(BinaryExpr::new(Box::new(left), op, Box::new(right)), schema)
}

/// Two operands as they were bound, typed; a literal in quotes takes the type of the other.
pub(crate) fn settled(sides: [Expr; 2], schema: &DFSchema) -> Result<[Expr; 2]> {
    let [left, right] = sides;
    let mut sides = [typed(left, schema)?, typed(right, schema)?];
    settle(&mut sides, schema)?;
    Ok(sides)
}

fn too_large() -> types::SqlError {
    let state = types::SqlState::NUMERIC_VALUE_OUT_OF_RANGE;
    types::SqlError::new(state, "numeric field overflow")
        .with_hint("numbers have at most 38 digits here")
}

/// A literal in quotes has no type of its own; the library's text columns and casts are views.
fn unknown(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)), _) => Some(text),
        Expr::Alias(alias) => unknown(&alias.expr),
        _ => None,
    }
}

/// An unknown literal as a value of `ty`.
fn read(text: &str, ty: &DataType) -> Result<Expr> {
    let ty = match ty {
        DataType::Decimal128(..) | DataType::Decimal256(..) => numeric_of(text),
        other => other.clone(),
    };
    let array: arrow_array::ArrayRef =
        Arc::new(arrow_array::StringViewArray::from_iter_values([text]));
    let value = crate::cast::text::cast_text(&array, &ty)?;
    Ok(Expr::Literal(ScalarValue::try_from_array(&value, 0)?, None))
}

/// The narrowest decimal that holds the text exactly.
pub(crate) fn numeric_of(text: &str) -> DataType {
    let plain = types::numeric::without_exponent(types::blanks::trimmed(text)).unwrap_or_default();
    let fraction = plain.split_once('.').map_or(0, |(_, f)| f.len());
    DataType::Decimal128(38, fraction.min(30) as i8)
}

/// Gives unknown literals among `exprs` the type of the first expression that has another one than text.
fn settle(exprs: &mut [Expr], schema: &DFSchema) -> Result<()> {
    if exprs.iter().all(|e| unknown(e).is_none()) {
        return Ok(());
    }
    let mut found = None;
    for expr in exprs.iter().filter(|e| unknown(e).is_none()) {
        let ty = expr.get_type(schema)?;
        if ty != DataType::Null && found.is_none() {
            found = Some(ty);
        }
    }
    let Some(ty) = found.filter(readable) else { return Ok(()) };
    for expr in exprs {
        if let Some(text) = unknown(expr) {
            *expr = read(text, &ty)?;
        }
    }
    Ok(())
}

/// Whether an expression is made of literals, casts and functions of them only.
fn is_constant(expr: &Expr) -> bool {
    let other = |e: &Expr| {
        !matches!(
            e,
            Expr::Literal(..) | Expr::Cast(_) | Expr::ScalarFunction(_) | Expr::BinaryExpr(_)
        )
    };
    !expr.exists(|e| Ok(other(e))).unwrap_or(true) && !expr.is_volatile()
}

/// BETWEEN a value and bounds of types that only compare in pairs.
fn two_comparisons(mut all: Vec<Expr>, negated: bool, schema: &DFSchema) -> Result<Expr> {
    let (high, low, value) = (all.remove(2), all.remove(1), all.remove(0));
    let compare = |op, bound: Expr| {
        operator(BinaryExpr::new(Box::new(value.clone()), op, Box::new(bound)), schema)
    };
    let both = compare(Operator::GtEq, low)?.and(compare(Operator::LtEq, high)?);
    Ok(if negated { datafusion_expr::not(both) } else { both })
}

/// 42804 for a test of truth of what has none.
fn check_truth(expr: &Expr, schema: &DFSchema) -> Result<()> {
    let (value, test) = match expr {
        Expr::IsUnknown(value) | Expr::IsNotUnknown(value) => (value, "IS UNKNOWN"),
        Expr::IsTrue(value) | Expr::IsNotTrue(value) => (value, "IS TRUE"),
        Expr::IsFalse(value) | Expr::IsNotFalse(value) => (value, "IS FALSE"),
        _ => return Ok(()),
    };
    let ty = value.get_type(schema)?;
    if matches!(ty, DataType::Boolean | DataType::Null) || unknown(value).is_some() {
        return Ok(());
    }
    let ty = crate::render::type_name(&ty);
    let message = format!("argument of {test} must be type boolean, not type {ty}");
    let error = types::SqlError::new(types::SqlState::DATATYPE_MISMATCH, message);
    Err(DataFusionError::External(Box::new(error)))
}

fn readable(ty: &DataType) -> bool {
    !ty.is_string() && types::LogicalType::of_arrow(ty).is_some()
}

fn settled_case(case: Case, schema: &DFSchema) -> Result<Expr> {
    let Case { expr, when_then_expr, else_expr } = case;
    let (whens, thens): (Vec<Expr>, Vec<Expr>) =
        when_then_expr.into_iter().map(|(w, t)| (*w, *t)).unzip();
    let mut tests: Vec<Expr> = expr.map(|e| *e).into_iter().collect();
    let mut subject = tests.len();
    tests.extend(whens);
    if subject == 1 {
        settle(&mut tests, schema)?;
        align(&mut tests, schema)?;
        intervals::compare_by_length(&mut tests, schema)?;
    }
    // What is volatile has one value for all the comparisons.
    if subject == 1
        && !tests[0].is_volatile()
        && (are_compared_by_us(&tests, schema)? || has_uuids(&tests, schema)?)
    {
        let value = tests.remove(0);
        subject = 0;
        for test in &mut tests {
            *test = binary_expr(value.clone(), Operator::Eq, std::mem::take(test));
        }
    }
    let mut results = thens;
    let branches = results.len();
    results.extend(else_expr.map(|e| *e));
    settle(&mut results, schema)?;
    unify(&mut results, schema)?;
    // The type of the last one, behind ELSE, goes before the others.
    let (thens, otherwise) = results.split_at_mut(branches);
    blanks::unify(otherwise.iter_mut().chain(thens), schema)?;
    let whens = tests.split_off(subject);
    let otherwise = results.split_off(branches).pop().map(Box::new);
    let subject = tests.pop().map(Box::new);
    let pairs = whens.into_iter().zip(results);
    let pairs: Vec<_> = pairs.map(|(w, t)| (Box::new(w), Box::new(t))).collect();
    let boolean =
        pairs.iter().any(|(_, t)| t.get_type(schema).is_ok_and(|ty| ty == DataType::Boolean));
    if !boolean {
        return Ok(Expr::Case(Case::new(subject, pairs, otherwise)));
    }
    Ok(number_case(Case::new(subject, pairs, otherwise)))
}

fn function(mut given: ScalarFunction, schema: &DFSchema) -> Result<Expr> {
    refusals::check_function(given.func.name(), &given.args, schema)?;
    if given.func.name() == set_functions::SERIES {
        from_midnights(&mut given.args, schema)?;
    }
    if let Some(list) = elements::as_list(&given, schema)? {
        return Ok(typed_one(list, schema)?.data);
    }
    if let ("pg_typeof", [value]) = (given.func.name(), given.args.as_slice()) {
        let name = match unknown(value) {
            Some(_) => "unknown".to_owned(),
            None => crate::render::type_name(&value.get_type(schema)?).to_string(),
        };
        return Ok(Expr::Literal(ScalarValue::Utf8View(Some(name)), None));
    }
    if let "concat" | "concat_ws" = given.func.name() {
        for arg in &mut given.args {
            // A boolean is a letter here, as it is printed.
            if arg.get_type(schema)? == DataType::Boolean {
                let word = cast(std::mem::take(arg), DataType::Utf8View);
                let one = Expr::Literal(ScalarValue::Int64(Some(1)), None);
                *arg = call("left", vec![word, one])?;
            }
        }
    }
    if let "coalesce" | "nullif" | "greatest" | "least" | "make_array" = given.func.name() {
        settle(&mut given.args, schema)?;
        match given.func.name() {
            "nullif"
                if given.args.len() == 2
                    && !given.args[0].is_volatile()
                    && are_compared_by_us(&given.args, schema)? =>
            {
                return null_if_equal(given.args, schema);
            }
            "nullif" => return nulls::null_if_aligned(given, schema),
            _ => {
                unify(&mut given.args, schema)?;
                blanks::unify(given.args.iter_mut(), schema)?;
            }
        }
    }
    nulls::prefer_double(&mut given, schema)?;
    nulls::prefer_text(&mut given, schema)?;
    if let "greatest" | "least" = given.func.name()
        && given.args.len() > 1
        && given.args.iter().all(|arg| arg.get_type(schema).is_ok_and(|ty| is_ordered_by_us(&ty)))
    {
        return call(&format!("{}_in_order", given.func.name()), given.args);
    }
    Ok(Expr::ScalarFunction(given))
}

/// A series from date to date is one of instants.
fn from_midnights(args: &mut [Expr], schema: &DFSchema) -> Result<()> {
    for arg in args.iter_mut().take(2) {
        if arg.get_type(schema)? == DataType::Date32 {
            *arg = cast(std::mem::take(arg), types::LogicalType::TimestampTz.arrow());
        }
    }
    Ok(())
}

/// The value of another row and the one that takes its place have one type.
fn window_call(mut window: WindowFunction, schema: &DFSchema) -> Result<WindowFunction> {
    if matches!(window.fun.name(), "lag" | "lead") && window.params.args.len() == 3 {
        let args = &mut window.params.args;
        let mut pair = [args[0].clone(), args[2].clone()];
        settle(&mut pair, schema)?;
        unify(&mut pair, schema)?;
        [args[0], args[2]] = pair;
    }
    // The frame may name distances between keys: of days they are some of hours, too.
    if window.params.window_frame.units != WindowFrameUnits::Range
        || !intervals::has_distance(&window.params.window_frame)
    {
        intervals::sort_by_length(&mut window.params.order_by, schema)?;
    } else if let [key] = window.params.order_by.as_mut_slice()
        && key.expr.get_type(schema)? == DataType::Date32
    {
        key.expr = cast(std::mem::take(&mut key.expr), types::LogicalType::Timestamp.arrow());
    }
    // The library knows no ranges of these. Without distances a range is a group.
    let frame = &mut window.params.window_frame;
    if frame.units == WindowFrameUnits::Range
        && !intervals::has_distance(frame)
        && let Some(key) = window.params.order_by.first()
        && matches!(
            key.expr.get_type(schema)?,
            DataType::Time64(_)
                | DataType::Binary
                | DataType::BinaryView
                | DataType::FixedSizeBinary(_)
        )
    {
        frame.units = WindowFrameUnits::Groups;
    }
    Ok(window)
}

fn is_order(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

fn operator(binary: BinaryExpr, schema: &DFSchema) -> Result<Expr> {
    let BinaryExpr { left, op, right } = binary;
    let mut sides = [*left, *right];
    let compares = op.supports_propagation() || matches!(op, Operator::NotEq);
    let distinct = matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom);
    let arithmetic = matches!(
        op,
        Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo
    );
    if distinct || is_order(op) {
        blanks::taken_from(&mut sides, schema);
    }
    if compares || distinct {
        settle(&mut sides, schema)?;
        settle_dates(&mut sides, schema)?;
        align(&mut sides, schema)?;
        intervals::compare_by_length(&mut sides, schema)?;
    } else if arithmetic {
        settle_operands(&mut sides, op, schema)?;
        if matches!(op, Operator::Plus | Operator::Minus) {
            align(&mut sides, schema)?;
        }
    }
    if op == Operator::StringConcat && elements::has_arrays(&sides, schema)? {
        settle(&mut sides, schema)?;
    }
    if op == Operator::StringConcat {
        nulls::text_beside_null(&mut sides, schema)?;
    }
    let [left, right] = sides;
    if !arithmetic && op != Operator::StringConcat {
        return patterns::operator(left, op, right);
    }
    let (l, r) = (left.get_type(schema)?, right.get_type(schema)?);
    if op == Operator::Modulo && (l.is_floating() || r.is_floating()) {
        let (l, r) = (crate::render::type_name(&l), crate::render::type_name(&r));
        let message = format!("operator does not exist: {l} % {r}");
        let error = types::SqlError::new(types::SqlState::UNDEFINED_FUNCTION, message);
        return Err(DataFusionError::External(Box::new(error)));
    }
    if l != r
        && (l == DataType::Float32 || r == DataType::Float32)
        && l.is_numeric()
        && r.is_numeric()
    {
        // `real` beside another number is double precision.
        let double = |side: Expr| datafusion_expr::cast(side, DataType::Float64);
        return Ok(binary_expr(double(left), op, double(right)));
    }
    if let Some(name) = own_operator(op, &l, &r) {
        return call(name, vec![left, right]);
    }
    let exact = |ty: &DataType| ty.is_numeric() && !ty.is_floating();
    let free = (l == FREE || r == FREE) && exact(&l) && exact(&r);
    let whole = match op {
        Operator::Multiply => product(left, right, &l, &r)?,
        _ => binary_expr(left, op, right),
    };
    Ok(if free { cast(whole, FREE) } else { whole })
}

/// Beside a date or a timestamp, a literal of an addition is an interval.
fn settle_operands(sides: &mut [Expr; 2], op: Operator, schema: &DFSchema) -> Result<()> {
    if op == Operator::Minus {
        nulls::date_beside_date(sides, schema)?;
    }
    for i in 0..2 {
        let other = &sides[1 - i];
        if unknown(&sides[i]).is_none() || unknown(other).is_some() {
            continue;
        }
        let ty = other.get_type(schema)?;
        let span = match (&ty, op) {
            (DataType::Timestamp(..) | DataType::Time64(_) | DataType::Date32, Operator::Plus) => {
                types::LogicalType::Interval.arrow()
            }
            (DataType::Interval(_), Operator::Multiply | Operator::Divide) => DataType::Float64,
            _ => ty,
        };
        if readable(&span) {
            let text = unknown(&sides[i]).unwrap_or_default().to_owned();
            sides[i] = read(&text, &span)?;
        }
    }
    Ok(())
}

/// The function behind an operator that the library does not have, or has with another result.
fn own_operator(op: Operator, left: &DataType, right: &DataType) -> Option<&'static str> {
    use DataType::{Date32, Interval, List, Time64, Timestamp};
    let decimal = |ty: &DataType| matches!(ty, DataType::Decimal128(..) | DataType::Decimal256(..));
    let exact = |ty: &DataType| decimal(ty) || ty.is_integer();
    let wide = |ty: &DataType| matches!(ty, DataType::Decimal256(..));
    Some(match (op, left, right) {
        (Operator::Divide, l, r) if exact(l) && exact(r) && (decimal(l) || decimal(r)) => {
            "numeric_div"
        }
        (Operator::Modulo, l, r) if exact(l) && exact(r) && (wide(l) || wide(r)) => "mod",
        (Operator::Plus, Date32, r) if r.is_integer() => "date_plus_days",
        (Operator::Plus, l, Date32) if l.is_integer() => "days_plus_date",
        (Operator::Minus, Date32, r) if r.is_integer() => "date_minus_days",
        (Operator::Minus, Date32, Date32) => "date_minus_date",
        (Operator::Plus, Date32 | Timestamp(..), Interval(_)) => "time_plus_span",
        (Operator::Plus, Interval(_), Date32 | Timestamp(..)) => "span_plus_time",
        (Operator::Minus, Date32 | Timestamp(..), Interval(_)) => "time_minus_span",
        (Operator::Plus, Time64(_), Interval(_)) => "time_plus_span",
        (Operator::Plus, Interval(_), Time64(_)) => "span_plus_time",
        (Operator::Minus, Time64(_), Interval(_) | Time64(_)) => "time_minus_span",
        (Operator::Plus, Date32, Time64(_)) => "date_plus_time",
        (Operator::Minus, Timestamp(..) | Date32, Timestamp(..) | Date32) => "time_minus_time",
        (Operator::Plus, Interval(_), Interval(_)) => "span_plus_span",
        (Operator::Minus, Interval(_), Interval(_)) => "span_minus_span",
        (Operator::Multiply, Interval(_), r) if r.is_numeric() => "span_times",
        (Operator::Multiply, l, Interval(_)) if l.is_numeric() => "times_span",
        (Operator::Divide, Interval(_), r) if r.is_numeric() => "span_divided",
        (Operator::StringConcat, List(_), List(_)) => "array_cat",
        (Operator::StringConcat, List(_), r) if !r.is_string() => "array_append",
        (Operator::StringConcat, List(e), r) if r.is_string() && e.data_type().is_string() => {
            "array_append"
        }
        (Operator::StringConcat, l, List(_)) if !l.is_string() => "array_prepend",
        (Operator::StringConcat, l, List(e)) if l.is_string() && e.data_type().is_string() => {
            "array_prepend"
        }
        _ => return None,
    })
}
