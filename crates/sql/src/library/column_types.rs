//! Types in casts and literals as PostgreSQL means them; what we do not have is refused.

use std::sync::Arc;

use arrow_schema::{Field, FieldRef};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::planner::TypePlanner;
use datafusion_sql::sqlparser::ast::{DataType, ExactNumberInfo};
use types::LogicalType;

use super::syntax::ANY_NUMERIC;

/// Gives the vectors of our logical types; the library's timestamps would count nanoseconds.
#[derive(Debug)]
pub(crate) struct ColumnTypes;

impl TypePlanner for ColumnTypes {
    fn plan_type_field(&self, ty: &DataType) -> Result<Option<FieldRef>> {
        match ty {
            // The precision is that of the operand.
            DataType::Numeric(ExactNumberInfo::None) | DataType::Decimal(ExactNumberInfo::None) => {
                return Ok(Some(Arc::new(Field::new("", ANY_NUMERIC, true))));
            }
            _ => {}
        }
        let ty = crate::parse::column_type(ty)
            .map_err(|error| DataFusionError::External(Box::new(error)))?;
        let limited = matches!(ty, LogicalType::Varchar(_) | LogicalType::Char(2..));
        if limited {
            let error = types::SqlError::unsupported(format!("a cast to {ty}"))
                .with_hint("cast to text and use substring() or left() to shorten");
            return Err(DataFusionError::External(Box::new(error)));
        }
        Ok(Some(Arc::new(Field::new("", ty.arrow(), true))))
    }
}
