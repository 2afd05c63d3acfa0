//! What was made of a statement before it runs. The statement carries it and does not know what it is: plans
//! are made above the parser.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A plan, or whatever else was made of a statement, for the one that made it.
#[derive(Clone)]
pub struct Kept(Arc<dyn Any + Send + Sync>);

impl Kept {
    pub(crate) fn new<T: Send + Sync + 'static>(made: Arc<T>) -> Kept {
        Kept(made)
    }

    /// What was kept, to those who know its type.
    pub(crate) fn get<T: 'static>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}
