//! What connections of the simulated network are like, and what befalls them.

/// What connections are like. Each draws figures of its own when it is made: latency and rate between
/// half and twice these, buffers between half of these and all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// How long bytes are on their way, nanoseconds; some more by chance.
    pub latency_ns: u64,
    /// Bytes a second, in each direction; at least 1.
    pub rate: u64,
    /// Bytes that wait at the sender's end, at most; at least 1.
    pub send_bytes_max: usize,
    /// Bytes that are on their way, or have come and were not received, at most; at least 1.
    pub receive_bytes_max: usize,
    /// Bytes that travel together, at most; at least 1.
    pub segment_bytes_max: usize,
    /// What was lost is sent again after so many nanoseconds.
    pub retransmit_ns: u64,
    /// Bytes that cannot reach the peer end the connection with ETIMEDOUT after so many nanoseconds.
    pub give_up_ns: u64,
    /// A silent connection whose peer cannot be reached ends with ETIMEDOUT after so many nanoseconds.
    pub keepalive_ns: u64,
}

impl Default for Link {
    /// A data centre: a gigabit a second, and the times of Linux.
    fn default() -> Link {
        Link {
            latency_ns: 100_000,
            rate: 125_000_000,
            send_bytes_max: 64 << 10,
            receive_bytes_max: 64 << 10,
            segment_bytes_max: 16 << 10,
            retransmit_ns: 200_000_000,
            give_up_ns: 924_000_000_000,
            keepalive_ns: 7_875_000_000_000,
        }
    }
}

/// Faults of the simulated network. The default has none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkFaults {
    /// Probability that a connection attempt is refused though somebody listens.
    pub refused: f64,
    /// Probability that a connection is reset at a random moment: its ends learn of it one after the
    /// other, and what was on its way is lost.
    pub reset: f64,
    /// Probability that at a random moment nothing passes any more. Nobody is told: the ends learn of
    /// it by [`Link::give_up_ns`] and [`Link::keepalive_ns`].
    pub vanish: f64,
    /// The random moments lie within so many nanoseconds after the connection is made.
    pub life_ns: u64,
    /// Probability that a segment is lost, and with it a connection attempt; it is sent again.
    pub lost: f64,
    /// Probability that a call sends or receives less than it could.
    pub short: f64,
    /// Probability that a request for many receives ends after one, though more would come, as the
    /// kernel may have it.
    pub shot_end: f64,
    /// Probability that memory which was lent is copied all the same, and told so.
    pub copied: f64,
    /// Sockets of those who listen, their spare descriptors included: beyond that accepting fails with
    /// EMFILE.
    pub descriptor_count_max: Option<usize>,
}

impl NetworkFaults {
    /// No connection ends, but calls may be short and segments late: every program must bear it.
    pub fn short_and_late() -> NetworkFaults {
        NetworkFaults {
            lost: 0.02,
            short: 0.2,
            shot_end: 0.1,
            copied: 0.5,
            ..NetworkFaults::default()
        }
    }
}
