//! The relations of `information_schema`: the standard's view of the users' tables.

mod grants;

use plan::catalog::TableDef;
use plan::constraints::{ColumnDefault, Deferral};
use sql::SystemValue;
use types::SqlResult;

use crate::builtin::type_by_oid;
use crate::constraints::{Constraint, Rule, action_name, condition, default_text};
use crate::objects::{NAMESPACES, OWNER, PUBLIC};
use crate::rows::Rows;
use crate::view::View;
use crate::{relation, type_names};

type Fill = fn(&View, &mut Rows);

const FILLED: &[(&str, Fill)] = &[
    ("tables", tables),
    ("columns", columns),
    ("views", views),
    ("sequences", sequences),
    ("schemata", schemata),
    ("information_schema_catalog_name", catalog_name),
    ("table_constraints", table_constraints),
    ("key_column_usage", key_column_usage),
    ("referential_constraints", referential_constraints),
    ("check_constraints", check_constraints),
    ("constraint_column_usage", constraint_column_usage),
    ("constraint_table_usage", constraint_table_usage),
    ("character_sets", character_sets),
    ("collations", collations),
    ("enabled_roles", enabled_roles),
    ("table_privileges", grants::table_privileges),
    ("role_table_grants", grants::table_privileges),
    ("applicable_roles", grants::applicable_roles),
];

/// Whether a relation ever has rows.
pub(crate) fn has_rows(name: &str) -> bool {
    FILLED.iter().any(|(n, _)| *n == name)
}

/// Makes the rows.
pub(crate) fn fill(view: &View, rows: &mut Rows) -> SqlResult<()> {
    let name = rows.relation.name;
    if let Some((_, fill)) = FILLED.iter().find(|(n, _)| *n == name) {
        fill(view, rows);
    }
    Ok(())
}

fn catalog(view: &View) -> SystemValue {
    view.database().into()
}

fn yes_no(yes: bool) -> SystemValue {
    if yes { "YES" } else { "NO" }.into()
}

fn tables(view: &View, rows: &mut Rows) {
    for table in view.tables() {
        push_table(view, rows, ("public", &table.name, "BASE TABLE"));
    }
    for (_, def) in view.user_views() {
        push_table(view, rows, ("public", &def.name, "VIEW"));
    }
    for system in relation::all() {
        let kind = if system.kind == "v" { "VIEW" } else { "BASE TABLE" };
        push_table(view, rows, (system.schema, system.name, kind));
    }
}

fn push_table(view: &View, rows: &mut Rows, (schema, name, kind): (&str, &str, &str)) {
    rows.push([
        ("table_catalog", catalog(view)),
        ("table_schema", schema.into()),
        ("table_name", name.into()),
        ("table_type", kind.into()),
        ("is_insertable_into", yes_no(schema == "public" && kind == "BASE TABLE")),
        ("is_typed", "NO".into()),
    ]);
}

fn columns(view: &View, rows: &mut Rows) {
    for table in view.tables() {
        for (i, column) in table.schema.columns.iter().enumerate() {
            let place = ("public", table.name.as_str(), column.name.as_str(), i + 1);
            let ty = type_names::of(column.ty);
            push_column(view, rows, place, (ty, !column.nullable, Some((table, i))));
        }
    }
    for (_, def) in view.user_views() {
        for (i, column) in view.view_columns(def).iter().enumerate() {
            let place = ("public", def.name.as_str(), column.name.as_str(), i + 1);
            push_column(view, rows, place, (type_names::of(column.ty), false, None));
        }
    }
    for system in relation::all() {
        for (i, column) in system.columns.iter().enumerate() {
            let place = (system.schema, system.name, column.name, i + 1);
            let ty = (type_names::of_name(column.type_name), -1);
            push_column(view, rows, place, (ty, column.not_null, None));
        }
    }
}

fn views(view: &View, rows: &mut Rows) {
    for (_, def) in view.user_views() {
        rows.push([
            ("table_catalog", catalog(view)),
            ("table_schema", "public".into()),
            ("table_name", def.name.as_str().into()),
            ("view_definition", view.view_text(def, false).into()),
            ("check_option", "NONE".into()),
            ("is_updatable", "NO".into()),
            ("is_insertable_into", "NO".into()),
            ("is_trigger_updatable", "NO".into()),
            ("is_trigger_deletable", "NO".into()),
            ("is_trigger_insertable_into", "NO".into()),
        ]);
    }
}

fn push_column(
    view: &View,
    rows: &mut Rows,
    (schema, table, name, number): (&str, &str, &str, usize),
    (ty, not_null, own): ((i64, i64), bool, Option<(&TableDef, usize)>),
) {
    let builtin = type_by_oid(ty.0);
    let internal = builtin.map_or("", |t| t.name);
    let array = internal.starts_with('_');
    let data_type = if array { "ARRAY".into() } else { type_names::format_type(ty.0, -1) };
    let data_type = if internal == "bpchar" { "character".into() } else { data_type };
    let limits = Limits::of(internal, ty.1);
    let filling = own.map(|(table, i)| Filling::of(view, table, i)).unwrap_or_default();
    rows.push([
        ("table_catalog", catalog(view)),
        ("table_schema", schema.into()),
        ("table_name", table.into()),
        ("column_name", name.into()),
        ("ordinal_position", (number as i64).into()),
        ("is_nullable", yes_no(!not_null)),
        ("data_type", data_type.into()),
        ("character_maximum_length", limits.characters.into()),
        ("character_octet_length", limits.octets.into()),
        ("numeric_precision", limits.precision.into()),
        ("numeric_precision_radix", limits.radix.into()),
        ("numeric_scale", limits.scale.into()),
        ("datetime_precision", limits.datetime.into()),
        ("udt_catalog", catalog(view)),
        ("udt_schema", "pg_catalog".into()),
        ("udt_name", internal.into()),
        ("dtd_identifier", number.to_string().into()),
        ("is_self_referencing", "NO".into()),
        ("column_default", filling.default.into()),
        ("is_identity", yes_no(filling.identity.is_some())),
        ("identity_generation", filling.identity.into()),
        ("identity_cycle", "NO".into()),
        ("is_generated", if filling.generated.is_some() { "ALWAYS" } else { "NEVER" }.into()),
        ("generation_expression", filling.generated.into()),
        ("is_updatable", yes_no(own.is_some())),
    ]);
}

/// Where a column's values come from when a statement gives none.
#[derive(Default)]
struct Filling {
    default: Option<String>,
    identity: Option<&'static str>,
    generated: Option<String>,
}

impl Filling {
    fn of(view: &View, table: &TableDef, ordinal: usize) -> Filling {
        let mut filling = Filling::default();
        match table.constraints.default_of(ordinal) {
            Some(ColumnDefault::Identity(d)) if d.standard => {
                filling.identity = Some(if d.always { "ALWAYS" } else { "BY DEFAULT" });
            }
            Some(ColumnDefault::Generated(_)) => {
                filling.generated = default_text(view, table, ordinal);
            }
            _ => filling.default = default_text(view, table, ordinal),
        }
        filling
    }
}

/// Lengths and precisions of a type; `None` where they do not apply.
#[derive(Default)]
struct Limits {
    characters: Option<i64>,
    octets: Option<i64>,
    precision: Option<i64>,
    radix: Option<i64>,
    scale: Option<i64>,
    datetime: Option<i64>,
}

/// A character takes at most four bytes; text as many as a value may have.
const CHARACTER_OCTETS: i64 = 4;
const TEXT_OCTETS: i64 = 1 << 30;

impl Limits {
    fn of(internal: &str, modifier: i64) -> Limits {
        let none = Limits::default();
        let whole = |bits| Limits {
            precision: Some(bits),
            radix: Some(2),
            scale: Some(0),
            ..Limits::default()
        };
        let float = |bits| Limits { precision: Some(bits), radix: Some(2), ..Limits::default() };
        let length = modifier - 4;
        match internal {
            "int2" => whole(16),
            "int4" => whole(32),
            "int8" => whole(64),
            "float4" => float(24),
            "float8" => float(53),
            "numeric" if modifier < 0 => Limits { radix: Some(10), ..none },
            "numeric" => Limits {
                precision: Some(length >> 16),
                radix: Some(10),
                scale: Some(length & 0x7ff),
                ..none
            },
            "varchar" | "bpchar" if modifier >= 0 => {
                Limits { characters: Some(length), octets: Some(length * CHARACTER_OCTETS), ..none }
            }
            "text" | "varchar" => Limits { octets: Some(TEXT_OCTETS), ..none },
            "date" => Limits { datetime: Some(0), ..none },
            "time" | "timetz" | "timestamp" | "timestamptz" | "interval" => {
                let digits = if modifier < 0 { 6 } else { modifier & 0xffff };
                Limits { datetime: Some(digits), ..none }
            }
            _ => none,
        }
    }
}

fn schemata(view: &View, rows: &mut Rows) {
    for (oid, name) in NAMESPACES {
        let owner = match oid {
            PUBLIC => view.public_schema().owner.into(),
            _ => OWNER,
        };
        rows.push([
            ("catalog_name", catalog(view)),
            ("schema_name", name.into()),
            ("schema_owner", view.role_name(owner).into()),
        ]);
    }
}

fn catalog_name(view: &View, rows: &mut Rows) {
    rows.push([("catalog_name", catalog(view))]);
}

fn table_constraints(view: &View, rows: &mut Rows) {
    for constraint in view.constraints() {
        let unique = constraint.kind() == "u";
        rows.push([
            ("constraint_catalog", catalog(view)),
            ("constraint_schema", "public".into()),
            ("constraint_name", constraint.name.as_str().into()),
            ("table_catalog", catalog(view)),
            ("table_schema", "public".into()),
            ("table_name", constraint.table.name.as_str().into()),
            ("constraint_type", constraint.type_name().into()),
            ("is_deferrable", yes_no(constraint.deferral() != Deferral::Never)),
            ("initially_deferred", yes_no(constraint.deferral() == Deferral::Initial)),
            ("enforced", "YES".into()),
            ("nulls_distinct", unique.then_some("YES").into()),
        ]);
    }
    not_null_checks(view, rows);
}

/// The standard counts `NOT NULL` as a check; PostgreSQL names it by numbers.
fn not_null_checks(view: &View, rows: &mut Rows) {
    for table in view.tables() {
        for (i, _) in table.schema.columns.iter().enumerate().filter(|(_, c)| !c.nullable) {
            rows.push([
                ("constraint_catalog", catalog(view)),
                ("constraint_schema", "public".into()),
                ("constraint_name", not_null_name(table, i).into()),
                ("table_catalog", catalog(view)),
                ("table_schema", "public".into()),
                ("table_name", table.name.as_str().into()),
                ("constraint_type", "CHECK".into()),
                ("is_deferrable", "NO".into()),
                ("initially_deferred", "NO".into()),
                ("enforced", "YES".into()),
            ]);
        }
    }
}

fn not_null_name(table: &TableDef, column: usize) -> String {
    let oid = crate::objects::table_oid(table);
    format!("{}_{oid}_{}_not_null", crate::objects::PUBLIC, column + 1)
}

fn key_column_usage(view: &View, rows: &mut Rows) {
    for constraint in view.constraints() {
        // The place of the referenced column in its key.
        let place = |i: usize| match &constraint.rule {
            Rule::Foreign(key, parent) => {
                let keys = crate::objects::indexes(parent);
                let found = keys.iter().find(|k| k.upholds(key));
                let at = found.and_then(|k| k.columns.iter().position(|c| *c == key.referenced[i]));
                at.map(|at| at as i64 + 1)
            }
            _ => None,
        };
        if matches!(constraint.rule, Rule::Check(_)) {
            continue;
        }
        for (i, column) in constraint.column_names().iter().enumerate() {
            rows.push([
                ("constraint_catalog", catalog(view)),
                ("constraint_schema", "public".into()),
                ("constraint_name", constraint.name.as_str().into()),
                ("table_catalog", catalog(view)),
                ("table_schema", "public".into()),
                ("table_name", constraint.table.name.as_str().into()),
                ("column_name", (*column).into()),
                ("ordinal_position", (i as i64 + 1).into()),
                ("position_in_unique_constraint", place(i).into()),
            ]);
        }
    }
}

fn referential_constraints(view: &View, rows: &mut Rows) {
    for constraint in view.constraints() {
        let Rule::Foreign(key, parent) = &constraint.rule else { continue };
        let mut keys = crate::objects::indexes(parent).into_iter();
        let unique = keys.find(|i| i.upholds(key)).map(|i| i.name);
        rows.push([
            ("constraint_catalog", catalog(view)),
            ("constraint_schema", "public".into()),
            ("constraint_name", constraint.name.as_str().into()),
            ("unique_constraint_catalog", catalog(view)),
            ("unique_constraint_schema", "public".into()),
            ("unique_constraint_name", unique.into()),
            ("match_option", "NONE".into()),
            ("update_rule", action_name(key.on_update).into()),
            ("delete_rule", action_name(key.on_delete).into()),
        ]);
    }
}

fn sequences(view: &View, rows: &mut Rows) {
    // Those of identity columns are a part of the column.
    for sequence in view.sequences().filter(|sequence| !sequence.is_identity()) {
        let (least, most) = sequence.bounds();
        let (ty, modifier) = type_names::of(sequence.ty());
        let limits = Limits::of(type_by_oid(ty).map_or("", |t| t.name), modifier);
        rows.push([
            ("sequence_catalog", catalog(view)),
            ("sequence_schema", "public".into()),
            ("sequence_name", sequence.name.as_str().into()),
            ("data_type", sequence.ty().to_string().into()),
            ("numeric_precision", limits.precision.into()),
            ("numeric_precision_radix", limits.radix.into()),
            ("numeric_scale", limits.scale.into()),
            ("start_value", sequence.numbers.start.to_string().into()),
            ("minimum_value", least.to_string().into()),
            ("maximum_value", most.to_string().into()),
            ("increment", sequence.numbers.increment.to_string().into()),
            ("cycle_option", yes_no(sequence.numbers.cycles)),
        ]);
    }
}

fn check_constraints(view: &View, rows: &mut Rows) {
    let mut push = |name: String, clause: String| {
        rows.push([
            ("constraint_catalog", catalog(view)),
            ("constraint_schema", "public".into()),
            ("constraint_name", name.into()),
            ("check_clause", clause.into()),
        ]);
    };
    for constraint in view.constraints() {
        if let Rule::Check(check) = &constraint.rule {
            push(
                constraint.name.clone(),
                format!("({})", condition(constraint.table, check, false)),
            );
        }
    }
    for table in view.tables() {
        for (i, column) in table.schema.columns.iter().enumerate().filter(|(_, c)| !c.nullable) {
            push(not_null_name(table, i), format!("{} IS NOT NULL", column.name));
        }
    }
}

fn constraint_column_usage(view: &View, rows: &mut Rows) {
    for constraint in view.constraints() {
        // Of a foreign key, what it refers to.
        let own = constraint.columns();
        let (table, ordinals) = match &constraint.rule {
            Rule::Foreign(key, parent) => (*parent, &key.referenced),
            _ => (constraint.table, &own),
        };
        for column in ordinals.iter().map(|&c| table.schema.columns[c].name.as_str()) {
            rows.push([
                ("table_catalog", catalog(view)),
                ("table_schema", "public".into()),
                ("table_name", table.name.as_str().into()),
                ("column_name", column.into()),
                ("constraint_catalog", catalog(view)),
                ("constraint_schema", "public".into()),
                ("constraint_name", constraint.name.as_str().into()),
            ]);
        }
    }
}

fn constraint_table_usage(view: &View, rows: &mut Rows) {
    for Constraint { name, table, rule, .. } in view.constraints() {
        let table = match rule {
            Rule::Foreign(_, parent) => parent,
            Rule::Check(_) => continue,
            Rule::Key(_) => table,
        };
        rows.push([
            ("table_catalog", catalog(view)),
            ("table_schema", "public".into()),
            ("table_name", table.name.as_str().into()),
            ("constraint_catalog", catalog(view)),
            ("constraint_schema", "public".into()),
            ("constraint_name", name.into()),
        ]);
    }
}

fn character_sets(view: &View, rows: &mut Rows) {
    rows.push([
        ("character_set_name", "UTF8".into()),
        ("character_repertoire", "UCS".into()),
        ("form_of_use", "UTF8".into()),
        ("default_collate_catalog", catalog(view)),
        ("default_collate_schema", "pg_catalog".into()),
        ("default_collate_name", "C".into()),
    ]);
}

fn collations(view: &View, rows: &mut Rows) {
    for name in ["default", "C", "POSIX"] {
        rows.push([
            ("collation_catalog", catalog(view)),
            ("collation_schema", "pg_catalog".into()),
            ("collation_name", name.into()),
            ("pad_attribute", "NO PAD".into()),
        ]);
    }
}

fn enabled_roles(view: &View, rows: &mut Rows) {
    let access = view.access();
    for role in access.roles_of(view.role(), true) {
        rows.push([("role_name", access.name(role).into())]);
    }
}
