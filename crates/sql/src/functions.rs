//! PostgreSQL's functions and aggregates, over those of the library.

pub(crate) mod array_agg;
pub(crate) mod as_case;
pub(crate) mod average;
pub(crate) mod coalesce;
pub(crate) mod concat;
pub(crate) mod conditions;
pub(crate) mod exact;
pub(crate) mod extremes;
pub(crate) mod library;
pub(crate) mod like;
pub(crate) mod mode;
pub(crate) mod moments;
pub(crate) mod number_case;
pub(crate) mod options;
pub(crate) mod order;
pub(crate) mod ranks;
pub(crate) mod scalar;
pub(crate) mod sets_mark;
pub(crate) mod spans;
pub(crate) mod total;
pub(crate) mod unknown_function;
