//! How data in bulk goes over sockets: what is asked of io_uring, and from which sizes on.
//!
//! The thresholds are those of "io_uring for High-Performance DBMSs", section 4.6, Figure 16. They
//! depend on the network card and on the kernel, so they are settings.

/// Ways for data in bulk. A way that the kernel does not know is left out, and `Runtime::rings`
/// says so; where there is no io_uring, the same calls are made in the ordinary way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// `Socket::send_buf` lends memory to the kernel instead of having it copied. Off by default:
    /// it gains where a card reads the memory; between processes of one machine, and over virtual
    /// cards, the kernel copies all the same and then it costs more than a plain send.
    pub zero_copy: bool,
    /// Shorter sends are copied: keeping the books of lent memory costs more than copying it (1 KiB
    /// in the paper).
    pub zero_copy_bytes_min: usize,
    /// A `Receiver` asks once and is told of bytes again and again, in memory that the ring
    /// provides.
    pub multishot: bool,
    /// Where peers send more than this at a time, each receive is asked for by itself, into memory
    /// that it names: then there are few of them, and provided memory is the slower one (13 KiB in
    /// the paper).
    pub multishot_bytes_max: usize,
    /// One completion may tell of bytes in several buffers.
    pub bundles: bool,
    /// A worker wakes another one by an entry in its own ring, which goes with the next call,
    /// instead of by a call for each.
    pub ring_messages: bool,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            zero_copy: false,
            zero_copy_bytes_min: 1 << 10,
            multishot: true,
            multishot_bytes_max: 13 << 10,
            bundles: true,
            ring_messages: false,
        }
    }
}

impl Tuning {
    /// Nothing but one plain send or receive at a time.
    pub fn plain() -> Tuning {
        Tuning { zero_copy: false, multishot: false, bundles: false, ..Tuning::default() }
    }

    /// True if so many bytes are lent to the kernel.
    pub(crate) fn lends(&self, bytes: usize) -> bool {
        self.zero_copy && bytes >= self.zero_copy_bytes_min.max(1)
    }

    /// True if messages of so many bytes are received by one request for many.
    pub(crate) fn shoots(&self, message_bytes: usize) -> bool {
        self.multishot && message_bytes <= self.multishot_bytes_max
    }

    /// Each setting in words: what is done, and why from there on.
    pub fn explain(&self) -> Vec<String> {
        let on = |is_on: bool| if is_on { "on" } else { "off" };
        vec![
            format!(
                "zero-copy send: {}, from {} bytes on; below, keeping account of lent memory costs \
                 more than the copy",
                on(self.zero_copy),
                self.zero_copy_bytes_min
            ),
            format!(
                "multishot receive: {}, for messages of up to {} bytes; above, receives are few and \
                 memory that each names is cheaper than memory that the ring provides",
                on(self.multishot),
                self.multishot_bytes_max
            ),
            format!("bundles: {}; one completion tells of several buffers", on(self.bundles)),
            format!(
                "ring messages: {}; workers wake each other by an entry of their rings",
                on(self.ring_messages)
            ),
        ]
    }
}
