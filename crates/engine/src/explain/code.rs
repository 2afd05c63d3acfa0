//! Machine code in `EXPLAIN ANALYZE`: the section where PostgreSQL has its own.

use plan::codegen::CodeFigures;
use serde_json::{Map, Value};

use super::milliseconds;

/// True if programs of expressions went through rows: nothing is said of a statement that has none.
fn is_told(code: &CodeFigures) -> bool {
    let CodeFigures { functions, failures, .. } = code;
    let rows = code.compiled_rows + code.interpreted_rows + code.refused_rows;
    functions + failures + rows > 0
}

/// The lines of the section.
pub(super) fn lines(code: Option<&CodeFigures>) -> Vec<String> {
    let Some(code) = code.filter(|code| is_told(code)) else { return vec![] };
    let rows = format!(
        "{} compiled, {} interpreted, {} refused",
        code.compiled_rows, code.interpreted_rows, code.refused_rows
    );
    let mut lines = vec![
        "JIT:".to_owned(),
        format!("  Functions: {}", code.functions),
        format!("  Code: {}", stdx::format_bytes(code.code_bytes)),
        format!("  Rows: {rows}"),
    ];
    let why = code.why.as_ref().map(|why| format!("  Not Compiled: {} ({why})", code.failures));
    lines.extend(why);
    lines.push(format!("  Timing: Total {}", milliseconds(code.elapsed)));
    lines
}

/// The section in JSON.
pub(super) fn json(code: Option<&CodeFigures>) -> Option<Value> {
    let code = code.filter(|code| is_told(code))?;
    let mut section = Map::new();
    section.insert("Functions".into(), code.functions.into());
    section.insert("Code Bytes".into(), code.code_bytes.into());
    section.insert("Rows Compiled".into(), code.compiled_rows.into());
    section.insert("Rows Interpreted".into(), code.interpreted_rows.into());
    section.insert("Rows Refused".into(), code.refused_rows.into());
    section.insert("Not Compiled".into(), code.failures.into());
    let total = Value::from(code.elapsed.as_secs_f64() * 1e3);
    section.insert("Timing".into(), Map::from_iter([("Total".to_owned(), total)]).into());
    Some(section.into())
}
