//! Views as the catalog has them.

use serde::{Deserialize, Serialize};

/// A view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewDef {
    /// The name.
    pub name: String,
    /// Names of its columns; fewer than the query has leave the rest as they are.
    pub columns: Vec<String>,
    /// The query.
    pub query: String,
    /// Names of the tables and views that the query names.
    pub relations: Vec<String>,
}
