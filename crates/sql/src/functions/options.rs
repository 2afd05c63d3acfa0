//! The options of the library as we set them.

use std::sync::{Arc, LazyLock};

use datafusion_common::config::ConfigOptions;

/// Options of analysis and optimisation.
pub(crate) static OPTIONS: LazyLock<Arc<ConfigOptions>> = LazyLock::new(|| {
    let mut options = ConfigOptions::default();
    // Without this, uncorrelated scalar subqueries stay expressions that only the library can run.
    options.optimizer.enable_physical_uncorrelated_scalar_subquery = false;
    options.optimizer.skip_failed_rules = false;
    options.optimizer.filter_null_join_keys = false;
    options.sql_parser.parse_float_as_decimal = true;
    // A query's ORDER BY may be seen from outside: `logical/sorted.rs` drops it where it is not.
    options.sql_parser.enable_subquery_sort_elimination = false;
    options.sql_parser.dialect = datafusion_common::config::Dialect::PostgreSQL;
    Arc::new(options)
});
