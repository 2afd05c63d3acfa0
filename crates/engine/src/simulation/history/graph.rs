//! The graph of dependencies between transactions, and what each level forbids in it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::History;
use crate::isolation::Isolation;

/// What a transaction has done, in its order.
#[derive(Debug, Clone, Default)]
pub struct Transaction {
    /// Its reads and writes.
    pub accesses: Vec<Access>,
    /// How many transactions had begun or been acknowledged when it began.
    pub began: u64,
    /// The same when it was acknowledged; the greatest number if it was not.
    pub acknowledged: u64,
    /// It was durable then.
    pub is_durable: bool,
}

impl Transaction {
    /// The numbers that it has added.
    pub(super) fn added(&self) -> impl Iterator<Item = (usize, u32)> {
        self.accesses.iter().filter_map(|access| match access {
            Access::Append { key, number } => Some((*key, *number)),
            Access::Read { .. } => None,
        })
    }
}

/// A read or a write.
#[derive(Debug, Clone)]
pub enum Access {
    /// It has seen this list.
    Read {
        /// The list's key.
        key: usize,
        /// What was in it; nothing where there was no list.
        list: Vec<u32>,
    },
    /// It has added a number.
    Append {
        /// The list's key.
        key: usize,
        /// The number, which nobody else adds.
        number: u32,
    },
}

/// How one transaction depends on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    /// It has written after it.
    Write,
    /// It has read what it wrote.
    Read,
    /// It has read what that one then has overwritten.
    Anti,
}

/// By transaction: those that depend on it.
type Edges = BTreeMap<usize, BTreeSet<(usize, Edge)>>;

pub(super) fn check(history: &History, level: Isolation) -> Result<(), String> {
    let writers = writers(history)?;
    for (number, transaction) in history.committed.iter().enumerate() {
        check_reads(history, &writers, number, transaction, level)?;
        check_acknowledged(history, number, transaction)?;
    }
    let edges = edges(history, &writers)?;
    let dependencies: Edges = edges
        .iter()
        .map(|(from, to)| (*from, to.iter().filter(|e| e.1 != Edge::Anti).copied().collect()))
        .collect();
    acyclic(history, &dependencies, "of dependencies (G1c)")?;
    match level {
        Isolation::ReadCommitted => Ok(()),
        Isolation::RepeatableRead => acyclic(
            history,
            &with_single_anti(&dependencies, &edges),
            "with one \
             anti-dependency, or several that do not follow each other (G-single, long fork)",
        ),
        Isolation::Serializable => {
            acyclic(history, &edges, "of dependencies and anti-dependencies (G2)")
        }
    }
}

/// Who has written each number that was committed; each of them stands in the lists at the end, once.
fn writers(history: &History) -> Result<HashMap<u32, usize>, String> {
    let mut writers = HashMap::new();
    for (transaction, done) in history.committed.iter().enumerate() {
        writers.extend(done.added().map(|(_, number)| (number, transaction)));
    }
    let mut seen = HashSet::new();
    for number in history.lists.iter().flatten() {
        if !writers.contains_key(number) {
            return Err(format!("{number} was not committed, and is there (G1a)"));
        }
        if !seen.insert(number) {
            return Err(format!("{number} is there twice"));
        }
    }
    match writers.keys().find(|number| !seen.contains(number)) {
        Some(number) => Err(format!("{number} was committed, and is not there (a lost update)")),
        None => Ok(writers),
    }
}

/// Reads are beginnings of the lists, with the transaction's own numbers behind; nobody sees what was
/// not committed, or half of what a transaction has written to a list.
fn check_reads(
    history: &History,
    writers: &HashMap<u32, usize>,
    own: usize,
    transaction: &Transaction,
    level: Isolation,
) -> Result<(), String> {
    let mut added: HashMap<usize, Vec<u32>> = HashMap::new();
    let mut seen: HashMap<usize, Vec<u32>> = HashMap::new();
    for access in &transaction.accesses {
        let (key, list) = match access {
            Access::Append { key, number } => {
                added.entry(*key).or_default().push(*number);
                continue;
            }
            Access::Read { key, list } => (*key, list),
        };
        let mine = added.get(&key).map_or(&[][..], Vec::as_slice);
        let others = list.strip_suffix(mine);
        let others = others.ok_or_else(|| format!("{own} does not see its own: {list:?}"))?;
        if let Some(number) = others.iter().find(|number| !writers.contains_key(number)) {
            return Err(format!("{own} has seen {number}, which was not committed (G1a)"));
        }
        if !history.lists[key].starts_with(others) {
            return Err(format!("{own} has seen {list:?}, which key {key} never was"));
        }
        let last = others.last().map(|number| writers[number]);
        let next = history.lists[key].get(others.len()).map(|number| writers[number]);
        if last.is_some() && last == next && last != Some(own) {
            return Err(format!("{own} has seen half of what {last:?} wrote (G1b)"));
        }
        let before = seen.insert(key, others.to_vec());
        let has_changed = before.is_some_and(|before| before != others);
        if has_changed && level != Isolation::ReadCommitted {
            return Err(format!("{own} has seen key {key} change to {list:?} (not repeatable)"));
        }
    }
    Ok(())
}

/// Who begins after another one was acknowledged sees what that has done.
fn check_acknowledged(
    history: &History,
    own: usize,
    transaction: &Transaction,
) -> Result<(), String> {
    let before = history.committed.iter().filter(|t| t.acknowledged < transaction.began);
    let before: Vec<(usize, u32)> = before.flat_map(Transaction::added).collect();
    for access in &transaction.accesses {
        let Access::Read { key, list } = access else { continue };
        let missing = before.iter().find(|(k, number)| k == key && !list.contains(number));
        if let Some((_, number)) = missing {
            return Err(format!("{own} does not see {number}, which was acknowledged: {list:?}"));
        }
    }
    Ok(())
}

fn edges(history: &History, writers: &HashMap<u32, usize>) -> Result<Edges, String> {
    let mut edges = Edges::new();
    let mut add = |from: usize, to: usize, edge: Edge| {
        if from != to {
            edges.entry(from).or_default().insert((to, edge));
        }
    };
    for list in &history.lists {
        for pair in list.windows(2) {
            add(writers[&pair[0]], writers[&pair[1]], Edge::Write);
        }
    }
    for (own, transaction) in history.committed.iter().enumerate() {
        for access in &transaction.accesses {
            let Access::Read { key, list } = access else { continue };
            let count = list.iter().take_while(|number| writers[*number] != own).count();
            let (list, all) = (&list[..count], &history.lists[*key]);
            if let Some(last) = list.last() {
                add(writers[last], own, Edge::Read);
            }
            // The first that comes behind and is not its own.
            if let Some(next) = all[count..].iter().find(|number| writers[*number] != own) {
                add(own, writers[next], Edge::Anti);
            }
        }
    }
    Ok(edges)
}

/// Dependencies, each alone and followed by an anti-dependency: a cycle of these is one in which no two
/// anti-dependencies follow each other, which snapshot isolation forbids.
fn with_single_anti(dependencies: &Edges, edges: &Edges) -> Edges {
    let anti = |from: usize| {
        let all = edges.get(&from).into_iter().flatten();
        all.filter(|(_, edge)| *edge == Edge::Anti)
    };
    let mut joined = dependencies.clone();
    for (from, direct) in dependencies {
        for (middle, _) in direct {
            let through = anti(*middle).map(|(to, edge)| (*to, *edge));
            joined.entry(*from).or_default().extend(through);
        }
    }
    joined
}

/// Fails with the transactions that are left when those that depend on nobody are taken away, again and
/// again: a cycle is among them.
fn acyclic(history: &History, edges: &Edges, what: &str) -> Result<(), String> {
    let mut waits = vec![0usize; history.committed.len()];
    edges.values().flatten().for_each(|(to, _)| waits[*to] += 1);
    let mut free: Vec<usize> = (0..waits.len()).filter(|at| waits[*at] == 0).collect();
    let mut count = 0;
    while let Some(from) = free.pop() {
        count += 1;
        for (to, _) in edges.get(&from).into_iter().flatten() {
            waits[*to] -= 1;
            if waits[*to] == 0 {
                free.push(*to);
            }
        }
    }
    if count == waits.len() {
        return Ok(());
    }
    let cycle = cycle(edges, &waits);
    let shown: Vec<String> =
        cycle.iter().map(|at| format!("{at}: {:?}", history.committed[*at].accesses)).collect();
    Err(format!("a cycle {what}:\n  {}", shown.join("\n  ")))
}

/// One of the cycles among those that still wait: back from one to somebody it waits for, until somebody
/// comes again.
fn cycle(edges: &Edges, waits: &[usize]) -> Vec<usize> {
    let waits_for = |at: usize| {
        let is_it =
            |from: &&usize| waits[**from] > 0 && edges[*from].iter().any(|(to, _)| *to == at);
        edges.keys().find(is_it).copied()
    };
    let mut path: Vec<usize> = waits.iter().position(|count| *count > 0).into_iter().collect();
    while let Some(before) = path.last().and_then(|at| waits_for(*at)) {
        if let Some(begin) = path.iter().position(|at| *at == before) {
            return path[begin..].to_vec();
        }
        path.push(before);
    }
    path
}

#[cfg(test)]
mod tests;
