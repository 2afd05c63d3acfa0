//! How many tokens a text has, found without keeping any: what is too large for the memory is
//! refused before its tokens are made.

/// The tokens of a text, apart from white space and comments. Of text that is no SQL it is a guess.
pub fn token_count(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut count) = (0, 0);
    while at < bytes.len() {
        let (end, is_token) = next(bytes, at);
        count += usize::from(is_token);
        at = end;
    }
    count
}

/// Where what begins at `at` ends, and whether it is a token.
fn next(bytes: &[u8], at: usize) -> (usize, bool) {
    let rest = &bytes[at..];
    match rest {
        [b'e' | b'E', b'\'', ..] => (escaped(bytes, at + 2), true),
        [quote @ (b'\'' | b'"'), ..] => (behind(bytes, at + 1, &[*quote]), true),
        [b'-', b'-', ..] => (behind(bytes, at + 2, b"\n"), false),
        [b'/', b'*', ..] => (comment(bytes, at + 2), false),
        [b'$', ..] => (dollars(bytes, at), true),
        [byte, ..] if byte.is_ascii_whitespace() => (at + 1, false),
        [byte, ..] if is_word(*byte) => {
            let length = rest.iter().take_while(|byte| is_word(**byte) || **byte == b'$').count();
            (at + length, true)
        }
        _ => (at + 1, true),
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Behind the next `end`, or the end of the text.
fn behind(bytes: &[u8], from: usize, end: &[u8]) -> usize {
    let found = bytes[from..].windows(end.len()).position(|part| part == end);
    found.map_or(bytes.len(), |found| from + found + end.len())
}

/// Behind a literal in which a backslash takes the next byte with it.
fn escaped(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'\'' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// Behind a comment, which may have others in it.
fn comment(bytes: &[u8], mut at: usize) -> usize {
    let mut open = 1;
    while at < bytes.len() && open > 0 {
        let (step, change) = match &bytes[at..] {
            [b'/', b'*', ..] => (2, 1),
            [b'*', b'/', ..] => (2, -1),
            _ => (1, 0),
        };
        at += step;
        open += change;
    }
    at.min(bytes.len())
}

/// Behind a literal between dollars, or a parameter.
fn dollars(bytes: &[u8], at: usize) -> usize {
    let length = bytes[at + 1..].iter().take_while(|byte| is_word(**byte)).count();
    let tag = at + 1 + length;
    match bytes.get(tag) {
        Some(b'$') => behind(bytes, tag + 1, &bytes[at..=tag]),
        _ => tag,
    }
}

#[cfg(test)]
mod tests {
    use super::token_count;

    fn check(text: &str, expected: usize) {
        assert_eq!(token_count(text), expected, "{text}");
    }

    #[test]
    fn tokens_are_counted() {
        check("", 0);
        check("select a1, 'b, c' from \"t, u\"", 6);
        check("select $1, $$ a , b $$, $x$ $$ , $x$ -- , ,\n;", 7);
        check("/* , /* , */ , */ select E'a\\'b, c'", 2);
        check("select 'never ends, , , ", 2);
        check("$ $a $a$ ,", 3);
        check("\u{e4}\u{f6}$x + 1", 3);
    }
}
