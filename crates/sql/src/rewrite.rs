//! Queries in the words that the library's binder knows: what PostgreSQL says otherwise is written anew, on the
//! syntax tree, before names are bound. `steps` has the order.

pub(crate) mod calls;
pub(crate) mod clock;
pub(crate) mod common_type;
pub(crate) mod filtered;
pub(crate) mod grouping;
pub(crate) mod having;
pub(crate) mod lateral;
pub(crate) mod merged;
pub(crate) mod named;
pub(crate) mod names;
pub(crate) mod natural;
pub(crate) mod ordered_set;
pub(crate) mod query;
pub(crate) mod recursion;
pub(crate) mod relations;
pub(crate) mod rows;
pub(crate) mod special;
pub(crate) mod steps;
pub(crate) mod system;
pub(crate) mod values;
pub(crate) mod whole_rows;
pub(crate) mod windows;
