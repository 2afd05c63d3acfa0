//! What functions would answer wrongly for some types, and is refused.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, DataFusionError, Result};
use datafusion_expr::{Expr, ExprSchemable};
use types::SqlError;

/// 0A000 for an array of arrays.
pub(crate) fn check_function(name: &str, args: &[Expr], schema: &DFSchema) -> Result<()> {
    match name {
        "make_array" => refuse_arrays(args, schema),
        "array_append" => refuse_arrays(&args[args.len().min(1)..], schema),
        "array_prepend" => refuse_arrays(&args[..args.len().min(1)], schema),
        _ => Ok(()),
    }
}

/// 0A000 for an array of arrays, and for byte strings in one that the library would take for texts.
pub(crate) fn check_aggregate(name: &str, args: &[Expr], schema: &DFSchema) -> Result<()> {
    match name {
        "array_agg" => refuse_arrays(args, schema),
        "string_agg" => {
            for arg in args {
                if matches!(arg.get_type(schema)?, DataType::BinaryView | DataType::Binary) {
                    return refused("string_agg of bytea");
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn refuse_arrays(args: &[Expr], schema: &DFSchema) -> Result<()> {
    for arg in args {
        if matches!(arg.get_type(schema)?, DataType::List(_)) {
            return refused("an array of more than one dimension");
        }
    }
    Ok(())
}

fn refused(what: &str) -> Result<()> {
    Err(DataFusionError::External(Box::new(SqlError::unsupported(what))))
}
