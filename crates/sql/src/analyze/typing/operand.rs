//! Operands while operators are bound.

use datafusion_common::tree_node::{
    Transformed, TransformedResult, TreeNode, TreeNodeRecursion, TreeNodeRewriter,
};
use datafusion_common::{DFSchema, Result};
use datafusion_expr::{BinaryExpr, Expr, Operator};

use crate::analyze::typing::typed_one;

/// An operand as it was bound, typed. The operators in it were typed when they were bound: a chain of them
/// is not gone through again for each.
pub(crate) fn typed_operand(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    expr.rewrite(&mut Operand(schema)).data()
}

struct Operand<'a>(&'a DFSchema);

impl TreeNodeRewriter for Operand<'_> {
    type Node = Expr;

    fn f_down(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        let next = match is_bound_operator(&expr) {
            true => TreeNodeRecursion::Jump,
            false => TreeNodeRecursion::Continue,
        };
        Ok(Transformed::new(expr, false, next))
    }

    fn f_up(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        match is_bound_operator(&expr) {
            true => Ok(Transformed::no(expr)),
            false => typed_one(expr, self.0),
        }
    }
}

/// Whether an expression is one that [`crate::analyze::typing::bound_operator`] makes.
fn is_bound_operator(expr: &Expr) -> bool {
    use Operator::{
        Divide, Eq, Gt, GtEq, Lt, LtEq, Minus, Modulo, Multiply, NotEq, Plus, StringConcat,
    };
    matches!(
        expr,
        Expr::BinaryExpr(BinaryExpr {
            op: Plus
                | Minus
                | Multiply
                | Divide
                | Modulo
                | Eq
                | NotEq
                | Lt
                | LtEq
                | Gt
                | GtEq
                | StringConcat,
            ..
        })
    )
}
