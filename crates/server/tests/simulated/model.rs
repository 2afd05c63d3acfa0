//! What a client's rows are, and random statements with what they make of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use stdx::Prng;

/// Keys of one client.
const KEYS: u64 = 200;

/// Rows by their keys.
pub type Rows = BTreeMap<i64, i64>;

/// A statement on a client's rows, and what it leads to.
pub struct Step {
    pub sql: String,
    /// The rows afterwards; `None` when it has to be refused with 23505.
    pub next: Option<Rows>,
}

/// The table that all clients share; each has keys of its own.
pub const SETUP: &str = "create table t (k bigint primary key, v bigint, s text); \
     create index t_v on t (v)";

/// The first key of a client.
fn base(number: usize) -> i64 {
    number as i64 * 10_000
}

/// All rows of a client, in order.
pub fn all_rows(number: usize) -> String {
    let base = base(number);
    format!("select k, v from t where k >= {base} and k < {} order by k", base + 10_000)
}

/// A statement that changes the rows of a client.
pub fn change(prng: &mut Prng, number: usize, rows: &Rows) -> Step {
    match prng.below(8) {
        0..3 => insert(prng, number, rows),
        3 => upsert(prng, number, rows),
        4 | 5 => update(prng, number, rows),
        6 => delete(prng, number, rows),
        _ => move_keys(prng, number, rows),
    }
}

/// New rows with different keys, and their `VALUES`.
fn values(prng: &mut Prng, number: usize) -> (Rows, String) {
    let count = 1 + prng.below(6);
    let key = |prng: &mut Prng| base(number) + prng.below(KEYS) as i64;
    let new: Rows = (0..count).map(|_| (key(prng), prng.below(20) as i64)).collect();
    let mut text = String::new();
    for (at, (k, v)) in new.iter().enumerate() {
        let comma = if at > 0 { ", " } else { "" };
        let _ = write!(text, "{comma}({k}, {v}, repeat('x', {}))", prng.below(100));
    }
    (new, text)
}

fn with(rows: &Rows, new: Rows) -> Rows {
    let mut next = rows.clone();
    next.extend(new);
    next
}

fn insert(prng: &mut Prng, number: usize, rows: &Rows) -> Step {
    let (new, values) = values(prng, number);
    let is_new = !new.keys().any(|key| rows.contains_key(key));
    Step { sql: format!("insert into t values {values}"), next: is_new.then(|| with(rows, new)) }
}

fn upsert(prng: &mut Prng, number: usize, rows: &Rows) -> Step {
    let (new, values) = values(prng, number);
    let sql = format!("insert into t values {values} on conflict (k) do update set v = excluded.v");
    Step { sql, next: Some(with(rows, new)) }
}

fn range(prng: &mut Prng, number: usize) -> (i64, i64) {
    let begin = base(number) + prng.below(KEYS) as i64;
    let most = if prng.chance(0.2) { KEYS } else { 10 };
    (begin, begin + 1 + prng.below(most) as i64)
}

fn update(prng: &mut Prng, number: usize, rows: &Rows) -> Step {
    let (begin, end) = range(prng, number);
    let sql = format!("update t set v = v + 1 where k >= {begin} and k < {end}");
    let mut next = rows.clone();
    next.range_mut(begin..end).for_each(|(_, v)| *v += 1);
    Step { sql, next: Some(next) }
}

fn delete(prng: &mut Prng, number: usize, rows: &Rows) -> Step {
    let (begin, end) = range(prng, number);
    let mut next = rows.clone();
    next.retain(|key, _| !(begin..end).contains(key));
    Step { sql: format!("delete from t where k >= {begin} and k < {end}"), next: Some(next) }
}

/// Keys that change, to where others may be; they stay the client's.
fn move_keys(prng: &mut Prng, number: usize, rows: &Rows) -> Step {
    let ((begin, end), by) = (range(prng, number), 1 + prng.below(20) as i64);
    let sql = format!("update t set k = k + {by} where k >= {begin} and k < {end}");
    let moved: Rows = rows.range(begin..end).map(|(key, v)| (key + by, *v)).collect();
    let mut next = rows.clone();
    next.retain(|key, _| !(begin..end).contains(key));
    let is_free = !moved.keys().any(|key| next.contains_key(key));
    Step { sql, next: is_free.then(|| with(&next, moved)) }
}
