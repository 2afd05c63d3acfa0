//! `GROUPING SETS`, `ROLLUP` and `CUBE` as plain keys with a mark that says which of them are a set: keys
//! are bound and checked as those of any `GROUP BY`, and `analyze/grouping_sets.rs` reads the mark.

use datafusion_sql::sqlparser::ast::{
    Expr, Function, GroupByExpr, Ident, Select, SelectItem, Value,
};
use types::{SqlError, SqlResult, SqlState};

use crate::parse::expressions::plain_arguments;
use crate::parse::marks;
use crate::parse::object_name::{identifier, last_name};

/// Most elements of `CUBE`, as in PostgreSQL, and most sets: each is an aggregation of its own.
const CUBE_MAX: usize = 12;
const SETS_MAX: usize = 256;

type Sets = Vec<Vec<Expr>>;

/// Writes the keys of all sets one after the other, and behind them the mark.
///
/// # Errors
/// 54000 and 54011 for too many sets.
pub(crate) fn as_keys(select: &mut Select) -> SqlResult<()> {
    let GroupByExpr::Expressions(items, modifiers) = &select.group_by else { return Ok(()) };
    let is_set = |e: &Expr| matches!(e, Expr::GroupingSets(_) | Expr::Rollup(_) | Expr::Cube(_));
    if !modifiers.is_empty() || !items.iter().any(is_set) {
        return Ok(());
    }
    let mut all: Sets = vec![vec![]];
    for item in items {
        let sets = sets(item)?;
        if all.len().saturating_mul(sets.len()) > SETS_MAX {
            let state = SqlState::PROGRAM_LIMIT_EXCEEDED;
            return Err(SqlError::new(state, "too many grouping sets"));
        }
        let with = |set: &Vec<Expr>| -> Sets {
            sets.iter().map(|more| [set.as_slice(), more.as_slice()].concat()).collect()
        };
        all = all.iter().flat_map(with).collect();
    }
    if matches!(all.as_slice(), [set] if set.is_empty()) {
        // All rows are the group, as without `GROUP BY`.
        select.group_by = GroupByExpr::Expressions(vec![Expr::Tuple(vec![])], vec![]);
        return Ok(());
    }
    let mut keys: Vec<Expr> = vec![];
    let numbered = all.into_iter().map(|set| {
        let number = |key| number_of(meant(key, select), &mut keys);
        set.into_iter().map(number).collect::<Vec<_>>()
    });
    let mark = marks::grouping_sets(&numbered.collect::<Vec<_>>());
    keys.push(mark);
    select.group_by = GroupByExpr::Expressions(keys, vec![]);
    Ok(())
}

/// The sets that one item of the list stands for.
fn sets(item: &Expr) -> SqlResult<Sets> {
    Ok(match item {
        Expr::Rollup(items) => rollup(items),
        Expr::Cube(items) => cube(items)?,
        Expr::GroupingSets(items) => {
            let mut all = vec![];
            for item in items {
                match item.as_slice() {
                    [Expr::Function(function)] => all.extend(nested(function)?),
                    keys => all.push(keys.to_vec()),
                }
            }
            all
        }
        Expr::Tuple(keys) => vec![keys.clone()],
        other => vec![vec![other.clone()]],
    })
}

/// `ROLLUP` and `CUBE` within `GROUPING SETS` are read as functions.
fn nested(function: &Function) -> SqlResult<Sets> {
    let items = || {
        let arguments = plain_arguments(function).unwrap_or_default().into_iter();
        let item = |argument| match argument {
            Expr::Tuple(keys) => keys,
            key => vec![key],
        };
        arguments.map(item).collect::<Vec<_>>()
    };
    match last_name(&function.name).as_str() {
        "rollup" => Ok(rollup(&items())),
        "cube" => cube(&items()),
        _ => Ok(vec![vec![Expr::Function(function.clone())]]),
    }
}

fn rollup(items: &[Vec<Expr>]) -> Sets {
    (0..=items.len()).rev().map(|count| items[..count].concat()).collect()
}

fn cube(items: &[Vec<Expr>]) -> SqlResult<Sets> {
    if items.len() > CUBE_MAX {
        let message = format!("CUBE is limited to {CUBE_MAX} elements");
        return Err(SqlError::new(SqlState("54011"), message));
    }
    let set = |mask: usize| {
        let kept = items.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1);
        kept.flat_map(|(_, keys)| keys.clone()).collect()
    };
    Ok((0..1usize << items.len()).rev().map(set).collect())
}

/// The expression that a key means: a number is the output of that position.
fn meant(key: Expr, select: &Select) -> Expr {
    let key = bare(key);
    let is_plain = |item: &SelectItem| {
        matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })
    };
    if let Expr::Value(value) = &key
        && let Value::Number(number, _) = &value.value
        && select.projection.iter().all(is_plain)
        && let Some(at) = number.parse::<usize>().ok().and_then(|n| n.checked_sub(1))
        && let Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) =
            select.projection.get(at)
    {
        return bare(expr.clone());
    }
    key
}

fn bare(key: Expr) -> Expr {
    match key {
        Expr::Nested(inner) => bare(*inner),
        other => other,
    }
}

fn number_of(key: Expr, keys: &mut Vec<Expr>) -> usize {
    keys.iter().position(|known| is_same(known, &key)).unwrap_or_else(|| {
        keys.push(key);
        keys.len() - 1
    })
}

/// A column may be written with its relation and without.
fn is_same(a: &Expr, b: &Expr) -> bool {
    match (parts(a), parts(b)) {
        (Some(a), Some(b)) => {
            let same = |(a, b): (&Ident, &Ident)| identifier(a) == identifier(b);
            a.iter().rev().zip(b.iter().rev()).all(same)
        }
        _ => a == b,
    }
}

fn parts(expr: &Expr) -> Option<&[Ident]> {
    match expr {
        Expr::Identifier(name) => Some(std::slice::from_ref(name)),
        Expr::CompoundIdentifier(parts) => Some(parts),
        _ => None,
    }
}
