//! New parts of column tables: what loads write, what merges make of the delta in the background, and what
//! becomes of parts at a store.
pub(crate) mod attach;
pub(crate) mod bounds;
pub(crate) mod delta;
pub(crate) mod expire;
pub(crate) mod hollow;
pub(crate) mod load;
pub(crate) mod merge;
pub(crate) mod publish;
pub(crate) mod replace;
pub(crate) mod status;
pub(crate) mod stop;
