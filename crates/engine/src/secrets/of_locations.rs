//! With which secret a location is opened.

use types::SqlResult;

use crate::catalog::snapshot::Snapshot;
use crate::objects::location::Location;
use crate::objects::path::ObjectPath;
use crate::objects::stores::Bucket;
use crate::secrets::stored::StoredSecret;

impl Snapshot {
    /// A location, opened with its secret.
    ///
    /// # Errors
    /// As [`crate::objects::stores::Stores::open`], and 22023 for what is no location.
    pub(crate) fn bucket(&self, location: &str) -> SqlResult<Bucket> {
        let location = Location::parse(location)?;
        self.stores.open(self.secrets.of_location(&location.to_string()), &location)
    }

    /// The bucket of an object, opened with the secret for the object.
    ///
    /// # Errors
    /// As [`crate::objects::stores::Stores::open`].
    pub(crate) fn bucket_of(&self, path: &ObjectPath) -> SqlResult<Bucket> {
        self.stores.open(self.secrets.of_location(&path.text), &path.location)
    }

    /// The secret for a location or the name of an object.
    pub(crate) fn secret_of(&self, text: &str) -> Option<&StoredSecret> {
        self.secrets.of_location(text)
    }

    /// The endpoints that secrets name.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = &str> {
        self.secrets.0.values().filter_map(|secret| secret.endpoint.as_deref())
    }

    /// Whether a secret or the list of hosts names the server of a path. What the list does not name is not spoken to
    /// in any case.
    pub(crate) fn names_server_of(&self, path: &str) -> bool {
        self.stores.has_hosts() || self.secrets.of_location(path).is_some()
    }
}
