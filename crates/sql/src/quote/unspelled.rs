//! Names that no statement can spell. The names of a statement are cut to [`NAME_MAX`] bytes; what the binder
//! knows by its name only, and no user may mean by one, has a longer name here.

use std::borrow::Cow;

use plan::generated::NAME_MAX;

/// Ends such names, but for a number.
const BEYOND: &str = "_no_statement_can_spell_this_name_for_it_is_longer_than_those_are_cut_to_";

const _: () = assert!(BEYOND.len() > NAME_MAX);

/// A name for what only the binder sees.
pub(crate) fn unspelled(meaning: &str) -> String {
    format!("{meaning}{BEYOND}")
}

/// What such a name was made of; `None` of other names.
pub(crate) fn meaning(name: &str) -> Option<&str> {
    name.strip_suffix(BEYOND)
}

/// A name for what is called `name` where another has that name already; `nth` tells several apart.
pub(crate) fn apart(name: &str, nth: usize) -> String {
    format!("{name}{BEYOND}{nth}")
}

/// A text with such names as they are shown: that of [`apart`] is `name` again.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    let found = if text.len() < BEYOND.len() { None } else { text.split_once(BEYOND) };
    let Some((before, rest)) = found else { return Cow::Borrowed(text) };
    let mut shown = before.to_owned();
    for part in rest.split(BEYOND) {
        shown.push_str(part.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    }
    Cow::Owned(shown)
}
