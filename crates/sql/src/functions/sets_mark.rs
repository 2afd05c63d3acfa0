//! The mark of `GROUPING SETS`: a call of a function that cannot be run, among the keys of a group. No
//! statement can call it: it is in no registry, and what makes it is no text (`parse/marks.rs`).

use std::sync::{Arc, LazyLock};

use arrow_schema::DataType;
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::quote::unspelled::unspelled;

static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::variadic_any(Volatility::Immutable);
    Arc::new(ScalarUDF::from(SetsMark { name: unspelled("sets"), signature }))
});

/// The mark of sets, each a text with the numbers of its keys.
pub(crate) fn sets_mark(sets: Vec<Expr>) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&FUNCTION), sets))
}

/// The sets that a key of a group stands for, each as the numbers of its keys; `None` of any other key.
pub(crate) fn marked_sets(key: &Expr) -> Option<Vec<Vec<usize>>> {
    let call = match key {
        Expr::Alias(alias) => return marked_sets(&alias.expr),
        Expr::ScalarFunction(call) if call.func.inner().is::<SetsMark>() => call,
        _ => return None,
    };
    let numbers = |set: &str| set.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    let set = |set: &Expr| match set {
        Expr::Literal(set, _) => set.try_as_str().flatten().map(numbers),
        _ => None,
    };
    call.args.iter().map(set).collect()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SetsMark {
    name: String,
    signature: Signature,
}

impl ScalarUDFImpl for SetsMark {
    fn name(&self) -> &str {
        &self.name
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
