//! Waking other workers by entries of the own ring: they go with the next call instead of one for
//! each.
//!
//! A sleeper has been marked as woken when its message is posted, so a message that the kernel
//! cannot deliver is made good by the ordinary bell. Each keeps the descriptors that it names open
//! until it has ended.

use io_uring::{opcode, squeue, types};

use crate::inbox::Post;

/// The `user_data` of what another worker's message leaves in this ring; no key has it.
pub(super) const RUNG: u64 = u64::MAX - 2;
/// In the `user_data` of messages that are under way, above the number of their place. No key has
/// generation 2^32 - 2.
const SENT: u64 = (u32::MAX as u64 - 1) << 32;

/// Messages of one ring that are under way.
#[derive(Default)]
pub(super) struct Messages {
    open: Vec<Option<Post>>,
}

impl Messages {
    /// The entry of a message.
    pub(super) fn entry(&mut self, post: Post) -> squeue::Entry {
        let place = self.open.iter().position(Option::is_none).unwrap_or(self.open.len());
        if place == self.open.len() {
            self.open.push(None);
        }
        let message = opcode::MsgRingData::new(types::Fd(post.ring_fd()), 0, RUNG, None).build();
        self.open[place] = Some(post);
        message.user_data(SENT | place as u64)
    }

    /// True if a completion is that of a message, which has ended then.
    pub(super) fn ended(&mut self, user_data: u64, result: i32) -> bool {
        if user_data >> 32 != SENT >> 32 {
            return false;
        }
        let post = self.open[user_data as u32 as usize].take();
        let post = post.expect("a message ends once");
        if result < 0 {
            post.ring_bell();
        }
        true
    }
}
