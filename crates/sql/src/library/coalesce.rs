//! `coalesce`: the library's, but a literal in quotes has whatever type the others have, also while the
//! query is bound.

use arrow_schema::{DataType, FieldRef};
use datafusion_common::Result;
use datafusion_expr::binary::try_type_union_resolution;
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature,
};
use datafusion_functions::core::coalesce::CoalesceFunc;

use super::typing::number_case;

/// The function.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Coalesce(CoalesceFunc);

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
        // What is named or written out may be asked for by all rows.
        let is_plain = |arg: &Expr| matches!(arg, Expr::Column(_) | Expr::Literal(..));
        let guards = args.iter().any(is_boolean) && !args.iter().all(is_plain);
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
