//! `CREATE VIEW` and `DROP VIEW`.

use std::sync::Arc;

use sql::ViewDef;
use sql::parse::{CreateView, RelationName, RenameRelation};
use types::{Column, SqlError, SqlResult, SqlState};

use crate::access::rights::Relation;
use crate::catalog::snapshot::Snapshot;
use crate::ddl::names::exists;
use crate::writing::Writing;

/// Creates or replaces a view, if its query can be bound.
pub(crate) async fn create(writing: &Writing<'_>, create: CreateView) -> SqlResult<()> {
    let snapshot = writing.snapshot();
    let CreateView { view, or_replace, .. } = create;
    let is_view = snapshot.views.contains_key(&view.name);
    if snapshot.has_relation(&view.name) && !(is_view && or_replace) {
        let message = format!("relation \"{}\" already exists", view.name);
        return Err(SqlError::new(SqlState::DUPLICATE_TABLE, message));
    }
    if let Some(name) = view.relations.iter().find(|name| snapshot.is_temporary(name)) {
        return Err(SqlError::unsupported(format!("a view of the temporary table \"{name}\"")));
    }
    let mut changed = (**snapshot).clone();
    changed.views_mut().insert(view.name.clone(), Arc::new(view.clone()));
    let is_large = sql::is_large_view(&view, &|name| snapshot.views.get(name).cloned());
    let (now, old) = (view.clone(), snapshot.views.get(&view.name).cloned());
    let before = Arc::clone(snapshot);
    let bound = move || {
        let old = old.map(|old| sql::view_columns(&old, &*before)).transpose()?;
        Ok((sql::view_columns(&now, &changed)?, old))
    };
    let (columns, old) = writing.prepared(is_large, bound).await?;
    if let Some(old) = old {
        // Lengths may be others: `NULL::varchar(9)`, by which dumps announce a column, has none here.
        let is_same = |(o, n): (&Column, &Column)| o.name == n.name && o.ty.arrow() == n.ty.arrow();
        let kept = old.iter().zip(&columns).all(is_same);
        if !kept || columns.len() < old.len() {
            let message = "cannot change names, types or number of columns of a view";
            return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message)
                .with_hint("drop the view first; new columns may be added at the end"));
        }
    }
    let owner = writing.catalog.role();
    let change = writing.change(move |_, snapshot| {
        Box::pin(async move {
            if !is_view {
                Arc::make_mut(&mut snapshot.access).own(&Relation::View(&view.name), owner);
            }
            snapshot.views_mut().insert(view.name.clone(), Arc::new(view));
            Ok(())
        })
    });
    change.await
}

/// Gives a view another name.
///
/// Errors: 42P01; 42P07 for a name that is taken; 0A000 while another view names it.
pub(crate) async fn rename(writing: &Writing<'_>, rename: RenameRelation) -> SqlResult<()> {
    let snapshot = writing.snapshot();
    let (old, new) = (rename.relation.name, rename.new);
    let Some(view) = snapshot.views.get(&old) else {
        let message = format!("relation \"{old}\" does not exist");
        return Err(SqlError::new(SqlState::UNDEFINED_TABLE, message));
    };
    if snapshot.has_relation(&new) {
        return Err(exists(&new));
    }
    if let Some(other) = snapshot.views.values().find(|view| view.relations.contains(&old)) {
        return Err(SqlError::unsupported("renaming what a view names")
            .with_detail(format!("view {} names it", other.name))
            .with_hint("drop that view first and create it again"));
    }
    let view = ViewDef { name: new, ..(**view).clone() };
    let change = writing.change(move |_, snapshot| {
        Box::pin(async move {
            let acl = snapshot.access.acl(&Relation::View(&old)).clone();
            Arc::make_mut(&mut snapshot.access).put_acl(&Relation::View(&view.name), acl);
            drop_one(snapshot, &old);
            snapshot.rename_commented_view(&old, &view.name);
            snapshot.views_mut().insert(view.name.clone(), Arc::new(view));
            Ok(())
        })
    });
    change.await
}

/// Drops views.
pub(crate) async fn drop(
    writing: &Writing<'_>,
    names: &[RelationName],
    if_exists: bool,
) -> SqlResult<()> {
    let snapshot = writing.snapshot();
    let mut found = vec![];
    for name in names {
        match snapshot.views.get(&name.name) {
            Some(_) => found.push(name.name.clone()),
            None if snapshot.has_relation(name) => {
                let message = format!("\"{name}\" is not a view");
                return Err(SqlError::new(SqlState("42809"), message));
            }
            None if if_exists => {}
            None => {
                let message = format!("view \"{name}\" does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_TABLE, message));
            }
        }
    }
    no_dependents(snapshot, &found)?;
    let change = writing.change(move |_, snapshot| {
        Box::pin(async move {
            found.iter().for_each(|name| drop_one(snapshot, name));
            Ok(())
        })
    });
    change.await
}

fn drop_one(snapshot: &mut Snapshot, name: &str) {
    snapshot.views_mut().remove(name);
}

/// 2BP01 when a view that stays names one of the relations.
pub(crate) fn no_dependents(snapshot: &Snapshot, names: &[String]) -> SqlResult<()> {
    for view in snapshot.views.values().filter(|v| !names.contains(&v.name)) {
        if let Some(name) = names.iter().find(|n| view.relations.contains(n)) {
            let message = format!("cannot drop {name} because other objects depend on it");
            return Err(SqlError::new(SqlState("2BP01"), message)
                .with_detail(format!("view {} depends on {name}", view.name))
                .with_hint("drop the view first"));
        }
    }
    Ok(())
}
