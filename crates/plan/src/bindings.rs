//! Values and key ranges of one execution of a plan that is kept for all values.

use std::sync::Arc;

use crate::parameters::Parameters;
use crate::scan::KeyRange;

/// Values and key ranges for the places that a plan has left open.
#[derive(Clone, Debug)]
pub struct Bindings {
    /// Values that expressions read.
    pub parameters: Parameters,
    /// Ranges of scans, by the number of the scan's slot; none where they follow from no value.
    pub ranges: Vec<Option<Arc<[KeyRange]>>>,
}
