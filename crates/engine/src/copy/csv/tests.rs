//! Records of CSV and of the text format.

use sql::parse::{CopyFormat, CopyOptions, ForcedColumns, Header, ParquetOptions};

use super::*;

type Fields = Vec<(String, bool)>;

fn records(text: &str, format: CopyFormat) -> SqlResult<Vec<Fields>> {
    let bytes = text.as_bytes().to_vec();
    let options = CopyOptions {
        format,
        header: Header::No,
        delimiter: if format == CopyFormat::Csv { b',' } else { b'\t' },
        null: String::new(),
        quote: b'"',
        escape: b'"',
        force_quote: ForcedColumns::Named(vec![]),
        force_not_null: vec![],
        force_null: vec![],
        parquet: ParquetOptions::default(),
        ignored: None,
    };
    let mut reader = CsvReader::new(Input::of_bytes(bytes), &options);
    let mut records = vec![];
    loop {
        let record = match format {
            CopyFormat::Csv => reader.next_record(),
            _ => reader.next_tabbed(),
        };
        let record = record.map_err(|stop| match stop {
            Stop::Wrong(error) => error,
            Stop::NeedsMore => panic!("all of it is there"),
        })?;
        let Some(fields) = record else { return Ok(records) };
        // Of the text format, whether it is null.
        let is_marked = |f: &Field| f.quoted || f.is(b"\\N");
        let field = |f: &Field| (f.text().unwrap().to_owned(), is_marked(f));
        records.push(fields.iter().map(field).collect());
    }
}

fn own(fields: &[(&str, bool)]) -> Fields {
    fields.iter().map(|(s, q)| ((*s).to_owned(), *q)).collect()
}

#[test]
fn quotes_lines_and_empty_fields() {
    let got = records("a,\"b \"\"c\"\"\",\r\n\"x\ny\",\"\"\n\nlast", CopyFormat::Csv).unwrap();
    assert_eq!(got[0], own(&[("a", false), ("b \"c\"", true), ("", false)]));
    assert_eq!(got[1], own(&[("x\ny", true), ("", true)]));
    assert_eq!(got[2], own(&[("", false)]));
    assert_eq!(got[3], own(&[("last", false)]));
    assert_eq!(got.len(), 4);
}

#[test]
fn an_open_quote_is_an_error() {
    let error = records("a,\"b\nc", CopyFormat::Csv).unwrap_err();
    assert_eq!(error.state, SqlState::BAD_COPY_FILE_FORMAT);
}

#[test]
fn text_has_backslash_escapes() {
    let got = records("a\\tb\t\\N\t\\\\N\r\n", CopyFormat::Text).unwrap();
    assert_eq!(got, [own(&[("a\tb", false), ("N", true), ("\\N", false)])]);
}

#[test]
fn text_has_bytes_by_their_numbers() {
    let got = records("\\101\\x42\\7\t\\x\\0\n", CopyFormat::Text).unwrap();
    assert_eq!(got, [own(&[("AB\u{7}", false), ("x\0", false)])]);
}
