//! Values of the parameters of a plan that is kept for all of them, at one execution.

use std::sync::Arc;

use datafusion_common::ScalarValue;
use types::zone::Context;

/// Values and context that the expressions of such a plan are computed with.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// By their numbers; never null.
    pub values: Arc<[ScalarValue]>,
    /// The moment, zone and the like of the statement. The plan has those of another one.
    pub context: Context,
}
