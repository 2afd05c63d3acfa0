//! Partition specs: from which columns it follows in which partition a row lies.

use crate::document::Object;
use crate::fault::Result;
use crate::manifest::newest;
use crate::schema::{Schema, Type};
use crate::transform::Transform;

/// A value that all rows of a partition have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionField {
    /// The column that it comes from.
    pub source_id: i32,
    /// Its own id in the partitions of data files.
    pub field_id: i32,
    /// How it comes from the column.
    pub transform: Transform,
}

/// How the rows of data files are partitioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionSpec {
    /// Its number.
    pub id: i32,
    /// The values that a partition has.
    pub fields: Vec<PartitionField>,
}

/// Ids of partition fields begin here where a table of version 1 names none.
const FIRST_FIELD_ID: i32 = 1000;

impl PartitionSpec {
    pub(crate) fn parse(object: Object<'_>) -> Result<PartitionSpec> {
        PartitionSpec::of(object.int_if("spec-id")?.unwrap_or(0), &object.objects("fields")?)
    }

    pub(crate) fn of(id: i32, fields: &[Object<'_>]) -> Result<PartitionSpec> {
        let field = |(at, object): (usize, &Object<'_>)| {
            let assumed = FIRST_FIELD_ID.saturating_add(i32::try_from(at).unwrap_or(i32::MAX));
            Ok(PartitionField {
                source_id: object.int("source-id")?,
                field_id: object.int_if("field-id")?.unwrap_or(assumed),
                transform: Transform::parse(object.text("transform")?),
            })
        };
        let fields = fields.iter().enumerate().map(field).collect::<Result<Vec<_>>>()?;
        Ok(PartitionSpec { id, fields })
    }

    /// Whether all rows lie in one partition, to which deletes of all others belong, too.
    pub fn is_unpartitioned(&self) -> bool {
        self.fields.iter().all(|field| field.transform == Transform::Void)
    }
}

impl PartitionField {
    /// The type of its values; `None` where the column is in none of the schemas.
    pub(crate) fn ty(&self, schemas: &[Schema]) -> Option<Type> {
        let source = newest(schemas, self.source_id)?;
        Some(self.transform.result(&source.ty))
    }
}
