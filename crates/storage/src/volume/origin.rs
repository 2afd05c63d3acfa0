//! Properties that the members of one database share, and how a file or device becomes one.

use std::io;
use std::path::Path;
use std::sync::Arc;

use runtime::fs;

use super::label::Label;
use super::member::{Member, Opening, unsuited, write};
use super::table::Record;
use super::{Geometry, probe};
use crate::error::{MemberFault, Result, StorageError};

/// The database of members, and how it divides space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Chosen at random.
    pub database: [u8; 16],
    pub geometry: Geometry,
}

impl Origin {
    /// Opens or makes what is to be a member; true if it was made.
    ///
    /// # Errors
    /// `Member` where it is in use or too small; `Io`.
    pub async fn found(&self, path: &Path, opening: Opening) -> Result<(Arc<Member>, bool)> {
        let is_there = fs::exists(path).await;
        let is_there = is_there.map_err(|error| StorageError::io("look at a member", &error))?;
        let member = match is_there {
            true => {
                let missing = MemberFault::Missing { number: 0, path: path.to_owned() };
                Member::open(path, opening, missing).await?
            }
            false => Member::create(path, opening).await?,
        };
        if member.size > 0 && member.size < self.geometry.offset(1) {
            return Err(unsuited(path, "the device has no room for an extent"));
        }
        Ok((Arc::new(member), !is_there))
    }

    /// Probes and labels a member on which nothing lies.
    ///
    /// # Errors
    /// `Io`.
    pub async fn made_ready(&self, member: &Arc<Member>, number: u32) -> Result<Record> {
        let speed = probe::speed_of_new(member, &self.geometry).await?;
        let label = self.label(member, number, speed);
        self.write_label(member, &label).await?;
        Ok(Record::of(&label, &member.path))
    }

    /// A label with an identity of its own.
    pub fn label(&self, member: &Member, number: u32, speed: u64) -> Label {
        let id = u64::from_le_bytes(runtime::entropy());
        Label { origin: *self, id, number, size: member.size, speed, converted: 0 }
    }

    /// Labels a member. It is durable then, and so is its name.
    ///
    /// # Errors
    /// `Io`.
    pub async fn write_label(&self, member: &Member, label: &Label) -> Result<()> {
        let written = async {
            write(member, &label.encode(), 0).await?;
            member.sync().await?;
            if member.size > 0 { Ok(()) } else { sync_folder(&member.path).await }
        };
        written.await.map_err(|error| StorageError::io("label a member", &error))
    }
}

/// Makes the name of a file durable.
async fn sync_folder(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    fs::sync_dir(parent.unwrap_or(Path::new("."))).await
}
