//! Tables as the library sees them.

use std::sync::Arc;

use datafusion_common::{Constraint, Constraints, Result};
use datafusion_expr::{TableProviderFilterPushDown, TableSource};
use plan::catalog::TableDef;
use types::{LogicalType, oid};

use crate::catalog::Catalog;

/// A table of the catalog as the library sees it.
pub(crate) struct CatalogTable {
    /// The table.
    pub def: Arc<TableDef>,
    schema: arrow_schema::SchemaRef,
    constraints: Constraints,
}

impl CatalogTable {
    pub(crate) fn new(def: Arc<TableDef>) -> CatalogTable {
        let mut constraints = Vec::new();
        if !def.primary_key.is_empty() {
            constraints.push(Constraint::PrimaryKey(def.primary_key.clone()));
        }
        let not_null = |i: &usize| !def.schema.columns[*i].nullable;
        let unique = def.indexes.iter().filter(|index| index.is_always_unique());
        for index in unique.filter(|index| index.columns.iter().all(not_null)) {
            let columns = index.columns.clone();
            constraints.push(match index.primary {
                true => Constraint::PrimaryKey(columns),
                false => Constraint::Unique(columns),
            });
        }
        let schema = def.schema.arrow();
        CatalogTable { def, schema, constraints: Constraints::new_unverified(constraints) }
    }
}

impl CatalogTable {
    /// Notes which columns are of `char(n)`: the blanks of what they are compared with do not count.
    pub(crate) fn tell_padded(&mut self) {
        let is_padded = |column: &types::Column| matches!(column.ty, LogicalType::Char(_));
        let columns = &self.def.schema.columns;
        if !columns.iter().any(is_padded) {
            return;
        }
        let told =
            |(field, column): (&arrow_schema::FieldRef, &types::Column)| match is_padded(column) {
                true => Arc::new(crate::analyze::told::told(field.as_ref().clone(), oid::BPCHAR)),
                false => Arc::clone(field),
            };
        let fields = self.schema.fields().iter().zip(columns).map(told).collect::<Vec<_>>();
        self.schema = Arc::new(arrow_schema::Schema::new(fields));
    }

    /// Notes the types of columns that are `text` here and others to clients.
    pub(crate) fn tell_types(&mut self, catalog: &dyn Catalog) {
        let told = |(ordinal, field): (usize, &arrow_schema::FieldRef)| {
            let own = match self.def.id.is_system() {
                true => catalog.system_type(&self.def, ordinal),
                false => None,
            };
            let columns = &self.def.schema.columns;
            let oid = own.unwrap_or_else(|| oid::of_logical(columns[ordinal].ty).oid);
            crate::analyze::told::told(field.as_ref().clone(), oid)
        };
        let fields: Vec<_> = self.schema.fields().iter().enumerate().map(told).collect();
        self.schema = Arc::new(arrow_schema::Schema::new(fields));
    }
}

impl TableSource for CatalogTable {
    fn schema(&self) -> arrow_schema::SchemaRef {
        Arc::clone(&self.schema)
    }

    fn constraints(&self) -> Option<&Constraints> {
        Some(&self.constraints)
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&datafusion_expr::Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Exact; filters.len()])
    }
}

/// The table that the step of a recursion reads: the rows of the round before.
pub(crate) struct WorkTable {
    /// The recursion.
    pub name: String,
    /// Its columns.
    pub schema: arrow_schema::SchemaRef,
}

impl TableSource for WorkTable {
    fn schema(&self) -> arrow_schema::SchemaRef {
        Arc::clone(&self.schema)
    }
}
