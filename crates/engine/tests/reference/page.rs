//! The page: a text written by hand, in which lines in double braces are replaced by what is made.

use crate::entries::{self, Kind};
use crate::planned::Probe;
use crate::{casts, read, records};

const FUNCTIONS: &str = "reference/functions.slt";

/// `docs/sql.md`.
pub fn made() -> String {
    let probe = Probe::new();
    let lines = read("tests/sql/reference/page.md");
    let made = lines.lines().map(|line| {
        let order = line.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        order.map_or_else(|| line.to_owned(), |order| part(order, &probe).trim_end().to_owned())
    });
    made.collect::<Vec<_>>().join("\n") + "\n"
}

fn part(order: &str, probe: &Probe) -> String {
    if let Some((file, words)) = order.split_once(": ") {
        return records::find(file, words).block();
    }
    match order {
        "types" => entries::tables("reference/types.slt", Kind::Types, probe),
        "operators" => entries::tables("reference/operators.slt", Kind::Expressions, probe),
        "functions" => entries::tables(FUNCTIONS, Kind::Expressions, probe),
        "catalog functions" => other_functions(true),
        "other functions" => other_functions(false),
        "casts" => casts::table(),
        _ => panic!("page.md asks for {order:?}"),
    }
}

/// How the functions begin that clients ask the catalog with.
const OF_CATALOG: [&str; 4] = ["pg_", "has_", "reg", "txid_"];

/// Functions that the tables do not have, of the catalog or not.
fn other_functions(of_catalog: bool) -> String {
    let listed = entries::names(FUNCTIONS);
    let is_wanted = |name: &String| {
        let begins = OF_CATALOG.iter().any(|prefix| name.starts_with(prefix));
        begins == of_catalog && !listed.contains(name)
    };
    let others = pg::function_names().into_iter().filter(is_wanted);
    others.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
