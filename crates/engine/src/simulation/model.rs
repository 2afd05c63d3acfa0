//! What a client's table holds, and random statements with what they make of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use plan::catalog::TableStorage;
use stdx::Prng;
use types::SqlState;

/// Keys are below this: few, so that statements meet.
const KEYS: u64 = 600;

/// No key is so large.
const KEYS_END: i64 = 20_000;

/// Rows by their keys: the number and the length of the text.
pub(super) type Rows = BTreeMap<i64, (i64, usize)>;

/// A statement on the client's table, and what it leads to.
pub(super) struct Step {
    pub(super) sql: String,
    /// What the client sends with it.
    pub(super) data: Option<String>,
    /// The rows afterwards; `None` when it has to be refused.
    pub(super) next: Option<Rows>,
    /// With which state.
    pub(super) refusal: SqlState,
}

impl Step {
    /// A statement that leads to `next`, or has a key that is there already.
    pub(super) fn of(sql: String, next: Option<Rows>) -> Step {
        Step { sql, data: None, next, refusal: SqlState::UNIQUE_VIOLATION }
    }
}

/// Statements that make the table of client `number`.
pub(super) fn setup(number: usize, storage: TableStorage) -> Vec<String> {
    let sequence = format!("create sequence q{number}");
    let columns = match storage {
        TableStorage::Row => "(k bigint primary key, v bigint, s text)",
        TableStorage::Column => "(k bigint unique, v bigint, s text) with (storage = column)",
    };
    vec![
        format!("create table t{number} {columns}"),
        format!("create index t{number}_v on t{number} using {} (v)", method(number)),
        sequence,
    ]
}

/// Every other client finds its rows by hash.
fn method(number: usize) -> &'static str {
    if number.is_multiple_of(2) { "hash" } else { "btree" }
}

/// All rows of the table, as the model has them.
pub(super) fn all_rows(number: usize) -> String {
    rows_of(&format!("t{number}"))
}

/// The same of any table.
pub(super) fn rows_of(table: &str) -> String {
    format!("select k, v, length(s) from {table} order by k")
}

/// Rows with some of the numbers, found by the index where the planner likes it.
pub(super) fn by_number(number: usize, value: i64) -> String {
    format!("select k, v, length(s) from t{number} where v = {value} order by k")
}

/// A statement that changes rows.
pub(super) fn change(prng: &mut Prng, number: usize, rows: &Rows) -> Step {
    match prng.below(9) {
        0 | 1 => insert(prng, number, rows),
        2 => upsert(prng, number, rows),
        3 => update(prng, number, rows),
        4 => delete(prng, number, rows),
        5 => insert_select(prng, number, rows),
        6 => move_keys(prng, number, rows),
        7 => add_series(prng, number, rows),
        _ if prng.chance(0.2) => Step::of(format!("truncate t{number}"), Some(Rows::new())),
        _ => update(prng, number, rows),
    }
}

/// Lengths of texts: mostly short, sometimes too long for a leaf.
fn length(prng: &mut Prng) -> usize {
    match prng.below(12) {
        0 => 2000 + prng.below(6000) as usize,
        1..4 => prng.below(400) as usize,
        _ => prng.below(20) as usize,
    }
}

fn range(prng: &mut Prng) -> (i64, i64) {
    let begin = prng.below(KEYS) as i64;
    let most = if prng.chance(0.3) { KEYS } else { 8 };
    (begin, begin + 1 + prng.below(most) as i64)
}

/// New rows with different keys.
pub(super) fn new_rows(prng: &mut Prng) -> Rows {
    let count = 1 + prng.below(6);
    (0..count).map(|_| (prng.below(KEYS) as i64, (prng.below(20) as i64, length(prng)))).collect()
}

/// New rows with different keys, and their `VALUES`.
fn values(prng: &mut Prng) -> (Rows, String) {
    let new = new_rows(prng);
    let mut text = String::new();
    for (at, (k, (v, length))) in new.iter().enumerate() {
        let comma = if at > 0 { ", " } else { "" };
        let _ = write!(text, "{comma}({k}, {v}, repeat('x', {length}))");
    }
    (new, text)
}

fn insert(prng: &mut Prng, number: usize, rows: &Rows) -> Step {
    let (new, values) = values(prng);
    let sql = format!("insert into t{number} (k, v, s) values {values}");
    let is_new = !new.keys().any(|key| rows.contains_key(key));
    Step::of(sql, is_new.then(|| with(rows, new)))
}

fn upsert(prng: &mut Prng, number: usize, rows: &Rows) -> Step {
    let (new, values) = values(prng);
    let sql = format!(
        "insert into t{number} (k, v, s) values {values} \
         on conflict (k) do update set v = excluded.v, s = excluded.s"
    );
    Step::of(sql, Some(with(rows, new)))
}

pub(super) fn with(rows: &Rows, new: Rows) -> Rows {
    let mut next = rows.clone();
    next.extend(new);
    next
}

fn update(prng: &mut Prng, number: usize, rows: &Rows) -> Step {
    let within = range(prng);
    update_within(within, prng, number, rows)
}

/// A change of rows that are there, if any are.
pub(super) fn update_found(prng: &mut Prng, number: usize, rows: &Rows) -> Option<Step> {
    let at = prng.below(rows.len().max(1) as u64) as usize;
    let begin = *rows.keys().nth(at)?;
    Some(update_within((begin, begin + 8), prng, number, rows))
}

fn update_within((begin, end): (i64, i64), prng: &mut Prng, number: usize, rows: &Rows) -> Step {
    let length = length(prng);
    let sql = format!(
        "update t{number} set v = v + 1, s = repeat('y', {length}) where k >= {begin} and k < {end}"
    );
    let mut next = rows.clone();
    next.range_mut(begin..end).for_each(|(_, row)| *row = (row.0 + 1, length));
    Step::of(sql, Some(next))
}

fn delete(prng: &mut Prng, number: usize, rows: &Rows) -> Step {
    // Now and then all that does not lie among the few.
    let (begin, end) = if prng.chance(0.2) { (KEYS as i64, KEYS_END) } else { range(prng) };
    let sql = format!("delete from t{number} where k >= {begin} and k < {end}");
    let mut next = rows.clone();
    next.retain(|key, _| !(begin..end).contains(key));
    Step::of(sql, Some(next))
}

/// Rows that come from the table itself.
fn insert_select(prng: &mut Prng, number: usize, rows: &Rows) -> Step {
    let far = 1000 + prng.below(3) as i64 * 1000;
    let sql = format!(
        "insert into t{number} (k, v, s) select k + {far}, v, s from t{number} where k < {KEYS}"
    );
    let new: Rows = rows.range(..KEYS as i64).map(|(key, row)| (key + far, *row)).collect();
    let is_new = !new.keys().any(|key| rows.contains_key(key));
    Step::of(sql, is_new.then(|| with(rows, new)))
}

/// Keys that change, to where others may be.
fn move_keys(prng: &mut Prng, number: usize, rows: &Rows) -> Step {
    let ((begin, end), by) = (range(prng), 1 + prng.below(KEYS) as i64);
    let sql = format!("update t{number} set k = k + {by} where k >= {begin} and k < {end}");
    let moved: Rows = rows.range(begin..end).map(|(key, row)| (key + by, *row)).collect();
    let mut next = rows.clone();
    next.retain(|key, _| !(begin..end).contains(key));
    let is_free = !moved.keys().any(|key| next.contains_key(key));
    Step::of(sql, is_free.then(|| with(&next, moved)))
}

/// Many rows at once, beyond what is changed in place.
fn add_series(prng: &mut Prng, number: usize, rows: &Rows) -> Step {
    let (begin, end) = series(prng);
    let sql = format!(
        "insert into t{number} (k, v, s) select g, g % 7, repeat('z', 30) \
         from generate_series({begin}, {}) as s(g)",
        end - 1
    );
    let new: Rows = (begin..end).map(|key| (key, (key % 7, 30))).collect();
    let is_new = !new.keys().any(|key| rows.contains_key(key));
    Step::of(sql, is_new.then(|| with(rows, new)))
}

/// The keys of many rows: mostly some dozens, sometimes so many that their statement can be ended in the midst.
pub(super) fn series(prng: &mut Prng) -> (i64, i64) {
    let begin = 5000 + prng.below(4) as i64 * 1000;
    let most = match prng.below(10) {
        0 => 4000,
        1 | 2 => 900,
        _ => 60,
    };
    (begin, begin + 1 + prng.below(most) as i64)
}
