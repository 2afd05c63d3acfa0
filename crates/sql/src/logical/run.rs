//! Runs of optimiser rules.

use std::sync::Arc;

use datafusion_common::alias::AliasGenerator;
use datafusion_common::config::ConfigOptions;
use datafusion_expr::LogicalPlan;
use datafusion_expr::registry::FunctionRegistry;
use datafusion_optimizer::push_down_limit::PushDownLimit;
use datafusion_optimizer::{Optimizer, OptimizerConfig, OptimizerRule};
use types::SqlResult;

use crate::error::from_library;
use crate::functions::library::LIBRARY;
use crate::interrupt::BetweenRules;
use crate::logical::guarded_rules;
use crate::parse::parameter::Parameter;

pub(crate) type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// The plan with the comparisons that are simpler since its parameters have values.
pub(crate) fn simplified(plan: LogicalPlan) -> SqlResult<LogicalPlan> {
    let config = Config { aliases: Arc::new(AliasGenerator::new()), values: None };
    run(vec![Arc::new(guarded_rules::simplified())], plan, &config)
}

/// The plan with the numbers of rows that are wanted where they are known, since they have values.
pub(crate) fn limited(plan: LogicalPlan) -> SqlResult<LogicalPlan> {
    let config = Config { aliases: Arc::new(AliasGenerator::new()), values: None };
    run(vec![Arc::new(PushDownLimit::new())], plan, &config)
}

/// Rules between two questions whether to go on: in debug builds each costs a check of the plan.
const RULES_PER_QUESTION: usize = 4;

pub(crate) fn run(rules: Vec<Rule>, plan: LogicalPlan, config: &Config) -> SqlResult<LogicalPlan> {
    let between = || Arc::new(BetweenRules) as Rule;
    let asked = rules.chunks(RULES_PER_QUESTION).flat_map(|some| [&[between()][..], some].concat());
    let rules: Vec<Rule> = asked.collect();
    Optimizer::with_rules(rules).optimize(plan, config, |_, _| {}).map_err(from_library)
}

/// What the rules may ask. Without a function registry, `DISTINCT ON` panics.
pub(crate) struct Config {
    pub(crate) aliases: Arc<AliasGenerator>,
    /// What stands for the parameters, where they stay.
    pub(crate) values: Option<Vec<Parameter>>,
}

impl OptimizerConfig for Config {
    fn query_execution_start_time(&self) -> Option<chrono::DateTime<chrono::Utc>> {
        None
    }

    fn alias_generator(&self) -> &Arc<AliasGenerator> {
        &self.aliases
    }

    fn options(&self) -> Arc<ConfigOptions> {
        Arc::clone(&LIBRARY.options)
    }

    fn function_registry(&self) -> Option<&dyn FunctionRegistry> {
        Some(&LIBRARY.registry)
    }
}
