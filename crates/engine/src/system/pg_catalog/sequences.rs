//! Sequences, and what belongs to them.

use sql::SystemValue;
use types::SqlResult;

use super::comments::PG_CLASS;
use crate::system::objects::{Object, table_oid};
use crate::system::rows::Rows;
use crate::system::{View, type_names};

pub(super) fn pg_sequence(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for sequence in view.sequences() {
        let (least, most) = sequence.bounds();
        rows.push([
            ("seqrelid", sequence.oid().into()),
            ("seqtypid", type_names::of(sequence.ty()).0.into()),
            ("seqstart", sequence.identity.start.into()),
            ("seqincrement", sequence.identity.increment.into()),
            ("seqmax", most.into()),
            ("seqmin", least.into()),
            ("seqcache", 1.into()),
            ("seqcycle", false.into()),
        ]);
    }
    Ok(())
}

pub(super) fn pg_sequences(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for sequence in view.sequences() {
        let (least, most) = sequence.bounds();
        let (start, increment) = (sequence.identity.start, sequence.identity.increment);
        let owner = view.owner(&Object::Table(sequence.table));
        rows.push([
            ("schemaname", "public".into()),
            ("sequencename", sequence.name.as_str().into()),
            ("sequenceowner", view.role_name(owner).into()),
            ("data_type", type_names::of(sequence.ty()).0.into()),
            ("start_value", start.into()),
            ("min_value", least.into()),
            ("max_value", most.into()),
            ("increment_by", increment.into()),
            ("cycle", false.into()),
            ("cache_size", 1.into()),
            ("last_value", sequence.last_value()),
        ]);
    }
    Ok(())
}

/// A sequence depends on its column: as a part of it (`i`) or on its own (`a`).
pub(super) fn pg_depend(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for sequence in view.sequences() {
        let kind = if sequence.identity.standard { "i" } else { "a" };
        rows.push([
            ("classid", PG_CLASS.into()),
            ("objid", sequence.oid().into()),
            ("objsubid", 0.into()),
            ("refclassid", PG_CLASS.into()),
            ("refobjid", table_oid(sequence.table).into()),
            ("refobjsubid", SystemValue::Int(sequence.ordinal as i64 + 1)),
            ("deptype", kind.into()),
        ]);
    }
    Ok(())
}
