//! Records of CSV and of the text format.

use types::SqlResult;

use super::*;
use crate::input::record::{Field, RecordFormat};

const CSV: RecordFormat = RecordFormat::Csv { delimiter: b',', quote: b'"', escape: b'"' };
const TEXT: RecordFormat = RecordFormat::Text { delimiter: b'\t' };

type Fields = Vec<(String, bool)>;

fn records(text: &str, format: RecordFormat) -> SqlResult<Vec<Fields>> {
    let mut reader = RecordReader::new(format, text.as_bytes(), 1);
    let (mut records, mut fields) = (vec![], vec![]);
    while reader.next(&mut fields)? {
        // Of the text format, whether it is null.
        let is_marked = |f: &Field<'_>| f.quoted || f.is(b"\\N");
        let field = |f: &Field<'_>| (f.text().unwrap().to_owned(), is_marked(f));
        records.push(fields.iter().map(field).collect());
    }
    Ok(records)
}

fn own(fields: &[(&str, bool)]) -> Fields {
    fields.iter().map(|(s, q)| ((*s).to_owned(), *q)).collect()
}

#[test]
fn quotes_lines_and_empty_fields() {
    let got = records("a,\"b \"\"c\"\"\",\r\n\"x\ny\",\"\"\n\nlast", CSV).unwrap();
    assert_eq!(got[0], own(&[("a", false), ("b \"c\"", true), ("", false)]));
    assert_eq!(got[1], own(&[("x\ny", true), ("", true)]));
    assert_eq!(got[2], own(&[("", false)]));
    assert_eq!(got[3], own(&[("last", false)]));
    assert_eq!(got.len(), 4);
}

#[test]
fn an_open_quote_is_an_error() {
    let error = records("a,\"b\nc", CSV).unwrap_err();
    assert_eq!(error.state, SqlState::BAD_COPY_FILE_FORMAT);
}

#[test]
fn text_has_backslash_escapes() {
    let got = records("a\\tb\t\\N\t\\\\N\r\n", TEXT).unwrap();
    assert_eq!(got, [own(&[("a\tb", false), ("N", true), ("\\N", false)])]);
}

#[test]
fn text_has_bytes_by_their_numbers() {
    let got = records("\\101\\x42\\7\t\\x\\0\n", TEXT).unwrap();
    assert_eq!(got, [own(&[("AB\u{7}", false), ("x\0", false)])]);
}
