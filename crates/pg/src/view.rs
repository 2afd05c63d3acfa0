//! What relations and functions are made from, as this crate looks at it: the modules add to it what follows
//! from the catalog (objects with their oids, constraints, owners).

use std::ops::Deref;
use std::sync::Arc;

use engine::system::{READ_ALL_STATS, SessionView};

/// What a statement sees.
pub(crate) struct View(Arc<SessionView>);

impl View {
    pub(crate) fn new(view: &Arc<SessionView>) -> View {
        View(view.clone())
    }

    /// The name of a user's relation as a statement of this session must spell it: with the schema
    /// where the search path does not find that, as PostgreSQL writes definitions.
    pub(crate) fn spelled(&self, name: &str) -> String {
        let schema = if self.finds_public() { "" } else { "public." };
        format!("{schema}{}", sql::quote_ident(name))
    }

    /// Whether the role may see what others run.
    pub(crate) fn sees_all_statistics(&self) -> bool {
        self.access().has_privileges_of(self.role(), READ_ALL_STATS)
    }
}

impl Deref for View {
    type Target = SessionView;

    fn deref(&self) -> &SessionView {
        &self.0
    }
}
