//! Comments: those on objects of the database, and that on the database itself.

use engine::system::Subject;
use types::SqlResult;

use crate::objects::{DATABASE, KIND, PUBLIC, table_oid};
use crate::rows::Rows;
use crate::view::View;

/// The relations whose rows the objects are.
pub(super) const PG_CLASS: i64 = 1_259;
const PG_NAMESPACE: i64 = 2_615;
pub(crate) const PG_DATABASE: i64 = 1_262;

/// A comment on what a row of a system relation stands for.
pub(crate) struct Described<'a> {
    pub(crate) class: i64,
    pub(crate) object: i64,
    /// The column's number; 0 for the object itself.
    pub(crate) column: i64,
    pub(crate) text: &'a str,
}

/// All comments, and the one that PostgreSQL's `public` has from the beginning.
pub(crate) fn all(view: &View) -> Vec<Described<'_>> {
    let place = |subject: &Subject| place(view, subject);
    let described = view.comments().filter_map(|(subject, text)| {
        let (class, object, column) = place(subject)?;
        Some(Described { class, object, column, text })
    });
    let mut described: Vec<_> = described.collect();
    if !described.iter().any(|comment| comment.class == PG_NAMESPACE) {
        let (class, object, text) = (PG_NAMESPACE, PUBLIC, "standard public schema");
        described.push(Described { class, object, column: 0, text });
    }
    described
}

fn place(view: &View, subject: &Subject) -> Option<(i64, i64, i64)> {
    let table = |id: u32| view.tables().find(|table| table.id.0 == id);
    let views = view.user_views();
    let named = |name: &str| views.iter().find(|(_, def)| def.name == *name);
    Some(match subject {
        Subject::Table(id) => (PG_CLASS, table_oid(table(*id)?), 0),
        Subject::Column(id, name) => {
            let table = table(*id)?;
            (PG_CLASS, table_oid(table), table.schema.ordinal(name)? as i64 + 1)
        }
        Subject::View(name) => (PG_CLASS, named(name)?.0, 0),
        Subject::ViewColumn(name, column) => {
            let (oid, def) = named(name)?;
            let columns = view.view_columns(def);
            (PG_CLASS, *oid, columns.iter().position(|c| c.name == *column)? as i64 + 1)
        }
        Subject::Index(id) => (PG_CLASS, i64::from(plan::catalog::TableId::FIRST_OID + id), 0),
        Subject::PrimaryKey(id) => (PG_CLASS, table_oid(table(*id)?) + KIND, 0),
        Subject::Schema => (PG_NAMESPACE, PUBLIC, 0),
        Subject::Database => (PG_DATABASE, DATABASE, 0),
    })
}

pub(super) fn pg_description(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for comment in all(view).iter().filter(|comment| comment.class != PG_DATABASE) {
        rows.push([
            ("objoid", comment.object.into()),
            ("classoid", comment.class.into()),
            ("objsubid", comment.column.into()),
            ("description", comment.text.into()),
        ]);
    }
    Ok(())
}

pub(super) fn pg_shdescription(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for comment in all(view).iter().filter(|comment| comment.class == PG_DATABASE) {
        rows.push([
            ("objoid", comment.object.into()),
            ("classoid", comment.class.into()),
            ("description", comment.text.into()),
        ]);
    }
    Ok(())
}
