//! The options of `COPY`, and what PostgreSQL says of those that do not go together.

use datafusion_sql::sqlparser::tokenizer::Token;
use types::{SqlError, SqlResult, SqlState};

use super::parquet::{self, ParquetOptions};
use crate::parse::words::Words;

/// The format of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyFormat {
    /// Tab separated with backslash escapes.
    Text,
    /// Comma separated.
    Csv,
    /// The binary form of the protocol.
    Binary,
    /// Apache Parquet.
    Parquet,
}

/// What is said of the first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// There is none.
    No,
    /// It has the names of the columns.
    Yes,
    /// It has them, and they must be right.
    Match,
}

/// The columns that an option is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForcedColumns {
    /// All.
    All,
    /// These.
    Named(Vec<String>),
}

/// How `COPY` reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOptions {
    /// The format.
    pub format: CopyFormat,
    /// Whether the first line holds column names.
    pub header: Header,
    /// Between fields.
    pub delimiter: u8,
    /// An unquoted field with this text is null.
    pub null: String,
    /// Around fields.
    pub quote: u8,
    /// Before a quote within a quoted field.
    pub escape: u8,
    /// Columns that are always written in quotes.
    pub force_quote: ForcedColumns,
    /// Columns in which the text of null is a value.
    pub force_not_null: Vec<String>,
    /// Columns in which the text of null in quotes is null too.
    pub force_null: Vec<String>,
    /// How Parquet is written.
    pub parquet: ParquetOptions,
    /// What becomes of rows that cannot be read; `None`: they fail the statement.
    pub ignored: Option<Ignored>,
}

/// What becomes of rows that cannot be read (`ON_ERROR ignore`, PostgreSQL 17).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// More of them fail the statement (`REJECT_LIMIT`, PostgreSQL 18).
    pub count_max: Option<u64>,
    /// The table that they are put into (`REJECT_TABLE`, Dovetail's own).
    pub table: Option<String>,
}

/// The value of an option.
enum Value {
    None,
    Text(String),
    Star,
    List(Vec<String>),
}

/// Options as given; defaults depend on the format.
#[derive(Default)]
struct Given {
    format: Option<CopyFormat>,
    freeze: Option<bool>,
    header: Option<Header>,
    delimiter: Option<String>,
    null: Option<String>,
    quote: Option<String>,
    escape: Option<String>,
    encoding: Option<()>,
    force_quote: Option<ForcedColumns>,
    force_not_null: Option<Vec<String>>,
    force_null: Option<Vec<String>>,
    parquet: parquet::Given,
    on_error: Option<bool>,
    reject_limit: Option<u64>,
    reject_table: Option<String>,
}

/// Reads what follows the file.
pub(super) fn read(words: &mut Words<'_>, binary: bool, is_from: bool) -> SqlResult<CopyOptions> {
    let mut given = Given::default();
    if binary {
        given.set("format", Value::Text("binary".into()), is_from)?;
    }
    if words.eat("using") {
        words.expect("delimiters")?;
        given.set("delimiter", text(words)?, is_from)?;
    } else if words.eat("delimiters") {
        given.set("delimiter", text(words)?, is_from)?;
    }
    words.eat("with");
    match words.eat_token(&Token::LParen) {
        true => generic(words, &mut given, is_from)?,
        false => legacy(words, &mut given, is_from)?,
    }
    if words.is("where") {
        return Err(SqlError::unsupported("COPY .. FROM .. WHERE"));
    }
    words.end()?;
    given.complete(is_from)
}

fn text(words: &mut Words<'_>) -> SqlResult<Value> {
    words.text().map(Value::Text).ok_or_else(|| words.unexpected())
}

/// `(name value, ..)`
fn generic(words: &mut Words<'_>, given: &mut Given, is_from: bool) -> SqlResult<()> {
    loop {
        let name = words.name()?;
        let value = value(words)?;
        given.set(&name, value, is_from)?;
        if words.eat_token(&Token::RParen) {
            return Ok(());
        }
        if !words.comma() {
            return Err(words.unexpected());
        }
    }
}

fn value(words: &mut Words<'_>) -> SqlResult<Value> {
    if let Some(text) = words.text() {
        return Ok(Value::Text(text));
    }
    if words.eat_token(&Token::Mul) {
        return Ok(Value::Star);
    }
    if words.eat_token(&Token::LParen) {
        let names = words.list(Words::name_or_text)?;
        return match words.eat_token(&Token::RParen) {
            true => Ok(Value::List(names)),
            false => Err(words.unexpected()),
        };
    }
    if let Some(number) = words.digits() {
        return Ok(Value::Text(number));
    }
    match words.is_end() || words.is_comma() || words.is_closing() {
        true => Ok(Value::None),
        false => words.name().map(Value::Text),
    }
}

/// The options as they were written before PostgreSQL 9.0.
fn legacy(words: &mut Words<'_>, given: &mut Given, is_from: bool) -> SqlResult<()> {
    while !words.is_end() && !words.is("where") {
        let (name, value) = if words.eat("binary") {
            ("format", Value::Text("binary".into()))
        } else if words.eat("csv") {
            ("format", Value::Text("csv".into()))
        } else if words.eat("freeze") {
            ("freeze", Value::None)
        } else if words.eat("header") {
            ("header", Value::None)
        } else if words.eat("force") {
            forced(words)?
        } else {
            named_text(words)?
        };
        given.set(name, value, is_from)?;
    }
    Ok(())
}

fn named_text(words: &mut Words<'_>) -> SqlResult<(&'static str, Value)> {
    let names = ["delimiter", "null", "quote", "escape", "encoding"];
    let name = names.into_iter().find(|name| words.eat(name));
    let name = name.ok_or_else(|| words.unexpected())?;
    if name != "encoding" {
        words.eat("as");
    }
    Ok((name, text(words)?))
}

fn forced(words: &mut Words<'_>) -> SqlResult<(&'static str, Value)> {
    if words.eat("quote") {
        let value = match words.eat_token(&Token::Mul) {
            true => Value::Star,
            false => Value::List(words.names()?),
        };
        return Ok(("force_quote", value));
    }
    let name = if words.eat("not") { "force_not_null" } else { "force_null" };
    words.expect("null")?;
    Ok((name, Value::List(words.names()?)))
}

fn syntax(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, message.into())
}

fn invalid(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message.into())
}

/// 0A000 in PostgreSQL's words, which are not about what is missing here.
fn not_so(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message.into())
}

/// Sets an option that may be given once.
fn once<T>(place: &mut Option<T>, value: T) -> SqlResult<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(syntax("conflicting or redundant options")),
    }
}

impl Value {
    fn string(self, name: &str) -> SqlResult<String> {
        match self {
            Value::Text(text) => Ok(text),
            Value::None => Err(syntax(format!("{name} requires a parameter"))),
            Value::Star => Ok("*".to_owned()),
            Value::List(names) => Ok(names.join(", ")),
        }
    }

    fn boolean(self, name: &str) -> SqlResult<bool> {
        let Value::Text(text) = self else {
            return match self {
                Value::None => Ok(true),
                _ => Err(syntax(format!("{name} requires a Boolean value"))),
            };
        };
        match text.to_lowercase().as_str() {
            "true" | "on" | "1" => Ok(true),
            "false" | "off" | "0" => Ok(false),
            _ => Err(syntax(format!("{name} requires a Boolean value"))),
        }
    }

    fn header(self, is_from: bool) -> SqlResult<Header> {
        if let Value::Text(text) = &self
            && text.eq_ignore_ascii_case("match")
        {
            return match is_from {
                true => Ok(Header::Match),
                false => Err(not_so("cannot use \"match\" with HEADER in COPY TO")),
            };
        }
        let on = self
            .boolean("header")
            .map_err(|_| syntax("header requires a Boolean value or \"match\""))?;
        Ok(if on { Header::Yes } else { Header::No })
    }

    fn columns(self, name: &str) -> SqlResult<Vec<String>> {
        match self {
            Value::List(names) => Ok(names),
            _ => Err(invalid(format!(
                "argument to option \"{name}\" must be a list of column names"
            ))),
        }
    }
}

fn ignores(word: &str) -> SqlResult<bool> {
    match word.to_lowercase().as_str() {
        "stop" => Ok(false),
        "ignore" => Ok(true),
        _ => Err(invalid(format!("COPY ON_ERROR \"{word}\" not recognized"))),
    }
}

fn reject_limit(number: &str) -> SqlResult<u64> {
    let limit = number.parse::<u64>().ok().filter(|limit| *limit > 0);
    limit.ok_or_else(|| invalid(format!("REJECT_LIMIT ({number}) must be greater than zero")))
}

impl Given {
    fn set(&mut self, name: &str, value: Value, is_from: bool) -> SqlResult<()> {
        match name {
            "format" => once(&mut self.format, format(&value.string(name)?)?),
            // Rows have no versions to freeze.
            "freeze" => once(&mut self.freeze, value.boolean(name)?),
            "header" => once(&mut self.header, value.header(is_from)?),
            "delimiter" => once(&mut self.delimiter, value.string(name)?),
            "null" => once(&mut self.null, value.string(name)?),
            "quote" => once(&mut self.quote, value.string(name)?),
            "escape" => once(&mut self.escape, value.string(name)?),
            "encoding" => once(&mut self.encoding, encoding(&value.string(name)?)?),
            "force_quote" => match value {
                Value::Star => once(&mut self.force_quote, ForcedColumns::All),
                value => once(&mut self.force_quote, ForcedColumns::Named(value.columns(name)?)),
            },
            "force_not_null" => once(&mut self.force_not_null, value.columns(name)?),
            "compression" => {
                once(&mut self.parquet.compression, parquet::compression(&value.string(name)?)?)
            }
            "row_group_size" => {
                once(&mut self.parquet.row_group_rows, parquet::row_count(&value.string(name)?)?)
            }
            "force_null" => once(&mut self.force_null, value.columns(name)?),
            "on_error" if is_from => once(&mut self.on_error, ignores(&value.string(name)?)?),
            "reject_limit" if is_from => {
                once(&mut self.reject_limit, reject_limit(&value.string(name)?)?)
            }
            "reject_table" if is_from => once(&mut self.reject_table, value.string(name)?),
            "on_error" | "reject_limit" | "reject_table" => {
                let name = name.to_uppercase();
                Err(syntax(format!("COPY {name} cannot be used with COPY TO")))
            }
            other => Err(syntax(format!("option \"{other}\" not recognized"))),
        }
    }

    /// What becomes of rows that cannot be read.
    fn ignored(&mut self, format: CopyFormat) -> SqlResult<Option<Ignored>> {
        let (count_max, table) = (self.reject_limit.take(), self.reject_table.take());
        let ignores = self.on_error == Some(true);
        if !ignores && (count_max.is_some() || table.is_some()) {
            let name = if count_max.is_some() { "REJECT_LIMIT" } else { "REJECT_TABLE" };
            return Err(syntax(format!("COPY {name} requires ON_ERROR to be set to IGNORE")));
        }
        match format {
            CopyFormat::Binary if ignores => {
                Err(syntax("only ON_ERROR STOP is allowed in BINARY mode"))
            }
            CopyFormat::Parquet if ignores => {
                Err(not_so("ON_ERROR ignore is not supported for Parquet files"))
            }
            _ => Ok(ignores.then_some(Ignored { count_max, table })),
        }
    }

    fn complete(mut self, is_from: bool) -> SqlResult<CopyOptions> {
        let format = self.format.unwrap_or(CopyFormat::Text);
        let (csv, binary) = (format == CopyFormat::Csv, format == CopyFormat::Binary);
        let ignored = self.ignored(format)?;
        let other = self.not_of_parquet();
        let parquet = std::mem::take(&mut self.parquet);
        let parquet = parquet.complete(format == CopyFormat::Parquet, is_from, other)?;
        if binary && self.delimiter.is_some() {
            return Err(syntax("cannot specify DELIMITER in BINARY mode"));
        }
        if binary && self.null.is_some() {
            return Err(syntax("cannot specify NULL in BINARY mode"));
        }
        let delimiter = self.delimiter.as_deref().unwrap_or(if csv { "," } else { "\t" });
        let null = self.null.clone();
        let null = null.unwrap_or_else(|| if csv { "" } else { "\\N" }.to_owned());
        let delimiter = checked_delimiter(delimiter)?;
        if null.contains(['\r', '\n']) {
            let message = "COPY null representation cannot use newline or carriage return";
            return Err(invalid(message));
        }
        if !csv && b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&delimiter) {
            let shown = char::from(delimiter);
            return Err(invalid(format!("COPY delimiter cannot be \"{shown}\"")));
        }
        if binary && self.header.is_some_and(|header| header != Header::No) {
            return Err(not_so("cannot specify HEADER in BINARY mode"));
        }
        let (quote, escape) = self.quotes(csv, delimiter)?;
        self.check_forced(csv, is_from)?;
        if null.as_bytes().contains(&delimiter) {
            return Err(not_so("COPY delimiter must not appear in the NULL specification"));
        }
        if csv && null.as_bytes().contains(&quote) {
            return Err(not_so("CSV quote character must not appear in the NULL specification"));
        }
        Ok(CopyOptions {
            format,
            header: self.header.unwrap_or(Header::No),
            delimiter,
            null,
            quote,
            escape,
            force_quote: self.force_quote.unwrap_or(ForcedColumns::Named(vec![])),
            force_not_null: self.force_not_null.unwrap_or_default(),
            force_null: self.force_null.unwrap_or_default(),
            parquet,
            ignored,
        })
    }

    /// An option that Parquet has not.
    fn not_of_parquet(&self) -> Option<&'static str> {
        let others = [
            ("DELIMITER", self.delimiter.is_some()),
            ("NULL", self.null.is_some()),
            ("HEADER", self.header.is_some()),
            ("QUOTE", self.quote.is_some()),
            ("ESCAPE", self.escape.is_some()),
            ("ENCODING", self.encoding.is_some()),
            ("FORCE_QUOTE", self.force_quote.is_some()),
            ("FORCE_NOT_NULL", self.force_not_null.is_some()),
            ("FORCE_NULL", self.force_null.is_some()),
        ];
        others.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }

    fn quotes(&self, csv: bool, delimiter: u8) -> SqlResult<(u8, u8)> {
        if !csv && self.quote.is_some() {
            return Err(not_so("COPY quote available only in CSV mode"));
        }
        let quote = one_byte(self.quote.as_deref().unwrap_or("\""), "quote")?;
        if csv && quote == delimiter {
            return Err(invalid("COPY delimiter and quote must be different"));
        }
        if !csv && self.escape.is_some() {
            return Err(not_so("COPY escape available only in CSV mode"));
        }
        let escape = self.escape.as_deref().map(|escape| one_byte(escape, "escape"));
        Ok((quote, escape.transpose()?.unwrap_or(quote)))
    }

    fn check_forced(&self, csv: bool, is_from: bool) -> SqlResult<()> {
        let given = [
            ("quote", self.force_quote.is_some(), false),
            ("not null", self.force_not_null.is_some(), true),
            ("null", self.force_null.is_some(), true),
        ];
        for (name, _, of_from) in given.into_iter().filter(|(_, given, _)| *given) {
            if !csv {
                return Err(not_so(format!("COPY force {name} available only in CSV mode")));
            }
            if of_from != is_from {
                let way = if of_from { "FROM" } else { "TO" };
                return Err(not_so(format!("COPY force {name} only available using COPY {way}")));
            }
        }
        Ok(())
    }
}

fn checked_delimiter(delimiter: &str) -> SqlResult<u8> {
    match one_byte(delimiter, "delimiter")? {
        b'\r' | b'\n' => Err(invalid("COPY delimiter cannot be newline or carriage return")),
        byte => Ok(byte),
    }
}

fn one_byte(text: &str, what: &str) -> SqlResult<u8> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(not_so(format!("COPY {what} must be a single one-byte character"))),
    }
}

fn format(name: &str) -> SqlResult<CopyFormat> {
    match name {
        "text" => Ok(CopyFormat::Text),
        "csv" => Ok(CopyFormat::Csv),
        "binary" => Ok(CopyFormat::Binary),
        "parquet" => Ok(CopyFormat::Parquet),
        other => Err(invalid(format!("COPY format \"{other}\" not recognized"))),
    }
}

/// All text is UTF-8 here.
fn encoding(name: &str) -> SqlResult<()> {
    match name.to_lowercase().replace(['-', '_'], "").as_str() {
        "utf8" | "unicode" => Ok(()),
        _ => Err(SqlError::unsupported(format!("COPY encoding {name}"))),
    }
}
