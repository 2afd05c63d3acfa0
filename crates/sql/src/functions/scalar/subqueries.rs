//! What plans of subqueries are made with.

use std::sync::Arc;

use crate::functions::scalar::overload::{Functions, Ty};

pub(crate) fn register(functions: &mut Functions) {
    // The value as it is, which may be null whatever its column says: there may be no row.
    functions.strict(
        "or_null",
        &[Ty::Any],
        |args, _| args[0].clone(),
        |args| Ok(Arc::clone(&args.arrays[0])),
    );
}
