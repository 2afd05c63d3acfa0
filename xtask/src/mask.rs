//! Rust source with comments and literals blanked out, so that a plain search finds only code.
//!
//! Lengths and line breaks stay as they are: a position in the mask is a position in the source.
//! This is a scanner of comments, strings and characters, not a parser; it need only be right about
//! where those begin and end.

/// The source, with every byte of a comment or literal (line breaks excepted) replaced by a blank.
pub fn mask(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => line_end(bytes, at),
            b'/' if bytes[at..].starts_with(b"/*") => block_comment_end(bytes, at),
            b'"' => string_end(bytes, at),
            b'r' if starts_raw(bytes, at) => raw_string_end(bytes, at),
            b'\'' => character_end(bytes, at),
            _ => at,
        };
        if end == at {
            at += 1;
            continue;
        }
        out[at..end].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
        at = end;
    }
    String::from_utf8(out).expect("blanks replace whole tokens")
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |n| at + n)
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// Whether `r"`, `r#"`, ... begins here (also as the tail of `br"`), and not an identifier.
fn starts_raw(bytes: &[u8], at: usize) -> bool {
    let byte_prefix = at > 0 && bytes[at - 1] == b'b';
    let before = if byte_prefix { at.checked_sub(2) } else { at.checked_sub(1) };
    if before.is_some_and(|i| is_word(bytes[i])) {
        return false;
    }
    bytes[at + 1..].iter().find(|&&b| b != b'#') == Some(&b'"')
}

fn raw_string_end(bytes: &[u8], start: usize) -> usize {
    let hash_count = bytes[start + 1..].iter().take_while(|&&b| b == b'#').count();
    let close = [&b"\""[..], &b"#".repeat(hash_count)].concat();
    let from = start + 2 + hash_count;
    let found = bytes[from..].windows(close.len()).position(|w| w == close);
    found.map_or(bytes.len(), |n| from + n + close.len())
}

/// The end of a character literal; `start` itself when the quote begins a lifetime.
fn character_end(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start + 1..];
    match rest.first() {
        Some(b'\\') => {
            let close = rest.iter().skip(2).position(|&b| b == b'\'');
            close.map_or(bytes.len(), |n| start + n + 4)
        }
        Some(&first) => {
            let width = utf8_width(first);
            if rest.get(width) == Some(&b'\'') { start + width + 2 } else { start }
        }
        None => start,
    }
}

fn utf8_width(first: u8) -> usize {
    match first {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The lines (from 1) on which `word` stands in `code` as a whole word.
pub fn word_lines(code: &str, word: &str) -> Vec<usize> {
    let bytes = code.as_bytes();
    let edge = |i: Option<usize>| i.and_then(|i| bytes.get(i)).is_none_or(|&b| !is_word(b));
    let whole = |at: usize| edge(at.checked_sub(1)) && edge(Some(at + word.len()));
    let starts = code.match_indices(word).map(|(at, _)| at).filter(|&at| whole(at));
    starts.map(|at| line_of(code, at)).collect()
}

/// The line (from 1) of a byte position.
pub fn line_of(code: &str, at: usize) -> usize {
    code.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, want: &str) {
        let got = mask(source);
        assert_eq!(got.len(), source.len());
        assert_eq!(got.split_whitespace().collect::<Vec<_>>().join(" "), want);
    }

    #[test]
    fn blanks_comments() {
        check("a // unsafe\nb /* x /* y */ z */ c", "a b c");
    }

    #[test]
    fn blanks_strings() {
        check(r#"a("un\"safe", b"x") + c"#, "a( , b ) + c");
        check("a(r#\"x \" y\"#, br\"z\") for_r \"q\"", "a( , b ) for_r");
    }

    #[test]
    fn tells_characters_from_lifetimes() {
        check(r"f::<'a>('{', '\'', 'ü', '\u{7f}', b'x') 'l: loop", "f::<'a>( , , , , b ) 'l: loop");
    }

    #[test]
    fn keeps_lines() {
        assert_eq!(mask("\"a\nb\"\nc").lines().count(), 3);
    }

    #[test]
    fn finds_whole_words_only() {
        assert_eq!(word_lines("unsafe_x\nunsafe {\n(unsafe)", "unsafe"), [2, 3]);
    }
}
