//! Work of a scan that holds memory of downloads until its rows are made.
//!
//! Somebody may have to wait for that memory. So such work does not lie in the queue of the query, behind those
//! who wait: it lies here, with a mark in the queue for each, and who would wait goes on with it first
//! ([`Room::take_or`]).

use std::sync::{Mutex, PoisonError};

use super::room::Room;

/// What was begun, the latest first.
pub(crate) struct Begun<T>(Mutex<Vec<T>>);

impl<T> Default for Begun<T> {
    fn default() -> Begun<T> {
        Begun(Mutex::default())
    }
}

impl<T> Begun<T> {
    /// Puts something there, and has those look that wait for memory.
    pub(crate) fn put(&self, work: T, room: &Room) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(work);
        room.wake();
    }

    /// Takes something, if there is anything.
    pub(crate) fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}
