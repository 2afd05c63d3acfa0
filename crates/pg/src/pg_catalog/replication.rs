//! The database that this one follows, and those that follow this one.

use sql::SystemValue;
use types::SqlResult;

use crate::functions::recovery::shown;
use crate::rows::Rows;
use crate::view::View;

pub(super) fn pg_stat_wal_receiver(view: &View, rows: &mut Rows) -> SqlResult<()> {
    let Some(replica) = view.replica().filter(|_| view.settings().in_recovery()) else {
        return Ok(());
    };
    rows.push([
        ("status", replica.state.into()),
        ("written_lsn", shown(replica.received).into()),
        ("flushed_lsn", shown(replica.received).into()),
        ("last_msg_receipt_time", replica.heard_us.into()),
        ("latest_end_lsn", shown(replica.replayed).into()),
        ("latest_end_time", replica.replayed_us.into()),
        ("sender_host", replica.source.as_str().into()),
        ("conninfo", replica.error.into()),
    ]);
    Ok(())
}

pub(super) fn pg_stat_replication(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for replica in view.activities().replicas.all() {
        rows.push([
            ("pid", i64::from(replica.pid).into()),
            ("usename", replica.user.as_str().into()),
            ("application_name", replica.application_name.as_str().into()),
            ("client_addr", replica.address.map_or(SystemValue::Null, SystemValue::from)),
            ("backend_start", replica.entered_us.into()),
            ("state", replica.state.into()),
            ("sent_lsn", shown(replica.sent).into()),
            ("write_lsn", shown(replica.received).into()),
            ("flush_lsn", shown(replica.received).into()),
            ("replay_lsn", shown(replica.replayed).into()),
            ("sync_priority", 0.into()),
            ("sync_state", "async".into()),
            ("reply_time", replica.replied_us.into()),
        ]);
    }
    Ok(())
}
