//! Tokens: statements split at semicolons, limits on size and depth, positions of errors.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::ParserError;
use datafusion_sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};
use plan::generated::NAME_MAX;
use types::{SqlError, SqlResult, SqlState};

/// The tokens of one statement.
pub(crate) type Tokens = Vec<TokenWithSpan>;

/// Longest text that is parsed, in bytes: tokens take some 100 bytes each, so this bounds memory.
pub(crate) const TEXT_BYTES_MAX: usize = 64 << 20;

/// Deepest nesting of parentheses and subqueries that the parser follows on a stack of unknown
/// length. Parser, binder and optimiser recurse once or more per level.
const NESTING_MAX: usize = 48;

/// The stack that a level of nesting must have, where it is known how much there is.
const NESTED_BYTES: usize = 200 << 10;

/// Deepest nesting of parentheses and subqueries that the parser follows on this thread.
pub(crate) fn nesting_max() -> usize {
    stdx::stack_left().map_or(NESTING_MAX, |left| NESTING_MAX.max(left / NESTED_BYTES))
}

/// Most tokens without a comma between them on the path to any point of a statement: a chain of
/// operators (`1 + 1 + ..`) makes a tree as deep as it is long. `balance` takes long chains apart
/// or refuses them; up to this length they can be freed by recursion on the smallest stack that a
/// thread has.
const CHAIN_MAX: usize = 16_000;

/// Stack that freeing takes for each token of a chain, at most: 400 bytes a level, and a level has
/// an operator and an operand.
const CHAIN_TOKEN_BYTES: usize = 256;

/// Most brackets that follow one another: an array's type has a level for each.
const BRACKETS_MAX: usize = 1_000;

/// Most tokens of a text: the parser makes a tree of them that takes several times their memory.
pub(crate) const TOKENS_MAX: usize = 2_000_000;

/// Longest number in a statement: no type holds as many digits, and reading one takes time that grows with
/// the square of its length.
const NUMBER_MAX: usize = 1_000;

pub(crate) fn cut_name(token: &mut TokenWithSpan) {
    if let Token::Word(word) = &mut token.token
        && word.value.len() > NAME_MAX
    {
        word.value.truncate(word.value.floor_char_boundary(NAME_MAX));
    }
}

/// `trim(trailing from x)` and `trim(from x)` name no letters: the parser wants no `from` then.
pub(crate) fn plain_trims(tokens: &mut Tokens) {
    let keyword = |tokens: &Tokens, at: usize| match tokens.get(at).map(|t| &t.token) {
        Some(Token::Word(word)) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    for at in 0..tokens.len() {
        if keyword(tokens, at) != Keyword::TRIM
            || tokens.get(at + 1).is_none_or(|t| t.token != Token::LParen)
        {
            continue;
        }
        let side =
            matches!(keyword(tokens, at + 2), Keyword::LEADING | Keyword::TRAILING | Keyword::BOTH);
        let from = at + 2 + usize::from(side);
        if keyword(tokens, from) == Keyword::FROM {
            tokens.remove(from);
        }
    }
}

/// `interval(2) '1.666'` is a cast: of the literal the parser forgets how many digits it keeps.
pub(crate) fn cast_intervals(tokens: &mut Tokens) {
    let is_measured = |tokens: &[TokenWithSpan]| {
        let [word, open, digits, close, text] = tokens else { return false };
        matches!(&word.token, Token::Word(word) if word.keyword == Keyword::INTERVAL)
            && open.token == Token::LParen
            && matches!(digits.token, Token::Number(..))
            && close.token == Token::RParen
            && matches!(text.token, Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_))
    };
    if !tokens.windows(5).any(is_measured) {
        return;
    }
    let mut written = Tokens::with_capacity(tokens.len());
    let mut rest = tokens.as_slice();
    while let Some(first) = rest.first() {
        let (measured, after) = rest.split_at(rest.len().min(5));
        if is_measured(measured) {
            let (word, text) = (&measured[..4], &measured[4]);
            let cast = TokenWithSpan { token: Token::DoubleColon, span: text.span };
            written.extend([text.clone(), cast]);
            written.extend_from_slice(word);
            rest = after;
        } else {
            written.push(first.clone());
            rest = &rest[1..];
        }
    }
    *tokens = written;
}

/// A transaction that waits for a snapshot without conflicts (`DEFERRABLE`) never waits here: the
/// parser does not know the word, and nothing depends on it.
pub(crate) fn plain_modes(tokens: &mut Tokens) {
    let keyword = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) => Some(word.keyword),
        _ => None,
    };
    let first = tokens.first().and_then(keyword);
    if !matches!(first, Some(Keyword::BEGIN | Keyword::START | Keyword::SET)) {
        return;
    }
    let deferrable = |t: &TokenWithSpan| keyword(t) == Some(Keyword::DEFERRABLE);
    let Some(mut at) = tokens.iter().position(deferrable) else { return };
    tokens.remove(at);
    while at > 0
        && (keyword(&tokens[at - 1]) == Some(Keyword::NOT) || tokens[at - 1].token == Token::Comma)
    {
        at -= 1;
        tokens.remove(at);
    }
}

/// Refuses statements whose syntax tree would be too deep for the stack.
pub(crate) fn check_depth(text: &str, tokens: &Tokens) -> SqlResult<()> {
    let mut levels = vec![Level::default()];
    let (mut prefixes, mut brackets) = (0, 0);
    let nesting_max = nesting_max();
    let chain_max = stdx::stack_left().map_or(CHAIN_MAX, |left| left / CHAIN_TOKEN_BYTES);
    for token in tokens {
        if matches!(&token.token, Token::Number(digits, _) if digits.len() > NUMBER_MAX) {
            let message = "value overflows numeric format";
            let Location { line, column } = token.span.start;
            let error = SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message);
            return Err(error.at(position(text, line, column)));
        }
        prefixes = if is_prefix(&token.token) { prefixes + 1 } else { 0 };
        brackets = match &token.token {
            Token::RBracket => brackets + 1,
            Token::LBracket | Token::Number(..) => brackets,
            _ => 0,
        };
        match token.token {
            Token::LParen | Token::LBracket => levels.push(Level::default()),
            Token::Word(ref word) if word.keyword == Keyword::CASE => levels.push(Level::default()),
            ref token if closes(token) && levels.len() > 1 => {
                let inner = levels.pop().map_or(0, |level| level.depth());
                levels.last_mut().into_iter().for_each(|l| l.inner = l.inner.max(inner));
            }
            Token::Comma => levels.last_mut().into_iter().for_each(Level::next),
            _ => levels.last_mut().into_iter().for_each(|l| l.chain += 1),
        }
        let depth = levels.last().map_or(0, Level::depth);
        let error = match () {
            () if brackets > BRACKETS_MAX => too_many_dimensions(),
            () if levels.len().max(prefixes) > nesting_max || depth > chain_max => too_deep(),
            () => continue,
        };
        let Location { line, column } = token.span.start;
        return Err(error.at(position(text, line, column)));
    }
    Ok(())
}

/// Whether a token may stand before an operand any number of times; the parser recurses for each.
fn is_prefix(token: &Token) -> bool {
    match token {
        Token::Minus | Token::Plus | Token::Tilde => true,
        Token::Word(word) => word.keyword == Keyword::NOT,
        _ => false,
    }
}

/// Whether a token ends what a parenthesis, a bracket or `CASE` began.
fn closes(token: &Token) -> bool {
    match token {
        Token::RParen | Token::RBracket => true,
        Token::Word(word) => word.keyword == Keyword::END,
        _ => false,
    }
}

/// What was seen between two parentheses, or in a `CASE`.
#[derive(Default)]
struct Level {
    /// Tokens since the last comma.
    chain: usize,
    /// The deepest parentheses that were closed since then: a chain may go on behind them.
    inner: usize,
    /// The depth of what lies before the last comma.
    before: usize,
}

impl Level {
    fn depth(&self) -> usize {
        self.before.max(self.chain + self.inner)
    }

    fn next(&mut self) {
        *self = Level { before: self.depth(), ..Level::default() };
    }
}

fn too_many_dimensions() -> SqlError {
    let message = "number of array dimensions exceeds the maximum allowed (6)";
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

pub(crate) fn too_deep() -> SqlError {
    SqlError::new(SqlState("54001"), "the statement is nested too deeply")
        .with_hint("use IN lists or joins instead of long chains of operators")
}

/// Whether the statement is this one word.
pub(crate) fn is_word(tokens: &Tokens, word: &str) -> bool {
    are_words(tokens, &[word])
}

/// Whether a statement begins with these words, as [`first_words`] has them.
pub(crate) fn begins(tokens: &Tokens, words: &str) -> bool {
    words.split(' ').eq(first_words(tokens, words.split(' ').count()))
}

/// The first words of a statement, at most so many; `OR REPLACE` and the like may stand behind the first.
pub(crate) fn first_words(tokens: &Tokens, max: usize) -> Vec<String> {
    const BETWEEN: [&str; 8] =
        ["or", "replace", "constraint", "trusted", "procedural", "recursive", "temp", "unique"];
    let word = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_lowercase()),
        _ => None,
    };
    let given = tokens.iter().map_while(word).enumerate();
    let given = given.filter(|(at, word)| *at == 0 || !BETWEEN.contains(&word.as_str()));
    given.map(|(_, word)| word).take(max).collect()
}

/// Whether a statement is these words and nothing else.
pub(crate) fn are_words(tokens: &Tokens, words: &[&str]) -> bool {
    let is = |token: &TokenWithSpan, word: &str| match &token.token {
        Token::Word(found) => found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word),
        _ => false,
    };
    tokens.len() == words.len() && tokens.iter().zip(words).all(|(token, word)| is(token, word))
}

/// 42601 at a token that should not be there.
pub(crate) fn unexpected(text: &str, token: &TokenWithSpan) -> SqlError {
    let Location { line, column } = token.span.start;
    let message = format!("syntax error at or near \"{}\"", token.token);
    SqlError::new(SqlState::SYNTAX_ERROR, message).at(position(text, line, column))
}

/// The parser's error in PostgreSQL's words.
///
/// `last` is the last token of the statement: behind it may stand the semicolon that ended it.
pub(crate) fn syntax_error(
    text: &str,
    last: Option<&TokenWithSpan>,
    error: ParserError,
) -> SqlError {
    let ended = last.and_then(|token| semicolon_after(text, token));
    let end = ended.unwrap_or_else(|| text.chars().count());
    let message = match error {
        ParserError::RecursionLimitExceeded => return too_deep(),
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
    };
    let (message, place) = match message.rsplit_once(" at Line: ") {
        Some((message, place)) => (message.to_string(), location(place)),
        None => (message, None),
    };
    let found = message.split_once(", found: ").map(|(_, found)| found);
    let primary = match found {
        Some("EOF") if ended.is_some() => "syntax error at or near \";\"".to_string(),
        Some("EOF") => "syntax error at end of input".to_string(),
        Some(found) => format!("syntax error at or near \"{found}\""),
        None => format!("syntax error: {}", message.to_lowercase()),
    };
    let mut error = SqlError::new(SqlState::SYNTAX_ERROR, primary);
    error.position = match (found, place) {
        (Some("EOF"), _) => Some(end + 1),
        (_, Some((line, column))) => Some(position(text, line, column)),
        _ => None,
    };
    error
}

/// Characters before the semicolon that follows a token, if one does.
fn semicolon_after(text: &str, token: &TokenWithSpan) -> Option<usize> {
    let Location { line, column } = token.span.end;
    let before = position(text, line, column) - 1;
    let rest = text.chars().skip(before);
    let blanks = rest.clone().take_while(|c| c.is_whitespace()).count();
    (rest.clone().nth(blanks) == Some(';')).then_some(before + blanks)
}

fn location(place: &str) -> Option<(u64, u64)> {
    let (line, column) = place.split_once(", Column: ")?;
    Some((line.trim().parse().ok()?, column.trim().parse().ok()?))
}

/// The one-based position of a token in characters.
pub(crate) fn position_of(text: &str, token: &TokenWithSpan) -> usize {
    let Location { line, column } = token.span.start;
    position(text, line, column)
}

/// The one-based position in characters of a line and column.
pub(super) fn position(text: &str, line: u64, column: u64) -> usize {
    let before = usize::try_from(line).unwrap_or(1).saturating_sub(1);
    let earlier: usize = text.split_inclusive('\n').take(before).map(|l| l.chars().count()).sum();
    earlier + usize::try_from(column).unwrap_or(1).max(1)
}

/// The words that may begin what is prepared.
pub(crate) const PREPARABLE: [&str; 7] =
    ["select", "values", "with", "table", "insert", "update", "delete"];

pub(crate) fn first_is(tokens: &[TokenWithSpan], word: &str) -> bool {
    let first = tokens.first().map(|token| &token.token);
    matches!(first, Some(Token::Word(w)) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
}

/// Whether the parameters in the statement are not its own.
pub(crate) fn keeps_parameters(tokens: &Tokens) -> bool {
    first_is(tokens, "prepare")
}

/// Where the parenthesis closes that the tokens begin with.
pub(crate) fn closing(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0usize;
    tokens.iter().position(|token| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}
