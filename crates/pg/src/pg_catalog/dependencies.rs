//! What depends on what, and the rules that views are made of: whoever makes all objects anew (`pg_dump`)
//! takes the order from here.

use plan::constraints::ColumnDefault;
use sql::sequence::numbered_by;
use types::SqlResult;

use super::classes::default_oid;
use super::comments::PG_CLASS;
use crate::objects::{KIND, Object, constraint_oid, indexes, table_oid};
use crate::rows::Rows;
use crate::view::View;

/// The relations whose rows the objects are.
const PG_ATTRDEF: i64 = 2_604;
const PG_CONSTRAINT: i64 = 2_606;
const PG_REWRITE: i64 = 2_618;

/// The rule of a view has the view's oid in a range of its own.
fn rule_oid(view_oid: i64) -> i64 {
    view_oid + KIND
}

/// `_RETURN`, the rule by which a view is its query.
pub(super) fn pg_rewrite(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for (oid, _) in view.user_views() {
        rows.push([
            ("oid", rule_oid(oid).into()),
            ("rulename", "_RETURN".into()),
            ("ev_class", oid.into()),
            ("ev_type", "1".into()),
            ("ev_enabled", "O".into()),
            ("is_instead", true.into()),
        ]);
    }
    Ok(())
}

pub(super) fn pg_depend(view: &View, rows: &mut Rows) -> SqlResult<()> {
    of_sequences(view, rows);
    of_defaults(view, rows);
    of_views(view, rows);
    Ok(())
}

/// Says that an object, a row of `class`, depends on a column of a relation; 0 is the relation itself.
fn push(rows: &mut Rows, object: (i64, i64), (relation, column): (i64, i64), kind: &str) {
    push_on(rows, object, PG_CLASS, (relation, column), kind);
}

fn push_on(
    rows: &mut Rows,
    (class, object): (i64, i64),
    on: i64,
    (relation, column): (i64, i64),
    kind: &str,
) {
    rows.push([
        ("classid", class.into()),
        ("objid", object.into()),
        ("objsubid", 0.into()),
        ("refclassid", on.into()),
        ("refobjid", relation.into()),
        ("refobjsubid", column.into()),
        ("deptype", kind.into()),
    ]);
}

/// A sequence depends on its column: as a part of it (`i`) or on its own (`a`).
fn of_sequences(view: &View, rows: &mut Rows) {
    for sequence in view.sequences() {
        let Some((table, ordinal)) = view.owner_of_sequence(&sequence) else { continue };
        let kind = if sequence.is_identity() { "i" } else { "a" };
        let column = (table_oid(table), ordinal as i64 + 1);
        push(rows, (PG_CLASS, sequence.oid()), column, kind);
    }
}

/// A default depends on its column, and on the sequences whose numbers it takes.
fn of_defaults(view: &View, rows: &mut Rows) {
    for table in view.tables() {
        for ordinal in 0..table.schema.columns.len() {
            let sequences = match table.constraints.default_of(ordinal) {
                None => continue,
                Some(ColumnDefault::Identity(identity)) if identity.standard => continue,
                Some(ColumnDefault::Identity(_)) => vec![table.sequence_name(ordinal)],
                Some(ColumnDefault::Expression(text)) => match numbered_by(text) {
                    Some(sequence) => vec![sequence],
                    None => sql::definition::sequences_in(text),
                },
                Some(ColumnDefault::Generated(_)) => vec![],
            };
            let default = (PG_ATTRDEF, default_oid(table, ordinal));
            push(rows, default, (table_oid(table), ordinal as i64 + 1), "a");
            for sequence in sequences.iter().filter_map(|name| view.sequence_named(name)) {
                push(rows, default, (sequence.oid(), 0), "n");
            }
        }
    }
}

/// The rule of a view is a part of it, and depends on the relations that its query names; also on the primary
/// key of one, where the query groups by that and may name other columns.
fn of_views(view: &View, rows: &mut Rows) {
    for (oid, def) in view.user_views() {
        let rule = (PG_REWRITE, rule_oid(oid));
        push(rows, rule, (oid, 0), "i");
        let groups = sql::definition::grouped_by(def);
        for name in sql::definition::relations_in(def, |name| view.is_relation(name)) {
            let named = view.object_named(&["public".to_owned(), name]);
            if let Some(object @ (Object::Table(_) | Object::View(..))) = named {
                push(rows, rule, (object.oid(), 0), "n");
                if let Some(key) = key_of_groups(&object, &groups) {
                    push_on(rows, rule, PG_CONSTRAINT, (key, 0), "n");
                }
            }
        }
    }
}

/// The constraint of a table's primary key, if all its columns are among those of a group.
fn key_of_groups(object: &Object<'_>, groups: &[Vec<String>]) -> Option<i64> {
    let Object::Table(table) = object else { return None };
    let key = indexes(table).into_iter().find(|index| index.primary)?;
    let names = key.attribute_names(table);
    let holds = |group: &Vec<String>| names.iter().all(|name| group.iter().any(|g| g == name));
    groups.iter().any(holds).then(|| constraint_oid(key.oid))
}
