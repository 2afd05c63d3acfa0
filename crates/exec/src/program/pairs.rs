//! Joins of a program whose two sides are rows: by equal keys, and by testing each pair.

use std::collections::HashMap;

use plan::{Code, HashJoin, HashJoinKind, NestedLoopJoin, Node};
use types::cells::{Cells, Value};

use super::keys::RowKey;
use super::{ROOM, Run, Stopped};

/// The sides of a join. Of a join that tests each pair the left one is called the build side, as in
/// the name of its kind.
struct Sides {
    build: Cells,
    probe: Cells,
    pairs: Vec<(u32, u32)>,
}

/// The rows of each side that have a key with a null.
#[derive(Default)]
struct Nulls {
    build: Vec<bool>,
    probe: Vec<bool>,
}

impl Run<'_> {
    /// The rows of a join by equal keys.
    pub(super) async fn hash_join(&self, join: &HashJoin, code: &Code) -> Result<Cells, Stopped> {
        let sides = self.sides((&join.build, &join.probe), join.kind).await?;
        let Some((build, probe)) = sides else { return Ok(Cells::new(join.output.len())) };
        let count = join.build_keys.len();
        let build_keys = self.computed(&code.exprs[..count], &build)?;
        let probe_keys = self.computed(&code.exprs[count..], &probe)?;
        let (pairs, nulls) = equal(&build_keys, &probe_keys, join.null_equals_null)?;
        let mut sides = Sides { build, probe, pairs };
        self.test(&mut sides, code)?;
        match join.null_aware {
            true => sides.known(join.kind, &nulls, &join.output),
            false => sides.rows(join.kind, &join.output),
        }
    }

    /// The rows of a join that tests each pair.
    pub(super) async fn nested_loop_join(
        &self,
        join: &NestedLoopJoin,
        code: &Code,
    ) -> Result<Cells, Stopped> {
        let sides = self.sides((&join.left, &join.right), join.kind).await?;
        let Some((build, probe)) = sides else { return Ok(Cells::new(join.output.len())) };
        if build.len().saturating_mul(probe.len()) > ROOM.rows {
            return Err(Stopped::TooMany);
        }
        let of_one = |left: u32| (0..probe.len() as u32).map(move |right| (left, right));
        let pairs = (0..build.len() as u32).flat_map(of_one).collect();
        let mut sides = Sides { build, probe, pairs };
        self.test(&mut sides, code)?;
        sides.rows(join.kind, &join.output)
    }

    /// The rows of both sides; `None` where the join has none since one side has none. Nobody asks
    /// for what is wrong with the other one then.
    async fn sides(
        &self,
        (build, probe): (&Node, &Node),
        kind: HashJoinKind,
    ) -> Result<Option<(Cells, Cells)>, Stopped> {
        use HashJoinKind as K;
        let is_none = |rows: &Result<Cells, Stopped>| rows.as_ref().is_ok_and(Cells::is_empty);
        let probe = self.rows(probe).await;
        let needs_probe =
            !matches!(kind, K::BuildOuter | K::FullOuter | K::BuildAnti | K::BuildMark);
        if matches!(probe, Err(Stopped::TooMany)) || needs_probe && is_none(&probe) {
            return probe.map(|_| None);
        }
        let build = self.rows(build).await;
        let needs_build =
            !matches!(kind, K::ProbeOuter | K::FullOuter | K::ProbeAnti | K::ProbeMark);
        if needs_build && is_none(&build) {
            return Ok(None);
        }
        let build = build?;
        Ok(Some((build, probe?)))
    }

    /// Drops the pairs that do not pass the condition of a join.
    fn test(&self, sides: &mut Sides, code: &Code) -> Result<(), Stopped> {
        let Some(filter) = &code.filter else { return Ok(()) };
        let all: Vec<usize> = (0..sides.build.width() + sides.probe.width()).collect();
        let mut both = sides.none(&all);
        for (build, probe) in &sides.pairs {
            sides.push(&mut both, &all, (Some(*build), Some(*probe), Value::Null))?;
        }
        let passed = self.passed(&both, filter)?;
        sides.pairs = passed.iter().map(|at| sides.pairs[*at as usize]).collect();
        Ok(())
    }
}

/// The pairs of rows with equal keys, in the order of the second side.
fn equal(
    build: &Cells,
    probe: &Cells,
    null_equals_null: bool,
) -> Result<(Vec<(u32, u32)>, Nulls), Stopped> {
    let (mut table, mut key, mut nulls) = (HashMap::new(), RowKey::default(), Nulls::default());
    for row in 0..build.len() {
        key.read(build, row, 0..build.width());
        nulls.build.push(key.has_null());
        if null_equals_null || !key.has_null() {
            table.entry(key.bytes().to_vec()).or_insert_with(Vec::new).push(row as u32);
        }
    }
    let mut pairs = vec![];
    for row in 0..probe.len() {
        key.read(probe, row, 0..probe.width());
        nulls.probe.push(key.has_null());
        let partners = table.get(key.bytes()).into_iter().flatten();
        pairs.extend(partners.map(|partner| (*partner, row as u32)));
        if pairs.len() > ROOM.rows {
            return Err(Stopped::TooMany);
        }
    }
    Ok((pairs, nulls))
}

impl Sides {
    fn none(&self, output: &[usize]) -> Cells {
        Cells::new(output.len())
    }

    /// Adds a row of columns of both sides and of a mark, which stands behind them.
    fn push(
        &self,
        rows: &mut Cells,
        output: &[usize],
        (build, probe, mark): (Option<u32>, Option<u32>, Value<'_>),
    ) -> Result<(), Stopped> {
        if rows.memory() > ROOM.bytes {
            return Err(Stopped::TooMany);
        }
        let (first, second) = (self.build.width(), self.build.width() + self.probe.width());
        for &column in output {
            rows.push(match (column, build, probe) {
                (at, Some(row), _) if at < first => self.build.value(row as usize, at),
                (at, _, Some(row)) if (first..second).contains(&at) => {
                    self.probe.value(row as usize, at - first)
                }
                (at, ..) if at == second => mark,
                _ => Value::Null,
            });
        }
        rows.end_row();
        Ok(())
    }

    /// For each row of the two sides, true if it has a partner.
    fn partnered(&self) -> (Vec<bool>, Vec<bool>) {
        let (mut build, mut probe) = (vec![false; self.build.len()], vec![false; self.probe.len()]);
        for (one, other) in &self.pairs {
            build[*one as usize] = true;
            probe[*other as usize] = true;
        }
        (build, probe)
    }

    /// The rows of a join of this kind.
    fn rows(&self, kind: HashJoinKind, output: &[usize]) -> Result<Cells, Stopped> {
        use HashJoinKind as K;
        let (build, probe) = self.partnered();
        let mut rows = self.none(output);
        if matches!(kind, K::Inner | K::BuildOuter | K::ProbeOuter | K::FullOuter) {
            for (build, probe) in &self.pairs {
                self.push(&mut rows, output, (Some(*build), Some(*probe), Value::Null))?;
            }
        }
        let wanted = |side: &[bool], is_kept: &dyn Fn(bool) -> bool| -> Vec<(u32, bool)> {
            let kept = side.iter().enumerate().filter(|(_, has)| is_kept(**has));
            kept.map(|(row, has)| (row as u32, *has)).collect()
        };
        let of_build = match kind {
            K::BuildOuter | K::FullOuter | K::BuildAnti => wanted(&build, &|has| !has),
            K::BuildSemi => wanted(&build, &|has| has),
            K::BuildMark => wanted(&build, &|_| true),
            _ => vec![],
        };
        let of_probe = match kind {
            K::ProbeOuter | K::FullOuter | K::ProbeAnti => wanted(&probe, &|has| !has),
            K::ProbeSemi => wanted(&probe, &|has| has),
            K::ProbeMark => wanted(&probe, &|_| true),
            _ => vec![],
        };
        for (row, has) in of_build {
            self.push(&mut rows, output, (Some(row), None, Value::Word(has.into())))?;
        }
        for (row, has) in of_probe {
            self.push(&mut rows, output, (None, Some(row), Value::Word(has.into())))?;
        }
        Ok(rows)
    }

    /// The rows of `NOT IN`: a null among the keys of the inner side is perhaps equal to all, and a
    /// null key to anything.
    fn known(&self, kind: HashJoinKind, nulls: &Nulls, output: &[usize]) -> Result<Cells, Stopped> {
        let is_build = kind == HashJoinKind::BuildAnti;
        let (outer, inner) = match is_build {
            true => (&nulls.build, &nulls.probe),
            false => (&nulls.probe, &nulls.build),
        };
        if inner.is_empty() {
            return self.rows(kind, output);
        }
        let mut rows = self.none(output);
        if inner.contains(&true) {
            return Ok(rows);
        }
        let (build, probe) = self.partnered();
        let partnered = if is_build { build } else { probe };
        for (row, (has, is_null)) in partnered.iter().zip(outer).enumerate() {
            let row = Some(row as u32);
            let sides = if is_build { (row, None) } else { (None, row) };
            if !has && !is_null {
                self.push(&mut rows, output, (sides.0, sides.1, Value::Null))?;
            }
        }
        Ok(rows)
    }
}
