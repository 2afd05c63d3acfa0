//! The index nested-loop join of a program.

use plan::{Code, LookupJoin, LookupKind};
use types::cells::{Cells, Value};

use super::{Found, ROOM, Run, Stopped};

impl Run<'_> {
    /// The rows of a join, in the order of its outer rows.
    pub(super) async fn join(&self, join: &LookupJoin, code: &Code) -> Result<Cells, Stopped> {
        let outer = self.rows(&join.outer).await?;
        if outer.is_empty() {
            return Ok(Cells::new(join.output.len()));
        }
        let keys = self.computed(&code.exprs, &outer)?;
        let found = self.tables.lookup(join, &keys, ROOM).await?;
        let pairs = self.pairs(&outer, found, code)?;
        Ok(match join.kind {
            LookupKind::Inner => gathered(&outer, &pairs, &join.output, false)?,
            LookupKind::Left => gathered(&outer, &pairs, &join.output, true)?,
            LookupKind::Semi => partnered(outer, &pairs, true).columns(&join.output),
            LookupKind::Anti => partnered(outer, &pairs, false).columns(&join.output),
        })
    }

    /// The pairs that pass the filters.
    fn pairs(&self, outer: &Cells, found: Found, code: &Code) -> Result<Found, Stopped> {
        let mut pairs = found;
        if let Some(filter) = &code.inner_filter {
            let passed = self.passed(&pairs.rows, filter)?;
            pairs = pairs.take(&passed);
        }
        if let Some(filter) = &code.filter {
            let all: Vec<usize> = (0..outer.width() + pairs.rows.width()).collect();
            let both = gathered(outer, &pairs, &all, false)?;
            let passed = self.passed(&both, filter)?;
            pairs = pairs.take(&passed);
        }
        Ok(pairs)
    }
}

impl Found {
    fn take(self, places: &[u32]) -> Found {
        let positions = places.iter().map(|place| self.positions[*place as usize]).collect();
        Found { rows: self.rows.take(places), positions }
    }
}

/// Columns of the pairs, and of outer rows without a partner, if those are wanted.
fn gathered(
    outer: &Cells,
    pairs: &Found,
    output: &[usize],
    with_lonely: bool,
) -> Result<Cells, Stopped> {
    let mut rows = Cells::new(output.len());
    let mut push = |at: usize, inner: Option<usize>| {
        if rows.memory() > ROOM.bytes {
            return Err(Stopped::TooMany);
        }
        for &column in output {
            rows.push(match (column.checked_sub(outer.width()), inner) {
                (None, _) => outer.value(at, column),
                (Some(column), Some(inner)) => pairs.rows.value(inner, column),
                (Some(_), None) => Value::Null,
            });
        }
        rows.end_row();
        Ok(())
    };
    let mut next = 0;
    for at in 0..outer.len() {
        let first = next;
        while pairs.positions.get(next).is_some_and(|position| *position as usize == at) {
            push(at, Some(next))?;
            next += 1;
        }
        if with_lonely && next == first {
            push(at, None)?;
        }
    }
    Ok(rows)
}

/// The outer rows that have a partner, or those that have none.
fn partnered(outer: Cells, pairs: &Found, wanted: bool) -> Cells {
    let mut has_partner = vec![false; outer.len()];
    pairs.positions.iter().for_each(|at| has_partner[*at as usize] = true);
    let is_wanted = |at: &u32| has_partner[*at as usize] == wanted;
    let places: Vec<u32> = (0..outer.len() as u32).filter(is_wanted).collect();
    outer.take(&places)
}
