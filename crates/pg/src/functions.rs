//! The functions of the session and the catalog, each by its name, its result and its arguments.

mod advisory;
mod arrays;
mod chance;
mod definition;
mod describe;
mod notifications;
mod privileges;
pub(crate) mod recovery;
mod sequences;
mod session;
mod signals;
mod sizes;
mod statistics;
mod text;
mod transactions;

use std::sync::{Arc, LazyLock};

use engine::system::SessionView;
use sql::{SystemFunction, SystemValue};
use stdx::HashMap;
use types::{SqlError, SqlResult, SqlState};

use crate::view::View;
use definition::Definition;

/// The lists of all modules.
const LISTS: [&[Definition]; 17] = [
    advisory::FUNCTIONS,
    arrays::FUNCTIONS,
    chance::FUNCTIONS,
    describe::FUNCTIONS,
    notifications::EFFECTS,
    privileges::FUNCTIONS,
    recovery::EFFECTS,
    recovery::FUNCTIONS,
    sequences::EFFECTS,
    sequences::FUNCTIONS,
    session::EFFECTS,
    session::FUNCTIONS,
    signals::FUNCTIONS,
    sizes::FUNCTIONS,
    statistics::FUNCTIONS,
    text::FUNCTIONS,
    transactions::FUNCTIONS,
];

static BY_NAME: LazyLock<HashMap<&'static str, &'static Definition>> =
    LazyLock::new(|| LISTS.iter().flat_map(|list| list.iter()).map(|f| (f.0, f)).collect());

/// Whether there is a function of this name.
pub(crate) fn exists(name: &str) -> bool {
    BY_NAME.contains_key(name)
}

/// The names of all of them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    BY_NAME.keys().copied()
}

/// The lists of functions that do something which outlives their statement.
const EFFECTS: [&[Definition]; 7] = [
    advisory::FUNCTIONS,
    notifications::EFFECTS,
    recovery::EFFECTS,
    sequences::EFFECTS,
    session::EFFECTS,
    signals::FUNCTIONS,
    statistics::FUNCTIONS,
];

/// The lists of functions that have another value at each call.
const VARYING: [&[Definition]; 3] = [chance::FUNCTIONS, recovery::FUNCTIONS, sequences::FUNCTIONS];

fn is_of(lists: &[&[Definition]], name: &str) -> bool {
    lists.iter().any(|list| list.iter().any(|f| f.0 == name))
}

/// Whether a function has another value, or does something, at each call.
fn is_volatile(name: &str) -> bool {
    is_of(&EFFECTS, name) || is_of(&VARYING, name)
}

/// What a function with an effect is in a session that only reads.
fn refused(name: &str) -> SqlResult<SystemValue> {
    let message = format!("cannot execute {name}() in a session that only reads");
    Err(SqlError::new(SqlState("25006"), message))
}

/// The function of this name, for this session.
pub(crate) fn find(name: &str, view: &Arc<SessionView>) -> Option<SystemFunction> {
    let Definition(name, returns, least, most, strict, body) = *BY_NAME.get(name)?;
    let (view, is_refused) = (View::new(view), view.reads_only() && is_of(&EFFECTS, name));
    Some(SystemFunction {
        name,
        returns: *returns,
        arguments: *least..=*most,
        strict: *strict,
        volatile: is_volatile(name),
        body: Arc::new(move |arguments| match is_refused {
            true => refused(name),
            false => body(&view, arguments),
        }),
    })
}
