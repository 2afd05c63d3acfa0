//! The signatures of PostgreSQL's functions and operators, and its rules which of them is meant where
//! the type of an operand is open (its manual, chapter "Type Conversion"; `func_select_candidate` and
//! `oper` of its parser).

use std::sync::LazyLock;

use stdx::{HashMap, HashSet};
use types::oid;

mod choose;
#[cfg(test)]
mod tests;

use choose::Candidate;

const ANY: u32 = 2276;
const ANYARRAY: u32 = 2277;
const ANYELEMENT: u32 = 2283;
const ANYNONARRAY: u32 = 2776;
const ANYCOMPATIBLE: u32 = 5077;
const ANYCOMPATIBLEARRAY: u32 = 5078;
const ANYCOMPATIBLENONARRAY: u32 = 5079;

/// What a call with open operands means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// One signature, with these types of its arguments; 0 is a type that the signature leaves open.
    One(Vec<u32>),
    /// No signature takes these operands.
    Nothing,
    /// Several do, and none is better.
    Several,
    /// One whose types follow from an operand that has none.
    Polymorphic,
}

struct Type {
    category: char,
    is_preferred: bool,
    element: u32,
    name: &'static str,
}

struct Signature {
    result: u32,
    variadic: u32,
    defaults: usize,
    arguments: Vec<u32>,
}

type Signatures = HashMap<&'static str, Vec<Signature>>;

struct Tables {
    types: HashMap<u32, Type>,
    casts: HashSet<(u32, u32)>,
    operators: Signatures,
    functions: Signatures,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| Tables {
    types: types(include_str!("signatures/types.txt")),
    casts: casts(include_str!("signatures/casts.txt")),
    operators: operators(include_str!("signatures/operators.txt")),
    functions: functions(include_str!("signatures/functions.txt")),
});

/// The types that an operator takes for these operands, [`oid::UNKNOWN`] among them.
pub(crate) fn operator(name: &str, given: [u32; 2]) -> Choice {
    let Some(signatures) = TABLES.operators.get(name) else { return Choice::Nothing };
    let candidates = signatures.iter().map(|s| Candidate { arguments: s.arguments.clone() });
    let candidates: Vec<Candidate> = candidates.collect();
    // An open operand is first taken for one of the other's type.
    let same = match given {
        [oid::UNKNOWN, other] | [other, oid::UNKNOWN] => [other, other],
        both => both,
    };
    if candidates.iter().any(|c| c.arguments == same) {
        return Choice::One(same.to_vec());
    }
    choose::choose(candidates, &given)
}

/// The types that a function takes for these arguments, [`oid::UNKNOWN`] among them.
pub(crate) fn function(name: &str, given: &[u32]) -> Choice {
    let Some(signatures) = TABLES.functions.get(name) else { return Choice::Nothing };
    let candidates = signatures.iter().filter_map(|s| s.with_arguments(given.len())).collect();
    choose::choose(candidates, given)
}

/// Whether PostgreSQL has a function of this name.
pub(crate) fn has_function(name: &str) -> bool {
    TABLES.functions.contains_key(name)
}

/// The type of what a function gives, where that is the same whatever its arguments are.
pub(crate) fn result(name: &str) -> Option<u32> {
    let (first, others) = TABLES.functions.get(name)?.split_first()?;
    others.iter().all(|other| other.result == first.result).then_some(first.result)
}

/// The type of what has one of several types: branches of `CASE`, rows of `VALUES`. `None` where they
/// have none in common.
pub(crate) fn common_type(given: &[u32]) -> Option<u32> {
    let mut known = given.iter().copied().filter(|ty| *ty != oid::UNKNOWN);
    let Some(mut common) = known.next() else { return Some(oid::TEXT) };
    for ty in known.filter(|ty| *ty != common).collect::<Vec<_>>() {
        if category(ty) != category(common) {
            return None;
        }
        if !is_preferred(common) && choose::becomes(common, ty) && !choose::becomes(ty, common) {
            common = ty;
        }
    }
    Some(common)
}

/// The type of the elements of an array; `None` for what is no array.
pub(crate) fn element(array: u32) -> Option<u32> {
    TABLES.types.get(&array).map(|ty| ty.element).filter(|element| *element != 0)
}

/// The type of the arrays of a type.
pub(crate) fn array_of(element: u32) -> Option<u32> {
    let found = TABLES.types.iter().find(|(_, ty)| ty.element == element);
    found.map(|(array, _)| *array)
}

/// The name of a type.
pub(crate) fn type_name(ty: u32) -> &'static str {
    TABLES.types.get(&ty).map_or("unknown", |ty| ty.name)
}

fn category(ty: u32) -> char {
    TABLES.types.get(&ty).map_or('X', |ty| ty.category)
}

fn is_preferred(ty: u32) -> bool {
    TABLES.types.get(&ty).is_some_and(|ty| ty.is_preferred)
}

impl Signature {
    /// The signature for a call with so many arguments.
    fn with_arguments(&self, count: usize) -> Option<Candidate> {
        let mut arguments = self.arguments.clone();
        if self.variadic != 0 {
            // Of a variable argument the signature names the array, or `any` for itself.
            arguments.pop();
            if count <= arguments.len() {
                return None;
            }
            arguments.resize(count, self.variadic);
        }
        let fewest = arguments.len().saturating_sub(self.defaults);
        if !(fewest..=arguments.len()).contains(&count) {
            return None;
        }
        arguments.truncate(count);
        Some(Candidate { arguments })
    }
}

fn number(field: Option<&str>) -> u32 {
    field.and_then(|field| field.parse().ok()).unwrap_or_default()
}

fn types(text: &'static str) -> HashMap<u32, Type> {
    let entry = |line: &'static str| {
        let mut fields = line.splitn(5, ' ');
        let oid = number(fields.next());
        let category = fields.next().and_then(|field| field.chars().next()).unwrap_or('X');
        let is_preferred = fields.next() == Some("t");
        let (element, name) = (number(fields.next()), fields.next().unwrap_or_default());
        (oid, Type { category, is_preferred, element, name })
    };
    text.lines().map(entry).collect()
}

fn casts(text: &'static str) -> HashSet<(u32, u32)> {
    let entry = |line: &'static str| {
        let (from, to) = line.split_once(' ').unwrap_or_default();
        (number(Some(from)), number(Some(to)))
    };
    text.lines().map(entry).collect()
}

fn operators(text: &'static str) -> Signatures {
    let mut all = Signatures::default();
    for line in text.lines() {
        let mut fields = line.split(' ');
        let name = fields.next().unwrap_or_default();
        let arguments: Vec<u32> = fields.map(|field| number(Some(field))).collect();
        if arguments.first() != Some(&0) {
            all.entry(name).or_default().push(Signature {
                result: 0,
                variadic: 0,
                defaults: 0,
                arguments,
            });
        }
    }
    all
}

fn functions(text: &'static str) -> Signatures {
    let mut all = Signatures::default();
    for line in text.lines() {
        let mut fields = line.split(' ');
        let name = fields.next().unwrap_or_default();
        let result = number(fields.next());
        let (variadic, defaults) = (number(fields.next()), number(fields.next()) as usize);
        let arguments = fields.filter(|f| !f.is_empty()).map(|f| number(Some(f))).collect();
        all.entry(name).or_default().push(Signature { result, variadic, defaults, arguments });
    }
    all
}
