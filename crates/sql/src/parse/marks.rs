//! Expressions that no text of a statement is read as, for what the binder is told beside it. They are
//! dictionaries, which the library's parser reads in other dialects than PostgreSQL's only;
//! `analyze/syntax.rs` plans them.

use datafusion_sql::sqlparser::ast::{DictionaryField, Expr, Ident, Value};

/// What stands in a list of columns that names none.
pub(crate) fn no_columns() -> Expr {
    Expr::Dictionary(vec![])
}

/// Whether an expression is that.
pub(crate) fn is_no_columns(expr: &Expr) -> bool {
    matches!(expr, Expr::Dictionary(fields) if fields.is_empty())
}

/// Which keys of a group are a set, for each set: the numbers of the keys.
pub(crate) fn grouping_sets(sets: &[Vec<usize>]) -> Expr {
    let set = |set: &Vec<usize>| {
        let numbers: Vec<String> = set.iter().map(usize::to_string).collect();
        let value = Expr::value(Value::SingleQuotedString(numbers.join(" ")));
        DictionaryField { key: Ident::new("set"), value: Box::new(value) }
    };
    Expr::Dictionary(sets.iter().map(set).collect())
}

/// How many grouping sets an expression says; none unless it is about these.
pub(crate) fn grouping_set_count(expr: &Expr) -> usize {
    match expr {
        Expr::Dictionary(sets) => sets.len(),
        _ => 0,
    }
}
