//! `concat` and `concat_ws`: the library's, which ask for memory before they take it. Of nulls
//! alone `concat` is the empty text: the library's simplifier leaves nulls out and then refuses a
//! call without arguments.

use arrow_schema::DataType;
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDFImpl, Signature, cast, lit,
};
use datafusion_functions::string::concat::ConcatFunc;
use datafusion_functions::string::concat_ws::ConcatWsFunc;
use plan::expr::value_bytes;

use crate::functions::scalar::padding::with_room;

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
        room_for_all(&args, 1)?;
        self.0.invoke_with_args(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.0.coerce_types(types)
    }
}

/// `concat_ws`.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ConcatWs(ConcatWsFunc);

impl ScalarUDFImpl for ConcatWs {
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
        self.0.simplify(args, info)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        room_for_all(&args, args.args.len())?;
        self.0.invoke_with_args(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.0.coerce_types(types)
    }
}

/// Asks for the memory of all arguments in all rows, the first so many times.
fn room_for_all(args: &ScalarFunctionArgs, firsts: usize) -> Result<()> {
    let bytes = |value: &ColumnarValue| match value {
        ColumnarValue::Array(array) => value_bytes(array),
        ColumnarValue::Scalar(scalar) => {
            scalar.try_as_str().flatten().map_or(0, str::len).saturating_mul(args.number_rows)
        }
    };
    let first = args.args.first().map_or(0, bytes).saturating_mul(firsts);
    let sum = args.args.iter().skip(1).map(bytes).fold(first, usize::saturating_add);
    // The memory of a row is checked where rows are few.
    let room = if args.number_rows == 1 { with_room(sum) } else { plan::limits::room(sum) };
    room.map_err(|error| DataFusionError::External(Box::new(error)))
}
