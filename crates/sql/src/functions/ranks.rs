//! Ranks of rows: whole numbers with a sign, as in PostgreSQL, where the library's have none and so become
//! numerics beside others.

use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, SortOptions};
use datafusion_common::{Result, internal_err};
use datafusion_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion_expr::{PartitionEvaluator, ReversedUDWF, Signature, WindowUDF, WindowUDFImpl};

/// A window function of the library that counts rows, in PostgreSQL's type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Rank {
    counting: Arc<WindowUDF>,
    ty: DataType,
}

/// The function as PostgreSQL has it: `row_number`, `rank` and `dense_rank` are `bigint`, `ntile` is
/// `integer`.
pub(crate) fn signed(function: Arc<WindowUDF>) -> Arc<WindowUDF> {
    let ty = match function.name() {
        "row_number" | "rank" | "dense_rank" => DataType::Int64,
        "ntile" => DataType::Int32,
        _ => return function,
    };
    Arc::new(WindowUDF::from(Rank { counting: function, ty }))
}

impl WindowUDFImpl for Rank {
    fn name(&self) -> &str {
        self.counting.name()
    }

    fn signature(&self) -> &Signature {
        self.counting.signature()
    }

    /// Never asked for: windows are evaluated by `expr::window`, in this type. The library's own
    /// evaluation would give values without a sign.
    fn partition_evaluator(
        &self,
        _arguments: PartitionEvaluatorArgs,
    ) -> Result<Box<dyn PartitionEvaluator>> {
        internal_err!("{} is evaluated by the engine", self.name())
    }

    fn field(&self, arguments: WindowUDFFieldArgs) -> Result<FieldRef> {
        let field = self.counting.field(arguments)?;
        Ok(Arc::new(field.as_ref().clone().with_data_type(self.ty.clone())))
    }

    fn sort_options(&self) -> Option<SortOptions> {
        self.counting.sort_options()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.counting.coerce_types(types)
    }

    fn reverse_expr(&self) -> ReversedUDWF {
        ReversedUDWF::NotSupported
    }
}
