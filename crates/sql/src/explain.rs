//! Plans as indented text.

mod masked;

use std::ops::Bound;

use plan::catalog::TableStorage;
use plan::expr::SortKey;
use plan::generated::generated;
use plan::{
    Access, HashJoinKind, IndexRef, KeyRange, LookupJoin, LookupKind, Node, Operator, Plan, Scan,
};

use crate::quote::unspelled::shown;

pub use masked::explain_masked;

/// What really happened in the node with this id, as text to stand behind its estimates.
pub type Actual<'a> = &'a dyn Fn(usize) -> String;

/// The plan as lines: an indented tree with estimated rows and cost, access paths, key conditions and
/// filters; with `actual`, also what happened. Without `costs`, no estimates.
pub fn explain_text(plan: &Plan, actual: Option<Actual>, costs: bool) -> Vec<String> {
    let mut lines = Vec::new();
    write_node(plan, &plan.root, 0, actual, costs, &mut lines);
    lines
}

/// The plan as a tree of JSON objects; `actual` adds fields to the object of a node.
pub fn explain_json(
    plan: &Plan,
    actual: &dyn Fn(usize) -> serde_json::Map<String, serde_json::Value>,
    costs: bool,
) -> serde_json::Value {
    json_node(plan, &plan.root, actual, costs)
}

fn json_node(
    plan: &Plan,
    node: &Node,
    actual: &dyn Fn(usize) -> serde_json::Map<String, serde_json::Value>,
    costs: bool,
) -> serde_json::Value {
    let mut object = serde_json::Map::new();
    object.insert("Node Type".into(), title(&node.operator).into());
    if costs {
        object.insert("Plan Rows".into(), node.rows.max(0.0).round().into());
        object.insert("Total Cost".into(), (node.cost / 1e3).into());
    }
    match &node.operator {
        Operator::Scan(scan) => {
            object.insert("Relation Name".into(), scan.table.name.clone().into());
        }
        Operator::LookupJoin(join) => {
            object.insert("Relation Name".into(), join.table.name.clone().into());
        }
        _ => {}
    }
    for (name, text) in details(plan, &node.operator) {
        object.insert(name.into(), text.into());
    }
    object.extend(actual(node.id));
    let children = node.children();
    if !children.is_empty() {
        let child = |child| json_node(plan, child, actual, costs);
        let plans = children.into_iter().map(child).collect();
        object.insert("Plans".into(), serde_json::Value::Array(plans));
    }
    object.into()
}

fn write_node(
    plan: &Plan,
    node: &Node,
    depth: usize,
    actual: Option<Actual>,
    costs: bool,
    lines: &mut Vec<String>,
) {
    let indent = "  ".repeat(depth);
    let arrow = if depth == 0 { "" } else { "-> " };
    let estimates = || format!("(rows={} cost={})", count(node.rows), milliseconds(node.cost));
    let notes = [costs.then(estimates), actual.map(|a| format!("({})", a(node.id)))];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    let line = format!("{indent}{arrow}{}  {}", title(&node.operator), notes.join(" "));
    lines.push(line.trim_end().to_owned());
    let inner = if depth == 0 { "  ".to_string() } else { format!("{indent}     ") };
    for (name, text) in details(plan, &node.operator) {
        lines.push(format!("{inner}{name}: {text}"));
    }
    for child in node.children() {
        write_node(plan, child, depth + 1, actual, costs, lines);
    }
}

fn count(rows: f64) -> String {
    format!("{:.0}", rows.max(0.0))
}

fn milliseconds(us: f64) -> String {
    if us < 10_000.0 { format!("{:.2} ms", us / 1e3) } else { format!("{:.0} ms", us / 1e3) }
}

fn title(operator: &Operator) -> String {
    shown(&own_title(operator)).into_owned()
}

fn own_title(operator: &Operator) -> String {
    match operator {
        Operator::Values(listed) => format!("Values ({} rows)", listed.rows.num_rows()),
        Operator::Scan(scan) => scan_title(scan),
        Operator::Filter { .. } => "Filter".into(),
        Operator::Project { .. } => "Project".into(),
        Operator::LookupJoin(join) => format!(
            "Index {}Nested Loop Join on {} using {}",
            lookup_word(join.kind),
            join.table.name,
            index_name(&join.table.name, &join.index),
        ),
        Operator::HashJoin(join) => {
            let aware = if join.null_aware { " (null-aware)" } else { "" };
            format!("Hash {}Join{aware}", join_word(join.kind))
        }
        Operator::NestedLoopJoin(join) => format!("Nested Loop {}Join", join_word(join.kind)),
        Operator::Aggregate { group_by, aggregates, .. } => {
            match (group_by.is_empty(), aggregates.is_empty()) {
                (true, _) => "Aggregate".into(),
                (false, true) => "Distinct".into(),
                (false, false) => "Hash Aggregate".into(),
            }
        }
        Operator::Window { .. } => "Window".into(),
        Operator::Sort { fetch: Some(n), .. } => format!("Top {n}"),
        Operator::Sort { .. } => "Sort".into(),
        Operator::Limit { skip: 0, fetch: Some(n), .. } => format!("Limit {n}"),
        Operator::Limit { skip, fetch: Some(n), .. } => format!("Limit {n} offset {skip}"),
        Operator::Limit { skip, .. } => format!("Offset {skip}"),
        Operator::Unnest { .. } => "Unnest".into(),
        Operator::Recursive(r) if r.distinct => "Recursive Union Distinct".into(),
        Operator::Recursive(_) => "Recursive Union".into(),
        Operator::WorkTable { name, .. } => format!("WorkTable Scan on {name}"),
        Operator::CteScan(scan) => format!("CTE Scan on {}", scan.name),
        Operator::Union { .. } => "Append".into(),
    }
}

fn scan_title(scan: &Scan) -> String {
    let table = &scan.table.name;
    match &scan.access {
        Access::Full if scan.table.storage == TableStorage::Column => {
            format!("Column Scan on {table}")
        }
        Access::Full => format!("Full Scan on {table}"),
        Access::Range { index, fetch, .. } => {
            let only = if *fetch || matches!(index, IndexRef::Primary) { "" } else { "Only " };
            let backward = if scan.first.is_some_and(|f| f.backward) { "Backward " } else { "" };
            format!("Index {only}Scan {backward}using {} on {table}", index_name(table, index))
        }
    }
}

fn index_name(table: &str, index: &IndexRef) -> String {
    match index {
        IndexRef::Primary => generated(table, "", "pkey"),
        IndexRef::Secondary(index) => index.name.clone(),
    }
}

fn lookup_word(kind: LookupKind) -> &'static str {
    match kind {
        LookupKind::Inner => "",
        LookupKind::Left => "Left ",
        LookupKind::Semi => "Semi ",
        LookupKind::Anti => "Anti ",
    }
}

fn join_word(kind: HashJoinKind) -> &'static str {
    use HashJoinKind as K;
    match kind {
        K::Inner => "",
        K::BuildOuter => "Build Outer ",
        K::ProbeOuter => "Probe Outer ",
        K::FullOuter => "Full ",
        K::BuildSemi => "Build Semi ",
        K::ProbeSemi => "Semi ",
        K::BuildAnti => "Build Anti ",
        K::ProbeAnti => "Anti ",
        K::ProbeMark => "Mark ",
        K::BuildMark => "Build Mark ",
    }
}

fn details(plan: &Plan, operator: &Operator) -> Vec<(&'static str, String)> {
    let own = own_details(plan, operator).into_iter();
    own.map(|(name, text)| (name, shown(&text).into_owned())).collect()
}

fn own_details(plan: &Plan, operator: &Operator) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    match operator {
        Operator::Scan(scan) => {
            if let Access::Range { index, ranges, .. } = &*plan.access(scan)
                && !ranges.iter().any(KeyRange::is_all)
            {
                lines.push(("Index Cond", ranges_text(scan, index, ranges)));
            }
            lines.extend(scan.first.map(|first| ("First Rows", first.count.to_string())));
            if !scan.restrictions.is_empty() {
                let texts: Vec<&str> =
                    scan.restrictions.iter().map(|r| r.predicate.text()).collect();
                lines.push(("Restrictions", texts.join(" AND ")));
            }
            lines.extend(scan.filter.iter().map(|f| ("Filter", f.text().to_string())));
        }
        Operator::Filter { predicate, .. } => lines.push(("Filter", predicate.text().to_string())),
        Operator::Project { exprs, .. } => {
            lines.push(("Output", texts(exprs.iter().map(|e| e.text()))));
        }
        Operator::LookupJoin(join) => lookup_details(join, &mut lines),
        Operator::HashJoin(join) => {
            let pairs = join.build_keys.iter().zip(&join.probe_keys);
            let text: Vec<String> =
                pairs.map(|(b, p)| format!("{} = {}", p.text(), b.text())).collect();
            lines.push(("Hash Cond", text.join(" AND ")));
            lines.extend(join.filter.iter().map(|f| ("Join Filter", f.text().to_string())));
        }
        Operator::NestedLoopJoin(join) => {
            lines.extend(join.filter.iter().map(|f| ("Join Filter", f.text().to_string())));
        }
        Operator::Aggregate { group_by, aggregates, .. } => {
            if !group_by.is_empty() {
                lines.push(("Group Key", texts(group_by.iter().map(|e| e.text()))));
            }
            if !aggregates.is_empty() {
                lines.push(("Aggregates", texts(aggregates.iter().map(|e| e.text()))));
            }
        }
        Operator::Window { functions, .. } => {
            lines.push(("Functions", texts(functions.iter().map(|f| f.text()))));
        }
        Operator::Sort { keys, .. } => {
            let text: Vec<String> = keys.iter().map(key_text).collect();
            lines.push(("Sort Key", text.join(", ")));
        }
        Operator::Values(_)
        | Operator::Limit { .. }
        | Operator::Unnest { .. }
        | Operator::Recursive(_)
        | Operator::WorkTable { .. }
        | Operator::CteScan(_)
        | Operator::Union { .. } => {}
    }
    lines
}

fn lookup_details(join: &LookupJoin, lines: &mut Vec<(&'static str, String)>) {
    let names = join.index.key_columns(&join.table).iter();
    let names = names.map(|&c| join.table.schema.columns[c].name.as_str());
    let pairs: Vec<String> =
        names.zip(&join.keys).map(|(n, k)| format!("{n} = {}", k.text())).collect();
    lines.push(("Index Cond", pairs.join(" AND ")));
    lines.extend(join.inner_filter.iter().map(|f| ("Inner Filter", f.text().to_string())));
    lines.extend(join.filter.iter().map(|f| ("Join Filter", f.text().to_string())));
    if matches!(join.index, IndexRef::Secondary(_)) && !join.fetch {
        lines.push(("Index Only", "yes".into()));
    }
}

fn texts<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn key_text(key: &SortKey) -> String {
    let order = if key.descending { " DESC" } else { "" };
    // The default: nulls are larger than all values.
    let nulls = match (key.descending, key.nulls_first) {
        (false, true) => " NULLS FIRST",
        (true, false) => " NULLS LAST",
        _ => "",
    };
    format!("{}{order}{nulls}", key.expr.text())
}

fn ranges_text(scan: &Scan, index: &IndexRef, ranges: &[KeyRange]) -> String {
    const SHOWN: usize = 4;
    let names: Vec<&str> = index
        .key_columns(&scan.table)
        .iter()
        .map(|&c| scan.table.schema.columns[c].name.as_str())
        .collect();
    let mut shown: Vec<String> = ranges.iter().take(SHOWN).map(|r| range_text(&names, r)).collect();
    if ranges.len() > SHOWN {
        shown.push(format!(".. {} ranges", ranges.len()));
    }
    shown.join(" OR ")
}

fn range_text(names: &[&str], range: &KeyRange) -> String {
    let literal = crate::render::literal;
    let mut parts: Vec<String> =
        names.iter().zip(&range.prefix).map(|(n, v)| format!("{n} = {}", literal(v))).collect();
    let next = names.get(range.prefix.len()).copied().unwrap_or("");
    match &range.lower {
        Bound::Included(v) => parts.push(format!("{next} >= {}", literal(v))),
        Bound::Excluded(v) => parts.push(format!("{next} > {}", literal(v))),
        Bound::Unbounded => {}
    }
    match &range.upper {
        Bound::Included(v) => parts.push(format!("{next} <= {}", literal(v))),
        Bound::Excluded(v) => parts.push(format!("{next} < {}", literal(v))),
        Bound::Unbounded => {}
    }
    format!("({})", parts.join(" AND "))
}

#[cfg(test)]
mod tests;
