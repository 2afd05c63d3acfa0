//! The records of SQL files, in the form of sqllogictest.

use crate::read;

/// A paragraph of a file.
pub struct Record {
    /// Its comments, with what they begin with.
    pub comments: Vec<String>,
    /// The statement; empty where there are comments only.
    pub sql: String,
    /// The SQLSTATE that it must fail with.
    pub error: Option<String>,
    /// The rows that must come out.
    pub rows: Vec<String>,
}

/// All records of a file below `tests/sql`.
pub fn of(name: &str) -> Vec<Record> {
    read(&format!("tests/sql/{name}")).split("\n\n").map(record).collect()
}

/// The first record of a file whose statement has these words.
pub fn find(name: &str, words: &str) -> Record {
    let found = of(name).into_iter().find(|r| r.sql.contains(words));
    found.unwrap_or_else(|| panic!("no statement with {words:?} in tests/sql/{name}"))
}

fn record(text: &str) -> Record {
    let (comments, lines): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with('#'));
    let head = lines.first().copied().unwrap_or_default();
    let error = head.strip_prefix("statement error (").and_then(|rest| rest.strip_suffix(')'));
    let body = lines.get(1..).unwrap_or_default();
    let cut = body.iter().position(|line| *line == "----").unwrap_or(body.len());
    Record {
        comments: comments.into_iter().map(str::to_owned).collect(),
        sql: body[..cut].join("\n"),
        error: error.map(str::to_owned),
        rows: body.get(cut + 1..).unwrap_or_default().iter().map(|r| (*r).to_owned()).collect(),
    }
}

impl Record {
    /// The statement with what comes out of it as comments.
    pub fn block(&self) -> String {
        let mut text = format!("```sql\n{};\n", self.sql);
        self.rows.iter().for_each(|row| text += &format!("-- {row}\n"));
        if let Some(state) = &self.error {
            text += &format!("-- ERROR {state}\n");
        }
        text + "```"
    }
}
