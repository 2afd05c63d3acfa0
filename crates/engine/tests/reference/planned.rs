//! What type an expression has, as the engine plans it.

use arrow_schema::DataType;
use engine::{Database, Session, StatementResult};
use types::LogicalType;

/// Types as the reference names them, longer names before those that they begin with, each with a
/// column of the table `probe`.
const TYPES: [(&str, &str); 19] = [
    ("boolean", "o"),
    ("smallint", "s"),
    ("integer[]", "ia"),
    ("integer", "i"),
    ("bigint", "b"),
    ("numeric", "n"),
    ("real", "r"),
    ("double precision", "f"),
    ("text[]", "ta"),
    ("text", "t"),
    ("bytea", "y"),
    ("date", "d"),
    ("timestamptz", "tz"),
    ("timestamp", "ts"),
    ("time", "tm"),
    ("interval", "iv"),
    ("uuid", "u"),
    ("varchar", "v"),
    ("char", "c"),
];

/// What `number` and `integral` stand for.
const NUMBERS: [&str; 6] = ["smallint", "integer", "bigint", "numeric", "real", "double precision"];
const INTEGRAL: [&str; 3] = ["smallint", "integer", "bigint"];

/// A database with one table, which has no rows.
pub struct Probe {
    db: Database,
    folder: std::path::PathBuf,
}

impl Probe {
    pub fn new() -> Probe {
        let folder =
            std::env::temp_dir().join(format!("dovetail-reference-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let path = folder.join("probe.dovetail");
        let _ = std::fs::remove_file(&path);
        let db = Database::create(&path, pg::options()).expect("created");
        let columns: Vec<String> =
            TYPES.iter().map(|(ty, column)| format!("{column} {}", declared(ty))).collect();
        let table = format!("create table probe ({})", columns.join(", "));
        db.session().execute(&table).expect("the table is made");
        Probe { db, folder }
    }

    fn session(&self) -> Session {
        self.db.session()
    }

    /// The type of the first column of a query; `None` where it is refused.
    pub fn type_of(&self, query: &str) -> Option<String> {
        let results = self.session().execute(query).ok()?;
        match results.into_iter().next()? {
            StatementResult::Rows(rows) => Some(name(rows.schema.field(0).data_type())),
            StatementResult::Command { .. } => None,
        }
    }

    /// What a call gives, in words; `from_clause` for functions that give rows.
    pub fn result(&self, call: &str, from_clause: bool) -> String {
        if let Some(all) = self.each(call, "number", &NUMBERS, from_clause) {
            return all;
        }
        if let Some(all) = self.each(call, "integral", &INTEGRAL, from_clause) {
            return all;
        }
        if !call.contains("any") {
            return self.one(call, from_clause);
        }
        let of = |element: &str| {
            let array = format!("{element}[]");
            let call = replaced(call, &[("anyarray", array.as_str())]);
            let call = replaced(&call, &[("anyelement", element), ("any", element)]);
            self.one(&call, from_clause)
        };
        match (of("integer").as_str(), of("text").as_str()) {
            (one, other) if one == other => one.to_owned(),
            ("integer", "text") => "that type".to_owned(),
            ("integer[]", "text[]") => "an array of that type".to_owned(),
            (one, other) => panic!("{call} gives {one} and {other}"),
        }
    }

    /// What it gives for each type that a word stands for.
    fn each(&self, call: &str, word: &str, members: &[&str], from: bool) -> Option<String> {
        if replaced(call, &[(word, "")]) == call {
            return None;
        }
        let of = |ty: &&str| self.one(&replaced(call, &[(word, *ty)]), from);
        let results: Vec<String> = members.iter().map(of).collect();
        if results.iter().zip(members).all(|(result, ty)| result == ty) {
            return Some("the same type".to_owned());
        }
        let mut kinds = results.clone();
        kinds.dedup();
        let takers = |kind: &String| {
            let takers = results.iter().zip(members).filter(|(result, _)| *result == kind);
            takers.map(|(_, ty)| *ty).collect::<Vec<_>>().join(", ")
        };
        if let [kind] = kinds.as_slice() {
            return Some(kind.clone());
        }
        kinds.sort();
        kinds.dedup();
        let parts: Vec<String> =
            kinds.iter().map(|kind| format!("{kind} of {}", takers(kind))).collect();
        Some(parts.join("; "))
    }

    fn one(&self, call: &str, from_clause: bool) -> String {
        let query = match from_clause {
            true => {
                let nulls = TYPES.map(|(ty, _)| (ty, format!("null::{}", declared(ty))));
                let nulls: Vec<(&str, &str)> =
                    nulls.iter().map(|(t, n)| (*t, n.as_str())).collect();
                format!("select * from {}", replaced(call, &nulls))
            }
            false => format!("select {} from probe where false", replaced(call, &TYPES)),
        };
        self.type_of(&query).unwrap_or_else(|| panic!("{call} is refused: {query}"))
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A type as a column declares it.
fn declared(ty: &str) -> &str {
    match ty {
        "numeric" => "numeric(12,2)",
        "varchar" => "varchar(10)",
        "char" => "char(10)",
        other => other,
    }
}

/// The text with whole words put in place of others.
pub fn replaced(text: &str, words: &[(&str, &str)]) -> String {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut made, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let begins = !made.ends_with(is_letter);
        let fits = |word: &&(&str, &str)| {
            begins && rest.strip_prefix(word.0).is_some_and(|after| !after.starts_with(is_letter))
        };
        match words.iter().find(fits) {
            Some((word, by)) => {
                made += by;
                rest = &rest[word.len()..];
            }
            None => {
                made.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    made
}

/// A type as the reference names it.
fn name(ty: &DataType) -> String {
    let Some(logical) = LogicalType::of_arrow(ty) else { return format!("{ty:?}") };
    let full = logical.to_string();
    let plain = full.split('(').next().unwrap_or_default();
    match plain {
        "timestamp without time zone" => "timestamp".to_owned(),
        "timestamp with time zone" => "timestamptz".to_owned(),
        "time without time zone" => "time".to_owned(),
        _ => plain.to_owned(),
    }
}
