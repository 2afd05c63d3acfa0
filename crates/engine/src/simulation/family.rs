//! Two tables of a client that a foreign key joins, and temporary tables: what hangs on others has to follow them.

use std::collections::{BTreeMap, BTreeSet};

use plan::catalog::TableStorage;
use stdx::Prng;
use types::SqlState;

use super::client::{Client, Stop, lock};
use super::interrupted::Ended;
use super::model;

/// Keys are below this.
const KEYS: u64 = 40;

/// Written for a child that has no parent.
const NONE: i64 = -1;

/// What becomes of children whose parent goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnDelete {
    Cascade,
    SetNull,
    Refuse,
}

impl OnDelete {
    /// Clients have one each.
    fn of(number: usize) -> OnDelete {
        [OnDelete::Cascade, OnDelete::SetNull, OnDelete::Refuse][number % 3]
    }

    fn text(self) -> &'static str {
        match self {
            OnDelete::Cascade => "on delete cascade",
            OnDelete::SetNull => "on delete set null",
            OnDelete::Refuse => "",
        }
    }
}

/// The keys of the parents, and of each child that of its parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Family {
    parents: BTreeSet<i64>,
    children: BTreeMap<i64, Option<i64>>,
}

/// Statements that make both tables of client `number`.
pub(super) fn setup(number: usize, storage: TableStorage) -> Vec<String> {
    let kind = if storage == TableStorage::Column { " with (storage = column)" } else { "" };
    let action = OnDelete::of(number).text();
    vec![
        format!("create table p{number} (k bigint primary key){kind}"),
        format!(
            "create table f{number} (k bigint primary key, r bigint references p{number} {action}){kind}"
        ),
    ]
}

/// A statement about one of them, and what it leads to, or with which state it has to be refused.
struct Change {
    sql: String,
    next: Result<Family, SqlState>,
}

fn change(prng: &mut Prng, number: usize, family: &Family) -> Change {
    match prng.below(4) {
        0 => born(prng, number, family),
        1 | 2 => adopted(prng, number, family),
        _ => gone(prng, number, family),
    }
}

/// Some more parents.
fn born(prng: &mut Prng, number: usize, family: &Family) -> Change {
    let begin = prng.below(KEYS) as i64;
    let end = begin + prng.below(8) as i64;
    let sql = format!(
        "insert into p{number} select g from generate_series({begin}, {end}) as s(g) on conflict do nothing"
    );
    let mut next = family.clone();
    next.parents.extend(begin..=end);
    Change { sql, next: Ok(next) }
}

/// A child, new or not, gets a parent, which has to be there.
fn adopted(prng: &mut Prng, number: usize, family: &Family) -> Change {
    let (child, parent) = (prng.below(KEYS) as i64, prng.below(KEYS) as i64);
    let sql = format!(
        "insert into f{number} values ({child}, {parent}) on conflict (k) do update set r = excluded.r"
    );
    let mut next = family.clone();
    next.children.insert(child, Some(parent));
    let has_parent = family.parents.contains(&parent);
    Change { sql, next: has_parent.then_some(next).ok_or(SqlState::FOREIGN_KEY_VIOLATION) }
}

/// Parents go, and their children do what the key says.
fn gone(prng: &mut Prng, number: usize, family: &Family) -> Change {
    let begin = prng.below(KEYS) as i64;
    let keys = begin..begin + 1 + prng.below(6) as i64;
    let sql = format!("delete from p{number} where k >= {} and k < {}", keys.start, keys.end);
    let left = |parent: &Option<i64>| parent.is_some_and(|parent| keys.contains(&parent));
    let mut next = family.clone();
    next.parents.retain(|key| !keys.contains(key));
    match OnDelete::of(number) {
        OnDelete::Refuse if family.children.values().any(left) => {
            return Change { sql, next: Err(SqlState::FOREIGN_KEY_VIOLATION) };
        }
        OnDelete::SetNull => {
            next.children.values_mut().filter(|parent| left(parent)).for_each(|r| *r = None);
        }
        OnDelete::Cascade => next.children.retain(|_, parent| !left(parent)),
        OnDelete::Refuse => {}
    }
    Change { sql, next: Ok(next) }
}

impl Client {
    /// A statement about a parent or a child, which something may befall.
    pub(super) async fn change_family(&mut self) -> Result<(), Stop> {
        let before = lock(&self.notes).family.clone();
        let change = change(&mut self.prng, self.number, &before);
        lock(&self.notes).possible_family = change.next.clone().ok();
        let run = async |client: &mut Client| client.session.run_all(&change.sql).await.map(drop);
        let done = match self.interrupted(run).await {
            Ended::Done(done) => done,
            Ended::Cancelled => {
                lock(&self.notes).possible_family = None;
                return Ok(());
            }
            Ended::Dropped => return self.find_family(&change).await,
        };
        match (done, change.next) {
            (Ok(()), Ok(next)) => {
                self.report.statements += 1;
                self.settle_family(next);
            }
            (Ok(()), Err(state)) => {
                let message = format!("{}: not refused with {}", change.sql, state.0);
                return Err(Stop::Defect(message));
            }
            (Err(error), Err(state)) if error.state == state => self.report.refusals += 1,
            (Err(error), _) => self.must(&change.sql, Err(error))?,
        }
        lock(&self.notes).possible_family = None;
        Ok(())
    }

    fn settle_family(&self, next: Family) {
        let mut known = lock(&self.notes);
        let before = (known.certain.clone(), std::mem::replace(&mut known.family, next));
        known.earlier.push(before);
        known.possible_family = None;
        if self.waits {
            known.settle();
        }
    }

    /// Has one that was dropped come through?
    async fn find_family(&mut self, change: &Change) -> Result<(), Stop> {
        self.settle_others().await?;
        let found = self.family().await?;
        let known = lock(&self.notes).clone();
        if found != known.family && Some(&found) != known.possible_family.as_ref() {
            return Err(Stop::Defect(format!("{}: half of it was done", change.sql)));
        }
        self.settle_family(found);
        lock(&self.notes).settle();
        Ok(())
    }

    /// Both tables are what the model says.
    pub(super) async fn compare_family(&mut self) -> Result<(), Stop> {
        let found = self.family().await?;
        self.report.comparisons += 1;
        let known = lock(&self.notes).family.clone();
        let differs = || Stop::Defect(format!("f{}: {found:?}, not {known:?}", self.number));
        if found == known { Ok(()) } else { Err(differs()) }
    }

    /// Both tables as they are.
    pub(super) async fn family(&mut self) -> Result<Family, Stop> {
        let number = self.number;
        let parents = self.all_numbers(&format!("select k from p{number}")).await?;
        let children = format!("select k, coalesce(r, {NONE}) from f{number}");
        let children = self.all_numbers(&children).await?;
        Ok(Family {
            parents: parents.into_iter().map(|row| row[0]).collect(),
            children: children
                .into_iter()
                .map(|row| (row[0], (row[1] != NONE).then_some(row[1])))
                .collect(),
        })
    }

    async fn all_numbers(&mut self, sql: &str) -> Result<Vec<Vec<i64>>, Stop> {
        let found = self.numbers(sql).await;
        self.answered(sql, found)?.ok_or(Stop::Machine)
    }

    /// A temporary table of the client's rows, changed, and dropped or left to the session's end.
    pub(super) async fn temporary(&mut self) -> Result<(), Stop> {
        let (number, t) = (self.number, format!("x{}", self.number));
        let texts = [
            format!("drop table if exists {t}"),
            format!("create temporary table {t} as select k, v, s from t{number}"),
            format!("create unique index on {t} (k)"),
            format!("delete from {t} where v < 3"),
        ];
        for sql in texts {
            let run = async |client: &mut Client| client.session.run_all(&sql).await.map(drop);
            let Ended::Done(done) = self.interrupted(run).await else { return Ok(()) };
            let is_done = done.is_ok();
            self.must(&sql, done)?;
            if !is_done {
                return Ok(());
            }
        }
        let found = self.rows(&model::rows_of(&t)).await?;
        let mut expected = lock(&self.notes).certain.clone();
        expected.retain(|_, row| row.0 >= 3);
        self.same("temporary copy", &found, &expected)
    }
}

impl Family {
    /// The children whose parents are not there.
    pub(super) fn orphans(&self) -> Vec<i64> {
        let is_orphan = |parent: &Option<i64>| parent.is_some_and(|p| !self.parents.contains(&p));
        self.children
            .iter()
            .filter(|(_, parent)| is_orphan(parent))
            .map(|(child, _)| *child)
            .collect()
    }
}
