//! `DELETE`.

use std::collections::HashSet;

use sql::dml::{TargetCatalog, delete_query, returning};
use sql::parse::Delete;
use types::SqlResult;

use super::rows::Rows;
use super::{Change, commit, foreign, outcome};
use crate::result::StatementResult;
use crate::writing::Writing;

/// Deletes rows, and what refers to them where a constraint says so.
pub(crate) async fn delete(writing: &Writing<'_>, delete: &Delete) -> SqlResult<StatementResult> {
    let target = TargetCatalog::new(&writing.catalog, &delete.table)?;
    let returning = returning(delete, &writing.catalog)?;
    let query = delete_query(delete, &target)?;
    let entry = writing.entry(&delete.table)?;
    let found = writing.rows(&query, Some(&delete.table)).await?;
    let found = Rows::found(&entry, &found)?;
    let removed = found.take(&firsts(&found.keys(&entry)?))?;
    let (count, rows) = (removed.len(), removed.batch.clone());
    let none = Rows::none(&entry);
    let changes = foreign::enforce(writing, Change::new(&entry, removed, none)).await?;
    let result = outcome("DELETE", count, returning, &rows)?;
    commit(writing, changes).await?;
    Ok(result)
}

/// The position of the first row of each key: a join may find a row several times.
pub(super) fn firsts(keys: &[Vec<u8>]) -> Vec<u32> {
    let mut seen = HashSet::new();
    (0..keys.len() as u32).filter(|&i| seen.insert(&keys[i as usize])).collect()
}
