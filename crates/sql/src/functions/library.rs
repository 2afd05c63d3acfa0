//! The logical library as we set it up: its functions and its options.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use datafusion_common::config::ConfigOptions;
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::registry::{FunctionRegistry, MemoryFunctionRegistry};
use datafusion_expr::{AggregateUDF, Expr, ScalarUDF};
use datafusion_sql::planner::ParserOptions;
use stdx::HashMap;

use crate::functions::options::OPTIONS;
use crate::functions::{
    array_agg, average, coalesce, concat, extremes, mode, moments, ranks, scalar, total,
};

/// Functions and options; made once (the registry alone takes 0.7 ms).
pub(crate) struct Library {
    /// All functions by name.
    pub registry: MemoryFunctionRegistry,
    /// Functions by their other names.
    aliases: HashMap<String, Arc<ScalarUDF>>,
    /// Options of analysis and optimisation.
    pub options: Arc<ConfigOptions>,
    /// Options of name resolution and literals.
    pub parser: ParserOptions,
}

/// The library.
pub(crate) static LIBRARY: LazyLock<Library> = LazyLock::new(Library::new);

impl Library {
    fn new() -> Library {
        let mut registry = MemoryFunctionRegistry::new();
        let mut aliases = HashMap::default();
        let known = datafusion_functions::all_default_functions().into_iter();
        // Rows are no values yet: what these make has no type here.
        for function in known.filter(|f| !matches!(f.name(), "struct" | "named_struct")) {
            for alias in function.aliases() {
                aliases.insert(alias.clone(), Arc::clone(&function));
            }
            register(registry.register_udf(function));
        }
        for function in scalar::all() {
            aliases.remove(function.name());
            register(registry.register_udf(function));
        }
        register(registry.register_udf(Arc::new(ScalarUDF::from(coalesce::Coalesce::default()))));
        register(registry.register_udf(Arc::new(ScalarUDF::from(concat::Concat::default()))));
        register(registry.register_udf(Arc::new(ScalarUDF::from(concat::ConcatWs::default()))));
        for function in datafusion_functions_aggregate::all_default_aggregate_functions() {
            register(registry.register_udaf(function));
        }
        register(registry.register_udaf(Arc::new(AggregateUDF::from(average::Average::default()))));
        register(registry.register_udaf(Arc::new(AggregateUDF::from(total::Total::default()))));
        register(registry.register_udaf(Arc::new(AggregateUDF::from(mode::Mode::default()))));
        register(registry.register_udaf(Arc::new(array_agg::function())));
        for function in extremes::all() {
            register(registry.register_udaf(Arc::new(function)));
        }
        for function in moments::all() {
            register(registry.register_udaf(Arc::new(function)));
        }
        for function in datafusion_functions_window::all_default_window_functions() {
            register(registry.register_udwf(ranks::signed(function)));
        }
        Library { registry, aliases, options: Arc::clone(&OPTIONS), parser: parser() }
    }

    /// The scalar function of this name or alias.
    pub fn scalar(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.registry.udf(name).ok().or_else(|| self.aliases.get(name).cloned())
    }
}

/// A memory registry refuses nothing; a replaced function is one known under two names.
fn register<T>(outcome: datafusion_common::Result<Option<T>>) {
    debug_assert!(outcome.is_ok(), "the registry refused a function");
}

fn parser() -> ParserOptions {
    ParserOptions::new().with_parse_float_as_decimal(true).with_map_string_types_to_utf8view(true)
}

/// Whether the engine has a function or aggregate of this name, apart from those of the session.
pub fn has_function(name: &str) -> bool {
    let registry = &LIBRARY.registry;
    LIBRARY.scalar(name).is_some() || registry.udaf(name).is_ok() || registry.udwf(name).is_ok()
}

/// Whether a name is that of an aggregate.
pub(crate) fn is_aggregate(name: &str) -> bool {
    LIBRARY.registry.udaf(aggregate_name(name)).is_ok()
}

/// The library's name of an aggregate, for those that PostgreSQL has besides the standard's.
pub(crate) fn aggregate_name(name: &str) -> &str {
    match name {
        "every" => "bool_and",
        "variance" | "var_samp" => "var",
        "stddev_samp" => "stddev",
        other => other,
    }
}

/// The names of all functions, aggregates and window functions, apart from those of the session.
pub fn function_names() -> BTreeSet<String> {
    let (registry, aliases) = (&LIBRARY.registry, LIBRARY.aliases.keys().cloned());
    let kinds = [registry.udfs(), registry.udafs(), registry.udwfs()];
    kinds.into_iter().flatten().chain(aliases).collect()
}

/// A call of one of our functions.
pub(crate) fn call(name: &str, args: Vec<Expr>) -> Result<Expr> {
    match LIBRARY.scalar(name) {
        Some(function) => Ok(Expr::ScalarFunction(ScalarFunction::new_udf(function, args))),
        None => Err(DataFusionError::Internal(format!("no function {name}"))),
    }
}
