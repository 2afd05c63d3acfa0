//! Plans for logs: the shape, without the values that a statement was given.

use plan::{Node, Plan};

use super::{count, details, title};

/// The plan as lines with their estimates; every constant shows as `?`.
pub fn explain_masked(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    write_node(plan, &plan.root, 0, &mut lines);
    lines
}

fn write_node(plan: &Plan, node: &Node, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    let title = masked(&title(&node.operator));
    lines.push(format!("{indent}{title} (rows={})", count(node.rows)));
    for (name, text) in details(plan, &node.operator) {
        lines.push(format!("{indent}  {name}: {}", masked(&text)));
    }
    for child in node.children() {
        write_node(plan, child, depth + 1, lines);
    }
}

/// Adds a constant; of a list of them only the first shows: folded expressions have thousands.
fn mask(shown: &mut String) {
    let before = shown.trim_end_matches([',', ' ']);
    if !before.ends_with('?') && !before.ends_with("..") {
        return shown.push('?');
    }
    let (len, is_list) = (before.len(), before.len() < shown.len());
    shown.truncate(len);
    if is_list && !shown.ends_with("..") {
        shown.push_str(", ..");
    }
}

/// The text with `?` for strings and for numbers that are no part of a name.
pub(super) fn masked(text: &str) -> String {
    let (mut shown, mut chars) = (String::new(), text.chars().peekable());
    let mut in_name = false;
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                // A doubled quote within ends one string and begins another, which shows the same.
                chars.by_ref().find(|end| *end == c);
                mask(&mut shown);
            }
            // The value of a parameter comes when the plan runs.
            '$' if chars.peek().is_some_and(char::is_ascii_digit) => {}
            digit if digit.is_ascii_digit() && !in_name => {
                while chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '.').is_some() {}
                mask(&mut shown);
            }
            other => shown.push(other),
        }
        in_name = c.is_alphanumeric() || c == '_';
    }
    shown
}
