//! What a database has beside its users' objects, and who brings it: the system's relations and functions.
//!
//! The engine has none of its own. Whoever opens a database hands in [`SystemSchemas`]
//! ([`crate::options::Options::new`]); `pg` has those of PostgreSQL. A statement asks them by name, and for rows when
//! a scan runs, with a [`SessionView`]: what it sees of its session, of the catalog and of what runs.

pub(crate) mod catalog;
pub(crate) mod chance;
pub(crate) mod replication;
pub(crate) mod results;
pub(crate) mod schemas;
pub(crate) mod sleep;
pub(crate) mod source;
pub(crate) mod view;

pub use crate::access::acl::{Acl, AclItem, ON_DATABASES, ON_RELATIONS, ON_SCHEMAS, ON_SEQUENCES};
pub use crate::access::denied::denied;
pub use crate::access::rights::{Access, Relation as OwnedRelation};
pub use crate::access::role::{Membership, PUBLIC, Role, RoleId};
pub use crate::access::roles::{DATABASE_OWNER, READ_ALL_STATS, SIGNAL_BACKEND};
pub use crate::activity::Signals;
pub use crate::catalog::sequence::SequenceKey;
pub use crate::comments::subject::Subject;
pub use schemas::SystemSchemas;
pub use storage::{LogPosition, TreeId};
pub use txn::advisory::{Key as AdvisoryKey, Shown as AdvisoryShown, Wish as AdvisoryWish};
pub use txn::locks::mode::{LockMode, LockShown, RightKind, ShownLock};
pub use view::{SessionView, SettingChange};
