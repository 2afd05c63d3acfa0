//! Views: the text of a query under a name, bound again wherever it is used.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion_common::{Column as Named, DataFusionError, Result, TableReference};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableSource};
use types::described::{Declared, Origin};
use types::{Column, LogicalType, SqlError, SqlResult, SqlState};

use crate::analyze::names::Names;
use crate::analyze::no_columns::{is_stand_in, stand_in};
use crate::catalog::Catalog;
use crate::catalog::view::ViewDef;
use crate::error::from_library;
use crate::parse::{no_columns, stored};
use crate::quote::unspelled::shown;
use crate::rewrite::{clock, steps};

/// The columns of a view, if its query can be bound.
///
/// Errors: those of the query; 42P17 for a view that names itself, 42601 for too many column names.
pub fn view_columns(view: &ViewDef, catalog: &dyn Catalog) -> SqlResult<Vec<Column>> {
    let plan = plan(view, &Names::new(catalog)).map_err(from_library)?;
    let origins = crate::analyze::origin::origins(&plan, catalog);
    let own = plan.schema().fields().iter().zip(origins).filter(|(field, _)| !is_stand_in(field));
    let column = |(f, origin): (&Arc<arrow_schema::Field>, Origin)| {
        let declared = origin.declared.and_then(Declared::column_type);
        let own = || LogicalType::of_arrow(f.data_type()).unwrap_or(LogicalType::Text);
        let ty = declared.unwrap_or_else(own);
        Column { name: f.name().clone(), ty, nullable: true }
    };
    Ok(own.map(column).collect())
}

/// A view where a query names it.
pub(crate) struct ViewSource {
    plan: LogicalPlan,
    schema: SchemaRef,
}

impl ViewSource {
    pub(crate) fn new(view: &ViewDef, names: &Names<'_>) -> Result<ViewSource> {
        let plan = plan(view, names)?;
        Ok(ViewSource::of(plan))
    }

    fn of(plan: LogicalPlan) -> ViewSource {
        let schema = Arc::clone(plan.schema().inner());
        ViewSource { plan, schema }
    }

    /// A table without columns, with the one that stands for none.
    pub(crate) fn without_columns(
        name: &TableReference,
        table: Arc<dyn TableSource>,
    ) -> Result<ViewSource> {
        let scan = LogicalPlanBuilder::scan(name.clone(), table, None)?;
        Ok(ViewSource::of(scan.project([stand_in().alias(no_columns::name())])?.build()?))
    }
}

impl TableSource for ViewSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn get_logical_plan(&self) -> Option<Cow<'_, LogicalPlan>> {
        Some(Cow::Borrowed(&self.plan))
    }
}

/// Most views of which each names the next: planning recurses over them.
const VIEW_DEPTH_MAX: usize = 32;

fn plan(view: &ViewDef, names: &Names<'_>) -> Result<LogicalPlan> {
    let external = |error: SqlError| DataFusionError::External(Box::new(error));
    if names.open_views.contains(&view.name) {
        let message =
            format!("infinite recursion detected in rules for relation \"{}\"", view.name);
        return Err(external(SqlError::new(SqlState("42P17"), message)));
    }
    if names.open_views.len() >= VIEW_DEPTH_MAX {
        let error = SqlError::new(SqlState("54001"), "views are nested too deeply");
        return Err(external(error));
    }
    let parsed = stored::read(&view.query);
    let mut query = parsed.map_err(|e| external(SqlError::internal(e.to_string())))?;
    no_columns::fill(&mut query);
    crate::parse::balance(&mut query).map_err(external)?;
    let first_moment = clock::first_of(names.parameter_count);
    let outputs = steps::of_view(&mut query, names.catalog, first_moment).map_err(external)?;
    let plan = crate::analyze::query::bound(query, &names.within(view))?;
    let columns = plan.schema().iter().map(|named| (is_stand_in(named.1), Named::from(named)));
    let (none, columns): (Vec<_>, Vec<_>) =
        columns.partition(|(stands_for_none, _)| *stands_for_none);
    let columns: Vec<Named> = columns.into_iter().map(|(_, column)| column).collect();
    if view.columns.len() > columns.len() {
        let message = "CREATE VIEW specifies more column names than columns";
        return Err(external(SqlError::new(SqlState::SYNTAX_ERROR, message)));
    }
    let outputs = outputs.filter(|names| names.len() == columns.len());
    let oid = names.catalog.view_oid(&view.name);
    let name = |(i, column): (usize, &Named)| {
        let name = view.columns.get(i).or_else(|| outputs.as_ref().and_then(|o| o.get(i)));
        let own = || shown(&column.name).into_owned();
        name.cloned().unwrap_or_else(own)
    };
    let given: Vec<String> = columns.iter().enumerate().map(name).collect();
    if let Some(i) = (1..given.len()).find(|&i| given[..i].contains(&given[i])) {
        let message = format!("column \"{}\" specified more than once", given[i]);
        return Err(external(SqlError::new(SqlState::DUPLICATE_COLUMN, message)));
    }
    let exprs = columns.into_iter().zip(given).enumerate().map(|(i, (column, name))| {
        let marked = oid.map(|oid| crate::analyze::origin::of_view(oid, i + 1));
        Expr::Column(column).alias_with_metadata(name, marked)
    });
    let mut exprs: Vec<Expr> = exprs.collect();
    if exprs.is_empty() {
        let none = none.into_iter().next();
        exprs.extend(none.map(|(_, column)| Expr::Column(column).alias(no_columns::name())));
    }
    LogicalPlanBuilder::from(plan).project(exprs)?.build()
}
