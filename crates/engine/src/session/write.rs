//! What each kind of statement that writes does.

use sql::parse::{self, DropObject, Statement, Vacuum};
use txn::waiting::unless_cancelled;
use types::{SqlError, SqlResult};

use crate::check::CHECK_COLUMN;
use crate::notice::Notice;
use crate::parts::expire::expire;
use crate::result::{ResultSet, StatementResult, tag};
use crate::writing::Writing;
use crate::{analyze, ddl, dml, freeing, reorganize, view};

/// Runs a statement; its result, and what there is to tell.
pub(super) async fn write(
    writing: &Writing<'_>,
    statement: Statement,
) -> SqlResult<(StatementResult, Vec<Notice>)> {
    let frees =
        matches!(statement, Statement::Vacuum(_) | Statement::Drop(_) | Statement::Truncate(_));
    let _reserve = match frees {
        true => Some(freeing::spend_reserve(writing).await?),
        false => None,
    };
    let result = match statement {
        Statement::Analyze { table } => {
            let skipped =
                analyze::analyze(writing, table.as_ref().map(|table| table.as_str())).await?;
            return Ok((tag("ANALYZE"), skipped));
        }
        Statement::Vacuum(of) => return Ok((tag("VACUUM"), vacuum(writing, &of).await?)),
        Statement::CheckDatabase => return check_database(writing).await,
        Statement::CreateTable(table) => {
            let count = Box::pin(ddl::create::create_table(writing, &table)).await?;
            match table.query {
                Some(_) => tag(&format!("SELECT {count}")),
                None => tag("CREATE TABLE"),
            }
        }
        other => tag(Box::pin(define(writing, other)).await?),
    };
    Ok((result, vec![]))
}

/// Runs a statement of which there is nothing to tell but its tag.
async fn define(writing: &Writing<'_>, statement: Statement) -> SqlResult<&'static str> {
    match statement {
        Statement::AlterTable(alter) => {
            Box::pin(ddl::alter::statement::alter_table(writing, &alter))
                .await
                .map(|()| "ALTER TABLE")
        }
        Statement::CreateSequence(create) => {
            ddl::sequence::create_sequence(writing, &create).await.map(|()| "CREATE SEQUENCE")
        }
        Statement::AlterSequence(alter) => {
            ddl::sequence::alter_sequence(writing, &alter).await.map(|()| "ALTER SEQUENCE")
        }
        Statement::CreateView(create) => {
            view::create(writing, create).await.map(|()| "CREATE VIEW")
        }
        Statement::Rename(rename) => view::rename(writing, rename).await.map(|()| "ALTER VIEW"),
        Statement::CreateIndex(index) => {
            ddl::index::create_index(writing, &index).await.map(|()| "CREATE INDEX")
        }
        Statement::Drop(drop) => drop_objects(writing, &drop).await,
        Statement::Truncate(truncate) => {
            dml::truncate::truncate(writing, &truncate).await.map(|()| "TRUNCATE TABLE")
        }
        Statement::Comment(comment) => {
            crate::ddl::comment::comment(writing, comment).await.map(|()| "COMMENT")
        }
        Statement::Secret(statement) => crate::ddl::secret::change(writing, &statement).await,
        Statement::Reorganize { table } => {
            reorganize::reorganize(writing, &table).await.map(|()| "REORGANIZE")
        }
        _ => Err(SqlError::internal("a statement was not dispatched")),
    }
}

async fn drop_objects(writing: &Writing<'_>, drop: &parse::Drop) -> SqlResult<&'static str> {
    match drop.object {
        DropObject::Table => ddl::drop::drop_tables(writing, drop).await.map(|()| "DROP TABLE"),
        DropObject::View => {
            view::drop(writing, &drop.names, drop.if_exists).await.map(|()| "DROP VIEW")
        }
        DropObject::Index => ddl::index::drop_indexes(writing, &drop.names, drop.if_exists)
            .await
            .map(|()| "DROP INDEX"),
        DropObject::Sequence => {
            ddl::sequence::drop_sequences(writing, drop).await.map(|()| "DROP SEQUENCE")
        }
    }
}

/// One row for each thing that is damaged.
async fn check_database(writing: &Writing<'_>) -> SqlResult<(StatementResult, Vec<Notice>)> {
    let report = writing.db.checked(&writing.cancel).await?;
    let is_sound = report.problems.is_empty();
    let told = is_sound.then(|| Notice::information(report.to_string()));
    let rows = report.problems.into_iter().map(|problem| vec![problem]).collect();
    let result = ResultSet::text(&[CHECK_COLUMN], rows, "CHECK");
    Ok((StatementResult::Rows(result), told.into_iter().collect()))
}

/// Space is taken back when rows go; only statistics are left to do, and objects of tables that have a
/// location.
async fn vacuum(writing: &Writing<'_>, vacuum: &Vacuum) -> SqlResult<Vec<Notice>> {
    for table in &vacuum.tables {
        let entry = writing.entry(table)?;
        let (snapshot, role) = (writing.snapshot(), writing.catalog.role());
        if snapshot.access.owns(role, snapshot.acl(table)?) {
            unless_cancelled(&writing.cancel, expire(writing.db, &entry)).await??;
        }
    }
    let mut told = analyze::not_vacuumed(writing.snapshot(), writing.catalog.role(), vacuum);
    let tables = vacuum.tables.iter().map(|table| Some(table.as_str()));
    let all = vacuum.tables.is_empty().then_some(None);
    for table in tables.chain(all).filter(|_| vacuum.analyze) {
        told.extend(analyze::analyze(writing, table).await?);
    }
    Ok(told)
}
