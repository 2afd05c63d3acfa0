//! `GRANT` and `REVOKE`.

use types::{SqlError, SqlResult, SqlState};

use super::{RoleName, RoleStatement};
use crate::parse::object_name::RelationName;
use crate::parse::words::Words;

/// Something that may be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum Privilege {
    /// `INSERT`
    Insert = 1,
    /// `SELECT`
    Select = 1 << 1,
    /// `UPDATE`
    Update = 1 << 2,
    /// `DELETE`
    Delete = 1 << 3,
    /// `TRUNCATE`
    Truncate = 1 << 4,
    /// `REFERENCES`
    References = 1 << 5,
    /// `TRIGGER`
    Trigger = 1 << 6,
    /// `USAGE` of a schema or sequence
    Usage = 1 << 8,
    /// `CREATE` in a schema or database
    Create = 1 << 9,
    /// `TEMPORARY`
    Temporary = 1 << 10,
    /// `CONNECT`
    Connect = 1 << 11,
}

impl Privilege {
    /// All, in the order in which PostgreSQL prints them.
    pub const ALL: [Privilege; 11] = [
        Privilege::Insert,
        Privilege::Select,
        Privilege::Update,
        Privilege::Delete,
        Privilege::Truncate,
        Privilege::References,
        Privilege::Trigger,
        Privilege::Usage,
        Privilege::Create,
        Privilege::Temporary,
        Privilege::Connect,
    ];

    /// As statements spell it.
    pub fn name(self) -> &'static str {
        match self {
            Privilege::Insert => "INSERT",
            Privilege::Select => "SELECT",
            Privilege::Update => "UPDATE",
            Privilege::Delete => "DELETE",
            Privilege::Truncate => "TRUNCATE",
            Privilege::References => "REFERENCES",
            Privilege::Trigger => "TRIGGER",
            Privilege::Usage => "USAGE",
            Privilege::Create => "CREATE",
            Privilege::Temporary => "TEMPORARY",
            Privilege::Connect => "CONNECT",
        }
    }

    /// Its letter in an access list.
    pub fn letter(self) -> char {
        match self {
            Privilege::Insert => 'a',
            Privilege::Select => 'r',
            Privilege::Update => 'w',
            Privilege::Delete => 'd',
            Privilege::Truncate => 'D',
            Privilege::References => 'x',
            Privilege::Trigger => 't',
            Privilege::Usage => 'U',
            Privilege::Create => 'C',
            Privilege::Temporary => 'T',
            Privilege::Connect => 'c',
        }
    }

    /// The privilege with this name.
    pub fn named(name: &str) -> Option<Privilege> {
        let name = if name.eq_ignore_ascii_case("temp") { "temporary" } else { name };
        Privilege::ALL.into_iter().find(|p| p.name().eq_ignore_ascii_case(name))
    }
}

/// `GRANT` or `REVOKE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Takes away instead of giving.
    pub revoke: bool,
    /// What; empty is all, and all there is for roles.
    pub privileges: Vec<Privilege>,
    /// On what.
    pub target: GrantTarget,
    /// To or from whom.
    pub grantees: Vec<RoleName>,
    /// `WITH ADMIN OPTION`, or `ADMIN OPTION FOR`.
    pub option: bool,
}

/// What privileges are given on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantTarget {
    /// Tables and views.
    Relations(Vec<RelationName>),
    /// All tables and views of schemas.
    AllRelations(Vec<String>),
    /// Sequences.
    Sequences(Vec<RelationName>),
    /// All sequences of schemas.
    AllSequences(Vec<String>),
    /// Schemas.
    Schemas(Vec<String>),
    /// Databases.
    Databases(Vec<String>),
    /// Membership in roles.
    Roles(Vec<String>),
}

pub(super) fn grant(mut words: Words<'_>) -> SqlResult<RoleStatement> {
    let (privileges, target) = what(&mut words)?;
    words.expect("to")?;
    let grantees = grantees(&mut words)?;
    let roles = matches!(target, GrantTarget::Roles(_));
    let option = words.eat("with");
    if option {
        words.expect(if roles { "admin" } else { "grant" })?;
        words.expect("option")?;
        if !roles {
            return Err(no_grant_option());
        }
    }
    granted_by(&words)?;
    words.end()?;
    Ok(RoleStatement::Grant(Grant { revoke: false, privileges, target, grantees, option }))
}

pub(super) fn revoke(mut words: Words<'_>) -> SqlResult<RoleStatement> {
    if words.eat("grant") {
        return Err(no_grant_option());
    }
    let option = words.eat("admin");
    if option {
        words.expect("option")?;
        words.expect("for")?;
    }
    let (privileges, target) = what(&mut words)?;
    words.expect("from")?;
    let grantees = grantees(&mut words)?;
    granted_by(&words)?;
    // No privilege depends on another, so both mean the same.
    if !words.eat("cascade") {
        words.eat("restrict");
    }
    words.end()?;
    Ok(RoleStatement::Grant(Grant { revoke: true, privileges, target, grantees, option }))
}

fn no_grant_option() -> SqlError {
    SqlError::unsupported("GRANT OPTION").with_hint("The owner or a superuser can grant.")
}

fn granted_by(words: &Words<'_>) -> SqlResult<()> {
    match words.is("granted") {
        true => Err(SqlError::unsupported("GRANTED BY")),
        false => Ok(()),
    }
}

fn grantees(words: &mut Words<'_>) -> SqlResult<Vec<RoleName>> {
    words.list(|words| {
        words.eat("group");
        words.role()
    })
}

/// What is granted, and on what.
fn what(words: &mut Words<'_>) -> SqlResult<(Vec<Privilege>, GrantTarget)> {
    if !words.has("on") {
        return Ok((vec![], GrantTarget::Roles(words.names()?)));
    }
    let privileges = match words.eat("all") {
        true => {
            words.eat("privileges");
            vec![]
        }
        false => words.list(privilege)?,
    };
    no_columns(words)?;
    words.expect("on")?;
    Ok((privileges, target(words)?))
}

fn no_columns(words: &Words<'_>) -> SqlResult<()> {
    match words.is_parenthesis() {
        true => Err(SqlError::unsupported("privileges on columns")
            .with_hint("Grant on a view with these columns instead.")),
        false => Ok(()),
    }
}

fn privilege(words: &mut Words<'_>) -> SqlResult<Privilege> {
    let name = words.name()?;
    no_columns(words)?;
    Privilege::named(&name).ok_or_else(|| {
        let message = format!("unrecognized privilege type \"{name}\"");
        SqlError::new(SqlState::SYNTAX_ERROR, message)
    })
}

fn target(words: &mut Words<'_>) -> SqlResult<GrantTarget> {
    if words.eat("schema") {
        return Ok(GrantTarget::Schemas(words.names()?));
    }
    if words.eat("database") {
        return Ok(GrantTarget::Databases(words.names()?));
    }
    if words.eat("all") {
        let sequences = words.eat("sequences");
        if !sequences {
            words.expect("tables")?;
        }
        words.expect("in")?;
        words.expect("schema")?;
        let schemas = words.names()?;
        return Ok(match sequences {
            true => GrantTarget::AllSequences(schemas),
            false => GrantTarget::AllRelations(schemas),
        });
    }
    if words.eat("sequence") {
        return Ok(GrantTarget::Sequences(words.list(Words::relation)?));
    }
    let others = ["function", "language", "type", "domain", "tablespace", "foreign"];
    if let Some(other) = others.iter().find(|other| words.is(other)) {
        return Err(SqlError::unsupported(format!("GRANT ON {}", other.to_uppercase())));
    }
    words.eat("table");
    Ok(GrantTarget::Relations(words.list(Words::relation)?))
}
