//! The text of expressions, with PostgreSQL's parentheses.

use types::LogicalType;

use super::node::{COALESCE, Node};
use crate::quote::quote_ident;

/// The text of a whole expression.
pub(super) fn expression(node: &Node, pretty: bool) -> String {
    let mut out = String::new();
    Printer { pretty, out: &mut out }.node(node);
    out
}

struct Printer<'a> {
    pretty: bool,
    out: &'a mut String,
}

impl Printer<'_> {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Inside of parentheses, which the pretty form leaves out.
    fn wrapped(&mut self, print: impl FnOnce(&mut Self)) {
        let wraps = !self.pretty;
        if wraps {
            self.push("(");
        }
        print(self);
        if wraps {
            self.push(")");
        }
    }

    /// A part that the pretty form puts into parentheses where it would be read otherwise.
    fn part(&mut self, node: &Node, needs: bool) {
        let wraps = self.pretty && needs;
        if wraps {
            self.push("(");
        }
        self.node(node);
        if wraps {
            self.push(")");
        }
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Column { relation, name, .. } => {
                if let Some(relation) = relation {
                    self.push(&quote_ident(relation));
                    self.push(".");
                }
                self.push(&quote_ident(name));
            }
            Node::Constant { text, ty } => self.push(&constant(text, *ty)),
            Node::Null => self.push("NULL"),
            Node::Word { name, .. } => self.push(name),
            Node::Cast { value, ty } => {
                self.wrapped(|p| p.part(value, !is_simple(value)));
                self.push("::");
                self.push(&type_name(*ty));
            }
            Node::Operator { left, name, right, .. } => self.wrapped(|p| {
                p.part(left, !stands_left(left, name));
                p.push(&format!(" {name} "));
                p.part(right, !stands_right(right, name));
            }),
            Node::Minus { value, .. } => self.wrapped(|p| {
                p.push("- ");
                p.part(value, !is_simple(value));
            }),
            Node::Not(value) => self.wrapped(|p| {
                p.push("NOT ");
                p.part(value, !is_simple(value) && !is_term(value));
            }),
            Node::All { word, parts } => self.wrapped(|p| {
                for (i, part) in parts.iter().enumerate() {
                    if i > 0 {
                        p.push(&format!(" {word} "));
                    }
                    let fits = match part {
                        Node::All { word: inner, .. } => *inner == "AND" || inner == word,
                        Node::Not(_) => true,
                        other => is_simple(other) || is_term(other),
                    };
                    p.part(part, !fits);
                }
            }),
            Node::Test { value, words } => self.wrapped(|p| {
                p.part(value, !is_simple(value));
                p.push(&format!(" {words}"));
            }),
            Node::Listed { value, words, array } => self.wrapped(|p| {
                p.part(value, !is_simple(value));
                p.push(&format!(" {words} ("));
                p.node(array);
                p.push(")");
            }),
            Node::Array { items, .. } => {
                self.push("ARRAY[");
                self.list(items);
                self.push("]");
            }
            Node::Call { name, arguments, .. } => {
                let quoted = if name == COALESCE { name.clone() } else { quote_ident(name) };
                self.push(&quoted);
                self.push("(");
                self.list(arguments);
                self.push(")");
            }
        }
    }

    fn list(&mut self, nodes: &[Node]) {
        for (i, node) in nodes.iter().enumerate() {
            if i > 0 {
                self.push(", ");
            }
            self.node(node);
        }
    }
}

/// Whether it needs no parentheses wherever it stands.
fn is_simple(node: &Node) -> bool {
    matches!(
        node,
        Node::Column { .. }
            | Node::Constant { .. }
            | Node::Null
            | Node::Word { .. }
            | Node::Call { .. }
            | Node::Cast { .. }
            | Node::Array { .. }
    )
}

/// Whether it needs no parentheses as a part of `AND`, `OR` and `NOT`.
fn is_term(node: &Node) -> bool {
    matches!(node, Node::Operator { .. } | Node::Test { .. } | Node::Minus { .. })
}

/// How tightly an operator of arithmetic binds.
fn strength(name: &str) -> Option<u8> {
    match name {
        "+" | "-" => Some(1),
        "*" | "/" | "%" => Some(2),
        _ => None,
    }
}

fn stands_left(node: &Node, outer: &str) -> bool {
    let Node::Operator { name, .. } = node else { return is_simple(node) };
    matches!((strength(name), strength(outer)), (Some(inner), Some(outer)) if inner >= outer)
}

fn stands_right(node: &Node, outer: &str) -> bool {
    let Node::Operator { name, .. } = node else { return is_simple(node) };
    matches!((strength(name), strength(outer)), (Some(inner), Some(outer)) if inner > outer)
}

/// The name of a type behind a value: precision and length are conversions of their own.
fn type_name(ty: LogicalType) -> String {
    match ty {
        LogicalType::Decimal { .. } => "numeric".into(),
        LogicalType::Varchar(_) => "character varying".into(),
        LogicalType::Char(_) => "bpchar".into(),
        LogicalType::Array(element) => format!("{}[]", type_name(*element)),
        other => other.to_string(),
    }
}

fn constant(text: &str, ty: Option<LogicalType>) -> String {
    let plain = !text.starts_with('-');
    match ty {
        Some(LogicalType::Bool) => if text == "t" { "true" } else { "false" }.into(),
        Some(LogicalType::Int32) if plain => text.into(),
        Some(LogicalType::Decimal { .. }) if plain && text.contains(['.', 'e', 'E']) => text.into(),
        Some(ty) => format!("'{}'::{}", text.replace('\'', "''"), type_name(ty)),
        None => format!("'{}'", text.replace('\'', "''")),
    }
}
