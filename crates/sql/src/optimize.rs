//! Queries as optimised logical plans. The order of joins follows from what physical plans would cost.

pub(crate) mod filters;
pub(crate) mod join_graph;
pub(crate) mod join_order;
pub(crate) mod query;
pub(crate) mod shared;
pub(crate) mod values;
