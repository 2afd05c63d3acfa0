//! Names of result columns, as PostgreSQL gives them.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    ArrayElemTypeDef, DataType, Distinct, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, GroupByExpr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr,
    TableAlias, TableFactor, TrimWhereField, Value, VisitorMut,
};
use stdx::{HashMap, HashSet};
use types::LogicalType;

use crate::parse::object_name::identifier;
use crate::parse::set_functions::SET_FUNCTIONS;
use crate::quote::unspelled::apart;
use crate::walk::{WalkMut, visit_expressions};

mod distinct_on;
mod hidden;
mod order;
mod unnested;

pub(crate) use hidden::{
    has_inner_query, hidden_relation, set_nested_apart, with_relation_renamed,
};
pub(crate) use order::set_outputs_apart;
pub(crate) use unnested::wrap_unnested;

/// The names of the result columns of a query; `None` where a wildcard leaves them to the catalog.
///
/// Also gives repeated outputs an alias of their own, for the library refuses two outputs of one name.
pub(crate) fn name_outputs(query: &mut Query) -> Option<Vec<String>> {
    let single = matches!(query.body.as_ref(), SetExpr::Select(_));
    let select = first_select(&mut query.body)?;
    let names = select.projection.iter().map(output_name).collect::<Option<Vec<String>>>()?;
    if single {
        make_distinct(select);
    }
    Some(names)
}

/// `select t.a, t.*` has an output twice, which the library refuses: the first gets an alias ([`apart`]),
/// which is not shown with the names of the result.
pub(crate) fn set_apart(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    if !select.projection.iter().any(is_wild) {
        return;
    }
    for item in &mut select.projection {
        let SelectItem::UnnamedExpr(expr) = &*item else { continue };
        if !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
            continue;
        }
        let name = apart(&item_name(item), 1);
        let (expr, alias) = (expr.clone(), Ident::with_quote('"', name));
        *item = SelectItem::ExprWithAlias { expr, alias };
    }
}

fn first_select(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => first_select(&mut query.body),
        SetExpr::SetOperation { left, .. } => first_select(left),
        _ => None,
    }
}

/// The name of an output that is no wildcard.
pub(crate) fn item_name(item: &SelectItem) -> String {
    output_name(item).unwrap_or_else(|| "?column?".into())
}

fn output_name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(identifier(alias)),
        SelectItem::UnnamedExpr(expr) => Some(expr_name(expr).unwrap_or_else(|| "?column?".into())),
        _ => None,
    }
}

fn expr_name(expr: &Expr) -> Option<String> {
    own_name(expr).or_else(|| kind_name(expr))
}

/// The name of a column, a function or a subquery, also below casts.
fn own_name(expr: &Expr) -> Option<String> {
    let word = match expr {
        Expr::Identifier(ident) => return Some(identifier(ident)),
        Expr::CompoundIdentifier(parts) => return parts.last().map(identifier),
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => return own_name(inner),
        Expr::Collate { expr: inner, .. } => return own_name(inner),
        Expr::CompoundFieldAccess { root, .. } => return own_name(root),
        Expr::Case { else_result, .. } => return else_result.as_deref().and_then(own_name),
        Expr::Function(function) => return function_name(function),
        Expr::Subquery(query) => match query.body.as_ref() {
            SetExpr::Select(select) => return select.projection.first().and_then(output_name),
            _ => return None,
        },
        Expr::Extract { .. } => "extract",
        Expr::Substring { shorthand: true, .. } => "substr",
        Expr::Substring { .. } => "substring",
        Expr::Overlay { .. } => "overlay",
        Expr::Position { .. } => "position",
        Expr::Trim { trim_where: Some(TrimWhereField::Leading), .. } => "ltrim",
        Expr::Trim { trim_where: Some(TrimWhereField::Trailing), .. } => "rtrim",
        Expr::Trim { .. } => "btrim",
        Expr::Ceil { .. } => "ceil",
        Expr::Floor { .. } => "floor",
        Expr::Exists { .. } => "exists",
        Expr::Array(_) => "array",
        Expr::AtTimeZone { .. } => "timezone",
        _ => return None,
    };
    Some(word.to_owned())
}

/// The name that the statement has for a function, also where another one is called in its place.
fn function_name(function: &Function) -> Option<String> {
    let last = |function: &Function| {
        function.name.0.last().and_then(|part| part.as_ident()).map(identifier)
    };
    let name = last(function)?;
    let FunctionArguments::List(list) = &function.args else { return Some(name) };
    let inner = match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(inner)))] => last(inner),
        _ => None,
    };
    let series = SET_FUNCTIONS.iter().find(|(_, array)| Some(*array) == inner.as_deref());
    Some(match (name.as_str(), series) {
        ("unnest", Some((written, _))) => (*written).to_owned(),
        ("array_or_empty" | "make_array", _) => "array".to_owned(),
        _ => name,
    })
}

/// What names an expression that has no name of its own: a type, or `case`.
fn kind_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => kind_name(inner),
        Expr::Cast { data_type, .. } => Some(type_word(data_type)),
        Expr::TypedString(typed) => Some(type_word(&typed.data_type)),
        Expr::Interval(_) => Some("interval".into()),
        Expr::Case { .. } => Some("case".into()),
        _ => None,
    }
}

/// The name of a type in the catalog.
fn type_word(ty: &DataType) -> String {
    let word = match ty {
        DataType::Varchar(_) | DataType::CharacterVarying(_) | DataType::CharVarying(_) => {
            "varchar"
        }
        DataType::Char(_) | DataType::Character(_) => "bpchar",
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::AngleBracket(element),
        ) => return type_word(element),
        DataType::Custom(name, _) => {
            let last = name.0.last().and_then(|part| part.as_ident());
            return last.map_or_else(|| ty.to_string().to_lowercase(), identifier);
        }
        other => match crate::parse::column_type(other) {
            Ok(ty) => short(&ty),
            Err(_) => return other.to_string().to_lowercase(),
        },
    };
    word.to_owned()
}

fn short(ty: &LogicalType) -> &'static str {
    match ty {
        LogicalType::Bool => "bool",
        LogicalType::Int16 => "int2",
        LogicalType::Int32 => "int4",
        LogicalType::Int64 => "int8",
        LogicalType::Float32 => "float4",
        LogicalType::Float64 => "float8",
        LogicalType::Decimal { .. } | LogicalType::Numeric => "numeric",
        LogicalType::Text => "text",
        LogicalType::Varchar(_) => "varchar",
        LogicalType::Char(_) => "bpchar",
        LogicalType::Date => "date",
        LogicalType::Time => "time",
        LogicalType::Timestamp => "timestamp",
        LogicalType::TimestampTz => "timestamptz",
        LogicalType::Interval => "interval",
        LogicalType::Bytea => "bytea",
        LogicalType::Uuid => "uuid",
        LogicalType::Oid => "oid",
        LogicalType::Rounded(moment, _) => short(&moment.plain()),
        LogicalType::Array(element) => short(element),
    }
}

/// Names the computed columns of all queries inside as PostgreSQL does, and makes them distinct.
pub(crate) fn name_inner_outputs(query: &mut Query) {
    // The visit itself never stops.
    let _ = query.walk_mut(&mut Outputs::default());
    // The visit itself never stops.
    let _ = query.walk_mut(&mut Subqueries::default());
}

#[derive(Default)]
struct Outputs {
    /// The outputs of the queries of `WITH` so far, by the name of the query.
    named: HashMap<String, Vec<String>>,
    /// Queries around.
    depth: usize,
}

impl VisitorMut for Outputs {
    type Break = ();

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if self.depth > 0
            && let Some(select) = first_select(&mut query.body)
            && !select.projection.iter().any(is_wild)
        {
            name_columns(select);
        }
        self.depth += 1;
        order::wrap_clashing(query);
        distinct_on::in_order(query);
        order_once(query);
        order_by_position(query);
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let outputs = relation_outputs(&cte.query, &cte.alias);
            self.named.insert(identifier(&cte.alias.name), outputs);
        }
        name_selects(&mut query.body, &self.named);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        // Beside a `*`, which may have the name, too, it has one only where it is asked for by it.
        if let TableFactor::Derived { lateral: true, subquery, .. } = factor
            && subquery.order_by.is_none()
            && let SetExpr::Select(select) = subquery.body.as_mut()
        {
            name_columns(select);
        }
        ControlFlow::Continue(())
    }
}

fn is_wild(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}

/// A column of a query around this one has a name of the library here; one of its own has this name already.
fn name_columns(select: &mut Select) {
    let names: Vec<String> = select.projection.iter().map(item_name).collect();
    let is_only = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    for (item, name) in select.projection.iter_mut().zip(&names) {
        if let SelectItem::UnnamedExpr(expr) = &*item
            && matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
            && is_only(name)
        {
            let (expr, alias) = (expr.clone(), Ident::with_quote('"', name.clone()));
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
    }
}

/// A computed output that ORDER BY repeats is meant by its position.
fn order_by_position(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_ref() else { return };
    if select.projection.iter().any(is_wild) {
        return;
    }
    let outputs = select.projection.iter().map(|item| match item {
        SelectItem::UnnamedExpr(Expr::Identifier(_) | Expr::CompoundIdentifier(_)) => None,
        SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } => {
            Some(e.to_string())
        }
        _ => None,
    });
    let outputs: Vec<Option<String>> = outputs.collect();
    let Some(order_by) = &mut query.order_by else { return };
    let OrderByKind::Expressions(keys) = &mut order_by.kind else { return };
    for key in keys.iter_mut().filter(|k| !matches!(k.expr, Expr::Value(_) | Expr::Identifier(_))) {
        let text = key.expr.to_string();
        if let Some(at) = outputs.iter().position(|o| o.as_ref() == Some(&text)) {
            key.expr = Expr::Value(Value::Number((at + 1).to_string(), false).into());
        }
    }
}

/// A column orders rows once: the library does not take it a second time below `DISTINCT ON`.
fn order_once(query: &mut Query) {
    let Some(order_by) = &mut query.order_by else { return };
    let OrderByKind::Expressions(keys) = &mut order_by.kind else { return };
    let mut seen: Vec<Expr> = vec![];
    keys.retain(|key| {
        let is_column = matches!(key.expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
        let is_first = !is_column || !seen.contains(&key.expr);
        seen.push(key.expr.clone());
        is_first
    });
}

fn name_selects(body: &mut SetExpr, named: &HashMap<String, Vec<String>>) {
    match body {
        SetExpr::Select(select) => {
            let known = wildcard_outputs(select, named);
            name_computed(select, known);
            make_distinct(select);
        }
        SetExpr::SetOperation { left, right, .. } => {
            name_selects(left, named);
            name_selects(right, named);
        }
        _ => {}
    }
}

/// The names that the queries in `FROM` bring where a `*` stands among the outputs.
fn wildcard_outputs(select: &Select, named: &HashMap<String, Vec<String>>) -> Vec<String> {
    if !select.projection.iter().any(is_wild) {
        return vec![];
    }
    let joins = select.from.iter().flat_map(|table| &table.joins);
    let factors = select.from.iter().map(|table| &table.relation);
    let outputs = |factor: &TableFactor| match factor {
        TableFactor::Derived { subquery, alias, .. } => match alias {
            Some(alias) => relation_outputs(subquery, alias),
            None => query_outputs(&subquery.body),
        },
        TableFactor::Table { name, .. } => {
            let name = name.0.last().and_then(|part| part.as_ident()).map(identifier);
            name.and_then(|name| named.get(&name).cloned()).unwrap_or_default()
        }
        _ => vec![],
    };
    factors.chain(joins.map(|join| &join.relation)).flat_map(outputs).collect()
}

/// The outputs of a query under an alias, which may rename the first of them.
fn relation_outputs(query: &Query, alias: &TableAlias) -> Vec<String> {
    let given = alias.columns.iter().map(|column| identifier(&column.name));
    given.chain(query_outputs(&query.body).into_iter().skip(alias.columns.len())).collect()
}

/// The outputs of a query that are no wildcards, as they will be told apart.
fn query_outputs(body: &SetExpr) -> Vec<String> {
    match body {
        SetExpr::Select(select) => {
            let mut taken = HashSet::default();
            let names = select.projection.iter().filter_map(output_name);
            names.map(|name| free_name(name, &mut taken)).collect()
        }
        SetExpr::Query(query) => query_outputs(&query.body),
        SetExpr::SetOperation { left, .. } => query_outputs(left),
        _ => vec![],
    }
}

/// The name, or the first that sets it apart from those that are taken, which takes it.
fn free_name(name: String, taken: &mut HashSet<String>) -> String {
    match taken.insert(name.clone()) {
        true => name,
        false => other_name(&name, taken),
    }
}

/// The first name that sets `name` apart from those that are taken, which takes it.
fn other_name(name: &str, taken: &mut HashSet<String>) -> String {
    let mut others = (1..).map(|nth| apart(name, nth));
    others.find(|other| taken.insert(other.clone())).unwrap_or_default()
}

/// Gives computed outputs an alias that none of the `known` names is.
fn name_computed(select: &mut Select, known: Vec<String>) {
    let mut taken: HashSet<String> = select
        .projection
        .iter()
        .filter_map(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => Some(identifier(alias)),
            SelectItem::UnnamedExpr(Expr::Identifier(ident)) => Some(identifier(ident)),
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                parts.last().map(identifier)
            }
            _ => None,
        })
        .chain(known)
        .collect();
    for item in &mut select.projection {
        let SelectItem::UnnamedExpr(expr) = item else { continue };
        let plain = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
        if plain {
            continue;
        }
        let name = expr_name(expr).unwrap_or_else(|| "?column?".into());
        let name = free_name(name, &mut taken);
        let expr = expr.clone();
        *item = SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) };
    }
}

/// The name that the library would see.
fn library_name(item: &SelectItem) -> String {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => identifier(alias),
        // It drops parentheses.
        other => other.to_string().to_lowercase().replace(['(', ')'], ""),
    }
}

/// Gives outputs that the library would take for one an alias each.
fn make_distinct(select: &mut Select) {
    let (mut seen, mut taken) = (Vec::<String>::new(), HashSet::default());
    for item in &mut select.projection {
        let name = library_name(item);
        // A column that joins have merged is one of theirs under another name.
        let is_same = |other: &String| {
            let ends = |long: &str, short: &str| {
                long.strip_suffix(short).is_some_and(|l| l.ends_with('.'))
            };
            *other == name || ends(other, &name) || ends(&name, other)
        };
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = &*item
            && seen.iter().any(is_same)
        {
            let alias = other_name(&item_name(item), &mut taken);
            let (expr, named) = (expr.clone(), Ident::with_quote('"', alias.clone()));
            *item = SelectItem::ExprWithAlias { expr, alias: named };
            seen.push(alias);
        }
        taken.insert(name.clone());
        seen.push(name);
    }
}

/// Values of subqueries within one select: the library knows each by the name of its output, so that
/// `min((SELECT a AS x ..)), min((SELECT b AS x ..))` would be one aggregate. Others than the first take another
/// name. Here are, by the name of their output, the texts of the subqueries of each query around.
#[derive(Default)]
struct Subqueries(Vec<HashMap<String, Vec<String>>>);

impl VisitorMut for Subqueries {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.0.push(HashMap::default());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.0.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Subquery(query) = expr
            && let Some(seen) = self.0.last_mut()
            && let Some(name) = only_output(&query.body)
        {
            let texts = seen.entry(name.clone()).or_default();
            let text = query.to_string();
            let at = texts.iter().position(|known| *known == text).unwrap_or(texts.len());
            if at == texts.len() {
                texts.push(text);
            }
            if at > 0 {
                rename_output(query, &name, &apart(&name, at));
            }
        }
        ControlFlow::Continue(())
    }
}

/// The name of the only output; `None` where it cannot have another one.
fn only_output(body: &SetExpr) -> Option<String> {
    match body {
        SetExpr::Select(select) => {
            let [item] = select.projection.as_slice() else { return None };
            let is_plain =
                matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
            let name = Some(item_name(item)).filter(|_| is_plain)?;
            let is_on = matches!(select.distinct, Some(Distinct::On(_)));
            // In parentheses, or within a grouping set.
            let is_key = |key: &Expr| {
                let named = visit_expressions(key, |expr| match expr {
                    Expr::Identifier(i) if identifier(i) == name => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                });
                named.is_break()
            };
            let is_grouped = match &select.group_by {
                GroupByExpr::Expressions(keys, _) => keys.iter().any(is_key),
                GroupByExpr::All(_) => true,
            };
            (!is_on && !is_grouped).then_some(name)
        }
        SetExpr::Query(query) => only_output(&query.body),
        SetExpr::SetOperation { left, .. } => only_output(left),
        _ => None,
    }
}

fn rename_output(query: &mut Query, name: &str, other: &str) {
    if let Some(order_by) = &mut query.order_by
        && let OrderByKind::Expressions(keys) = &mut order_by.kind
    {
        keys.iter_mut().for_each(|key| order::by_position(key, name, 0));
    }
    rename_output_in(&mut query.body, name, other);
}

fn rename_output_in(body: &mut SetExpr, name: &str, other: &str) {
    match body {
        SetExpr::Select(select) => {
            for item in &mut select.projection {
                if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item
                {
                    let (expr, alias) = (expr.clone(), Ident::with_quote('"', other));
                    *item = SelectItem::ExprWithAlias { expr, alias };
                }
            }
        }
        SetExpr::Query(query) => rename_output(query, name, other),
        SetExpr::SetOperation { left, .. } => rename_output_in(left, name, other),
        _ => {}
    }
}
