//! Which of several signatures a call means.

use types::oid;

use super::{
    ANY, ANYARRAY, ANYCOMPATIBLE, ANYCOMPATIBLEARRAY, ANYCOMPATIBLENONARRAY, ANYELEMENT,
    ANYNONARRAY, Choice, TABLES, category, common_type, element, is_preferred,
};

/// A signature that may be meant.
#[derive(Clone)]
pub(super) struct Candidate {
    pub arguments: Vec<u32>,
}

/// The one that operands of these types mean.
pub(super) fn choose(candidates: Vec<Candidate>, given: &[u32]) -> Choice {
    if let Some(exact) = candidates.iter().find(|c| c.arguments == given) {
        return resolved(exact, given);
    }
    let fitting: Vec<Candidate> = candidates.into_iter().filter(|c| c.takes(given)).collect();
    if fitting.is_empty() {
        return Choice::Nothing;
    }
    match only(fitting, given) {
        Some(one) => resolved(&one, given),
        None => Choice::Several,
    }
}

/// Whether a value of one type becomes one of another unasked.
pub(super) fn becomes(from: u32, to: u32) -> bool {
    let both_elements = || Some((element(from)?, element(to)?));
    from == to
        || from == oid::UNKNOWN
        || TABLES.casts.contains(&(from, to))
        || match to {
            ANY | ANYELEMENT | ANYCOMPATIBLE => true,
            ANYARRAY | ANYCOMPATIBLEARRAY => element(from).is_some(),
            ANYNONARRAY | ANYCOMPATIBLENONARRAY => element(from).is_none(),
            _ => both_elements().is_some_and(|(from, to)| becomes(from, to)),
        }
}

impl Candidate {
    fn takes(&self, given: &[u32]) -> bool {
        given.iter().zip(&self.arguments).all(|(from, to)| becomes(*from, *to))
            && (self
                .elements(given, is_same)
                .is_some_and(|all| all.windows(2).all(|p| p[0] == p[1])))
            && self.elements(given, is_compatible).is_some_and(|all| common_type(&all).is_some())
    }

    /// The types of the elements that these operands give a family of polymorphic arguments.
    fn elements(&self, given: &[u32], family: fn(u32) -> Option<bool>) -> Option<Vec<u32>> {
        let known = given.iter().zip(&self.arguments).filter(|(ty, _)| **ty != oid::UNKNOWN);
        let of_family = known.filter_map(|(ty, argument)| Some((*ty, family(*argument)?)));
        of_family.map(|(ty, array)| if array { element(ty) } else { Some(ty) }).collect()
    }

    /// How many operands need no conversion.
    fn exact_count(&self, given: &[u32]) -> usize {
        let pairs = given.iter().zip(&self.arguments);
        pairs.filter(|(ty, argument)| **ty != oid::UNKNOWN && ty == argument).count()
    }

    /// How many operands need none, or become a preferred type.
    fn preferred_count(&self, given: &[u32]) -> usize {
        let fits = |(ty, to): &(&u32, &u32)| {
            **ty != oid::UNKNOWN
                && (ty == to || (category(**ty) == category(**to) && is_preferred(**to)))
        };
        given.iter().zip(&self.arguments).filter(fits).count()
    }
}

/// For arguments whose types must be the same: whether it is an array of them.
fn is_same(argument: u32) -> Option<bool> {
    match argument {
        ANYARRAY => Some(true),
        ANYELEMENT | ANYNONARRAY => Some(false),
        _ => None,
    }
}

/// For arguments that find a common type: whether it is an array of it.
fn is_compatible(argument: u32) -> Option<bool> {
    match argument {
        ANYCOMPATIBLEARRAY => Some(true),
        ANYCOMPATIBLE | ANYCOMPATIBLENONARRAY => Some(false),
        _ => None,
    }
}

/// The candidates with the highest count.
fn best(candidates: Vec<Candidate>, count: impl Fn(&Candidate) -> usize) -> Vec<Candidate> {
    let most = candidates.iter().map(&count).max();
    candidates.into_iter().filter(|c| Some(count(c)) == most).collect()
}

fn only(candidates: Vec<Candidate>, given: &[u32]) -> Option<Candidate> {
    let mut left = best(candidates, |c| c.exact_count(given));
    if left.len() > 1 {
        left = best(left, |c| c.preferred_count(given));
    }
    if left.len() > 1 && given.contains(&oid::UNKNOWN) {
        left = match by_category(&left, given) {
            Some(chosen) => chosen,
            None => left,
        };
        if left.len() > 1 {
            left = as_the_others(left, given);
        }
    }
    match left.len() {
        1 => left.pop(),
        _ => None,
    }
}

/// Those that have an argument of the right category for each open operand: of text where some take
/// text, else of the category that all of them have.
fn by_category(candidates: &[Candidate], given: &[u32]) -> Option<Vec<Candidate>> {
    let mut wanted = vec![];
    for place in (0..given.len()).filter(|i| given[*i] == oid::UNKNOWN) {
        let types: Vec<u32> = candidates.iter().map(|c| c.arguments[place]).collect();
        let is_text = types.iter().any(|ty| category(*ty) == 'S');
        let one = if is_text { 'S' } else { category(types[0]) };
        if !is_text && types.iter().any(|ty| category(*ty) != one) {
            return None;
        }
        let preferred = types.iter().any(|ty| category(*ty) == one && is_preferred(*ty));
        wanted.push((place, one, preferred));
    }
    let fits = |c: &&Candidate| {
        wanted.iter().all(|(place, one, preferred)| {
            let ty = c.arguments[*place];
            category(ty) == *one && (!preferred || is_preferred(ty))
        })
    };
    let left: Vec<Candidate> = candidates.iter().filter(fits).cloned().collect();
    (!left.is_empty()).then_some(left)
}

/// Where all known operands have one type, the open ones are taken for such.
fn as_the_others(candidates: Vec<Candidate>, given: &[u32]) -> Vec<Candidate> {
    let mut known = given.iter().filter(|ty| **ty != oid::UNKNOWN);
    let Some(first) = known.next() else { return candidates };
    if known.any(|ty| ty != first) {
        return candidates;
    }
    let same = vec![*first; given.len()];
    let left: Vec<Candidate> = candidates.iter().filter(|c| c.takes(&same)).cloned().collect();
    if left.len() == 1 { left } else { candidates }
}

/// The types of the arguments, those of polymorphic ones from the operands.
fn resolved(candidate: &Candidate, given: &[u32]) -> Choice {
    let same = candidate.elements(given, is_same).unwrap_or_default().first().copied();
    let compatible = candidate.elements(given, is_compatible).unwrap_or_default();
    let compatible = match compatible.is_empty() {
        // Of open operands alone it is text.
        true => Some(oid::TEXT),
        false => common_type(&compatible),
    };
    let concrete = |argument: &u32| {
        let (element, array) = match (is_same(*argument), is_compatible(*argument)) {
            (Some(array), _) => (same, array),
            (_, Some(array)) => (compatible, array),
            _ => return Some(if *argument == ANY { 0 } else { *argument }),
        };
        if array { super::array_of(element?) } else { element }
    };
    match candidate.arguments.iter().map(concrete).collect() {
        Some(arguments) => Choice::One(arguments),
        None => Choice::Polymorphic,
    }
}
