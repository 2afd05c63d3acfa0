//! Relations, columns, indexes, constraints and types.

use plan::catalog::{IndexMethod, TableDef, TableStorage};
use plan::constraints::{ColumnDefault, Deferral};
use sql::SystemValue;
use types::{LogicalType, SqlResult};

use super::cluster::COLUMN_METHOD;
use crate::builtin::{self, type_by_oid};
use crate::constraints::{Constraint, Rule, action_letter, condition, default_text};
use crate::objects::{Index, KIND, Object, PUBLIC, indexes, row_type_oid, table_oid};
use crate::rows::Rows;
use crate::type_names;
use crate::view::View;

/// Access methods: tables are clustered trees, which PostgreSQL has no name for.
const HEAP: i64 = 2;
const BTREE: i64 = 403;
const HASH: i64 = 405;

pub(super) fn pg_class(view: &View, rows: &mut Rows) -> SqlResult<()> {
    let constraints = view.constraints();
    for object in view.objects() {
        let (checks, upheld) = match &object {
            Object::Table(table) => rules_of(table, &constraints),
            _ => (0, false),
        };
        let (kind, columns, method) = match &object {
            Object::Table(table) => ("r", table.schema.columns.len(), table_method(table)),
            Object::Index(_, index) => ("i", index.attributes().count(), method_oid(index)),
            Object::View(_, def) => ("v", view.view_columns(def).len(), 0),
            Object::Sequence(_) => ("S", SEQUENCE.len(), 0),
            Object::System(r) => (r.kind, r.columns.len(), if r.kind == "r" { HEAP } else { 0 }),
        };
        let (pages, tuples) = size(view, &object);
        let (row_type, has_index) = match &object {
            Object::Table(table) => (row_type_oid(table), !indexes(table).is_empty()),
            _ => (0, false),
        };
        let file = if kind == "v" { 0 } else { object.oid() };
        rows.push([
            ("oid", object.oid().into()),
            ("relname", object.name().into()),
            ("relnamespace", object.namespace().into()),
            ("reltype", row_type.into()),
            ("relowner", view.owner(&object).into()),
            ("relam", method.into()),
            ("relfilenode", file.into()),
            ("relpages", pages.into()),
            ("reltuples", SystemValue::Float(tuples)),
            ("relhasindex", has_index.into()),
            ("relchecks", checks.into()),
            ("relhasrules", (kind == "v").into()),
            ("relhastriggers", upheld.into()),
            ("relpersistence", "p".into()),
            ("relkind", kind.into()),
            ("relnatts", (columns as i64).into()),
            ("relispopulated", true.into()),
            ("relacl", view.acl(&object)),
            ("relreplident", if kind == "r" { "d" } else { "n" }.into()),
        ]);
    }
    Ok(())
}

/// How a table is kept. It is no option, which PostgreSQL would not know: a dump names the method apart
/// from the table, so one without it loses nothing else.
fn table_method(table: &TableDef) -> i64 {
    match table.storage {
        TableStorage::Row => HEAP,
        TableStorage::Column => COLUMN_METHOD,
    }
}

fn method_oid(index: &Index) -> i64 {
    match index.method {
        IndexMethod::Tree => BTREE,
        IndexMethod::Hash => HASH,
    }
}

/// How many checks a table has, and whether it takes part in a foreign key: PostgreSQL upholds these by
/// triggers, and psql looks for keys only where there are some.
fn rules_of(table: &TableDef, constraints: &[Constraint<'_>]) -> (i64, bool) {
    let (mut checks, mut upheld) = (0, false);
    for constraint in constraints {
        let own = constraint.table.id == table.id;
        match &constraint.rule {
            Rule::Check(_) => checks += i64::from(own),
            Rule::Foreign(_, parent) => upheld |= own || parent.id == table.id,
            Rule::Key(_) => {}
        }
    }
    (checks, upheld)
}

/// Pages and rows; -1 rows is PostgreSQL's "unknown".
fn size(view: &View, object: &Object) -> (i64, f64) {
    match object {
        Object::Table(table) => {
            let counts = view.counts(table);
            (counts.leaf_pages as i64, counts.row_count as f64)
        }
        Object::Index(table, index) => {
            let counts = view.counts(table);
            (counts.pages_of(index) as i64, counts.row_count as f64)
        }
        Object::Sequence(_) => (1, 1.0),
        Object::View(..) | Object::System(_) => (0, -1.0),
    }
}

/// A row of `pg_attribute`.
struct Attribute<'a> {
    relation: i64,
    name: &'a str,
    number: usize,
    ty: (i64, i64),
    not_null: bool,
    /// Whether it has a default, its identity's kind, whether it is generated.
    filling: (bool, &'static str, &'static str),
}

/// The columns of every sequence.
const SEQUENCE: [(&str, LogicalType); 3] = [
    ("last_value", LogicalType::Int64),
    ("log_cnt", LogicalType::Int64),
    ("is_called", LogicalType::Bool),
];

/// No default.
const PLAIN: (bool, &str, &str) = (false, "", "");

impl Attribute<'_> {
    fn push(&self, rows: &mut Rows) {
        let ty = type_by_oid(self.ty.0);
        let dimensions = ty.is_some_and(|t| t.category == "A" && t.length == -1);
        rows.push([
            ("attrelid", self.relation.into()),
            ("attname", self.name.into()),
            ("atttypid", self.ty.0.into()),
            ("attstattarget", (-1).into()),
            ("attlen", ty.map_or(-1, |t| t.length).into()),
            ("attnum", (self.number as i64).into()),
            ("attndims", i64::from(dimensions).into()),
            ("attcacheoff", (-1).into()),
            ("atttypmod", self.ty.1.into()),
            ("attbyval", ty.is_some_and(|t| t.by_value).into()),
            ("attalign", ty.map_or("i", |t| t.align).into()),
            ("attstorage", ty.map_or("p", |t| t.storage).into()),
            ("attnotnull", self.not_null.into()),
            ("atthasdef", self.filling.0.into()),
            ("attidentity", self.filling.1.into()),
            ("attgenerated", self.filling.2.into()),
            ("attislocal", true.into()),
            ("attcollation", ty.map_or(0, |t| t.collation).into()),
        ]);
    }
}

pub(super) fn pg_attribute(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for object in view.objects() {
        let relation = object.oid();
        match &object {
            Object::Table(table) => table_attributes(table, relation, rows),
            Object::Index(table, index) => {
                for (i, column) in index.attributes().enumerate() {
                    let column = &table.schema.columns[column];
                    let ty = type_names::of(column.ty);
                    let name = column.name.as_str();
                    let (not_null, filling) = (false, PLAIN);
                    Attribute { relation, name, number: i + 1, ty, not_null, filling }.push(rows);
                }
            }
            Object::View(_, def) => {
                for (i, column) in view.view_columns(def).iter().enumerate() {
                    let (name, ty) = (column.name.as_str(), type_names::of(column.ty));
                    let (not_null, filling) = (false, PLAIN);
                    Attribute { relation, name, number: i + 1, ty, not_null, filling }.push(rows);
                }
            }
            Object::Sequence(_) => {
                for (i, (name, ty)) in SEQUENCE.iter().enumerate() {
                    let (ty, not_null, filling) = (type_names::of(*ty), true, PLAIN);
                    Attribute { relation, name, number: i + 1, ty, not_null, filling }.push(rows);
                }
            }
            Object::System(system) => {
                for (i, column) in system.columns.iter().enumerate() {
                    let ty = (type_names::of_name(column.type_name), -1);
                    let (name, not_null, filling) = (column.name, column.not_null, PLAIN);
                    Attribute { relation, name, number: i + 1, ty, not_null, filling }.push(rows);
                }
            }
        }
    }
    Ok(())
}

fn table_attributes(table: &TableDef, relation: i64, rows: &mut Rows) {
    for (i, column) in table.schema.columns.iter().enumerate() {
        let (name, ty) = (column.name.as_str(), type_names::of(column.ty));
        let filling = match table.constraints.default_of(i) {
            None => PLAIN,
            Some(ColumnDefault::Identity(d)) if d.standard => {
                (false, if d.always { "a" } else { "d" }, "")
            }
            Some(ColumnDefault::Generated(_)) => (true, "", "s"),
            Some(_) => (true, "", ""),
        };
        let not_null = !column.nullable;
        Attribute { relation, name, number: i + 1, ty, not_null, filling }.push(rows);
    }
}

/// The class of operators that orders a type in an index.
fn operator_class(ty: LogicalType) -> i64 {
    let (oid, _) = type_names::of(ty);
    // `varchar` is ordered as `text`.
    let oid = if oid == 1043 { 25 } else { oid };
    let classes = crate::relation::find("pg_catalog", "pg_opclass");
    let Some(classes) = classes else { return 0 };
    let column = |name: &str| classes.ordinal(name).unwrap_or_default();
    let (class, input, default) = (column("oid"), column("opcintype"), column("opcdefault"));
    let rows = builtin::rows(classes);
    let found = rows
        .iter()
        .find(|row| row[input] == SystemValue::Int(oid) && row[default] == SystemValue::Bool(true));
    found.and_then(|row| row[class].int()).unwrap_or_default()
}

/// The text form of a vector, `1 2`.
fn vector(values: impl Iterator<Item = i64>) -> SystemValue {
    values.map(|v| v.to_string()).collect::<Vec<_>>().join(" ").into()
}

fn array(values: impl Iterator<Item = i64>) -> SystemValue {
    SystemValue::List(values.map(SystemValue::Int).collect())
}

fn numbers(columns: &[usize]) -> impl Iterator<Item = i64> + '_ {
    columns.iter().map(|c| *c as i64 + 1)
}

pub(super) fn pg_index(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for table in view.tables() {
        for index in indexes(table) {
            push_index(table, &index, rows);
        }
    }
    Ok(())
}

fn push_index(table: &TableDef, index: &Index, rows: &mut Rows) {
    let count = |columns: &[usize]| columns.len() as i64;
    let types = || index.columns.iter().map(|&c| table.schema.columns[c].ty);
    let collation = |ty| type_by_oid(type_names::of(ty).0).map_or(0, |t| t.collation);
    rows.push([
        ("indexrelid", index.oid.into()),
        ("indrelid", table_oid(table).into()),
        ("indnatts", (count(&index.columns) + count(&index.included)).into()),
        ("indnkeyatts", count(&index.columns).into()),
        ("indisunique", index.unique.into()),
        ("indisprimary", index.primary.into()),
        ("indimmediate", index.deferral.is_never().into()),
        // It means that `CLUSTER` has named the index, not that the table is in its order.
        ("indisclustered", false.into()),
        ("indisvalid", true.into()),
        ("indisready", true.into()),
        ("indislive", true.into()),
        ("indkey", vector(index.attributes().map(|c| c as i64 + 1))),
        ("indcollation", vector(types().map(collation))),
        ("indclass", vector(types().map(operator_class))),
        ("indoption", vector(index.orders.iter().map(|order| i64::from(order.bits())))),
    ]);
}

pub(super) fn pg_constraint(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for constraint in view.constraints() {
        let (mut index, mut parent) = (0, 0);
        let (mut on_update, mut on_delete, mut matched) = (" ", " ", " ");
        let (mut referenced, mut expression) = (SystemValue::Null, SystemValue::Null);
        match &constraint.rule {
            Rule::Key(key) => index = key.oid,
            Rule::Check(check) => expression = condition(constraint.table, check, false).into(),
            Rule::Foreign(key, table) => {
                (parent, matched) = (table_oid(table), "s");
                (on_update, on_delete) =
                    (action_letter(key.on_update), action_letter(key.on_delete));
                referenced = array(numbers(&key.referenced));
                index = indexes(table).iter().find(|i| i.upholds(key)).map_or(0, |i| i.oid);
            }
        }
        rows.push([
            ("oid", constraint.oid.into()),
            ("conname", constraint.name.as_str().into()),
            ("connamespace", PUBLIC.into()),
            ("contype", constraint.kind().into()),
            ("condeferrable", (constraint.deferral() != Deferral::Never).into()),
            ("condeferred", (constraint.deferral() == Deferral::Initial).into()),
            ("convalidated", true.into()),
            ("conrelid", table_oid(constraint.table).into()),
            ("conindid", index.into()),
            ("confrelid", parent.into()),
            ("confupdtype", on_update.into()),
            ("confdeltype", on_delete.into()),
            ("confmatchtype", matched.into()),
            ("conislocal", true.into()),
            ("connoinherit", true.into()),
            ("conkey", array(numbers(&constraint.columns()))),
            ("confkey", referenced),
            ("conbin", expression),
        ]);
    }
    Ok(())
}

/// Defaults of columns; identity columns have none there, unless a client would not know them.
pub(super) fn pg_attrdef(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for table in view.tables() {
        for ordinal in 0..table.schema.columns.len() {
            let Some(text) = default_of(view, table, ordinal) else { continue };
            rows.push([
                ("oid", default_oid(table, ordinal).into()),
                ("adrelid", table_oid(table).into()),
                ("adnum", (ordinal as i64 + 1).into()),
                ("adbin", text.into()),
            ]);
        }
    }
    Ok(())
}

/// The default that `pg_attrdef` has: none for an identity column.
fn default_of(view: &View, table: &TableDef, ordinal: usize) -> Option<String> {
    match table.constraints.default_of(ordinal) {
        Some(ColumnDefault::Identity(identity)) if identity.standard => None,
        _ => default_text(view, table, ordinal),
    }
}

/// The oid of the default of a column.
pub(super) fn default_oid(table: &TableDef, ordinal: usize) -> i64 {
    table_oid(table) + 6 * KIND + ordinal as i64 * (KIND >> 12)
}

/// The built-in types, then the row type of each table.
pub(super) fn pg_type(view: &View, rows: &mut Rows) -> SqlResult<()> {
    builtin::rows(rows.relation).into_iter().for_each(|row| rows.push_row(row));
    for table in view.tables() {
        rows.push([
            ("oid", row_type_oid(table).into()),
            ("typname", table.name.as_str().into()),
            ("typnamespace", PUBLIC.into()),
            ("typowner", view.owner(&Object::Table(table)).into()),
            ("typlen", (-1).into()),
            ("typtype", "c".into()),
            ("typcategory", "C".into()),
            ("typisdefined", true.into()),
            ("typdelim", ",".into()),
            ("typrelid", table_oid(table).into()),
            ("typalign", "d".into()),
            ("typstorage", "x".into()),
            ("typtypmod", (-1).into()),
        ]);
    }
    Ok(())
}
