//! What the planner is told: the device, and which operators it may use.

/// Speeds of the device under the database, for the cost model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceProfile {
    /// Random page reads per second with many in flight.
    pub random_reads_per_s: f64,
    /// Microseconds of one random page read alone.
    pub random_read_us: f64,
    /// Bytes per second of large sequential reads.
    pub sequential_bytes_per_s: f64,
    /// Share of the pages that are expected in the buffer pool, 0 to 1.
    pub cached_fraction: f64,
    /// Bytes of a page.
    pub page_bytes: f64,
}

impl Default for DeviceProfile {
    /// A typical data-centre NVMe device under a cold pool.
    fn default() -> DeviceProfile {
        DeviceProfile {
            random_reads_per_s: 110_000.0,
            random_read_us: 85.0,
            sequential_bytes_per_s: 1.6e9,
            cached_fraction: 0.0,
            page_bytes: 4096.0,
        }
    }
}

/// Settings of the planner. A disabled operator is still used where nothing else can do the work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannerOptions {
    /// The device.
    pub device: DeviceProfile,
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
    fn default() -> PlannerOptions {
        PlannerOptions {
            device: DeviceProfile::default(),
            workers: 1,
            enable_hashjoin: true,
            enable_indexnestloop: true,
            enable_seqscan: true,
            enable_indexscan: true,
            enable_indexonlyscan: true,
        }
    }
}
