//! The simulation.

use std::sync::Arc;

use stdx::Key;

use crate::op::Op;

/// A simulated disk.
#[derive(Clone, Debug)]
pub struct Disk(Arc<()>);

#[derive(Debug)]
pub(crate) struct Handle(#[expect(dead_code)] Disk);

pub(crate) struct Port(#[expect(dead_code)] Disk);

impl Port {
    pub(crate) fn start(&mut self, _key: Key, _op: &mut Op) {
        unreachable!("no simulated worker is started yet")
    }
}
