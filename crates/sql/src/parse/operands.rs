//! The literals of a statement in whose places parameters of their types would mean the same.
//!
//! These are operands of comparisons, of arithmetic in conditions and assignments, elements of
//! lists and rows of values, numbers of rows. Others are part of the statement: a literal of the
//! select list or of an order names a column or gives it its type, an argument decides which
//! function is meant, a typed literal is read with the statement, a subquery's number of rows is
//! known to its plan.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Array, Distinct, Expr, GroupByExpr, LimitClause, OrderByKind, Query, Select, SetExpr, Value,
    ValueWithSpan, VisitorMut,
};
use datafusion_sql::sqlparser::tokenizer::Location;
use types::SqlResult;

use self::literals::{
    Kinds, beside, binds_tighter, cannot_fail, compares, first_of, is_constant, literal,
    operands_of,
};
use crate::parse::dml::{Assignment, Insert, InsertSource};
use crate::parse::places::first;
use crate::parse::statement::Statement;
use crate::parse::template::Template;
use crate::walk::WalkMut;

mod literals;

/// Two numbers below this have a sum and a difference of their type.
pub const SUMMED_MAX: i32 = 1 << 30;

impl Template {
    /// Where the literals stand that may be parameters, and the lists that may be arrays. `None`
    /// for a statement that is planned for each execution, whatever stands in it.
    ///
    /// # Errors
    /// The result of parsing.
    pub fn operands(&self) -> SqlResult<Option<Found>> {
        let mut operands = Operands::default();
        if !operands.of_statement(&mut self.unbound()?) {
            return Ok(None);
        }
        let free = |places: &HashSet<Location>, others: &HashSet<Location>| {
            let own = places.difference(others).filter(|place| !operands.fixed.contains(place));
            offsets(self.text(), own.copied().collect())
        };
        let literals = free(&operands.found, &HashSet::new());
        let lists = free(&operands.lists, &operands.grouped);
        Ok(Some(Found { literals, lists }))
    }

    /// True if it is a query, a change of rows or of the transaction, and reads no files.
    pub fn depends_on_definitions_alone(&self) -> bool {
        self.unbound().is_ok_and(|statement| depends_on_definitions_alone(&statement))
    }
}

/// True if the meaning of a statement depends on definitions, and neither on files nor on the
/// moment at which it is read.
fn depends_on_definitions_alone(statement: &Statement) -> bool {
    match statement {
        Statement::Query(query) => query.files().is_empty(),
        Statement::Insert(insert) => match &insert.source {
            InsertSource::Query(query) => query.files().is_empty(),
            InsertSource::Values(_) | InsertSource::Defaults => true,
        },
        Statement::WithWrites(with) => {
            with.parts.iter().chain([&*with.body]).all(depends_on_definitions_alone)
        }
        Statement::Update(_) | Statement::Delete(_) | Statement::Transaction(_) => true,
        _ => false,
    }
}

/// Places in the text of a statement: bytes from its beginning, in order.
#[derive(Debug, PartialEq)]
pub struct Found {
    /// Literals that may be parameters.
    pub literals: Vec<usize>,
    /// First elements of lists behind `IN`, in whose places `= ANY` would mean the same.
    pub lists: Vec<usize>,
}

/// The places of literals, by line and column.
#[derive(Default)]
struct Operands {
    found: HashSet<Location>,
    /// First elements of lists that are compared with what binds tighter than `=`.
    lists: HashSet<Location>,
    /// Those whose comparison is an operand of what binds no looser than `=`.
    grouped: HashSet<Location>,
    /// Those that are part of the statement, whatever else they are.
    fixed: HashSet<Location>,
    /// Queries around the one that is looked through.
    depth: usize,
    /// Rows are locked: how many are looked at first is part of the plan.
    locks_rows: bool,
}

impl Operands {
    /// Looks through a statement; false for one that has no plan for all values.
    fn of_statement(&mut self, statement: &mut Statement) -> bool {
        if !depends_on_definitions_alone(statement) {
            return false;
        }
        self.locks_rows = false;
        // Nothing breaks off.
        match statement {
            Statement::WithWrites(with) => {
                let mut parts = with.parts.iter_mut().chain([with.body.as_mut()]);
                return parts.all(|part| self.of_statement(part));
            }
            Statement::Query(query) => {
                self.locks_rows = query.row_locks().is_some();
                let _ = query.ast_mut().walk_mut(self);
            }
            Statement::Insert(insert) => self.of_insert(insert),
            Statement::Update(update) => {
                self.of_assignments(&mut update.assignments);
                let _ = update.with.walk_mut(self);
                let _ = update.from.walk_mut(self);
                let _ = update.selection.walk_mut(self);
            }
            Statement::Delete(delete) => {
                let _ = delete.with.walk_mut(self);
                let _ = delete.using.walk_mut(self);
                let _ = delete.selection.walk_mut(self);
            }
            _ => return false,
        }
        true
    }

    fn of_insert(&mut self, insert: &mut Insert) {
        match &mut insert.source {
            InsertSource::Values(rows) => {
                rows.iter().flatten().for_each(|value| self.note(value, Kinds::All));
                let _ = rows.walk_mut(self);
            }
            InsertSource::Query(query) => {
                let _ = query.ast_mut().walk_mut(self);
            }
            InsertSource::Defaults => {}
        }
        let update = insert.conflict.as_mut().and_then(|conflict| conflict.update.as_mut());
        if let Some((assignments, selection)) = update {
            self.of_assignments(assignments);
            let _ = selection.walk_mut(self);
        }
    }

    fn of_assignments(&mut self, assignments: &mut [Assignment]) {
        for assignment in assignments {
            self.note(&assignment.value, Kinds::All);
            let _ = assignment.value.walk_mut(self);
        }
    }

    /// Notes a literal, or those of a row.
    fn note(&mut self, expr: &Expr, kinds: Kinds) {
        if let Expr::Tuple(row) = expr {
            row.iter().for_each(|expr| self.note(expr, kinds));
        } else if let Some((literal, is_typed)) = literal(expr) {
            let is_one = match &literal.value {
                Value::Number(digits, _) => kinds == Kinds::All || !digits.contains('.'),
                Value::SingleQuotedString(_) => kinds == Kinds::All || is_typed,
                _ => false,
            };
            if is_one {
                self.found.insert(literal.span.start);
            }
        }
    }

    /// Notes the literals of an expression without columns.
    fn note_whole(&mut self, expr: &Expr) {
        match expr {
            Expr::BinaryOp { left, right, .. } => {
                self.note_whole(left);
                self.note_whole(right);
            }
            Expr::Nested(inner) if literal(inner).is_none() => self.note_whole(inner),
            other => self.note(other, Kinds::WholeNumbers),
        }
    }

    /// Has the literals of an expression stay, but for those of its subqueries.
    fn fix(&mut self, expr: &mut impl WalkMut) {
        let spared = None;
        let _ = expr.walk_mut(&mut Fixed { fixed: &mut self.fixed, spared, depth: 0 });
    }

    /// The same of a select list, but for literals that columns are compared with.
    fn fix_list(&mut self, list: &mut impl WalkMut) {
        let spared = Some(HashSet::new());
        let _ = list.walk_mut(&mut Fixed { fixed: &mut self.fixed, spared, depth: 0 });
    }
}

impl VisitorMut for Operands {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &mut query.limit_clause
            && self.depth == 1
            && !self.locks_rows
        {
            let offset = offset.as_mut().map(|offset| &mut offset.value);
            for number in limit.iter_mut().chain(offset) {
                self.note(first(number), Kinds::WholeNumbers);
            }
        }
        if let SetExpr::Values(values) = &*query.body {
            let values = values.rows.iter().flat_map(|row| &**row);
            values.for_each(|value| self.note(value, Kinds::All));
        }
        if let Some(OrderByKind::Expressions(keys)) =
            query.order_by.as_mut().map(|order| &mut order.kind)
        {
            keys.iter_mut().for_each(|key| self.fix(&mut key.expr));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let mut names_groups = select.distinct.is_none();
        if let GroupByExpr::Expressions(keys, _) = &mut select.group_by {
            let is_name = |key: &Expr| {
                matches!(key, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_))
            };
            names_groups &= keys.iter().all(is_name);
            self.fix(keys);
        }
        match names_groups {
            true => self.fix_list(&mut select.projection),
            // Two parameters are not known to be the same.
            false => self.fix(&mut select.projection),
        }
        if let Some(Distinct::On(keys)) = &mut select.distinct {
            self.fix(keys);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.grouped.extend(operands_of(expr).filter_map(|operand| match operand {
            Expr::InList { list, .. } => first_of(list),
            _ => None,
        }));
        match expr {
            Expr::BinaryOp { left, right, .. } if is_constant(left) && is_constant(right) => {
                match cannot_fail(expr) {
                    true => self.note_whole(expr),
                    false => self.fix(expr),
                }
            }
            Expr::BinaryOp { left, op, right } => {
                let Some(kinds) = beside(op) else { return ControlFlow::Continue(()) };
                self.note(left, kinds);
                self.note(right, kinds);
            }
            Expr::Between { low, high, .. } => {
                self.note(low, Kinds::All);
                self.note(high, Kinds::All);
            }
            Expr::Array(Array { elem: list, .. }) => {
                list.iter().for_each(|e| self.note(e, Kinds::All))
            }
            Expr::InList { expr, list, .. } => {
                list.iter().for_each(|e| self.note(e, Kinds::All));
                self.lists.extend(first_of(list).filter(|_| binds_tighter(expr)));
            }
            Expr::Like { pattern: right, .. }
            | Expr::ILike { pattern: right, .. }
            | Expr::AnyOp { right, .. } => self.note(right, Kinds::All),
            Expr::Function(_)
            | Expr::Substring { .. }
            | Expr::Overlay { .. }
            | Expr::Position { .. }
            | Expr::Trim { .. }
            | Expr::Ceil { .. }
            | Expr::Floor { .. } => self.fix(expr),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Notes the literals of expressions outside of subqueries.
struct Fixed<'a> {
    fixed: &'a mut HashSet<Location>,
    /// Those that columns are compared with, where these are left out.
    spared: Option<HashSet<Location>>,
    depth: usize,
}

impl VisitorMut for Fixed<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let (Some(spared), Expr::BinaryOp { left, op, right }) = (&mut self.spared, expr)
            && compares(op)
            && !(is_constant(left) && is_constant(right))
        {
            let literals = [&**left, &**right].into_iter().filter_map(literal);
            spared.extend(literals.map(|(literal, _)| literal.span.start));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        let is_spared = self.spared.as_ref().is_some_and(|s| s.contains(&value.span.start));
        if self.depth == 0 && !is_spared {
            self.fixed.insert(value.span.start);
        }
        ControlFlow::Continue(())
    }
}

/// Lines and columns as bytes from the beginning of a text, in order.
fn offsets(text: &str, mut places: Vec<Location>) -> Vec<usize> {
    places.sort_unstable();
    let mut wanted = places.into_iter().peekable();
    let mut here = Location { line: 1, column: 1 };
    let mut found = vec![];
    for (at, character) in text.char_indices() {
        while wanted.next_if(|place| *place <= here).is_some() {
            found.push(at);
        }
        here = match character {
            '\n' => Location { line: here.line + 1, column: 1 },
            _ => Location { line: here.line, column: here.column + 1 },
        };
    }
    found
}

#[cfg(test)]
mod tests;
