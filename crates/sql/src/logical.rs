//! Rules over logical plans: the library's, those that take the place of some of them, and how subqueries become
//! joins.

pub(crate) mod constants;
pub(crate) mod decorrelation;
pub(crate) mod dependencies;
pub(crate) mod distinct_on;
pub(crate) mod duplicates;
mod extremes;
pub(crate) mod guarded_rules;
pub(crate) mod laterals;
pub(crate) mod leftovers;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod separate;
pub(crate) mod set_all;
pub(crate) mod simplified;
mod single_groups;
pub(crate) mod sorted;
