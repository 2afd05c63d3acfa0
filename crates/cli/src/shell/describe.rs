//! `\d`, `\dt`, `\di`: the catalog as tables.

use super::backend::{Relation, Table};

/// Tables: `\dt`.
pub fn tables(relations: &[Relation]) -> Table {
    let row = |r: &Relation| {
        vec![r.name.clone(), "table".into(), r.columns.len().to_string(), r.row_count.to_string()]
    };
    let rows = relations.iter().map(row).collect();
    Table::text(&["Name", "Type", "Columns", "Rows"], rows).with_numbers(&[2, 3])
}

/// Indexes, the primary keys among them: `\di`.
pub fn indexes(relations: &[Relation]) -> Table {
    let mut rows = Vec::new();
    for relation in relations {
        let mut push = |name: String, columns: &[String], kind: &str| {
            rows.push(vec![name, relation.name.clone(), columns.join(", "), kind.to_string()]);
        };
        if !relation.primary_key.is_empty() {
            push(primary_key_name(relation), &relation.primary_key, "primary key");
        }
        for index in &relation.indexes {
            let kind = match (index.primary, index.unique) {
                (true, _) => "primary key",
                (_, true) => "unique",
                _ => "index",
            };
            push(index.name.clone(), &index.columns, kind);
        }
    }
    rows.sort();
    Table::text(&["Name", "Table", "Columns", "Type"], rows)
}

/// The columns of one table: `\d NAME`.
pub fn columns(relation: &Relation) -> Table {
    let row = |column: &super::backend::RelationColumn| {
        let nullable = if column.nullable { "" } else { "not null" };
        vec![column.name.clone(), column.ty.clone(), nullable.to_string()]
    };
    Table::text(&["Column", "Type", "Nullable"], relation.columns.iter().map(row).collect())
}

/// The lines below the columns of one table.
pub fn footers(relation: &Relation) -> Vec<String> {
    let mut lines = Vec::new();
    if !relation.primary_key.is_empty() {
        let columns = relation.primary_key.join(", ");
        let name = primary_key_name(relation);
        lines.push(format!("    \"{name}\" PRIMARY KEY, btree ({columns})"));
    }
    for index in &relation.indexes {
        let unique = match (index.primary, index.unique) {
            (true, _) => "PRIMARY KEY, ",
            (_, true) => "UNIQUE, ",
            _ => "",
        };
        let columns = index.columns.join(", ");
        let included = match index.included.as_slice() {
            [] => String::new(),
            columns => format!(" INCLUDE ({})", columns.join(", ")),
        };
        let (name, method, deferral) = (&index.name, index.method, index.deferral);
        lines.push(format!("    \"{name}\" {unique}{method} ({columns}){included}{deferral}"));
    }
    if !lines.is_empty() {
        lines.insert(0, "Indexes:".to_string());
    }
    lines
}

/// The clustered tree has no name of its own; this is the one that PostgreSQL would give it.
fn primary_key_name(relation: &Relation) -> String {
    format!("{}_pkey", relation.name)
}
