//! Parentheses that the library's parser reads more than once.
//!
//! Behind `FROM ((SELECT ..` it cannot know whether the first parenthesis holds a query or a join. It
//! tries the query, comes to the join behind it, and begins again: each parenthesis in front of a query
//! may have it read once more, and queries within queries multiply that.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::Token;
use types::SqlResult;

use super::tokens::{self, Tokens};

/// How often the innermost query may be read.
const TIMES_MAX: usize = 4_096;

/// 54001 for queries in parentheses that would be read without end.
pub(super) fn check(text: &str, tokens: &Tokens) -> SqlResult<()> {
    // For each open parenthesis, how often what stands in it is read.
    let mut open: Vec<usize> = vec![];
    let (mut in_a_row, mut before) = (0, &Token::EOF);
    for token in tokens {
        match &token.token {
            Token::LParen => {
                in_a_row += 1;
                open.push(open.last().copied().unwrap_or(1));
                continue;
            }
            Token::RParen => drop(open.pop()),
            Token::Word(word)
                if in_a_row > 1 && begins_query(word.keyword) && precedes_relation(before) =>
            {
                if let Some(times) = open.last_mut() {
                    *times = times.saturating_mul(in_a_row);
                    if *times > TIMES_MAX {
                        return Err(tokens::too_deep().at(tokens::position_of(text, token)));
                    }
                }
            }
            _ => {}
        }
        (in_a_row, before) = (0, &token.token);
    }
    Ok(())
}

fn begins_query(word: Keyword) -> bool {
    matches!(word, Keyword::SELECT | Keyword::WITH | Keyword::VALUES)
}

/// Whether a relation may stand behind a token.
fn precedes_relation(token: &Token) -> bool {
    match token {
        Token::Comma => true,
        Token::Word(word) => {
            matches!(word.keyword, Keyword::FROM | Keyword::JOIN | Keyword::LATERAL)
        }
        _ => false,
    }
}
