//! The types of parameters from the expressions that they stand in.

use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_common::{DFSchema, DataFusionError, Result};
use datafusion_expr::expr::{BinaryExpr, Case, InList};
use datafusion_expr::{Expr, Operator};
use types::{SqlError, SqlState, oid};

use crate::analyze::inference::Inference;
use crate::signatures;
use crate::signatures::Choice;
use crate::walk::nodes::Nodes;

/// The expression with the types of its parameters, inner ones first.
pub(crate) fn typed(inference: &Inference, expr: Expr, schema: &DFSchema) -> Result<Expr> {
    expr.transform_up(|mut expr| {
        node(inference, &mut expr, schema)?;
        Ok(Transformed::yes(expr))
    })
    .data()
}

fn node(inference: &Inference, expr: &mut Expr, schema: &DFSchema) -> Result<()> {
    match expr {
        Expr::Placeholder(_) => inference.show(expr),
        Expr::BinaryExpr(binary) => return binary_operator(inference, binary, schema),
        Expr::Like(like) | Expr::SimilarTo(like) => {
            let sides = [like.expr.as_mut(), like.pattern.as_mut()];
            return operator(inference, "~~", sides, schema);
        }
        Expr::Not(truth)
        | Expr::IsTrue(truth)
        | Expr::IsFalse(truth)
        | Expr::IsUnknown(truth)
        | Expr::IsNotTrue(truth)
        | Expr::IsNotFalse(truth)
        | Expr::IsNotUnknown(truth) => inference.assign(truth, oid::BOOL),
        Expr::Between(between) => {
            let value = between.expr.as_mut();
            operator(inference, ">=", [&mut *value, between.low.as_mut()], schema)?;
            operator(inference, "<=", [value, between.high.as_mut()], schema)?;
        }
        Expr::IsNull(value) | Expr::IsNotNull(value) => inference.ignore(value),
        Expr::InList(list) => return member(inference, list, schema),
        Expr::Case(case) => return branches(inference, case, schema),
        Expr::Cast(cast) => {
            let ty = crate::analyze::told::told_oid(&cast.field);
            inference.assign(&mut cast.expr, ty);
        }
        Expr::ScalarFunction(call) => {
            let names = names(call.func.name(), call.func.aliases());
            return scalar(inference, &names, &mut call.args, schema);
        }
        Expr::AggregateFunction(call) => {
            let names = names(call.func.name(), call.func.aliases());
            if let Some(filter) = &mut call.params.filter {
                inference.assign(filter, oid::BOOL);
            }
            function(inference, &names, &mut call.params.args, schema)?;
            if call.params.distinct {
                // Values that are told apart are texts where nothing says of which type they are.
                call.params.args.iter_mut().for_each(|arg| inference.assign(arg, oid::TEXT));
            }
        }
        Expr::WindowFunction(window) => {
            let name = window.fun.name().to_lowercase();
            let params = &mut window.params;
            if let Some(filter) = &mut params.filter {
                inference.assign(filter, oid::BOOL);
            }
            return function(inference, &[name.as_str()], &mut params.args, schema);
        }
        Expr::InSubquery(test) => {
            let theirs = crate::analyze::told::told_oid(test.subquery.subquery.schema().field(0));
            return beside(inference, "=", &mut test.expr, theirs, schema);
        }
        Expr::SetComparison(test) => {
            let theirs = crate::analyze::told::told_oid(test.subquery.subquery.schema().field(0));
            return beside(inference, &name_of(test.op), &mut test.expr, theirs, schema);
        }
        _ => {}
    }
    Ok(())
}

fn names<'a>(name: &'a str, aliases: &'a [String]) -> Vec<&'a str> {
    std::iter::once(name).chain(aliases.iter().map(String::as_str)).collect()
}

fn binary_operator(
    inference: &Inference,
    binary: &mut BinaryExpr,
    schema: &DFSchema,
) -> Result<()> {
    let sides = [binary.left.as_mut(), binary.right.as_mut()];
    match binary.op {
        Operator::And | Operator::Or => {
            sides.into_iter().for_each(|side| inference.assign(side, oid::BOOL));
            Ok(())
        }
        op => operator(inference, &name_of(op), sides, schema),
    }
}

/// PostgreSQL's name of an operator.
fn name_of(op: Operator) -> String {
    match op {
        Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => "=".to_owned(),
        Operator::NotEq => "<>".to_owned(),
        Operator::BitwiseXor => "#".to_owned(),
        other => other.to_string(),
    }
}

/// An operand that is open takes the type that the operator wants beside the other.
pub(crate) fn operator(
    inference: &Inference,
    name: &str,
    sides: [&mut Expr; 2],
    schema: &DFSchema,
) -> Result<()> {
    let [left, right] = sides;
    if inference.open(left).is_none() && inference.open(right).is_none() {
        return Ok(());
    }
    let given = [inference.oid_of(left, schema)?, inference.oid_of(right, schema)?];
    let wanted = operands(inference, name, given)?;
    inference.assign(left, wanted[0]);
    inference.assign(right, wanted[1]);
    Ok(())
}

/// The same beside an operand of a type that is known.
fn beside(
    inference: &Inference,
    name: &str,
    side: &mut Expr,
    other: u32,
    schema: &DFSchema,
) -> Result<()> {
    if inference.open(side).is_some() {
        let wanted = operands(inference, name, [inference.oid_of(side, schema)?, other])?;
        inference.assign(side, wanted[0]);
    }
    Ok(())
}

fn operands(inference: &Inference, name: &str, given: [u32; 2]) -> Result<[u32; 2]> {
    let told = || {
        let [left, right] = given.map(signatures::type_name);
        format!("{left} {name} {right}")
    };
    match signatures::operator(name, given) {
        Choice::One(types) => Ok([types[0], types[1]]),
        Choice::Several => Err(inference.refuse(
            SqlError::new(
                SqlState::AMBIGUOUS_FUNCTION,
                format!("operator is not unique: {}", told()),
            )
            .with_hint(
                "Could not choose a best candidate operator. You might need to add explicit type \
                     casts.",
            ),
        )),
        Choice::Nothing => Err(inference.refuse(
            SqlError::new(
                SqlState::UNDEFINED_FUNCTION,
                format!("operator does not exist: {}", told()),
            )
            .with_hint(
                "No operator matches the given name and argument types. You might need to add \
                     explicit type casts.",
            ),
        )),
        Choice::Polymorphic => Err(no_polymorphic(inference)),
    }
}

fn no_polymorphic(inference: &Inference) -> DataFusionError {
    let message = "could not determine polymorphic type because input has type unknown";
    inference.refuse(SqlError::new(SqlState::DATATYPE_MISMATCH, message))
}

/// Values of which each becomes the type that all of them have in common.
fn alike(inference: &Inference, exprs: &mut [&mut Expr], schema: &DFSchema) -> Result<()> {
    if exprs.iter().all(|expr| inference.open(expr).is_none()) {
        return Ok(());
    }
    let given = exprs.iter().map(|e| inference.oid_of(e, schema)).collect::<Result<Vec<_>>>()?;
    if let Some(common) = signatures::common_type(&given) {
        exprs.iter_mut().for_each(|expr| inference.assign(expr, common));
    }
    Ok(())
}

/// `IN`: one element is compared; more of them are an array, apart from those that name columns.
fn member(inference: &Inference, list: &mut InList, schema: &DFSchema) -> Result<()> {
    let InList { expr, list, .. } = list;
    let plain = list.iter().filter(|element| !element.any_column_refs()).count();
    if plain > 1 {
        let elements = list.iter_mut().filter(|element| !element.any_column_refs());
        let mut all: Vec<&mut Expr> = std::iter::once(expr.as_mut()).chain(elements).collect();
        alike(inference, &mut all, schema)?;
    }
    for element in list {
        operator(inference, "=", [expr.as_mut(), element], schema)?;
    }
    Ok(())
}

fn branches(inference: &Inference, case: &mut Case, schema: &DFSchema) -> Result<()> {
    if let Some(subject) = &mut case.expr {
        inference.assign(subject, oid::TEXT);
    }
    for (when, _) in &mut case.when_then_expr {
        match &mut case.expr {
            Some(subject) => operator(inference, "=", [subject.as_mut(), when.as_mut()], schema)?,
            None => inference.assign(when, oid::BOOL),
        }
    }
    let thens = case.when_then_expr.iter_mut().map(|(_, then)| then.as_mut());
    // PostgreSQL looks at what stands behind ELSE first.
    let otherwise = case.else_expr.iter_mut().map(|otherwise| otherwise.as_mut());
    let mut results: Vec<&mut Expr> = otherwise.chain(thens).collect();
    alike(inference, &mut results, schema)
}

/// A scalar function, or what the library calls one.
fn scalar(
    inference: &Inference,
    names: &[&str],
    args: &mut [Expr],
    schema: &DFSchema,
) -> Result<()> {
    match (names[0], args) {
        ("coalesce" | "greatest" | "least" | "make_array", all) => {
            alike(inference, &mut all.iter_mut().collect::<Vec<_>>(), schema)
        }
        ("nullif", [left, right]) => operator(inference, "=", [left, right], schema),
        ("array_element" | "array_slice", [_, places @ ..]) => {
            places.iter_mut().for_each(|place| inference.assign(place, oid::INT4));
            Ok(())
        }
        (name, [left, right]) if quantified(name).is_some() => {
            elements(inference, quantified(name).unwrap_or("="), [left, right], schema)
        }
        (_, args) => function(inference, names, args, schema),
    }
}

/// The operator of `x op ANY (array)`, which has become a call.
fn quantified(name: &str) -> Option<&'static str> {
    let op = name.strip_prefix("any_").or_else(|| name.strip_prefix("all_"))?;
    let names = [("eq", "="), ("ne", "<>"), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")];
    names.into_iter().find(|(word, _)| *word == op).map(|(_, name)| name)
}

/// A value that is compared with the elements of an array.
fn elements(
    inference: &Inference,
    name: &str,
    sides: [&mut Expr; 2],
    schema: &DFSchema,
) -> Result<()> {
    let [value, array] = sides;
    let theirs = inference.oid_of(array, schema)?;
    if inference.open(value).is_some() {
        let element = signatures::element(theirs).unwrap_or(oid::UNKNOWN);
        beside(inference, name, value, element, schema)?;
    }
    if inference.open(array).is_some() {
        let wanted = operands(inference, name, [inference.oid_of(value, schema)?, oid::UNKNOWN])?;
        if let Some(ty) = signatures::array_of(wanted[1]) {
            inference.assign(array, ty);
        }
    }
    Ok(())
}

/// Functions that go by another name here.
fn known_name<'a>(names: &[&'a str]) -> Option<&'a str> {
    let own = |name: &&'a str| {
        let plain = name.strip_suffix("_array").unwrap_or(*name);
        match *name {
            "regexp_substring" => Some("substring"),
            "similar_to_regex" => Some("similar_to_escape"),
            known if signatures::has_function(known) => Some(known),
            _ => Some(plain).filter(|plain| signatures::has_function(plain)),
        }
    };
    names.iter().find_map(own)
}

/// Arguments that are open take the types of the signature that is meant.
fn function(
    inference: &Inference,
    names: &[&str],
    args: &mut [Expr],
    schema: &DFSchema,
) -> Result<()> {
    if args.iter().all(|arg| inference.open(arg).is_none()) {
        return Ok(());
    }
    let Some(name) = known_name(names) else { return Ok(()) };
    let given = args.iter().map(|arg| inference.oid_of(arg, schema)).collect::<Result<Vec<_>>>()?;
    match signatures::function(name, &given) {
        Choice::One(types) => {
            for (arg, ty) in args.iter_mut().zip(types) {
                match ty {
                    0 => inference.ignore(arg),
                    ty => inference.assign(arg, ty),
                }
            }
            Ok(())
        }
        // What the engine has beyond PostgreSQL, or not at all, is for the binder to say.
        Choice::Nothing => Ok(()),
        Choice::Several => {
            let given: Vec<_> = given.into_iter().map(signatures::type_name).collect();
            let message = format!("function {name}({}) is not unique", given.join(", "));
            Err(inference.refuse(SqlError::new(SqlState::AMBIGUOUS_FUNCTION, message).with_hint(
                "Could not choose a best candidate function. You might need to add explicit type casts.",
            )))
        }
        Choice::Polymorphic => Err(no_polymorphic(inference)),
    }
}
