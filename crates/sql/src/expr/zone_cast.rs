//! Casts between instants and local dates and times, in the zone of the session.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema, TimeUnit};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use types::zone;

use super::STRICT_CAST;

/// Local time, in microseconds.
const LOCAL: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

/// A cast of which one side is an instant and the other a local date, time or timestamp.
#[derive(Debug, Clone)]
pub(super) struct ZoneCast {
    input: Arc<dyn PhysicalExpr>,
    to: DataType,
}

impl ZoneCast {
    /// The cast of `input`, of type `from`, if this is such a cast.
    pub fn of(input: &Arc<dyn PhysicalExpr>, from: &DataType, to: &DataType) -> Option<ZoneCast> {
        let applies = is_instant(from) && is_local(to) || is_local(from) && is_instant(to);
        applies.then(|| ZoneCast { input: Arc::clone(input), to: to.clone() })
    }
}

fn is_instant(ty: &DataType) -> bool {
    matches!(ty, DataType::Timestamp(TimeUnit::Microsecond, Some(_)))
}

fn is_local(ty: &DataType) -> bool {
    matches!(ty, DataType::Timestamp(_, None) | DataType::Date32 | DataType::Time64(_))
}

fn converted(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let zone = zone::current().zone;
    let moved = |array: &dyn Array, move_one: &dyn Fn(i64) -> i64| {
        array
            .as_primitive::<TimestampMicrosecondType>()
            .unary::<_, TimestampMicrosecondType>(move_one)
    };
    if is_instant(to) {
        let local = arrow_cast::cast_with_options(array, &LOCAL, &STRICT_CAST)?;
        let instants = moved(&local, &|micros| zone.instant_of(micros));
        return Ok(Arc::new(instants.with_data_type(to.clone())));
    }
    let local = moved(array, &|micros| zone.local_of(micros)).with_data_type(LOCAL);
    Ok(arrow_cast::cast_with_options(&local, to, &STRICT_CAST)?)
}

impl PartialEq for ZoneCast {
    fn eq(&self, other: &ZoneCast) -> bool {
        self.to == other.to && self.input.eq(&other.input)
    }
}

impl Eq for ZoneCast {}

impl Hash for ZoneCast {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.input.hash(state);
        self.to.hash(state);
    }
}

impl fmt::Display for ZoneCast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.input.fmt(f)
    }
}

impl PhysicalExpr for ZoneCast {
    fn data_type(&self, _schema: &Schema) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.input.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let array = self.input.evaluate(batch)?.into_array(batch.num_rows())?;
        Ok(ColumnarValue::Array(converted(&array, &self.to)?))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        match children.pop() {
            Some(input) => Ok(Arc::new(ZoneCast { input, to: self.to.clone() })),
            None => Err(DataFusionError::Internal("a cast has one operand".into())),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.input.fmt_sql(f)
    }
}
