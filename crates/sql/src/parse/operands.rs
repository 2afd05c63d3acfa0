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
    Array, BinaryOperator, CastKind, DataType, Distinct, Expr, GroupByExpr, LimitClause,
    OrderByKind, Query, Select, SetExpr, UnaryOperator, Value, ValueWithSpan, VisitorMut,
};
use datafusion_sql::sqlparser::tokenizer::Location;
use types::SqlResult;

use crate::parse::dml::InsertSource;
use crate::parse::places::first;
use crate::parse::statement::Statement;
use crate::parse::template::Template;
use crate::walk::WalkMut;

/// Two numbers below this have a sum and a difference of their type.
pub const SUMMED_MAX: i32 = 1 << 30;

impl Template {
    /// Where the literals stand that may be parameters: bytes from the beginning of its text, in
    /// order. `None` for a statement that is planned for each execution, whatever stands in it.
    ///
    /// # Errors
    /// The result of parsing.
    pub fn operands(&self) -> SqlResult<Option<Vec<usize>>> {
        let mut operands = Operands::default();
        if !operands.of_statement(&mut self.unbound()?) {
            return Ok(None);
        }
        let own = operands.found.difference(&operands.fixed).copied();
        Ok(Some(offsets(self.text(), own.collect())))
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
        Statement::Update(_) | Statement::Delete(_) | Statement::Transaction(_) => true,
        _ => false,
    }
}

/// The places of literals, by line and column.
#[derive(Default)]
struct Operands {
    found: HashSet<Location>,
    /// Those that are part of the statement, whatever else they are.
    fixed: HashSet<Location>,
    /// Queries around the one that is looked through.
    depth: usize,
    /// Rows are locked: how many are looked at first is part of the plan.
    locks_rows: bool,
}

/// The kinds of literals that may be parameters in a place.
#[derive(Clone, Copy, PartialEq)]
enum Kinds {
    All,
    /// Whole numbers and texts with a cast: another text is an interval or a date beside an
    /// operator, and decides about the operator.
    WholeNumbers,
}

impl Operands {
    /// Looks through a statement; false for one that has no plan for all values.
    fn of_statement(&mut self, statement: &mut Statement) -> bool {
        if !depends_on_definitions_alone(statement) {
            return false;
        }
        // Nothing breaks off.
        match statement {
            Statement::Query(query) => {
                self.locks_rows = query.row_locks().is_some();
                let _ = query.ast_mut().walk_mut(self);
            }
            Statement::Insert(insert) => match &mut insert.source {
                InsertSource::Values(rows) => {
                    rows.iter().flatten().for_each(|value| self.note(value, Kinds::All));
                    let _ = rows.walk_mut(self);
                }
                InsertSource::Query(query) => {
                    let _ = query.ast_mut().walk_mut(self);
                }
                InsertSource::Defaults => {}
            },
            Statement::Update(update) => {
                for assignment in &mut update.assignments {
                    self.note(&assignment.value, Kinds::All);
                    let _ = assignment.value.walk_mut(self);
                }
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
        match expr {
            Expr::BinaryOp { left, op, right } if is_constant(left) && is_constant(right) => {
                match cannot_fail(op, left, right) {
                    true => {
                        [left, right].into_iter().for_each(|e| self.note(e, Kinds::WholeNumbers))
                    }
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
            Expr::Array(Array { elem: list, .. }) | Expr::InList { list, .. } => {
                list.iter().for_each(|e| self.note(e, Kinds::All))
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
            && beside(op) == Some(Kinds::All)
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

/// The kinds of literals that may be parameters beside an operator.
fn beside(op: &BinaryOperator) -> Option<Kinds> {
    use BinaryOperator as B;
    match op {
        B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq => Some(Kinds::All),
        B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo => Some(Kinds::WholeNumbers),
        _ => None,
    }
}

/// A literal, and whether a cast tells its type.
type Found<'a> = (&'a ValueWithSpan, bool);

/// The literal that an expression is, behind parentheses and a sign, and before a cast.
fn literal(expr: &Expr) -> Option<Found<'_>> {
    match expr {
        Expr::Value(value) => Some((value, false)),
        Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => {
            literal(inner)
        }
        Expr::Cast {
            expr: inner, kind: CastKind::Cast | CastKind::DoubleColon, data_type, ..
        } => {
            let (value, _) = literal(inner)?;
            let is_one = match value.value {
                Value::Number(..) => true,
                Value::SingleQuotedString(_) => says_all(data_type),
                _ => false,
            };
            is_one.then_some((value, true))
        }
        _ => None,
    }
}

/// True of a type that a parameter can have which is cast to it: it has no digits or length.
fn says_all(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Date
            | DataType::Timestamp(None, _)
            | DataType::Time(None, _)
            | DataType::Interval { fields: None, precision: None }
            | DataType::Uuid
            | DataType::Bytea
            | DataType::Text
    )
}

/// True of literals and operators alone: the expression is computed when it is planned, and its
/// error is that of the statement, whatever rows there are.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryOp { left, right, .. } => is_constant(left) && is_constant(right),
        _ => literal(expr).is_some(),
    }
}

/// True if an operator of two whole numbers has no error, nor would it for others of their kinds:
/// neither an overflow, nor a division by zero.
fn cannot_fail(op: &BinaryOperator, left: &Expr, right: &Expr) -> bool {
    let whole = |expr| match &literal(expr)?.0.value {
        Value::Number(digits, _) => digits.parse::<i32>().ok(),
        _ => None,
    };
    let (Some(left), Some(right)) = (whole(left), whole(right)) else { return false };
    match op {
        BinaryOperator::Plus | BinaryOperator::Minus => left.max(right) < SUMMED_MAX,
        BinaryOperator::Divide | BinaryOperator::Modulo => right != 0,
        _ => false,
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
