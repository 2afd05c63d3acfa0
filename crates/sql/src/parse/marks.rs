//! What no text of a statement is read as, for what the syntax tree says beside it: names in brackets, and
//! dictionaries. Other dialects than PostgreSQL's have them, so that the library's trees do.
//! `analyze/syntax.rs` plans the dictionaries; names in brackets do not leave `parse`.

use datafusion_sql::sqlparser::ast::{DictionaryField, Expr, Ident, Value};
use datafusion_sql::sqlparser::tokenizer::Token;

use crate::quote::unspelled::unspelled;

/// Begins a name in brackets.
const BRACKET: char = '[';

/// A name in brackets.
pub(super) fn word(meaning: &str) -> Token {
    // Where none is looked for, it is the name of nothing.
    Token::make_word(&unspelled(meaning), Some(BRACKET))
}

/// Whether a name is in brackets.
pub(super) fn is_word(ident: &Ident) -> bool {
    ident.quote_style == Some(BRACKET)
}

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
