//! The ratchet on long functions: their number may fall, never rise.
//!
//! `xtask/ratchet.txt` holds the number that is forgiven. New code finds no room in it, old code is
//! not rewritten in a hurry, and who shortens a function lowers the number.

use super::Finding;
use super::files::Text;
use crate::mask::{line_of, mask};

/// Lines of a function, from `fn` to its closing brace. One screen.
const LINE_COUNT_MAX: usize = 70;

/// A function found in the source.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// The name.
    pub name: String,
    /// The line of `fn`, from 1.
    pub line: usize,
    /// Lines from `fn` to the closing brace.
    pub line_count: usize,
}

/// Compares the number of long functions with the ratchet.
pub fn check(files: &[Text], ratchet: &str) -> Vec<Finding> {
    let sources = files.iter().filter(|file| file.path.ends_with(".rs"));
    let long: Vec<(&str, Function)> = sources
        .flat_map(|file| functions(&file.text).into_iter().map(|f| (file.path.as_str(), f)))
        .filter(|(_, function)| function.line_count > LINE_COUNT_MAX)
        .collect();
    let Some(forgiven) = forgiven(ratchet) else {
        return vec![Finding::new("xtask/ratchet.txt", 0, "no line `long_function_count = N`")];
    };
    println!("tidy: {} functions above {LINE_COUNT_MAX} lines, {forgiven} forgiven", long.len());
    if long.len() <= forgiven {
        return Vec::new();
    }
    let describe = |(path, f): &(&str, Function)| {
        let message = format!("`{}` has {} lines, at most {LINE_COUNT_MAX}", f.name, f.line_count);
        Finding::new(path, f.line, message)
    };
    long.iter().map(describe).collect()
}

fn forgiven(ratchet: &str) -> Option<usize> {
    let line = ratchet.lines().find_map(|line| line.strip_prefix("long_function_count = "))?;
    line.trim().parse().ok()
}

/// The functions with a body, in order.
pub fn functions(source: &str) -> Vec<Function> {
    let code = mask(source);
    code.match_indices("fn ").filter_map(|(at, _)| function(&code, at)).collect()
}

fn function(code: &str, at: usize) -> Option<Function> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    if code[..at].ends_with(word) {
        return None;
    }
    let rest = &code[at + 3..];
    let name: String = rest.chars().take_while(|&c| word(c)).collect();
    let open = at + body_start(&code[at..])?;
    let close = open + body_length(&code[open..])?;
    let (line, last) = (line_of(code, at), line_of(code, close));
    (!name.is_empty()).then(|| Function { name, line, line_count: last - line + 1 })
}

/// The first `{` before a `;` outside of brackets: a signature without a body ends in `;`.
fn body_start(code: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '{' if depth == 0 => return Some(at),
            ';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Bytes from the `{` at the start to its `}`.
fn body_length(code: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}
