//! Names and types: queries bound against the catalog, with PostgreSQL's types.

pub(crate) mod column_types;
pub(crate) mod derived;
pub(crate) mod exact_sum;
pub(crate) mod existence;
pub(crate) mod expression;
pub(crate) mod grouping_sets;
pub(crate) mod inference;
pub(crate) mod long_conditions;
mod names;
pub(crate) mod no_columns;
pub(crate) mod ordered_arguments;
pub(crate) mod origin;
pub(crate) mod outer_aggregates;
pub(crate) mod query;
pub(crate) mod single_row;
pub(crate) mod syntax;
pub(crate) mod system;
pub(crate) mod tables;
pub(crate) mod told;
pub(crate) mod typing;
pub(crate) mod view;
pub(crate) mod zones;
