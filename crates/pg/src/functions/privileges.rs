//! Privileges: the questions of clients, answered by the access lists.

use engine::system::{
    Acl, ON_DATABASES, ON_RELATIONS, ON_SCHEMAS, ON_SEQUENCES, OwnedRelation, PUBLIC, RoleId,
};
use sql::SystemValue;
use sql::parse::Privilege;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::definition::Definition;
use crate::objects::{DATABASE, Object, namespace_name, namespace_oid};
use crate::view::View;

const BOOL: LogicalType = LogicalType::Bool;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition("has_table_privilege", BOOL, 2, 3, true, table),
    Definition("has_column_privilege", BOOL, 3, 4, true, column),
    Definition("has_any_column_privilege", BOOL, 2, 3, true, table),
    Definition("has_schema_privilege", BOOL, 2, 3, true, schema),
    Definition("has_database_privilege", BOOL, 2, 3, true, database),
    Definition("has_function_privilege", BOOL, 2, 3, true, granted),
    Definition("has_language_privilege", BOOL, 2, 3, true, granted),
    Definition("has_sequence_privilege", BOOL, 2, 3, true, sequence),
    Definition("has_tablespace_privilege", BOOL, 2, 3, true, granted),
    Definition("has_type_privilege", BOOL, 2, 3, true, granted),
    Definition("has_foreign_data_wrapper_privilege", BOOL, 2, 3, true, granted),
    Definition("has_server_privilege", BOOL, 2, 3, true, granted),
    Definition("has_parameter_privilege", BOOL, 2, 3, true, granted),
    Definition("pg_has_role", BOOL, 2, 3, true, member),
    Definition("row_security_active", BOOL, 1, 1, true, denied),
    Definition("acldefault", LogicalType::Array(&LogicalType::Text), 2, 2, true, default_list),
];

/// What a new object of PostgreSQL's kinds has: the kind, what all may do, what its owner may.
const DEFAULTS: [(&str, &str, &str); 13] = [
    ("c", "", ""),
    ("r", "", "arwdDxt"),
    ("s", "", "rwU"),
    ("d", "Tc", "CTc"),
    ("f", "X", "X"),
    ("l", "U", "U"),
    ("L", "", "rw"),
    ("n", "", "UC"),
    ("p", "", "sA"),
    ("t", "", "C"),
    ("F", "", "U"),
    ("S", "", "U"),
    ("T", "U", "U"),
];

/// `acldefault(kind, owner)`: the access list of a new object.
fn default_list(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let kind = arguments[0].text().unwrap_or_default();
    let Some((_, public, own)) = DEFAULTS.iter().find(|(known, ..)| *known == kind) else {
        let message = format!("unrecognized object type abbreviation: {kind}");
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
    };
    let owner = sql::quote_ident(view.role_name(arguments[1].int().unwrap_or_default()));
    let item = |grantee: &str, letters: &str| {
        (!letters.is_empty()).then(|| format!("{grantee}={letters}/{owner}").into())
    };
    Ok(SystemValue::List([item("", public), item(&owner, own)].into_iter().flatten().collect()))
}

/// Of things that all roles may use here.
fn granted(_view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(true.into())
}

fn denied(_view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(false.into())
}

/// The role that a question is about, and the other arguments.
fn asked<'a>(
    view: &View,
    arguments: &'a [SystemValue],
    rest: usize,
) -> SqlResult<(RoleId, &'a [SystemValue])> {
    match arguments.len() > rest {
        true => Ok((role(view, &arguments[0])?, &arguments[1..])),
        false => Ok((view.role(), arguments)),
    }
}

/// A role by name or number; `public` is everybody.
fn role(view: &View, argument: &SystemValue) -> SqlResult<RoleId> {
    match (argument.int(), argument.text()) {
        (Some(oid), _) => Ok(u32::try_from(oid).unwrap_or(u32::MAX)),
        (None, Some("public")) => Ok(PUBLIC),
        (None, name) => view.access().id(name.unwrap_or_default()),
    }
}

/// The privileges that a text lists; one is enough for an answer of yes.
fn privileges(text: Option<&str>, all: &[Privilege]) -> SqlResult<Vec<(Privilege, bool)>> {
    let one = |text: &str| {
        let lower = text.trim().to_lowercase();
        let (name, option) = match lower.strip_suffix(" with grant option") {
            Some(name) => (name.trim(), true),
            None => (lower.as_str(), false),
        };
        let found = Privilege::named(name).filter(|p| all.contains(p));
        found.map(|p| (p, option)).ok_or_else(|| {
            let message = format!("unrecognized privilege type: \"{}\"", text.trim());
            SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
        })
    };
    text.unwrap_or_default().split(',').map(one).collect()
}

fn answer(view: &View, role: RoleId, acl: &Acl, asked: &[(Privilege, bool)]) -> bool {
    let access = view.access();
    // The owner, and nobody else, may grant.
    asked.iter().any(|&(privilege, grant)| match grant {
        true => access.owns(role, acl),
        false => access.allows(role, acl, privilege),
    })
}

/// `has_table_privilege([role,] table, privileges)`.
fn table(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let (role, rest) = asked(view, arguments, 2)?;
    let asked = privileges(rest[1].text(), ON_RELATIONS)?;
    on_relation(view, role, &rest[0], &asked)
}

/// `has_sequence_privilege([role,] sequence, privileges)`.
fn sequence(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let (role, rest) = asked(view, arguments, 2)?;
    let asked = privileges(rest[1].text(), ON_SEQUENCES)?;
    on_relation(view, role, &rest[0], &asked)
}

/// `has_column_privilege([role,] table, column, privileges)`: as the table's.
fn column(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let (role, rest) = asked(view, arguments, 3)?;
    let asked = privileges(rest[2].text(), ON_RELATIONS)?;
    on_relation(view, role, &rest[0], &asked)
}

fn on_relation(
    view: &View,
    role: RoleId,
    relation: &SystemValue,
    asked: &[(Privilege, bool)],
) -> SqlResult<SystemValue> {
    let object = match relation.int() {
        Some(oid) => match view.object(oid) {
            Some(object) => object,
            None => return Ok(SystemValue::Null),
        },
        None => {
            let name = relation.text().unwrap_or_default();
            let parts = sql::parse_name(name)?;
            if let Some(acl) = view_acl(view, &parts) {
                return Ok(answer(view, role, acl, asked).into());
            }
            view.object_named(&parts).ok_or_else(|| {
                let message = format!("relation \"{name}\" does not exist");
                SqlError::new(SqlState::UNDEFINED_TABLE, message)
            })?
        }
    };
    Ok(match object {
        Object::Table(table) => {
            let acl = view.relation_acl(&OwnedRelation::Table(table.id.0));
            answer(view, role, acl, asked).into()
        }
        Object::Sequence(sequence) => {
            let relation = sequence.relation();
            // That of a column is for those who may insert into its table.
            let of_column = [(Privilege::Insert, asked.iter().all(|(_, grant)| *grant))];
            let asked = match relation {
                OwnedRelation::Sequence(_) => asked,
                OwnedRelation::Table(_) | OwnedRelation::View(_) => &of_column,
            };
            answer(view, role, view.relation_acl(&relation), asked).into()
        }
        Object::View(_, viewed) => {
            let acl = view.relation_acl(&OwnedRelation::View(&viewed.name));
            answer(view, role, acl, asked).into()
        }
        Object::Index(..) => false.into(),
        Object::System(system) => {
            let hidden = crate::relation::SUPERUSERS_ONLY.contains(&system.name);
            let reads = asked.iter().any(|(p, grant)| *p == Privilege::Select && !grant);
            let superuser = view.access().is_superuser(role);
            (superuser || reads && !hidden).into()
        }
    })
}

/// The access list of a view of a user, if a name means one.
fn view_acl<'a>(view: &'a View, parts: &[String]) -> Option<&'a Acl> {
    let (name, schemas) = parts.split_last()?;
    let in_public = schemas.last().is_none_or(|schema| schema == "public");
    let known = in_public && view.view(name).is_some();
    known.then(|| view.relation_acl(&OwnedRelation::View(name)))
}

/// `has_schema_privilege([role,] schema, privileges)`.
fn schema(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let (role, rest) = asked(view, arguments, 2)?;
    let asked = privileges(rest[1].text(), ON_SCHEMAS)?;
    let name = match (rest[0].int(), rest[0].text()) {
        (Some(oid), _) => match namespace_name(oid) {
            Some(name) => name,
            None => return Ok(SystemValue::Null),
        },
        (None, name) => name.unwrap_or_default(),
    };
    if namespace_oid(name).is_none() {
        let message = format!("schema \"{name}\" does not exist");
        return Err(SqlError::new(SqlState("3F000"), message));
    }
    if name == "public" {
        return Ok(answer(view, role, &view.access().schema, &asked).into());
    }
    let uses = asked.iter().any(|(p, grant)| *p == Privilege::Usage && !grant);
    Ok((uses || view.access().is_superuser(role)).into())
}

/// `has_database_privilege([role,] database, privileges)`.
fn database(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let (role, rest) = asked(view, arguments, 2)?;
    let asked = privileges(rest[1].text(), ON_DATABASES)?;
    // The name of a database may look like a number.
    if rest[0].text() != Some(view.database()) {
        match rest[0].int() {
            Some(DATABASE) => {}
            Some(_) => return Ok(SystemValue::Null),
            None => {
                let name = rest[0].text().unwrap_or_default();
                let message = format!("database \"{name}\" does not exist");
                return Err(SqlError::new(SqlState::INVALID_CATALOG_NAME, message));
            }
        }
    }
    Ok(answer(view, role, &view.access().database, &asked).into())
}

/// `pg_has_role([role,] other, 'MEMBER' or 'USAGE')`.
fn member(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let (who, rest) = asked(view, arguments, 2)?;
    let (other, access) = (role(view, &rest[0])?, view.access());
    let mut answer = false;
    for kind in rest[1].text().unwrap_or_default().split(',') {
        let lower = kind.trim().to_lowercase();
        let admin =
            || access.memberships.iter().any(|m| m.role == other && m.member == who && m.admin);
        answer |= match lower.as_str() {
            "member" => access.is_member(who, other),
            "usage" => access.has_privileges_of(who, other),
            "member with admin option"
            | "usage with admin option"
            | "member with grant option"
            | "usage with grant option" => access.is_superuser(who) || admin(),
            _ => {
                let message = format!("unrecognized privilege type: \"{}\"", kind.trim());
                return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
        };
    }
    Ok(answer.into())
}
