//! Plans for logs: the shape, without the values that a statement was given.

use super::{count, details, title};
use crate::plan::{Node, Plan};

/// The plan as lines with their estimates; every constant shows as `?`.
pub fn explain_masked(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    write_node(&plan.root, 0, &mut lines);
    lines
}

fn write_node(node: &Node, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    let title = masked(&title(&node.operator));
    lines.push(format!("{indent}{title} (rows={})", count(node.rows)));
    for (name, text) in details(&node.operator) {
        lines.push(format!("{indent}  {name}: {}", masked(&text)));
    }
    for child in node.children() {
        write_node(child, depth + 1, lines);
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
                if !shown.ends_with('?') {
                    shown.push('?');
                }
            }
            digit if digit.is_ascii_digit() && !in_name => {
                while chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '.').is_some() {}
                shown.push('?');
            }
            other => shown.push(other),
        }
        in_name = c.is_alphanumeric() || c == '_';
    }
    shown
}
