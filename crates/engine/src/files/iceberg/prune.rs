//! Data files that a condition excludes, by their partition and by the bounds that the manifest states.

use iceberg::{Field, PartitionField, Transform, Value};
use plan::{RestrictionTest, ScalarValue};
use types::LogicalType;

use super::super::restrict::{Bounds, excludes};
use super::file::TableFile;
use super::values::{self, logical, scalar};

impl TableFile {
    /// Whether no row can fulfil the test of a column, which is given by its number. What is not known excludes
    /// nothing.
    pub(super) fn excludes(&self, column: usize, test: &RestrictionTest) -> bool {
        let field = &self.lake.schema.fields[column];
        let Ok(ty) = logical(&field.ty) else { return false };
        // Bounds of floats leave out what is no number; there are two orders of these numbers of 128 bits.
        let has_bounds =
            !matches!(ty, LogicalType::Float32 | LogicalType::Float64 | LogicalType::Uuid);
        has_bounds
            && (excludes(test, &self.bounds(field, ty))
                || self.is_of_other_partition(field, ty, test))
    }

    fn bounds(&self, field: &Field, ty: LogicalType) -> Bounds {
        let (min, max) = self.data.bounds(field);
        let bound = |value: Option<Value>| scalar(&value?, ty);
        Bounds {
            min: bound(min),
            max: bound(max),
            null_count: self.data.null_count(field.id),
            row_count: self.data.record_count,
        }
    }

    fn is_of_other_partition(
        &self,
        field: &Field,
        ty: LogicalType,
        test: &RestrictionTest,
    ) -> bool {
        let Ok(spec) = self.lake.metadata.spec(self.data.spec_id) else { return false };
        spec.fields.iter().enumerate().any(|(number, of)| {
            let says_nothing = matches!(of.transform, Transform::Void | Transform::Unknown);
            let value = self.data.partition_value(number);
            match value.filter(|_| of.source_id == field.id && !says_nothing) {
                None => false,
                Some(None) => excludes(test, &self.nothing_but_nulls()),
                Some(Some(value)) => self.is_other(of, value, (field, ty), test),
            }
        })
    }

    fn nothing_but_nulls(&self) -> Bounds {
        let row_count = self.data.record_count;
        Bounds { min: None, max: None, null_count: Some(row_count), row_count }
    }

    /// Whether no value of this partition, which is not null, fulfils the test.
    fn is_other(
        &self,
        of: &PartitionField,
        value: &Value,
        (field, ty): (&Field, LogicalType),
        test: &RestrictionTest,
    ) -> bool {
        if let (Transform::Bucket(_), RestrictionTest::OneOf(wanted)) = (&of.transform, test) {
            let Value::Int(bucket) = value else { return false };
            let is_of_other = |wanted: &ScalarValue| {
                let own = values::value(wanted).and_then(|value| of.transform.bucket_of(&value));
                own.is_some_and(|own| own != *bucket)
            };
            return wanted.iter().all(is_of_other);
        }
        let (min, max) = of.transform.range(&field.ty, value);
        let bound = |value: Option<Value>| scalar(&value?, ty);
        let row_count = self.data.record_count;
        // It follows from the value that none is null, if there are rows.
        let null_count = Some(0).filter(|_| row_count > 0);
        excludes(test, &Bounds { min: bound(min), max: bound(max), null_count, row_count })
    }
}
