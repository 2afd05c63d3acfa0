//! Sequences.

use types::SqlResult;

use crate::objects::Object;
use crate::rows::Rows;
use crate::type_names;
use crate::view::View;

pub(super) fn pg_sequence(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for sequence in view.sequences() {
        let (least, most) = sequence.bounds();
        rows.push([
            ("seqrelid", sequence.oid().into()),
            ("seqtypid", type_names::of(sequence.ty()).0.into()),
            ("seqstart", sequence.numbers.start.into()),
            ("seqincrement", sequence.numbers.increment.into()),
            ("seqmax", most.into()),
            ("seqmin", least.into()),
            ("seqcache", sequence.numbers.cache.into()),
            ("seqcycle", sequence.numbers.cycles.into()),
        ]);
    }
    Ok(())
}

pub(super) fn pg_sequences(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for sequence in view.sequences() {
        let (least, most) = sequence.bounds();
        let (start, increment) = (sequence.numbers.start, sequence.numbers.increment);
        let owner = view.owner(&Object::Sequence(sequence.clone()));
        rows.push([
            ("schemaname", "public".into()),
            ("sequencename", sequence.name.as_str().into()),
            ("sequenceowner", view.role_name(owner).into()),
            ("data_type", type_names::of(sequence.ty()).0.into()),
            ("start_value", start.into()),
            ("min_value", least.into()),
            ("max_value", most.into()),
            ("increment_by", increment.into()),
            ("cycle", sequence.numbers.cycles.into()),
            ("cache_size", sequence.numbers.cache.into()),
            ("last_value", sequence.last_value()),
        ]);
    }
    Ok(())
}
