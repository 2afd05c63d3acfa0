//! What the library's binder asks about names: tables, views, functions.

use std::sync::{Arc, LazyLock};

use arrow_schema::DataType;
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DataFusionError, Result, TableReference};
use datafusion_expr::planner::{ContextProvider, ExprPlanner, RelationPlanner, TypePlanner};
use datafusion_expr::registry::FunctionRegistry;
use datafusion_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF};
use datafusion_functions_aggregate::planner::AggregateFunctionPlanner;
use datafusion_functions_window::planner::WindowFunctionPlanner;
use plan::catalog::TableId;
use types::SqlError;

use crate::analyze::column_types::ColumnTypes;
use crate::analyze::derived::Derived;
use crate::analyze::inference::Inference;
use crate::analyze::syntax::Syntax;
use crate::analyze::tables::{CatalogTable, WorkTable};
use crate::analyze::view::ViewSource;
use crate::catalog::missing::{other_database, unknown_table};
use crate::catalog::view::ViewDef;
use crate::catalog::{Catalog, function};
use crate::functions::library::{LIBRARY, aggregate_name};
use crate::functions::unknown_function;
use crate::parse::file_call::FILES_SCHEMA;

/// What the library may ask about names.
pub(crate) struct Names<'a> {
    pub catalog: &'a dyn Catalog,
    /// The views that are being bound, to find those that name themselves.
    pub open_views: Vec<String>,
    /// How many parameters the statement has, as texts; views have those of the clock ([`crate::rewrite::clock::first_of`]).
    pub parameter_count: usize,
    relations: [Arc<dyn RelationPlanner>; 1],
    /// The planners of the library behind one that looks for the types of parameters.
    inferring: Option<Vec<Arc<dyn ExprPlanner>>>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(catalog: &'a dyn Catalog) -> Names<'a> {
        Names::with_parameters(catalog, 0)
    }

    /// The names of a statement that has so many parameters.
    pub(crate) fn with_parameters(catalog: &'a dyn Catalog, parameter_count: usize) -> Names<'a> {
        let relations: [Arc<dyn RelationPlanner>; 1] = [Arc::new(Derived::default())];
        Names { catalog, open_views: vec![], parameter_count, relations, inferring: None }
    }

    /// The names as the query of a view sees them.
    pub(crate) fn within(&self, view: &ViewDef) -> Names<'a> {
        let open_views = self.open_views.iter().cloned().chain([view.name.clone()]).collect();
        Names { open_views, ..Names::with_parameters(self.catalog, self.parameter_count) }
    }

    /// The names of a statement whose parameters have no values yet.
    pub(crate) fn inferring(catalog: &'a dyn Catalog, inference: &Inference) -> Names<'a> {
        let mut planners: Vec<Arc<dyn ExprPlanner>> = vec![Arc::new(inference.clone())];
        planners.extend(PLANNERS.iter().cloned());
        Names { inferring: Some(planners), ..Names::new(catalog) }
    }

    fn check_read(&self, name: &str, table: Option<TableId>) -> Result<()> {
        let allowed =
            self.catalog.check_read(name, table, self.open_views.last().map(String::as_str));
        allowed.map_err(|error| DataFusionError::External(Box::new(error)))
    }
}

impl Names<'_> {
    fn check_database(&self, name: &TableReference) -> Result<()> {
        let Some(database) = name.catalog() else { return Ok(()) };
        match self.catalog.database().is_none_or(|own| own == database) {
            true => Ok(()),
            false => Err(DataFusionError::External(Box::new(other_database(&name.to_string())))),
        }
    }
}

/// What turns special syntax (`extract`, `substring .. from`) into functions.
static PLANNERS: LazyLock<Vec<Arc<dyn ExprPlanner>>> = LazyLock::new(|| {
    vec![Arc::new(Syntax), Arc::new(WindowFunctionPlanner), Arc::new(AggregateFunctionPlanner)]
});

/// Functions that the library's binder knows by itself.
const IN_SYNTAX: [&str; 3] = ["unnest", "grouping", "struct"];

impl ContextProvider for Names<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        crate::interrupt::check()?;
        self.check_database(&name)?;
        let system = match name.schema() {
            Some("public") => None,
            Some(schema) => self.catalog.system_table(schema, name.table()),
            // The system's schema comes first in every search path.
            None => self.catalog.system_table("pg_catalog", name.table()),
        };
        // A name within a view was found when the view was made: no temporary table.
        let schema = name.schema().or(self.open_views.last().map(|_| "public"));
        let is_public = match schema {
            None => !self.catalog.hides_public(name.table()),
            Some(schema) => schema == "public",
        };
        if system.is_none()
            && is_public
            && let Some(view) = self.catalog.view(name.table())
        {
            self.check_read(name.table(), None)?;
            return Ok(Arc::new(ViewSource::new(&view, self)?));
        }
        let own = || self.catalog.read_table(schema, name.table());
        let found = system.or_else(own);
        match found {
            Some(def) => {
                self.check_read(name.table(), Some(def.id))?;
                let mut table = CatalogTable::new(def);
                match self.inferring.is_some() {
                    true => table.tell_types(self.catalog),
                    false => table.tell_padded(),
                }
                let is_bare = table.def.schema.columns.is_empty();
                let table: Arc<dyn TableSource> = Arc::new(table);
                match is_bare {
                    true => Ok(Arc::new(ViewSource::without_columns(&name, table)?)),
                    false => Ok(table),
                }
            }
            None if name.schema() == Some(FILES_SCHEMA) => {
                let error = SqlError::unsupported("files in this place of a statement")
                    .with_hint("Copy them into a table, or read them in a query of their own.");
                Err(DataFusionError::External(Box::new(error)))
            }
            // The library asks before it looks whether it is a name of a `WITH`.
            None => Err(DataFusionError::External(Box::new(unknown_table(&name.to_string())))),
        }
    }

    fn create_cte_work_table(
        &self,
        name: &str,
        schema: arrow_schema::SchemaRef,
    ) -> Result<Arc<dyn TableSource>> {
        Ok(Arc::new(WorkTable { name: name.to_owned(), schema }))
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        &self.relations
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.inferring.as_deref().unwrap_or(&PLANNERS)
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::new(ColumnTypes))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        let system = self.catalog.system_function(name).map(function::library_function);
        let known = system.or_else(|| LIBRARY.scalar(name));
        let is_other = || {
            self.get_aggregate_meta(name).is_some()
                || self.get_window_meta(name).is_some()
                || IN_SYNTAX.contains(&name)
        };
        known.or_else(|| (!is_other()).then(|| unknown_function::unknown_function(name)))
    }

    fn get_higher_order_meta(&self, _name: &str) -> Option<Arc<HigherOrderUDF>> {
        None
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        LIBRARY.registry.udaf(aggregate_name(name)).ok()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        LIBRARY.registry.udwf(name).ok()
    }

    fn get_variable_type(&self, _variable_names: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        &LIBRARY.options
    }

    fn udf_names(&self) -> Vec<String> {
        LIBRARY.registry.udfs().into_iter().collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udaf_names(&self) -> Vec<String> {
        LIBRARY.registry.udafs().into_iter().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        LIBRARY.registry.udwfs().into_iter().collect()
    }
}
