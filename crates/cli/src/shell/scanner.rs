//! Cuts lines of input into statements and backslash commands, as psql does.
//!
//! A statement ends at a `;` outside of quotes, comments and parentheses. A backslash outside of
//! quotes and comments begins a command that takes the rest of its line. The scanner keeps what is
//! unfinished between lines.

#[cfg(test)]
mod tests;

/// A whole unit of input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A statement with its `;`, without blanks around it.
    Statement(String),
    /// A backslash command without the backslash.
    Meta(String),
}

/// Where the scanner stands; decides what a character means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Plain,
    /// `'...'`; in the form `E'...'` a backslash escapes.
    String { escapes: bool },
    /// `"..."`
    Identifier,
    /// `$tag$...$tag$`, with both dollar signs.
    Dollar(String),
    /// `/* ... */`, nested so deep.
    Comment(u32),
}

/// Unfinished input.
#[derive(Debug, Default)]
pub struct Scanner {
    text: String,
    state: State,
    paren_depth: u32,
}

impl Scanner {
    /// Adds a line (without its line break) and returns what it completes.
    pub fn push_line(&mut self, line: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut rest = line;
        while !rest.is_empty() {
            rest = match self.state.clone() {
                State::Plain => self.plain(rest, &mut pieces),
                State::String { escapes } => self.quoted(rest, '\'', escapes),
                State::Identifier => self.quoted(rest, '"', false),
                State::Dollar(tag) => self.dollar(rest, &tag),
                State::Comment(depth) => self.comment(rest, depth),
            };
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        pieces
    }

    /// Takes what is unfinished, `None` when there is only space.
    pub fn take(&mut self) -> Option<String> {
        let text = std::mem::take(self).text.trim().to_string();
        (!text.is_empty()).then_some(text)
    }

    /// Whether nothing is unfinished.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The character of the prompt that says what is unfinished: `=` nothing, `-` a statement,
    /// then what has been opened.
    pub fn prompt(&self) -> char {
        match self.state {
            State::Plain if self.paren_depth > 0 => '(',
            State::Plain if self.is_empty() => '=',
            State::Plain => '-',
            State::String { .. } => '\'',
            State::Identifier => '"',
            State::Dollar(_) => '$',
            State::Comment(_) => '*',
        }
    }

    /// Consumes one token of plain SQL; returns the rest of the line.
    fn plain<'a>(&mut self, rest: &'a str, pieces: &mut Vec<Piece>) -> &'a str {
        if rest.starts_with("--") {
            return self.keep(rest, rest.len());
        }
        if rest.starts_with("/*") {
            self.state = State::Comment(1);
            return self.keep(rest, 2);
        }
        if let Some(tag) = self.dollar_tag(rest) {
            self.state = State::Dollar(tag.to_string());
            return self.keep(rest, tag.len());
        }
        match rest.as_bytes()[0] {
            b'\'' => self.state = State::String { escapes: self.after_escape_prefix() },
            b'"' => self.state = State::Identifier,
            b'(' => self.paren_depth += 1,
            b')' => self.paren_depth = self.paren_depth.saturating_sub(1),
            b'\\' => {
                pieces.push(Piece::Meta(rest[1..].trim().to_string()));
                return "";
            }
            b';' if self.paren_depth == 0 => {
                self.text.push(';');
                let statement = self.take().unwrap_or_default();
                // `;;` is nothing to run.
                if statement != ";" {
                    pieces.push(Piece::Statement(statement));
                }
                return &rest[1..];
            }
            _ => {}
        }
        self.keep_char(rest)
    }

    /// Consumes one character of a quoted text; doubled quotes close and open again, which is
    /// all the same here.
    fn quoted<'a>(&mut self, rest: &'a str, quote: char, escapes: bool) -> &'a str {
        if escapes && rest.starts_with('\\') {
            let escaped = rest[1..].chars().next().map_or(0, char::len_utf8);
            return self.keep(rest, 1 + escaped);
        }
        if rest.starts_with(quote) {
            self.state = State::Plain;
        }
        self.keep_char(rest)
    }

    fn dollar<'a>(&mut self, rest: &'a str, tag: &str) -> &'a str {
        if rest.starts_with(tag) {
            self.state = State::Plain;
            return self.keep(rest, tag.len());
        }
        self.keep_char(rest)
    }

    fn comment<'a>(&mut self, rest: &'a str, depth: u32) -> &'a str {
        if rest.starts_with("/*") {
            self.state = State::Comment(depth + 1);
            return self.keep(rest, 2);
        }
        if rest.starts_with("*/") {
            self.state = if depth == 1 { State::Plain } else { State::Comment(depth - 1) };
            return self.keep(rest, 2);
        }
        self.keep_char(rest)
    }

    /// `$$` or `$name$` at the start of `rest`, unless it continues a name or a parameter.
    fn dollar_tag<'a>(&self, rest: &'a str) -> Option<&'a str> {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let inner = rest.strip_prefix('$')?;
        let end = inner.find('$')?;
        let name = &inner[..end];
        let is_tag = name.chars().all(word) && !name.starts_with(|c: char| c.is_ascii_digit());
        let free = !self.text.ends_with(word);
        (is_tag && free).then(|| &rest[..end + 2])
    }

    /// Whether the text so far ends in the `E` of `E'...'`.
    fn after_escape_prefix(&self) -> bool {
        let mut before = self.text.chars().rev();
        let prefix = before.next().is_some_and(|c| c.eq_ignore_ascii_case(&'e'));
        prefix && !before.next().is_some_and(|c| c.is_alphanumeric() || c == '_')
    }

    fn keep_char<'a>(&mut self, rest: &'a str) -> &'a str {
        let width = rest.chars().next().map_or(0, char::len_utf8);
        self.keep(rest, width)
    }

    /// Moves `length` bytes to the statement; space before it is not part of it.
    fn keep<'a>(&mut self, rest: &'a str, length: usize) -> &'a str {
        let (token, rest) = rest.split_at(length);
        if !(self.text.is_empty() && token.trim().is_empty()) {
            self.text.push_str(token);
        }
        rest
    }
}

/// Whether a statement is `COPY ... FROM STDIN`, whose data follow in the input.
pub fn is_copy_from_stdin(statement: &str) -> bool {
    let lower = statement.to_ascii_lowercase();
    let words: Vec<&str> = lower.split(|c: char| c.is_whitespace() || ";()".contains(c)).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.first() == Some(&"copy") && words.windows(2).any(|pair| pair == ["from", "stdin"])
}
