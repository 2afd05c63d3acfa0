//! Words of PostgreSQL that the parser does not know, put as words that it does, token by token.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// Rewrites the tokens of a statement in place.
pub(super) fn apply(tokens: &mut Vec<TokenWithSpan>) {
    let word = |at: usize| tokens.get(at).map_or("", |token| plain(token)).to_ascii_lowercase();
    let second = word(1);
    match word(0).as_str() {
        // Whatever is written is durable; that is allowed to be more than was asked for.
        "create" if second == "unlogged" => {
            tokens.remove(1);
        }
        "abort" => replace(tokens, 0, "rollback"),
        // Nobody waits for who drops an index longer than without it.
        "drop" if second == "index" && word(2) == "concurrently" => {
            tokens.remove(2);
        }
        "reset" if second == "time" && word(2) == "zone" => {
            tokens.remove(2);
            replace(tokens, 1, "timezone");
        }
        _ => {}
    }
    null_tests(tokens);
    array_types(tokens);
}

/// `integer ARRAY` is the standard's form of `integer[]`. Where the word is no type it makes an array
/// of what stands in brackets or parentheses behind it, or is a label.
fn array_types(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = tokens.len();
    while at > 1 {
        at -= 1;
        let is_label = tokens[at - 1].token == Token::Period
            || plain(&tokens[at - 1]).eq_ignore_ascii_case("as");
        let makes = tokens
            .get(at + 1)
            .is_some_and(|next| matches!(next.token, Token::LBracket | Token::LParen));
        if is_label || makes || !plain(&tokens[at]).eq_ignore_ascii_case("array") {
            continue;
        }
        let span = tokens[at].span;
        let brackets = [Token::LBracket, Token::RBracket];
        tokens.splice(at..=at, brackets.map(|token| TokenWithSpan { token, span }));
    }
}

/// `x ISNULL` and `x NOTNULL` test behind an operand; these words are no names of columns.
fn null_tests(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = tokens.len();
    while at > 1 {
        at -= 1;
        let words: &[(&str, Keyword)] = match plain(&tokens[at]).to_ascii_lowercase().as_str() {
            "isnull" => &[("is", Keyword::IS), ("null", Keyword::NULL)],
            "notnull" => &[("is", Keyword::IS), ("not", Keyword::NOT), ("null", Keyword::NULL)],
            _ => continue,
        };
        let is_call = tokens.get(at + 1).is_some_and(|next| next.token == Token::LParen);
        let before = plain(&tokens[at - 1]).eq_ignore_ascii_case("as");
        if is_call || before || tokens[at - 1].token == Token::Period {
            continue;
        }
        let span = tokens[at].span;
        let test = words.iter().map(|(text, keyword)| {
            let word = Word { value: (*text).to_owned(), quote_style: None, keyword: *keyword };
            TokenWithSpan { token: Token::Word(word), span }
        });
        tokens.splice(at..=at, test);
    }
}

fn plain(token: &TokenWithSpan) -> &str {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => &word.value,
        _ => "",
    }
}

/// Puts a word in the place of another, where it stood.
fn replace(tokens: &mut [TokenWithSpan], at: usize, text: &str) {
    let keyword = match text {
        "rollback" => Keyword::ROLLBACK,
        _ => Keyword::NoKeyword,
    };
    let word = Word { value: text.to_owned(), quote_style: None, keyword };
    tokens[at] = TokenWithSpan { token: Token::Word(word), span: tokens[at].span };
}
