//! The small part of XML that object stores answer with: elements and text. A document with a
//! document type is refused, so nothing can be made large by its own definitions.

/// Elements inside of each other, at most: the stores' answers have five.
const DEPTH_MAX: usize = 32;

/// What a document is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    Open(&'a str),
    Text(String),
    Close,
}

/// Reads a document event by event.
pub(crate) struct Reader<'a> {
    rest: &'a str,
    open: Vec<&'a str>,
    /// An element without content is still to be closed.
    closes: bool,
}

/// Why a document cannot be read.
pub(crate) type Wrong = &'static str;

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Reader<'a> {
        let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
        Reader { rest, open: Vec::new(), closes: false }
    }

    /// The next event; `None` at the end of the document.
    pub(crate) fn next(&mut self) -> Result<Option<Event<'a>>, Wrong> {
        loop {
            if std::mem::take(&mut self.closes) {
                self.open.pop();
                return Ok(Some(Event::Close));
            }
            let Some(tag) = self.rest.strip_prefix('<') else {
                match self.text()? {
                    Some(text) => return Ok(Some(Event::Text(text))),
                    None if self.rest.is_empty() => return self.end(),
                    None => continue,
                }
            };
            if let Some(event) = self.tag(tag)? {
                return Ok(Some(event));
            }
        }
    }

    fn end(&self) -> Result<Option<Event<'a>>, Wrong> {
        if self.open.is_empty() { Ok(None) } else { Err("the document ends within an element") }
    }

    /// Text up to the next tag; `None` for white space between elements.
    fn text(&mut self) -> Result<Option<String>, Wrong> {
        let end = self.rest.find('<').unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        if self.open.is_empty() {
            return if text.trim().is_empty() { Ok(None) } else { Err("text outside of elements") };
        }
        if text.is_empty() { Ok(None) } else { unescape(text).map(Some) }
    }

    /// What begins with `<`; `None` for what says nothing.
    fn tag(&mut self, tag: &'a str) -> Result<Option<Event<'a>>, Wrong> {
        if let Some(data) = tag.strip_prefix("![CDATA[") {
            let text = self.up_to(data, "]]>")?;
            return if self.open.is_empty() {
                Err("text outside of elements")
            } else {
                Ok(Some(Event::Text(text.to_owned())))
            };
        }
        if let Some(comment) = tag.strip_prefix("!--") {
            return self.up_to(comment, "-->").map(|_| None);
        }
        if let Some(instruction) = tag.strip_prefix('?') {
            return self.up_to(instruction, "?>").map(|_| None);
        }
        if tag.starts_with('!') {
            return Err("a document type is not read");
        }
        if let Some(name) = tag.strip_prefix('/') {
            let name = self.up_to(name, ">")?.trim_end();
            return match self.open.pop() == Some(name) {
                true => Ok(Some(Event::Close)),
                false => Err("an element is closed that is not open"),
            };
        }
        self.opened(tag).map(Some)
    }

    fn opened(&mut self, tag: &'a str) -> Result<Event<'a>, Wrong> {
        let end = tag_end(tag).ok_or("a tag does not end")?;
        let inside = &tag[..end];
        self.rest = &tag[end + 1..];
        let (inside, closes) = match inside.strip_suffix('/') {
            Some(inside) => (inside, true),
            None => (inside, false),
        };
        let name = inside.split([' ', '\t', '\r', '\n']).next().unwrap_or_default();
        if name.is_empty() || self.open.len() == DEPTH_MAX {
            return Err("an element without a name, or too deep");
        }
        self.open.push(name);
        self.closes = closes;
        // A prefix says whose element it is; the stores use none that would matter.
        Ok(Event::Open(name.rsplit(':').next().unwrap_or(name)))
    }

    /// The text before `end`; goes on behind it.
    fn up_to(&mut self, text: &'a str, end: &str) -> Result<&'a str, Wrong> {
        let at = text.find(end).ok_or("something does not end")?;
        self.rest = &text[at + end.len()..];
        Ok(&text[..at])
    }
}

/// Where a tag ends: at the first `>` that is not inside of quotes.
fn tag_end(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// Text with its references replaced.
fn unescape(text: &str) -> Result<String, Wrong> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let reference = &rest[at + 1..];
        let end = reference.find(';').ok_or("a reference does not end")?;
        out.push(referred(&reference[..end]).ok_or("an unknown reference")?);
        rest = &reference[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

fn referred(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

/// Text for an element.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            c => out.push(c),
        }
    }
    out
}

/// Tells of each element when it ends: its path (names from the root, by `/`) and its own text.
pub(crate) fn walk(text: &str, mut visit: impl FnMut(&str, String)) -> Result<(), Wrong> {
    let mut reader = Reader::new(text);
    let (mut path, mut lengths, mut content) = (String::new(), Vec::new(), String::new());
    while let Some(event) = reader.next()? {
        match event {
            Event::Open(name) => {
                lengths.push(path.len());
                if !path.is_empty() {
                    path.push('/');
                }
                path.push_str(name);
                content.clear();
            }
            Event::Text(text) => content.push_str(&text),
            Event::Close => {
                visit(&path, std::mem::take(&mut content));
                path.truncate(lengths.pop().unwrap_or(0));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
