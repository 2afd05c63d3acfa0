//! `concat`: the library's, but of nulls alone it is the empty text. The library's simplifier leaves nulls out
//! and then refuses a call without arguments.

use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDFImpl, Signature, cast, lit,
};
use datafusion_functions::string::concat::ConcatFunc;

/// The function.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Concat(ConcatFunc);

impl ScalarUDFImpl for Concat {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.0.return_type(types)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let is_null = |arg: &Expr| matches!(arg, Expr::Literal(value, _) if value.is_null());
        if !args.iter().all(is_null) {
            return self.0.simplify(args, info);
        }
        let types = args.iter().map(|arg| info.get_data_type(arg)).collect::<Result<Vec<_>>>()?;
        let ty = self.0.return_type(&self.0.coerce_types(&types)?)?;
        Ok(ExprSimplifyResult::Simplified(cast(lit(""), ty)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.0.invoke_with_args(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.0.coerce_types(types)
    }
}
