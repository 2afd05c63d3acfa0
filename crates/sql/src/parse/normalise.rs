//! Names of the schema `pg_catalog` in syntax: `pg_catalog.text`, `OPERATOR(pg_catalog.~)`,
//! `pg_catalog.version()`. They mean what they mean without it, for that schema comes first in
//! every search path; so the qualifier goes before anything else looks at the statement.

use std::fmt::Display;
use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    ArrayElemTypeDef, BinaryOperator, CastKind, CharacterLength, DataType, ExactNumberInfo, Expr,
    Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, ObjectNamePart, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    Statement, TableFactor, TimezoneInfo, Value, ValueWithSpan, VisitorMut,
};

use crate::parse::expressions::{call_with, take};
use crate::parse::{object_name, type_names, vectors};
use crate::walk::WalkMut;

/// Takes the qualifiers away.
pub(crate) fn normalise(statement: &mut Statement) {
    let ControlFlow::Continue(()) = statement.walk_mut(&mut Normalise);
}

struct Normalise;

enum Never {}

impl VisitorMut for Normalise {
    type Break = Never;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Never> {
        match expr {
            Expr::Collate { expr: inner, collation } if is_byte_order(collation) => {
                *expr = std::mem::replace(inner, Expr::Identifier(Ident::new("")));
            }
            Expr::BinaryOp { op, .. } => {
                if let BinaryOperator::PGCustomBinaryOperator(parts) = op
                    && let Some(plain) = parts.last().and_then(|name| operator(name))
                {
                    *op = plain;
                }
            }
            Expr::Like { pattern, escape_char, .. } | Expr::ILike { pattern, escape_char, .. } => {
                backslash_escape(pattern, escape_char);
            }
            Expr::Function(function) => {
                plain_function(function);
                age_of_transaction(function);
            }
            Expr::Identifier(ident) if is_niladic(ident) => *expr = call(ident.clone()),
            Expr::Cast { data_type, .. } => plain_type(data_type),
            Expr::Value(ValueWithSpan {
                value: value @ Value::UnicodeStringLiteral(_), ..
            }) => {
                if let Some(text) = value.clone().into_string() {
                    *value = Value::SingleQuotedString(text);
                }
            }
            Expr::Subquery(query) if is_base_of_domain(query) => {
                *expr = Expr::Cast {
                    kind: CastKind::Cast,
                    expr: Box::new(Expr::Value(Value::Null.into())),
                    data_type: DataType::BigInt(None),
                    array: false,
                    format: None,
                };
            }
            _ => {}
        }
        vectors::expression(expr);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Never> {
        full_wildcards(select);
        select.selection.iter_mut().chain(&mut select.having).for_each(read_condition);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Never> {
        match factor {
            TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } => {
                unqualify(name)
            }
            _ => {}
        }
        vectors::relation(factor);
        ControlFlow::Continue(())
    }
}

/// `columns.*` of a relation that `FROM` names with its schema has that name.
fn full_wildcards(select: &mut Select) {
    let Select { projection, from, .. } = select;
    for item in projection {
        let SelectItem::QualifiedWildcard(kind, _) = item else { continue };
        let SelectItemQualifiedWildcardKind::ObjectName(name) = kind else { continue };
        let [ObjectNamePart::Identifier(short)] = name.0.as_slice() else { continue };
        let short = object_name::identifier(short);
        let joined = from.iter().flat_map(|item| item.joins.iter().map(|join| &join.relation));
        let relations = from.iter().map(|item| &item.relation).chain(joined);
        let full = relations.filter_map(|relation| match relation {
            TableFactor::Table { name, alias: None, args: None, .. } => Some(name),
            _ => None,
        });
        let last = |name: &&ObjectName| {
            let last = name.0.last().and_then(ObjectNamePart::as_ident);
            name.0.len() == 2 && last.is_some_and(|i| object_name::identifier(i) == short)
        };
        if let Some(full) = full.into_iter().find(last).cloned() {
            *name = full;
        }
    }
}

/// `age(transactionid)` is another function than that of times.
fn age_of_transaction(function: &mut Function) {
    const TRANSACTIONS: [&str; 5] =
        ["transactionid", "xmin", "backend_xmin", "relfrozenxid", "datfrozenxid"];
    let [ObjectNamePart::Identifier(name)] = function.name.0.as_mut_slice() else { return };
    let FunctionArguments::List(list) = &function.args else { return };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = list.args.as_slice() else {
        return;
    };
    let column = match argument {
        Expr::Identifier(ident) => ident,
        Expr::CompoundIdentifier(parts) => match parts.last() {
            Some(last) => last,
            None => return,
        },
        _ => return,
    };
    if object_name::identifier(name) == "age"
        && TRANSACTIONS.contains(&object_name::identifier(column).as_str())
    {
        *name = Ident::new("transaction_age");
    }
}

/// A literal that is a whole condition is a `boolean`.
pub(super) fn read_condition(condition: &mut Expr) {
    if matches!(condition, Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_)))
    {
        let expr = Box::new(take(condition));
        let (kind, data_type) = (CastKind::Cast, DataType::Boolean);
        *condition = Expr::Cast { kind, expr, data_type, array: false, format: None };
    }
}

/// asyncpg follows a domain to its base type by a recursive query for each type. The engine has no
/// domains, so that query is never asked for its result; and it has no correlated recursion.
fn is_base_of_domain(query: &Query) -> bool {
    let Some(with) = query.with.as_ref().filter(|with| with.recursive) else { return false };
    let text = query.to_string();
    with.cte_tables.iter().any(|cte| cte.alias.name.value == "typebases")
        && text.contains("typbasetype")
}

/// The library escapes by backslash only: a pattern with another letter is translated.
fn backslash_escape(pattern: &mut Expr, escape: &mut Option<ValueWithSpan>) {
    let letter = escape.as_ref().and_then(|e| e.value.clone().into_string());
    let is_parameter = matches!(escape, Some(ValueWithSpan { value: Value::Placeholder(_), .. }));
    if !is_parameter && letter.is_none_or(|letter| letter == "\\") {
        return;
    }
    if let Some(letter) = escape.take() {
        let arguments = vec![take(pattern), Expr::Value(letter)];
        *pattern = call_with("like_pattern", arguments, vec![]);
    }
}

/// The collations that order by bytes, which is what the engine does.
fn is_byte_order(collation: &ObjectName) -> bool {
    let last = collation.0.last().and_then(ObjectNamePart::as_ident);
    last.is_some_and(|i| ["default", "C", "POSIX", "ucs_basic"].contains(&i.value.as_str()))
}

fn operator(name: &str) -> Option<BinaryOperator> {
    Some(match name {
        "~" => BinaryOperator::PGRegexMatch,
        "~*" => BinaryOperator::PGRegexIMatch,
        "!~" => BinaryOperator::PGRegexNotMatch,
        "!~*" => BinaryOperator::PGRegexNotIMatch,
        "~~" => BinaryOperator::PGLikeMatch,
        "~~*" => BinaryOperator::PGILikeMatch,
        "!~~" => BinaryOperator::PGNotLikeMatch,
        "!~~*" => BinaryOperator::PGNotILikeMatch,
        "=" => BinaryOperator::Eq,
        "<>" | "!=" => BinaryOperator::NotEq,
        "<" => BinaryOperator::Lt,
        "<=" => BinaryOperator::LtEq,
        ">" => BinaryOperator::Gt,
        ">=" => BinaryOperator::GtEq,
        "+" => BinaryOperator::Plus,
        "-" => BinaryOperator::Minus,
        "*" => BinaryOperator::Multiply,
        "/" => BinaryOperator::Divide,
        "||" => BinaryOperator::StringConcat,
        _ => return None,
    })
}

fn is_catalog(part: &ObjectNamePart) -> bool {
    part.as_ident().is_some_and(|i| object_name::identifier(i) == "pg_catalog")
}

fn unqualify(name: &mut ObjectName) {
    if name.0.len() == 2 && is_catalog(&name.0[0]) {
        name.0.remove(0);
    }
}

/// `current_user` and the like are functions without parentheses.
fn plain_function(function: &mut Function) {
    unqualify(&mut function.name);
    let niladic = function.name.0.last().and_then(ObjectNamePart::as_ident).is_some_and(is_niladic);
    if niladic && function.args == FunctionArguments::None {
        function.args = FunctionArguments::List(no_arguments());
    }
}

/// The text of a part of a statement, to be read again: functions without parentheses have none.
pub(crate) fn printed<T: WalkMut + Clone + Display>(part: &T) -> String {
    let mut part = part.clone();
    let ControlFlow::Continue(()) = part.walk_mut(&mut WithoutParentheses);
    part.to_string()
}

struct WithoutParentheses;

impl VisitorMut for WithoutParentheses {
    type Break = Never;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Never> {
        if let Expr::Function(function) = expr
            && function.args == FunctionArguments::List(no_arguments())
            && function.name.0.last().and_then(ObjectNamePart::as_ident).is_some_and(is_niladic)
        {
            function.args = FunctionArguments::None;
        }
        ControlFlow::Continue(())
    }
}

fn is_niladic(ident: &Ident) -> bool {
    const NAMES: [&str; 6] = [
        "current_user",
        "session_user",
        "user",
        "current_role",
        "current_schema",
        "current_catalog",
    ];
    ident.quote_style.is_none() && NAMES.iter().any(|n| ident.value.eq_ignore_ascii_case(n))
}

fn no_arguments() -> FunctionArgumentList {
    FunctionArgumentList { duplicate_treatment: None, args: vec![], clauses: vec![] }
}

fn call(name: Ident) -> Expr {
    Expr::Function(Function {
        name: ObjectName(vec![ObjectNamePart::Identifier(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(no_arguments()),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    })
}

/// `pg_catalog.int4` as `int4`; a type that the parser has a word for becomes that word.
fn plain_type(ty: &mut DataType) {
    match ty {
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => plain_type(element),
        DataType::Custom(name, modifiers) => {
            unqualify(name);
            let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() else { return };
            if let Some(known) = known_type(ident, modifiers) {
                *ty = known;
            } else if let Some(array) = type_names::named_array(name) {
                *ty = array;
                plain_type(ty);
            }
        }
        _ => {}
    }
}

fn known_type(name: &Ident, modifiers: &[String]) -> Option<DataType> {
    let number = modifiers.first().and_then(|m| m.parse().ok());
    let length = number.map(|length| CharacterLength::IntegerLength { length, unit: None });
    Some(match object_name::identifier(name).as_str() {
        "bool" => DataType::Bool,
        "int2" => DataType::Int2(None),
        "int4" | "cardinal_number" => DataType::Int4(None),
        "int8" => DataType::Int8(None),
        "float4" => DataType::Float4,
        "float8" => DataType::Float8,
        "numeric" if modifiers.is_empty() => DataType::Numeric(ExactNumberInfo::None),
        "bpchar" if modifiers.is_empty() => DataType::Text,
        "varchar" => DataType::Varchar(length),
        // A quoted "char" is one byte of text; an unquoted char is another type.
        "char" if name.quote_style.is_some() => DataType::Text,
        "cstring" | "sql_identifier" | "character_data" | "text" => DataType::Text,
        "date" => DataType::Date,
        "time" if modifiers.is_empty() => DataType::Time(None, TimezoneInfo::None),
        "interval" if modifiers.is_empty() => DataType::Interval { fields: None, precision: None },
        "timestamp" if modifiers.is_empty() => DataType::Timestamp(None, TimezoneInfo::None),
        "timestamptz" if modifiers.is_empty() => DataType::Timestamp(None, TimezoneInfo::Tz),
        "bytea" => DataType::Bytea,
        "uuid" => DataType::Uuid,
        "xid" | "cid" => DataType::Custom(ObjectName::from(vec![Ident::new("oid")]), vec![]),
        _ => return None,
    })
}
