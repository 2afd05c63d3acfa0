//! Functions of regular expressions. The engine behind them has no references to groups and does not look
//! around; what it cannot do is refused.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, ListArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use datafusion_common::ScalarValue;
use plan::limits;
use regex::{Captures, Regex, RegexBuilder};
use stdx::HashMap;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use crate::error::from_arrow;
use crate::functions::scalar::arrays::text_lists;
use crate::functions::scalar::overload::{Args, Functions, Ty, invalid_parameter};
use crate::functions::scalar::padding::with_room;
use crate::functions::scalar::patterns::PIECE_BYTES;
use crate::functions::scalar::returns::{boolean, int, text, text_array};

/// Sizes that compiled expressions may have, tried in turn: few have more than the first. How large
/// one is nobody tells, so it counts as the size that it did not exceed.
const SIZES: [usize; 3] = [256 << 10, 2 << 20, 10 << 20];

/// Bytes of compiled expressions that a thread keeps: those of a statement and some more.
const KEPT_BYTES_MAX: usize = 16 << 20;

/// Memory of the states of an expression while it is matched, once for each direction.
const STATES_BYTES_MAX: usize = 1 << 20;

/// Texts that are searched without a question whether to go on: a fraction of a millisecond.
const LONG_BYTES: usize = 64 << 10;

/// Memory of a letter of a pattern while it is read.
const LETTER_BYTES: usize = 64;

/// By patterns, each with the flags that it was compiled with. A copy of one would have to find its states anew.
#[derive(Default)]
struct Kept {
    by_pattern: HashMap<String, Vec<(String, Rc<Regex>)>>,
    bytes: usize,
}

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
}

pub(crate) fn register(functions: &mut Functions) {
    splits(functions);
    searches(functions);
    counts(functions);
    replacements(functions);
}

fn splits(functions: &mut Functions) {
    for params in [&[Ty::Text, Ty::Text] as &'static [Ty], &[Ty::Text, Ty::Text, Ty::Text]] {
        functions.strict("regexp_split_to_array", params, text_array, |args| {
            let row = |row: usize| {
                let pattern = once("regexp_split_to_array", args, row, 2)?;
                split(&pattern, args.text(0).value(row))
            };
            lists(args, row)
        });
    }
}

fn searches(functions: &mut Functions) {
    const SUBSTR: [&[Ty]; 5] = [
        &[Ty::Text, Ty::Text],
        &[Ty::Text, Ty::Text, Ty::Int],
        &[Ty::Text, Ty::Text, Ty::Int, Ty::Int],
        &[Ty::Text, Ty::Text, Ty::Int, Ty::Int, Ty::Text],
        &[Ty::Text, Ty::Text, Ty::Int, Ty::Int, Ty::Text, Ty::Int],
    ];
    for params in SUBSTR {
        functions.strict("regexp_substr", params, text, |args| {
            args.texts(|row| {
                let pattern = once("regexp_substr", args, row, 4)?;
                let (text, nth) = (args.text(0).value(row), positive(args, 3, row, 'n')?);
                let from = start(text, positive(args, 2, row, 's')?);
                let found = nth_match(&pattern, text, from, nth)?;
                let group = group(args, 5, row)?;
                Ok(found.and_then(|c| c.get(group).map(|m| m.as_str().to_owned())))
            })
        });
    }
    // `substring(text from pattern)`: the first group, if there is one.
    functions.strict("regexp_substring", SUBSTR[0], text, |args| {
        args.texts(|row| {
            let pattern = pattern(args, row, 2)?;
            let found = pattern.regex.captures(args.text(0).value(row));
            let group = usize::from(pattern.regex.captures_len() > 1);
            Ok(found.and_then(|c| c.get(group).map(|m| m.as_str().to_owned())))
        })
    });
    for params in [&[Ty::Text, Ty::Text] as &'static [Ty], &[Ty::Text, Ty::Text, Ty::Text]] {
        functions.strict("regexp_like", params, boolean, |args| {
            let like = |row: usize| {
                Ok(Some(once("regexp_like", args, row, 2)?.is_match(args.text(0).value(row))))
            };
            Ok(Arc::new(args.each::<_, BooleanArray>(like)?))
        });
        functions.strict("regexp_match", params, text_array, |args| {
            let row = |row: usize| -> SqlResult<Option<Vec<Option<String>>>> {
                let pattern = once("regexp_match", args, row, 2)
                    .map_err(|error| error.with_hint("Use the regexp_matches function instead."))?;
                Ok(pattern.captures(args.text(0).value(row)).map(|found| groups(&found)))
            };
            lists_or_null(args, row)
        });
        functions.strict("regexp_matches_array", params, text_arrays, matches);
    }
}

fn text_arrays(_: &[DataType], _: &[Option<&ScalarValue>]) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(LogicalType::Text.array_of().arrow(), true)))
}

/// The groups of all matches, or of the first.
fn matches(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let (mut found, mut ends) = (vec![], vec![]);
    let counted = limits::Counted::default();
    for row in 0..args.rows {
        if !args.is_null(row) {
            let pattern = pattern(args, row, 2)?;
            let most = if pattern.everywhere { usize::MAX } else { 1 };
            for captures in matches_in(&pattern.regex, args.text(0).value(row), 0).take(most) {
                let groups = groups(&captures?);
                let letters = groups.iter().flatten().map(String::len).sum::<usize>();
                counted.add(letters + groups.len() * PIECE_BYTES)?;
                found.push(Some(groups));
            }
        }
        ends.push(found.len());
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let lengths: Vec<usize> = starts.zip(&ends).map(|(start, end)| end - start).collect();
    let valid: Vec<bool> = (0..args.rows).map(|row| !args.is_null(row)).collect();
    let (offsets, nulls) = (OffsetBuffer::from_lengths(lengths), NullBuffer::from(valid));
    let field = Arc::new(Field::new_list_field(LogicalType::Text.array_of().arrow(), true));
    let lists = ListArray::try_new(field, offsets, Arc::new(text_lists(found)), Some(nulls));
    Ok(Arc::new(lists.map_err(from_arrow)?))
}

fn counts(functions: &mut Functions) {
    const COUNT: [&[Ty]; 3] = [
        &[Ty::Text, Ty::Text],
        &[Ty::Text, Ty::Text, Ty::Int],
        &[Ty::Text, Ty::Text, Ty::Int, Ty::Text],
    ];
    for params in COUNT {
        functions.strict("regexp_count", params, int, |args| {
            let count = |row: usize| -> SqlResult<Option<i32>> {
                let pattern = once("regexp_count", args, row, 3)?;
                let text = args.text(0).value(row);
                let from = start(text, positive(args, 2, row, 's')?);
                let mut count = 0;
                for found in from.into_iter().flat_map(|from| matches_in(&pattern, text, from)) {
                    found?;
                    count += 1;
                }
                Ok(Some(count))
            };
            Ok(Arc::new(args.each::<_, Int32Array>(count)?))
        });
    }
    const INSTR: [&[Ty]; 6] = [
        &[Ty::Text, Ty::Text],
        &[Ty::Text, Ty::Text, Ty::Int],
        &[Ty::Text, Ty::Text, Ty::Int, Ty::Int],
        &[Ty::Text, Ty::Text, Ty::Int, Ty::Int, Ty::Int],
        &[Ty::Text, Ty::Text, Ty::Int, Ty::Int, Ty::Int, Ty::Text],
        &[Ty::Text, Ty::Text, Ty::Int, Ty::Int, Ty::Int, Ty::Text, Ty::Int],
    ];
    for params in INSTR {
        functions.strict("regexp_instr", params, int, |args| {
            Ok(Arc::new(args.each::<_, Int32Array>(|row| position(args, row).map(Some))?))
        });
    }
}

fn position(args: &Args<'_>, row: usize) -> SqlResult<i32> {
    let pattern = once("regexp_instr", args, row, 5)?;
    let (text, nth) = (args.text(0).value(row), positive(args, 3, row, 'n')?);
    let behind = match args.arrays.len() > 4 {
        true if !(0..=1).contains(&args.int(4, row)) => {
            let message =
                format!("invalid value for parameter \"endoption\": {}", args.int(4, row));
            return Err(invalid_parameter(message));
        }
        true => args.int(4, row) == 1,
        false => false,
    };
    let group = group(args, 6, row)?;
    let from = start(text, positive(args, 2, row, 's')?);
    let found = nth_match(&pattern, text, from, nth)?;
    let place = found.and_then(|c| c.get(group).map(|m| if behind { m.end() } else { m.start() }));
    Ok(place.map_or(0, |at| i32::try_from(text[..at].chars().count() + 1).unwrap_or(i32::MAX)))
}

fn replacements(functions: &mut Functions) {
    const PLAIN: [&[Ty]; 2] =
        [&[Ty::Text, Ty::Text, Ty::Text], &[Ty::Text, Ty::Text, Ty::Text, Ty::Text]];
    for params in PLAIN {
        functions.strict("regexp_replace", params, text, |args| {
            args.texts(|row| {
                let pattern = pattern(args, row, 3)?;
                let nth = if pattern.everywhere { 0 } else { 1 };
                let (text, by) = (args.text(0).value(row), args.text(2).value(row));
                replaced(&pattern.regex, text, 0, by, nth).map(Some)
            })
        });
    }
    const FROM: [&[Ty]; 3] = [
        &[Ty::Text, Ty::Text, Ty::Text, Ty::Int],
        &[Ty::Text, Ty::Text, Ty::Text, Ty::Int, Ty::Int],
        &[Ty::Text, Ty::Text, Ty::Text, Ty::Int, Ty::Int, Ty::Text],
    ];
    for params in FROM {
        functions.strict("regexp_replace", params, text, |args| {
            args.texts(|row| {
                let pattern = pattern(args, row, 5)?;
                let (text, by) = (args.text(0).value(row), args.text(2).value(row));
                let nth = match args.arrays.len() > 4 {
                    true if args.int(4, row) < 0 => {
                        let message =
                            format!("invalid value for parameter \"n\": {}", args.int(4, row));
                        return Err(invalid_parameter(message));
                    }
                    true => args.int(4, row) as usize,
                    false if pattern.everywhere => 0,
                    false => 1,
                };
                let from = start(text, positive(args, 3, row, 's')?);
                Ok(Some(match from {
                    Some(from) => replaced(&pattern.regex, text, from, by, nth)?,
                    None => text.to_owned(),
                }))
            })
        });
    }
}

/// A compiled expression and what its flags say besides.
struct Pattern {
    regex: Rc<Regex>,
    /// `g`
    everywhere: bool,
}

/// The pattern of a function that has no use for the flag `g`.
fn once(function: &str, args: &Args<'_>, row: usize, flags: usize) -> SqlResult<Rc<Regex>> {
    let pattern = pattern(args, row, flags)?;
    match pattern.everywhere {
        true => {
            let message = format!("{function}() does not support the \"global\" option");
            Err(invalid_parameter(message))
        }
        false => Ok(pattern.regex),
    }
}

/// The pattern, which is the second argument, with flags if there is an argument for them.
fn pattern(args: &Args<'_>, row: usize, flags: usize) -> SqlResult<Pattern> {
    let flags = if args.arrays.len() > flags { args.text(flags).value(row) } else { "" };
    let everywhere = flags.contains('g');
    Ok(Pattern { regex: kept(args.text(1).value(row), &flags.replace('g', ""))?, everywhere })
}

/// A compiled expression, which is kept for the next row.
fn kept(pattern: &str, flags: &str) -> SqlResult<Rc<Regex>> {
    KEPT.with_borrow_mut(|kept| {
        let all = kept.by_pattern.get(pattern);
        let own = all.and_then(|all| all.iter().find(|(own, _)| own == flags));
        if let Some((_, regex)) = own {
            return Ok(regex.clone());
        }
        limits::go_on_now()?;
        let (regex, bytes) = compiled(pattern, flags)?;
        let (regex, bytes) = (Rc::new(regex), bytes + pattern.len());
        if kept.bytes + bytes > KEPT_BYTES_MAX {
            *kept = Kept::default();
        }
        kept.bytes += bytes;
        let all = kept.by_pattern.entry(pattern.to_owned()).or_default();
        all.push((flags.to_owned(), regex.clone()));
        Ok(regex)
    })
}

/// A pattern in the form that the library's operators compile. Errors: 2201B, 0A000.
pub(crate) fn operator_pattern(pattern: &str) -> SqlResult<String> {
    kept(pattern, "")?;
    let translated = translated(pattern)?;
    // A point stands for the end of a line too.
    let dotted = translated.contains('.') && translated != ".*" && !translated.starts_with("(?s)");
    Ok(if dotted { format!("(?s){translated}") } else { translated })
}

/// A compiled expression, and as how large it counts.
fn compiled(pattern: &str, flags: &str) -> SqlResult<(Regex, usize)> {
    limits::room(pattern.len().saturating_mul(LETTER_BYTES))?;
    let text = if flags.contains('q') { regex::escape(pattern) } else { translated(pattern)? };
    let mut builder = RegexBuilder::new(&text);
    builder.dot_matches_new_line(true).dfa_size_limit(STATES_BYTES_MAX);
    for flag in flags.chars() {
        match flag {
            'i' => builder.case_insensitive(true),
            'c' => builder.case_insensitive(false),
            'n' | 'm' => builder.dot_matches_new_line(false).multi_line(true),
            's' => builder.dot_matches_new_line(true).multi_line(false),
            'w' => builder.dot_matches_new_line(true).multi_line(true),
            'p' => builder.dot_matches_new_line(false).multi_line(false),
            'x' => builder.ignore_whitespace(true),
            'e' | 't' | 'q' => &mut builder,
            other => {
                let message = format!("invalid regular expression option: \"{other}\"");
                return Err(invalid_parameter(message));
            }
        };
    }
    for size in SIZES {
        match builder.size_limit(size).build() {
            Ok(regex) => return Ok((regex, size)),
            Err(regex::Error::CompiledTooBig(_)) => limits::go_on_now()?,
            Err(error) => return Err(refused(&error.to_string())),
        }
    }
    Err(refused("exceeds size limit"))
}

/// What the engine says of a pattern, and PostgreSQL's words for it.
const PROBLEMS: [(&str, &str); 10] = [
    ("unclosed group", "parentheses () not balanced"),
    ("unopened group", "parentheses () not balanced"),
    ("unclosed character class", "brackets [] not balanced"),
    ("repetition operator missing expression", "quantifier operand invalid"),
    ("invalid repetition count range", "invalid repetition count(s)"),
    ("unclosed counted repetition", "braces {} not balanced"),
    ("repetition quantifier expects a valid decimal", "invalid repetition count(s)"),
    ("escape sequence", "invalid escape \\ sequence"),
    ("invalid character class range", "invalid character range"),
    ("exceeds size limit", "regular expression is too complex"),
];

/// 2201B for a pattern that cannot be compiled, 0A000 for what the engine behind it does not do.
fn refused(problem: &str) -> SqlError {
    if problem.contains("look-around") {
        return SqlError::unsupported("looking around in a pattern");
    }
    if problem.contains("backreferences") {
        return SqlError::unsupported("a reference to a group in a pattern");
    }
    let known = PROBLEMS.iter().find(|(theirs, _)| problem.contains(theirs));
    let reason = known.map_or("it cannot be read as a pattern", |(_, ours)| ours);
    SqlError::new(SqlState("2201B"), format!("invalid regular expression: {reason}"))
}

/// The escapes of PostgreSQL that have other names here.
fn translated(pattern: &str) -> SqlResult<String> {
    let (mut out, mut letters) = (String::with_capacity(pattern.len()), pattern.chars().peekable());
    let look = ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| pattern.contains(look));
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some(next)) => {
                match next {
                    'y' => out.push_str("\\b"),
                    'Y' => out.push_str("\\B"),
                    'm' => out.push_str("\\b{start}"),
                    'M' => out.push_str("\\b{end}"),
                    'Z' => out.push_str("\\z"),
                    '1'..='9' => {
                        return Err(SqlError::unsupported("a reference to a group in a pattern"));
                    }
                    other => out.extend(['\\', *other]),
                }
                letters.next();
            }
            _ => out.push(letter),
        }
    }
    match look {
        true => Err(SqlError::unsupported("looking around in a pattern")),
        false => Ok(out),
    }
}

/// A position or a number of a match; 1 where it is left out.
fn positive(args: &Args<'_>, at: usize, row: usize, what: char) -> SqlResult<usize> {
    if args.arrays.len() <= at {
        return Ok(1);
    }
    let value = args.int(at, row);
    usize::try_from(value).ok().filter(|v| *v > 0).ok_or_else(|| {
        let name = if what == 's' { "start" } else { "n" };
        invalid_parameter(format!("invalid value for parameter \"{name}\": {value}"))
    })
}

fn group(args: &Args<'_>, at: usize, row: usize) -> SqlResult<usize> {
    if args.arrays.len() <= at {
        return Ok(0);
    }
    let value = args.int(at, row);
    usize::try_from(value)
        .map_err(|_| invalid_parameter(format!("invalid value for parameter \"subexpr\": {value}")))
}

/// The byte at which the character of this number begins, the first being 1; one past the last counts.
fn start(text: &str, number: usize) -> Option<usize> {
    match number {
        1 => Some(0),
        number => {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.skip(1).nth(number - 2)
        }
    }
}

/// The match of this number in what begins at `from`, if that is within the text.
fn nth_match<'a>(
    regex: &'a Regex,
    text: &'a str,
    from: Option<usize>,
    number: usize,
) -> SqlResult<Option<Captures<'a>>> {
    let mut all = from.into_iter().flat_map(|from| matches_in(regex, text, from));
    for _ in 1..number {
        if all.next().transpose()?.is_none() {
            return Ok(None);
        }
    }
    all.next().transpose()
}

/// The matches in what begins at `from`; behind a match of nothing the search goes on a letter later.
fn matches_in<'a>(
    regex: &'a Regex,
    text: &'a str,
    from: usize,
) -> impl Iterator<Item = SqlResult<Captures<'a>>> {
    let mut next = Some(from);
    std::iter::from_fn(move || {
        let asked = match text.len() > LONG_BYTES {
            true => limits::go_on_now(),
            false => limits::go_on(),
        };
        if let Err(error) = asked {
            return next.take().map(|_| Err(error));
        }
        let found = regex.captures_at(text, next?)?;
        let whole = found.get(0)?;
        next = match whole.is_empty() {
            true => text[whole.end()..].chars().next().map(|c| whole.end() + c.len_utf8()),
            false => Some(whole.end()),
        };
        Some(Ok(found))
    })
}

/// All groups; the whole match where there are none.
fn groups(found: &Captures<'_>) -> Vec<Option<String>> {
    let first = usize::from(found.len() > 1);
    found.iter().skip(first).map(|m| m.map(|m| m.as_str().to_owned())).collect()
}

/// The pieces between matches; a match of nothing at either end, or behind another, cuts nothing.
fn split(regex: &Regex, text: &str) -> SqlResult<Vec<Option<String>>> {
    let (mut pieces, mut at, mut end) = (vec![], 0, 0);
    let counted = limits::Counted::default();
    for captures in matches_in(regex, text, 0) {
        let Some(found) = captures?.get(0) else { continue };
        let behind = std::mem::replace(&mut end, found.end());
        if found.start() == text.len() || found.end() <= behind {
            continue;
        }
        counted.add(found.start() - at + PIECE_BYTES)?;
        pieces.push(Some(text[at..found.start()].to_owned()));
        at = found.end();
    }
    pieces.push(Some(text[at..].to_owned()));
    Ok(pieces)
}

/// The text with the n-th match replaced, or all of them (0).
fn replaced(regex: &Regex, text: &str, from: usize, by: &str, nth: usize) -> SqlResult<String> {
    let mut out = text[..from].to_owned();
    let mut at = from;
    for (number, found) in matches_in(regex, text, from).enumerate() {
        let found = found?;
        if nth > 0 && number + 1 != nth {
            continue;
        }
        let Some(whole) = found.get(0) else { continue };
        out.push_str(&text[at..whole.start()]);
        let before = out.capacity();
        insert(&mut out, by, &found);
        if out.capacity() > before {
            // It has grown, and does so again at twice the size.
            with_room(2 * out.capacity())?;
        }
        at = whole.end();
        if nth > 0 {
            break;
        }
    }
    out.push_str(&text[at..]);
    Ok(out)
}

/// What takes the place of a match: `\1` is a group, `\&` all of it.
fn insert(out: &mut String, by: &str, found: &Captures<'_>) {
    let mut letters = by.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        let group = |number: usize| found.get(number).map_or("", |m| m.as_str());
        match letters.next() {
            Some('&') => out.push_str(group(0)),
            Some(digit @ '1'..='9') => out.push_str(group(digit as usize - '0' as usize)),
            Some('\\') | None => out.push('\\'),
            Some(other) => out.extend(['\\', other]),
        }
    }
}

fn lists(
    args: &Args<'_>,
    row: impl Fn(usize) -> SqlResult<Vec<Option<String>>>,
) -> SqlResult<ArrayRef> {
    lists_or_null(args, |at| row(at).map(Some))
}

fn lists_or_null(
    args: &Args<'_>,
    row: impl Fn(usize) -> SqlResult<Option<Vec<Option<String>>>>,
) -> SqlResult<ArrayRef> {
    let one = |at: usize| if args.is_null(at) { Ok(None) } else { row(at) };
    let lists = text_lists((0..args.rows).map(one).collect::<SqlResult<_>>()?);
    debug_assert_eq!(lists.len(), args.rows);
    Ok(Arc::new(lists))
}
