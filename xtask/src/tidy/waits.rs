//! Who may block a thread, take one of its own, or keep something in one: statements are tasks, and what
//! belongs to a session does not belong to a thread. The lists may only become shorter.

use super::Finding;
use super::files::Text;
use crate::mask::{line_of, mask};

/// Code, and where alone it may stand, besides `runtime`, programs outside of the simulated world, and tests.
const PLACES: &[(&str, &[&str], &str)] = &[
    ("block_on", &["crates/engine/src/door.rs"], "await it; a program enters by `engine`'s door"),
    (
        "offload(",
        &[
            // The planner and the parser cannot give way.
            "crates/engine/src/planning.rs",
            // An expression that takes long for one row cannot either.
            "crates/exec/src/pieces.rs",
            // Nor can the code generator.
            "crates/exec/src/codegen.rs",
            // A password's hash, and a look at the machine.
            "crates/server/src/http/console/visitor.rs",
            "crates/server/src/http/console/mod.rs",
        ],
        "make it a task that gives way",
    ),
    (
        "thread_local!",
        &[
            // Of the thread itself: where its stack ends.
            "crates/stdx/src/stack.rs",
            // Within one poll, or one call of the planner.
            "crates/types/src/zone.rs",
            "crates/plan/src/limits.rs",
            "crates/plan/src/codegen.rs",
            // Of no session: programs of regular expressions.
            "crates/sql/src/functions/scalar/regexps.rs",
            // Of tests: the fault that a thread plants.
            "crates/jit/src/lower/planted.rs",
        ],
        "what belongs to a session is passed on by it",
    ),
    ("Condvar", &[], "wait with `runtime::sync`"),
];

/// Crates that are free to.
const FREE: &[&str] =
    &["crates/runtime/", "crates/bench/", "crates/cli/", "xtask/", "fuzz/", "model/"];

/// Checks one Rust file.
pub fn check(file: &Text) -> Vec<Finding> {
    // Examples and benchmarks are programs of their own.
    let outside = ["/tests", "/simulation", "/examples/", "/benches/"];
    let is_outside = outside.iter().any(|place| file.path.contains(place));
    if is_outside || FREE.iter().any(|free| file.path.starts_with(free)) {
        return vec![];
    }
    let code = mask(&file.text);
    let mut findings = vec![];
    for (word, places, instead) in PLACES {
        if places.contains(&file.path.as_str()) {
            continue;
        }
        for (at, _) in code.match_indices(word) {
            let message = format!("`{word}` stands elsewhere alone: {instead}");
            findings.push(Finding::new(&file.path, line_of(&code, at), message));
        }
    }
    findings
}
