//! `CREATE SECRET` and `DROP SECRET`.

use std::sync::Arc;

use sql::parse::{CreateSecret, SecretStatement};
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::snapshot::Snapshot;
use crate::secrets::stored::Secrets;
use crate::writing::Writing;

/// Secrets of a database, at most: all of them are one record of the catalog.
pub(crate) const SECRETS_MAX: usize = 1000;

/// Creates or drops secrets; the tag of what was done. Who may is asked before.
///
/// # Errors
/// 42710 for a name that is taken, 42704 for one that is none, and what is wrong with the options.
pub(crate) async fn change(
    writing: &Writing<'_>,
    statement: &SecretStatement,
) -> SqlResult<&'static str> {
    let mut secrets = (*writing.snapshot().secrets).clone();
    let tag = match statement {
        SecretStatement::Create(create) => {
            if !put(&mut secrets, writing.snapshot(), create)? {
                return Ok("CREATE SECRET");
            }
            "CREATE SECRET"
        }
        SecretStatement::Drop { names, if_exists } => {
            for name in names {
                if secrets.0.remove(name).is_none() && !if_exists {
                    let message = format!("secret \"{name}\" does not exist");
                    return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
                }
            }
            "DROP SECRET"
        }
    };
    let change = writing.change(move |_, snapshot| {
        Box::pin(async move {
            snapshot.secrets = Arc::new(secrets);
            Ok(())
        })
    });
    change.await.map(|()| tag)
}

/// Adds a secret; whether it did.
pub(crate) fn put(
    secrets: &mut Secrets,
    snapshot: &Snapshot,
    create: &CreateSecret,
) -> SqlResult<bool> {
    if secrets.0.contains_key(&create.name) && !create.or_replace {
        if create.if_not_exists {
            return Ok(false);
        }
        let message = format!("secret \"{}\" already exists", create.name);
        return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message));
    }
    if secrets.0.len() >= SECRETS_MAX {
        let message = format!("there are {SECRETS_MAX} secrets, and no more can be");
        return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    }
    let secret = crate::secrets::options::read(create)?;
    // Endpoints that cannot be, or may not be spoken to, are told now.
    snapshot.stores.open(Some(&secret), &crate::secrets::options::example(&secret)?)?;
    secrets.0.insert(create.name.clone(), secret);
    Ok(true)
}

#[cfg(test)]
mod tests;
