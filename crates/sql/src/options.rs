//! What the planner is told: the device, how queries ask it, and which operators may be used.

/// What the device below the database gives, as a probe measures it or somebody says it. Whole numbers, so
/// that plans can be kept by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceProfile {
    /// Nanoseconds of one random read of 4 KiB alone (depth 1).
    pub read_ns: u64,
    /// Random reads of 4 KiB per second with 128 in flight.
    pub reads_per_s: u64,
    /// Bytes per second of large reads in sequence, some in flight.
    pub bytes_per_s: u64,
}

impl Default for DeviceProfile {
    /// A typical data-centre NVMe device.
    fn default() -> DeviceProfile {
        DeviceProfile { read_ns: 85_000, reads_per_s: 110_000, bytes_per_s: 1_600_000_000 }
    }
}

/// How many reads a query has in flight at once, which its mode decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InFlight {
    /// At most so many: one for each task of the driving scan.
    AtMost(usize),
    /// As many as there are.
    Many,
}

/// Settings of the planner. A disabled operator is still used where nothing else can do the work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannerOptions {
    /// The device.
    pub device: DeviceProfile,
    /// Reads that a query has in flight.
    pub in_flight: InFlight,
    /// Share of the pages that are expected in the buffer pool, 0 to 1.
    pub cached_fraction: f64,
    /// Bytes of a page.
    pub page_bytes: usize,
    /// Workers that share the processor time of a query.
    pub workers: usize,
    /// Hash joins may be used.
    pub enable_hashjoin: bool,
    /// Index nested-loop joins may be used.
    pub enable_indexnestloop: bool,
    /// Full scans may be used where an index can do.
    pub enable_seqscan: bool,
    /// Scans of an index, the clustered tree among them, may be used where a full scan can do.
    pub enable_indexscan: bool,
    /// Scans of nothing but a secondary index may be used where another one can do.
    pub enable_indexonlyscan: bool,
}

impl Default for PlannerOptions {
    /// Out of order, under a cold pool.
    fn default() -> PlannerOptions {
        PlannerOptions {
            device: DeviceProfile::default(),
            in_flight: InFlight::Many,
            cached_fraction: 0.0,
            page_bytes: 4096,
            workers: 1,
            enable_hashjoin: true,
            enable_indexnestloop: true,
            enable_seqscan: true,
            enable_indexscan: true,
            enable_indexonlyscan: true,
        }
    }
}
