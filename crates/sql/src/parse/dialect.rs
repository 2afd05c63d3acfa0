//! The dialect of statements: PostgreSQL's as the library knows it, read in time that grows with the
//! length of the text.
//!
//! The library's parser goes back where it has guessed wrong. With PostgreSQL's dialect it reads each
//! argument of a call twice, to see whether a name stands before it, and so what is nested n deep 2^n
//! times. Names of arguments are plain words here. Where it still goes back, in words that may be a
//! function or a column, steps are counted.

use std::any::TypeId;
use std::cell::Cell;

use datafusion_sql::sqlparser::ast::Expr;
use datafusion_sql::sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};

mod distinct;
mod empty_list;
mod subquery;
mod symmetric;

/// Operands that are read for each token: one, and again where a word is a function after all.
const STEPS_PER_TOKEN: usize = 8;

/// What short statements may take beyond that.
const STEPS_FREE: usize = 10_000;

/// PostgreSQL's dialect, with as many steps as a text may take.
#[derive(Debug)]
pub(crate) struct Postgres {
    base: PostgreSqlDialect,
    steps_left: Cell<usize>,
}

impl Postgres {
    /// For a statement of so many tokens, or characters where they are not counted.
    pub(crate) fn for_length(length: usize) -> Postgres {
        let steps = length.saturating_mul(STEPS_PER_TOKEN).saturating_add(STEPS_FREE);
        Postgres { base: PostgreSqlDialect {}, steps_left: Cell::new(steps) }
    }
}

/// What the dialect answers as PostgreSQL's does.
macro_rules! as_base {
    ($($method:ident($($argument:ident: $ty:ty),*) -> $result:ty;)*) => {
        $(fn $method(&self, $($argument: $ty),*) -> $result {
            self.base.$method($($argument),*)
        })*
    };
}

/// The words that name a column only behind `AS` (Appendix C of PostgreSQL's manual: "requires AS").
const NAMES_BEHIND_AS: &[Keyword] = &[
    Keyword::ARRAY,
    Keyword::AS,
    Keyword::CHAR,
    Keyword::CHARACTER,
    Keyword::CREATE,
    Keyword::DAY,
    Keyword::FILTER,
    Keyword::FOR,
    Keyword::GRANT,
    Keyword::HOUR,
    Keyword::MINUTE,
    Keyword::MONTH,
    Keyword::NOTNULL,
    Keyword::ON,
    Keyword::OVER,
    Keyword::OVERLAPS,
    Keyword::PRECISION,
    Keyword::SECOND,
    Keyword::TO,
    Keyword::VARYING,
    Keyword::WINDOW,
    Keyword::WITHIN,
    Keyword::WITHOUT,
    Keyword::YEAR,
];

impl Dialect for Postgres {
    /// Where the parser asks for a dialect by its type, this one is PostgreSQL's.
    fn dialect(&self) -> TypeId {
        self.base.dialect()
    }

    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    /// `SELECT 1 WINDOW w AS ()` has a window, not a column of that name.
    fn is_column_alias(&self, word: &Keyword, parser: &mut Parser<'_>) -> bool {
        self.base.is_column_alias(word, parser) && !NAMES_BEHIND_AS.contains(word)
    }

    /// Called before each operand: ends a parser that has gone back too often, and reads lists of no
    /// columns, and the queries that the library takes for expressions. The parser does not go back over
    /// the error.
    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        let left = self.steps_left.get();
        if left == 0 {
            return Some(Err(ParserError::RecursionLimitExceeded));
        }
        self.steps_left.set(left - 1);
        match empty_list::read(parser) {
            Some(none) => Some(Ok(none)),
            None => subquery::read(parser),
        }
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        expr: &Expr,
        _precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        let own = subquery::read_list(parser, expr);
        let own = own.or_else(|| symmetric::read(parser, expr, &self.base));
        own.or_else(|| distinct::read(parser, expr, &self.base))
    }

    as_base! {
        identifier_quote_style(identifier: &str) -> Option<char>;
        is_delimited_identifier_start(letter: char) -> bool;
        is_identifier_start(letter: char) -> bool;
        is_identifier_part(letter: char) -> bool;
        supports_unicode_string_literal() -> bool;
        is_reserved_for_identifier(word: Keyword) -> bool;
        is_custom_operator_part(letter: char) -> bool;
        get_next_precedence(parser: &Parser<'_>) -> Option<Result<u8, ParserError>>;
        supports_filter_during_aggregation() -> bool;
        supports_group_by_expr() -> bool;
        prec_value(precedence: Precedence) -> u8;
        allow_extract_custom() -> bool;
        allow_extract_single_quotes() -> bool;
        supports_create_index_with_clause() -> bool;
        supports_explain_with_utility_options() -> bool;
        supports_listen_notify() -> bool;
        supports_factorial_operator() -> bool;
        supports_bitwise_shift_operators() -> bool;
        supports_comment_on() -> bool;
        supports_load_extension() -> bool;
        supports_named_fn_args_with_colon_operator() -> bool;
        supports_empty_projections() -> bool;
        supports_nested_comments() -> bool;
        supports_string_escape_constant() -> bool;
        supports_numeric_literal_underscores() -> bool;
        supports_array_typedef_with_brackets() -> bool;
        supports_geometric_types() -> bool;
        supports_set_names() -> bool;
        supports_alter_column_type_using() -> bool;
        supports_notnull_operator() -> bool;
        supports_interval_options() -> bool;
        supports_insert_table_alias() -> bool;
        supports_create_table_like_parenthesized() -> bool;
        supports_select_wildcard_with_alias() -> bool;
        supports_comma_separated_trim() -> bool;
        supports_xml_expressions() -> bool;
        supports_comment_optimizer_hint() -> bool;
    }
}
