//! Looks at every chunk of a table, for `CHECK DATABASE`.

use runtime::IoCounters;
use types::{SqlError, SqlResult, SqlState};

use super::chunk::Chunk;
use super::part::Part;
use super::table::Columns;
use crate::catalog::snapshot::Snapshot;
use crate::objects::stores::Bucket;

/// What is wrong with the first chunk that is damaged: its header, a checksum of its body, or a vector
/// that cannot be decoded.
///
/// # Errors
/// Those of storage that are no damage.
pub(crate) async fn damage(
    snapshot: &Snapshot,
    columns: &Columns,
    column_count: usize,
) -> SqlResult<Option<String>> {
    let bucket = columns.bucket(snapshot)?;
    for part in columns.parts.iter() {
        match check(part, bucket.as_ref(), column_count).await {
            Err(error) if error.state == SqlState::DATA_CORRUPTED => return Ok(Some(text(&error))),
            other => other?,
        }
    }
    Ok(None)
}

fn text(error: &SqlError) -> String {
    error.to_string()
}

async fn check(part: &Part, bucket: Option<&Bucket>, column_count: usize) -> SqlResult<()> {
    let io = IoCounters::default();
    for rows in part.chunks(&io).await? {
        let chunk = Chunk::open(&part.tree, rows, column_count, &io).await?;
        chunk.verify(bucket, &io).await?;
    }
    Ok(())
}
