//! `COPY table FROM`.

use datafusion_sql::sqlparser::ast;
use types::{SqlError, SqlResult, SqlState};

use super::{identifier, name};

/// `COPY .. FROM`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The table.
    pub table: String,
    /// Column names; empty means all in order.
    pub columns: Vec<String>,
    /// Where the text comes from.
    pub source: CopySource,
    /// How to read it.
    pub options: CopyOptions,
}

/// Where `COPY` reads from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopySource {
    /// A file on the machine of the engine.
    File(String),
    /// The client.
    Stdin,
}

/// The format of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyFormat {
    /// Tab separated with backslash escapes.
    Text,
    /// Comma separated.
    Csv,
}

/// How `COPY` reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOptions {
    /// The format.
    pub format: CopyFormat,
    /// The first line holds column names.
    pub header: bool,
    /// Between fields.
    pub delimiter: char,
    /// An unquoted field with this text is null.
    pub null: String,
    /// Around fields.
    pub quote: char,
    /// Before a quote within a quoted field.
    pub escape: char,
}

pub(super) fn copy(
    source: ast::CopySource,
    target: ast::CopyTarget,
    options: Vec<ast::CopyOption>,
    legacy: Vec<ast::CopyLegacyOption>,
) -> SqlResult<Copy> {
    let ast::CopySource::Table { table_name, columns } = source else {
        return Err(SqlError::unsupported("COPY of a query"));
    };
    let source = match target {
        ast::CopyTarget::File { filename } => CopySource::File(filename),
        ast::CopyTarget::Stdin => CopySource::Stdin,
        other => return Err(SqlError::unsupported(format!("COPY FROM {other}"))),
    };
    let options = Given::read(options, legacy)?.complete()?;
    let columns = columns.iter().map(identifier).collect();
    Ok(Copy { table: name(&table_name)?, columns, source, options })
}

/// Options as given; defaults depend on the format.
#[derive(Default)]
struct Given {
    csv: bool,
    header: bool,
    delimiter: Option<char>,
    null: Option<String>,
    quote: Option<char>,
    escape: Option<char>,
}

impl Given {
    fn read(options: Vec<ast::CopyOption>, legacy: Vec<ast::CopyLegacyOption>) -> SqlResult<Given> {
        let mut given = Given::default();
        options.into_iter().try_for_each(|o| given.option(o))?;
        legacy.into_iter().try_for_each(|o| given.legacy(o))?;
        Ok(given)
    }

    fn option(&mut self, option: ast::CopyOption) -> SqlResult<()> {
        use ast::CopyOption as O;
        match option {
            O::Format(format) => self.csv = is_csv(&identifier(&format))?,
            O::Header(on) => self.header = on,
            O::Delimiter(c) => self.delimiter = Some(c),
            O::Null(text) => self.null = Some(text),
            O::Quote(c) => self.quote = Some(c),
            O::Escape(c) => self.escape = Some(c),
            // Rows have no versions to freeze.
            O::Freeze(_) => {}
            O::Encoding(name) if is_utf8(&name) => {}
            other => return Err(SqlError::unsupported(format!("COPY option {other}"))),
        }
        Ok(())
    }

    fn legacy(&mut self, option: ast::CopyLegacyOption) -> SqlResult<()> {
        use ast::{CopyLegacyCsvOption as C, CopyLegacyOption as O};
        match option {
            O::Csv(options) => {
                self.csv = true;
                for option in options {
                    match option {
                        C::Header => self.header = true,
                        C::Quote(c) => self.quote = Some(c),
                        C::Escape(c) => self.escape = Some(c),
                        other => return Err(SqlError::unsupported(format!("COPY option {other}"))),
                    }
                }
            }
            O::Header => self.header = true,
            O::Delimiter(c) => self.delimiter = Some(c),
            O::Null(text) => self.null = Some(text),
            other => return Err(SqlError::unsupported(format!("COPY option {other}"))),
        }
        Ok(())
    }

    fn complete(self) -> SqlResult<CopyOptions> {
        let quote = self.quote.unwrap_or('"');
        let options = CopyOptions {
            format: if self.csv { CopyFormat::Csv } else { CopyFormat::Text },
            header: self.header,
            delimiter: self.delimiter.unwrap_or(if self.csv { ',' } else { '\t' }),
            null: self.null.unwrap_or_else(|| if self.csv { "" } else { "\\N" }.into()),
            quote,
            escape: self.escape.unwrap_or(quote),
        };
        let single = |c: char| c.is_ascii() && c != '\n' && c != '\r';
        if ![options.delimiter, options.quote, options.escape].into_iter().all(single) {
            return Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "COPY delimiter, quote and escape must be single one-byte characters",
            ));
        }
        if options.delimiter == options.quote && self.csv {
            return Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "COPY delimiter and quote must be different",
            ));
        }
        Ok(options)
    }
}

fn is_csv(format: &str) -> SqlResult<bool> {
    match format {
        "csv" => Ok(true),
        "text" => Ok(false),
        other => Err(SqlError::unsupported(format!("COPY format \"{other}\""))),
    }
}

fn is_utf8(encoding: &str) -> bool {
    encoding.eq_ignore_ascii_case("utf8") || encoding.eq_ignore_ascii_case("utf-8")
}
