//! Long chains of `AND`, `OR`, `UNION` and `INTERSECT` as balanced trees, and a limit on how deep all
//! else may be. The parser makes a chain as deep as it is long without recursion; whatever follows
//! recurses, so this comes first, and takes the chains apart without recursion.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, Expr, Query, SetExpr, SetOperator, SetQuantifier, Statement, Value, Values,
    VisitorMut,
};
use types::SqlError;

use super::tokens::too_deep;

use crate::walk::WalkMut;

/// Deepest tree of expressions, subqueries included. Parser, binder and optimiser recurse several
/// times per level; where the library is not optimised, 8 MiB of stack are enough for this depth.
pub(super) const DEPTH_MAX: usize = 300;

/// The stack that a level of a deeper one must have, several times of what it takes.
const LEVEL_BYTES: usize = 240 << 10;

/// Most operators of a definition: its expressions are bound where others wait.
const OPERATORS_MAX: usize = 1_000;

/// What a subquery counts against [`DEPTH_MAX`]: planning it takes as much stack as so many operators.
pub(super) const QUERY_DEPTH: usize = 5;

/// Deepest left edge of set operations in one query, after runs of the same one are balanced.
const SET_OPERATIONS_MAX: usize = 64;

/// Chains up to this length keep the shape that the parser gives them.
const CHAIN_MIN: usize = 16;

/// Rewrites a statement or query in place. Errors: 54001 for what stays too deep.
pub(crate) fn balance(tree: &mut impl WalkMut) -> Result<(), SqlError> {
    balance_within(tree, DEPTH_MAX, usize::MAX)
}

/// The same of a statement: a query may be as deep as the stack is long, a definition has fewer
/// operators.
pub(crate) fn balance_statement(statement: &mut Statement) -> Result<(), SqlError> {
    let deep = || stdx::stack_left().map_or(DEPTH_MAX, |left| DEPTH_MAX.max(left / LEVEL_BYTES));
    let (depth_max, operators_max) = match statement {
        Statement::Query(_) => (deep(), usize::MAX),
        Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Explain { .. } => (DEPTH_MAX, usize::MAX),
        _ => (DEPTH_MAX, OPERATORS_MAX),
    };
    balance_within(statement, depth_max, operators_max)
}

fn balance_within(
    tree: &mut impl WalkMut,
    depth_max: usize,
    operators_max: usize,
) -> Result<(), SqlError> {
    match tree.walk_mut(&mut Balance { depth: 0, depth_max, operators_left: operators_max }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(too_deep()),
    }
}

struct Balance {
    depth: usize,
    depth_max: usize,
    operators_left: usize,
}

impl Balance {
    /// The levels that an expression is: parentheses are gone once it is read.
    fn levels(expr: &Expr) -> usize {
        usize::from(!matches!(expr, Expr::Nested(_)))
    }

    fn enter(&mut self, levels: usize) -> ControlFlow<()> {
        self.depth += levels;
        if self.depth > self.depth_max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn leave(&mut self, levels: usize) -> ControlFlow<()> {
        self.depth -= levels;
        ControlFlow::Continue(())
    }
}

impl VisitorMut for Balance {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        sets(&mut query.body);
        if set_operations(&query.body) > SET_OPERATIONS_MAX {
            return ControlFlow::Break(());
        }
        self.enter(QUERY_DEPTH)
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.leave(QUERY_DEPTH)
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        conditions(expr);
        if matches!(expr, Expr::BinaryOp { .. }) {
            let left = self.operators_left.checked_sub(1);
            self.operators_left = left.map_or(ControlFlow::Break(()), ControlFlow::Continue)?;
        }
        self.enter(Balance::levels(expr))
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.leave(Balance::levels(expr))
    }
}

/// Balances the chain of one of `AND` and `OR` that begins here.
fn conditions(expr: &mut Expr) {
    let op = match expr {
        Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } => op.clone(),
        _ => return,
    };
    if conditions_length(expr, &op) <= CHAIN_MIN {
        return;
    }
    let mut operands = Vec::new();
    let mut rest = std::mem::replace(expr, Expr::value(Value::Null));
    loop {
        match rest {
            Expr::BinaryOp { left, op: found, right } if found == op => {
                operands.push(*right);
                rest = *left;
            }
            first => {
                operands.push(first);
                break;
            }
        }
    }
    operands.reverse();
    *expr = joined(operands, &|left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: op.clone(),
        right: Box::new(right),
    });
}

fn conditions_length(expr: &Expr, op: &BinaryOperator) -> usize {
    let (mut length, mut rest) = (1, expr);
    while let Expr::BinaryOp { left, op: found, .. } = rest
        && found == op
    {
        length += 1;
        rest = left;
    }
    length
}

/// Balances runs of one set operation along the left edge, and in the operands that bind closer.
fn sets(body: &mut Box<SetExpr>) {
    if !matches!(**body, SetExpr::SetOperation { .. }) {
        return;
    }
    let nothing = Values { explicit_row: false, value_keyword: false, rows: vec![] };
    let mut operands = Vec::new();
    let mut rest = std::mem::replace(body, Box::new(SetExpr::Values(nothing)));
    loop {
        match *rest {
            SetExpr::SetOperation { left, op, set_quantifier, mut right } => {
                sets(&mut right);
                operands.push((Some((op, set_quantifier)), *right));
                rest = left;
            }
            first => {
                operands.push((None, first));
                break;
            }
        }
    }
    operands.reverse();
    **body = rebuilt(operands);
}

type Operation = (SetOperator, SetQuantifier);

/// The chain again, runs of one associative operation as balanced trees.
fn rebuilt(operands: Vec<(Option<Operation>, SetExpr)>) -> SetExpr {
    let (mut run, mut of) = (Vec::new(), None);
    for (operation, operand) in operands {
        let Some(operation) = operation else {
            run.push(operand);
            continue;
        };
        let goes_on = of.is_none() || of == Some(operation) && is_associative(operation);
        if !goes_on {
            let left = set_tree(std::mem::take(&mut run), of);
            run.push(left);
        }
        of = Some(operation);
        run.push(operand);
    }
    set_tree(run, of)
}

fn set_tree(run: Vec<SetExpr>, of: Option<Operation>) -> SetExpr {
    let (op, set_quantifier) = of.unwrap_or((SetOperator::Union, SetQuantifier::All));
    let combine = |left, right| SetExpr::SetOperation {
        left: Box::new(left),
        op,
        set_quantifier,
        right: Box::new(right),
    };
    if run.len() > CHAIN_MIN { joined(run, &combine) } else { chained(run, combine) }
}

fn is_associative((op, _): Operation) -> bool {
    matches!(op, SetOperator::Union | SetOperator::Intersect)
}

/// Left-deep, as the parser makes it.
fn chained<T>(run: Vec<T>, combine: impl Fn(T, T) -> T) -> T {
    run.into_iter().reduce(combine).expect("a chain has an operand")
}

/// Operands joined two by two to a balanced tree, in their order; `None` of none.
pub(crate) fn balanced<T>(
    operands: impl IntoIterator<Item = T>,
    combine: impl Fn(T, T) -> T,
) -> Option<T> {
    let operands: Vec<T> = operands.into_iter().collect();
    (!operands.is_empty()).then(|| joined(operands, &combine))
}

/// The same of one or more.
pub(crate) fn joined<T>(mut operands: Vec<T>, combine: &impl Fn(T, T) -> T) -> T {
    while operands.len() > 1 {
        let mut pairs = operands.into_iter();
        let mut level = Vec::with_capacity(pairs.len().div_ceil(2));
        while let Some(left) = pairs.next() {
            level.push(match pairs.next() {
                Some(right) => combine(left, right),
                None => left,
            });
        }
        operands = level;
    }
    operands.pop().expect("a chain has an operand")
}

fn set_operations(body: &SetExpr) -> usize {
    let (mut count, mut rest) = (0, body);
    while let SetExpr::SetOperation { left, .. } = rest {
        count += 1;
        rest = left;
    }
    count
}
