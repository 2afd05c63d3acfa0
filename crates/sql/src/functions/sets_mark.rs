//! The mark of `GROUPING SETS`: a call of a function that cannot be run, among the keys of a group.

use std::sync::{Arc, LazyLock};

use arrow_schema::DataType;
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The name of the function. No call that a statement can spell has it.
pub(crate) const SETS_MARK: &str = "\u{1}sets";

static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::from(SetsMark { signature }))
});

/// The function.
pub(crate) fn sets_mark() -> Arc<ScalarUDF> {
    Arc::clone(&FUNCTION)
}

/// The sets that a key of a group stands for, each as the numbers of its keys; `None` of any other key.
pub(crate) fn marked_sets(key: &Expr) -> Option<Vec<Vec<usize>>> {
    let call = match key {
        Expr::Alias(alias) => return marked_sets(&alias.expr),
        Expr::ScalarFunction(call) if call.name() == SETS_MARK => call,
        _ => return None,
    };
    let Some(Expr::Literal(mark, _)) = call.args.first() else { return None };
    let numbers = |set: &str| set.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    mark.try_as_str().flatten().map(|mark| mark.split('/').map(numbers).collect())
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SetsMark {
    signature: Signature,
}

impl ScalarUDFImpl for SetsMark {
    fn name(&self) -> &str {
        SETS_MARK
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _args: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int32)
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Err(DataFusionError::Internal("the mark of grouping sets was left in a plan".into()))
    }
}
