//! `coalesce`: the library's, but a literal in quotes has whatever type the others have, also while the
//! query is bound.

use arrow_schema::{DataType, FieldRef};
use datafusion_common::Result;
use datafusion_expr::binary::try_type_union_resolution;
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{
    ColumnarValue, Expr, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature,
};
use datafusion_functions::core::coalesce::CoalesceFunc;

use crate::functions::number_case::number_case;
use crate::walk::nodes::Nodes;

/// The function.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Coalesce(CoalesceFunc);

impl ScalarUDFImpl for Coalesce {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.0.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.0.return_field_from_args(args)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let is_boolean =
            |arg: &Expr| info.get_data_type(arg).is_ok_and(|ty| ty == DataType::Boolean);
        let guards = args.iter().any(is_boolean) && args.iter().skip(1).any(may_fail);
        Ok(match self.0.simplify(args, info)? {
            ExprSimplifyResult::Simplified(Expr::Case(case)) if guards => {
                ExprSimplifyResult::Simplified(number_case(case))
            }
            other => other,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.0.invoke_with_args(args)
    }

    fn conditional_arguments<'a>(
        &self,
        args: &'a [Expr],
    ) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.0.conditional_arguments(args)
    }

    fn short_circuits(&self) -> bool {
        self.0.short_circuits()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.0.coerce_types(types).or_else(|error| {
            // Of this type are literals in quotes alone.
            let known: Vec<DataType> =
                types.iter().filter(|ty| **ty != DataType::Utf8).cloned().collect();
            match try_type_union_resolution(&known).ok().and_then(|common| common.first().cloned())
            {
                Some(common) if known.len() < types.len() => Ok(vec![common; types.len()]),
                _ => Err(error),
            }
        })
    }
}

/// Whether the value of an expression may be an error, so that only those rows may ask for it whose values before
/// it are null. Comparisons and conditions of columns and constants are none.
fn may_fail(expr: &Expr) -> bool {
    use Operator::{Divide, Minus, Modulo, Multiply, Plus};
    let fails = |part: &Expr| match part {
        Expr::ScalarFunction(_) | Expr::ScalarSubquery(_) | Expr::Cast(_) | Expr::Case(_) => true,
        Expr::BinaryExpr(pair) => matches!(pair.op, Plus | Minus | Multiply | Divide | Modulo),
        _ => false,
    };
    expr.exists(|part| Ok(fails(part))).unwrap_or(true)
}
