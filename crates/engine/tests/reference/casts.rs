//! Which types can be cast to which: a record of the file for each type, with the values that come
//! out in PostgreSQL.

use crate::records;

/// A line for each type, with those that it can be cast to.
pub fn table() -> String {
    let mut text = "| from | to |\n|---|---|\n".to_owned();
    for record in records::of("reference/casts.slt") {
        let lists = record.comments.iter().filter_map(|line| line.strip_prefix("#= "));
        for (from, to) in lists.filter_map(|list| list.split_once(": ")) {
            let casts = record.sql.matches("::").count();
            let named = to.split(", ").count();
            assert!(casts >= named, "{from}: {named} types, {casts} casts");
            text += &format!("| `{from}` | {to} |\n");
        }
    }
    text
}
