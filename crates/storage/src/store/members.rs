//! Members of a database over several files or devices: who they are, and who joins and leaves.

use std::path::Path;

use super::open::{open_file, opening};
use super::{Store, StoreOptions};
use crate::error::{MemberFault, Result, StorageError};
use crate::volume::{self, MemberInfo};

impl Store {
    /// The members of the database; none where it lies in one file.
    pub fn members(&self) -> Vec<MemberInfo> {
        self.inner.pool.file().members()
    }

    /// Takes a file or device in as a member, while the store works. A file that is not there is
    /// made. Whatever is on it is lost; where that is something foreign, `format` has to be true.
    ///
    /// # Errors
    /// `Member`, `Io`, `Option` where the database lies in one file: nothing has changed then, but
    /// what was to join may have a label.
    pub async fn add_member(&self, path: &Path, format: bool) -> Result<()> {
        self.check_writable()?;
        self.inner.pool.file().add(path, format).await
    }

    /// Moves what lies on a member to the others while the store works, and lets the member go.
    ///
    /// # Errors
    /// `Member`; `Io`, also where the others have no room: what was moved stays moved, and the
    /// member is one.
    pub async fn remove_member(&self, path: &Path) -> Result<()> {
        self.check_writable()?;
        self.inner.pool.file().remove(path).await
    }
}

/// The members of a database that nobody has open; none where it lies in one file.
///
/// # Errors
/// As [`Store::open`], of which it does no more than to find the members.
pub async fn members(path: &Path, options: &StoreOptions) -> Result<Vec<MemberInfo>> {
    let (volume, _) = super::open::open_with_slots(path, options).await?;
    Ok(volume.members())
}

/// Takes a member into a database that nobody has open. One that lies in a single file becomes one
/// of members.
///
/// # Errors
/// As [`Store::add_member`].
pub async fn add_member(path: &Path, options: &StoreOptions, member: &Path) -> Result<()> {
    let (mut volume, _) = super::open::open_with_slots(path, options).await?;
    let (opening, format) = (opening(options), options.volume.format);
    if volume.members().is_empty() {
        volume::open::ensure_joins(path, member, opening, format).await?;
        drop(volume);
        let file = open_file(path, options, false).await?;
        volume = volume::convert::convert(file, path, options.volume.geometry, opening).await?;
    }
    volume.add(member, format).await
}

/// Lets a member of a database go that nobody has open.
///
/// # Errors
/// As [`Store::remove_member`].
pub async fn remove_member(path: &Path, options: &StoreOptions, member: &Path) -> Result<()> {
    let (volume, _) = super::open::open_with_slots(path, options).await?;
    if volume.members().is_empty() {
        return Err(StorageError::Member(MemberFault::OneFile));
    }
    volume.remove(member).await
}
