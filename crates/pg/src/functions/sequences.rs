//! `nextval` and its kin. Numbers that were given out are made durable when the statement ends.

use std::borrow::Cow;

use engine::system::{OwnedRelation, denied};
use plan::sequence::Sequence as Numbers;
use sql::SystemValue;
use sql::parse::Privilege;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::definition::Definition;
use crate::objects::Object;
use crate::sequences::Sequence;
use crate::view::View;

const INT: LogicalType = LogicalType::Int64;
const BOOL: LogicalType = LogicalType::Bool;

/// What gives numbers out, or sets them.
pub(super) const EFFECTS: &[Definition] = &[
    Definition("nextval", INT, 1, 1, true, nextval),
    Definition("setval", INT, 2, 3, true, setval),
];

/// What others, or the session, have made of them.
pub(super) const FUNCTIONS: &[Definition] = &[
    Definition("currval", INT, 1, 1, true, currval),
    Definition("lastval", INT, 0, 0, false, lastval),
    Definition("pg_sequence_last_value", INT, 1, 1, true, last_value),
    Definition("dovetail_sequence_value", INT, 1, 1, true, value),
    Definition("dovetail_sequence_is_called", BOOL, 1, 1, true, is_called),
];

/// The sequence that an argument means: a name, or an oid.
fn sequence<'a>(view: &'a View, argument: &SystemValue) -> SqlResult<Sequence<'a>> {
    let parts = match argument {
        SystemValue::Text(name) => sql::parse_name(name)?,
        _ => vec![],
    };
    if let [name] | [_, name] = parts.as_slice()
        && (parts.len() == 1 || parts[0] == "public")
        && let Some(sequence) = view.sequence_named(name)
    {
        return Ok(sequence);
    }
    let object = match argument.int() {
        Some(oid) => view.object(oid),
        None => view.object_named(&parts),
    };
    match object {
        Some(Object::Sequence(sequence)) => Ok(sequence),
        Some(other) => {
            let message = format!("\"{}\" is not a sequence", other.name());
            Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message))
        }
        None => {
            let name = argument.text().map_or_else(|| format!("{argument:?}"), str::to_owned);
            let message = format!("relation \"{name}\" does not exist");
            Err(SqlError::new(SqlState::UNDEFINED_TABLE, message))
        }
    }
}

/// The definition by which the sequence gives numbers.
fn numbers<'a>(view: &View, sequence: &Sequence<'a>) -> SqlResult<Cow<'a, Numbers>> {
    view.numbers_now(sequence.key(), sequence.numbers).ok_or_else(|| {
        let message = format!("relation \"{}\" does not exist", sequence.name);
        SqlError::new(SqlState::UNDEFINED_TABLE, message)
    })
}

/// 42501 unless the role has one of the privileges. Who may insert into a table may number its rows.
fn check(view: &View, sequence: &Sequence<'_>, privileges: &[Privilege]) -> SqlResult<()> {
    let access = view.access();
    let relation = sequence.relation();
    let acl = access.acl(&relation);
    let on_table = [Privilege::Insert];
    let privileges = match relation {
        OwnedRelation::Sequence(_) => privileges,
        OwnedRelation::Table(_) | OwnedRelation::View(_) => &on_table,
    };
    match privileges.iter().any(|p| access.allows(view.role(), acl, *p)) {
        true => Ok(()),
        false => Err(denied("sequence", &sequence.name)),
    }
}

/// 25006 in a transaction that only reads: what these functions do stays.
fn may_write(view: &View, function: &str) -> SqlResult<()> {
    let in_recovery = view.settings().in_recovery();
    let setting = match view.in_block() {
        true => "transaction_read_only",
        false => "default_transaction_read_only",
    };
    if view.settings().show(setting)? == "off" && !in_recovery {
        return Ok(());
    }
    let message = format!("cannot execute {function}() in a read-only transaction");
    Err(SqlError::new(SqlState("25006"), message))
}

fn nextval(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    may_write(view, "nextval")?;
    let sequence = sequence(view, &arguments[0])?;
    check(view, &sequence, &[Privilege::Usage, Privilege::Update])?;
    let numbers = numbers(view, &sequence)?;
    let number = numbers.next(&sequence.name, sequence.ty())?;
    view.note_number(sequence.key(), &numbers, number);
    Ok(number.into())
}

fn not_yet(what: &str) -> SqlError {
    let message = format!("{what} is not yet defined in this session");
    SqlError::new(SqlState("55000"), message)
}

fn currval(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let sequence = sequence(view, &arguments[0])?;
    check(view, &sequence, &[Privilege::Usage, Privilege::Select])?;
    let number = view.last_number(sequence.key());
    let none = || not_yet(&format!("currval of sequence \"{}\"", sequence.name));
    number.map(SystemValue::Int).ok_or_else(none)
}

fn lastval(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let (key, number) = view.newest_number().ok_or_else(|| not_yet("lastval"))?;
    let mut sequences = view.sequences();
    let sequence = sequences.find(|sequence| sequence.key() == key);
    let sequence = sequence.ok_or_else(|| not_yet("lastval"))?;
    check(view, &sequence, &[Privilege::Usage, Privilege::Select])?;
    Ok(number.into())
}

/// `setval(sequence, number [, is_called])`
fn setval(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    may_write(view, "setval")?;
    let sequence = sequence(view, &arguments[0])?;
    check(view, &sequence, &[Privilege::Update])?;
    let number = arguments[1]
        .int()
        .ok_or_else(|| SqlError::new(SqlState::DATATYPE_MISMATCH, "setval wants a whole number"))?;
    let is_called = match arguments.get(2) {
        None => true,
        Some(SystemValue::Bool(is_called)) => *is_called,
        Some(other) => matches!(other.text(), Some("t" | "true" | "on" | "yes" | "1")),
    };
    let numbers = numbers(view, &sequence)?;
    numbers.set(&sequence.name, sequence.ty(), number, is_called)?;
    view.note_set(sequence.key(), &numbers, is_called.then_some(number));
    Ok(number.into())
}

fn last_value(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let sequence = sequence(view, &arguments[0])?;
    let (value, is_called) = numbers(view, &sequence)?.last();
    Ok(is_called.then_some(value).into())
}

fn value(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let sequence = sequence(view, &arguments[0])?;
    Ok(numbers(view, &sequence)?.last().0.into())
}

fn is_called(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let sequence = sequence(view, &arguments[0])?;
    Ok(numbers(view, &sequence)?.last().1.into())
}
