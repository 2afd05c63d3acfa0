//! The cost model: microseconds of device and processor time.
//!
//! Reads are priced as the executor pays for them in the session's mode (`reads`): with many in flight, a
//! random read costs one over the device's rate, not its latency. So random access is only a few times dearer
//! than sequential access, and index joins stay worth-while far longer than under the usual model. A
//! serial query pays the latency of each.

mod downloads;
mod reads;

use crate::options::PlannerOptions;

/// Price of a disabled operator: dearer than any plan, so that it is the last resort.
const DISABLED_US: f64 = 1e12;

/// Processor time in microseconds; relative sizes matter, absolute ones are of one slow core.
mod cpu {
    /// A row that a scan decodes and tests.
    pub const SCAN_ROW: f64 = 0.10;
    /// A row of a batch of columns.
    pub const COLUMN_ROW: f64 = 0.002;
    /// A value that is decoded from a chunk of columns.
    pub const COLUMN_VALUE: f64 = 0.005;
    /// A byte of texts in a chunk, as it is stored.
    pub const TEXT_BYTE: f64 = 0.002;
    /// A page of a chunk that is not in memory: to find room for it, to check it and to copy it.
    pub const CHUNK_PAGE: f64 = 4.0;
    /// A key that is descended in a tree.
    pub const DESCEND: f64 = 0.80;
    /// A key whose leaf a hash index names without a descent.
    pub const HASH: f64 = 0.40;
    /// A row that is taken from a leaf after a descent.
    pub const LOOKUP_ROW: f64 = 0.15;
    /// A row that enters a hash table.
    pub const BUILD_ROW: f64 = 0.12;
    /// A row that probes a hash table.
    pub const PROBE_ROW: f64 = 0.06;
    /// A row that an operator produces.
    pub const OUTPUT_ROW: f64 = 0.02;
    /// A pair that a nested loop tests.
    pub const PAIR: f64 = 0.005;
    /// A row that is added to its group.
    pub const GROUP_ROW: f64 = 0.10;
    /// One comparison of a sort.
    pub const COMPARE: f64 = 0.02;
}

/// How many distinct pages of `pages` hold `rows` randomly chosen rows (Cardenas 1975; the limit for
/// many rows a page).
pub(crate) fn distinct_pages(pages: f64, rows: f64) -> f64 {
    if pages <= 1.0 { rows.min(pages.max(0.0)) } else { pages * -(-rows / pages).exp_m1() }
}

/// Where rows are that are fetched by their keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetched {
    /// Pages that have what is wanted of all rows.
    pub pages: f64,
    /// Pages that one row takes: one of the clustered tree, of a column table some for each column.
    pub per_row: f64,
    /// Of a table whose chunks are objects.
    pub remote: Option<Remote>,
}

/// Columns of a table whose chunks are objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remote {
    /// Rows of the table, and of one vector.
    pub rows: f64,
    pub vector_rows: f64,
    /// The columns that are wanted, and their bytes.
    pub columns: f64,
    pub bytes: f64,
    /// Bytes of all columns.
    pub body_bytes: f64,
}

/// Columns of a column table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ColumnSet {
    pub count: f64,
    /// Bytes that they take in chunks, and those of texts among them.
    pub bytes: f64,
    pub text_bytes: f64,
}

/// What a scan of the chunks of a column table reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnScan {
    pub rows: f64,
    /// Rows of one vector.
    pub vector_rows: f64,
    /// Columns that restrictions are compared with, of all rows.
    pub tested: ColumnSet,
    /// Rows that these leave.
    pub left: f64,
    /// The other columns, of vectors that have such rows.
    pub later: ColumnSet,
    /// Bytes of all columns of a table whose chunks are objects.
    pub body_bytes: Option<f64>,
}

/// Rows behind keys in one tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// Keys that are looked up.
    pub keys: f64,
    /// Rows that match, before any filter.
    pub matches: f64,
    /// Rows of the tree.
    pub tree_rows: f64,
    /// Leaf pages of the tree.
    pub tree_pages: f64,
    /// Where rows must be fetched by their keys.
    pub fetched: Option<Fetched>,
    /// How far the keys come in the order of the tree, 0 (at random) to 1.
    pub order: f64,
    /// Whether the tree is a hash index, in whose order they come at random.
    pub hashed: bool,
}

fn fetch_cpu(rows: f64, from: Fetched) -> f64 {
    rows * (cpu::DESCEND + from.per_row * cpu::LOOKUP_ROW)
}

/// Pages that rows lie on which are fetched in an order with this correlation to that of their tree.
fn fetched_pages(rows: f64, tree_rows: f64, from: Fetched, order: f64) -> f64 {
    let random = distinct_pages(from.pages, rows * from.per_row);
    let near = rows * from.pages / tree_rows.max(1.0);
    random + order * order * (near.min(random) - random)
}

/// The model for one set of options.
#[derive(Clone, Copy)]
pub(crate) struct Costs<'a>(pub &'a PlannerOptions);

impl Costs<'_> {
    fn absent(&self, pages: f64) -> f64 {
        pages * (1.0 - self.0.cached_fraction)
    }

    fn random(&self, pages: f64) -> f64 {
        self.absent(pages) * self.0.random_page_us()
    }

    /// The same by one task, whose work keeps the device half busy where its reads overlap (`bench plans`).
    fn random_by_one(&self, pages: f64) -> f64 {
        let alone_us = self.0.page_alone_us();
        let us = match self.0.reads_overlap() {
            true => alone_us.min(2.0 * self.0.random_page_us()),
            false => alone_us,
        };
        self.absent(pages) * us
    }

    fn sequential(&self, pages: f64) -> f64 {
        self.absent(pages) * self.0.sequential_page_us()
    }

    fn cpu(&self, us: f64) -> f64 {
        us / self.0.workers.max(1) as f64
    }

    fn allowed(&self, enabled: bool) -> f64 {
        if enabled { 0.0 } else { DISABLED_US }
    }

    /// A scan of a whole tree.
    pub fn full_scan(&self, rows: f64, pages: f64) -> f64 {
        self.sequential(pages)
            + self.cpu(rows * cpu::SCAN_ROW)
            + self.allowed(self.0.enable_seqscan)
    }

    /// A scan of the chunks of a column table.
    pub fn column_scan(&self, scan: ColumnScan) -> f64 {
        let ColumnScan { rows, vector_rows, tested, left, later, body_bytes } = scan;
        let vectors = (rows / vector_rows).max(1.0);
        let touched = (distinct_pages(vectors, left) / vectors).min(1.0);
        let share = (left / rows.max(1.0)).min(1.0);
        let pages = (tested.bytes + touched * later.bytes) / self.0.page_bytes as f64;
        let values = cpu::COLUMN_ROW + (tested.count + touched * later.count) * cpu::COLUMN_VALUE;
        // Without restrictions it may be below a join whose filter leaves most rows out, which is not known here.
        let decoded = if tested.count > 0.0 { share * later.text_bytes } else { 0.0 };
        let texts = (tested.text_bytes + decoded) * cpu::TEXT_BYTE;
        let (reads, absent) = match body_bytes {
            Some(bytes) => (self.downloaded_columns(scan, touched, bytes), 0.0),
            None => (self.sequential(pages), self.absent(pages) * cpu::CHUNK_PAGE),
        };
        reads + self.cpu(rows * values + texts + absent) + self.allowed(self.0.enable_seqscan)
    }

    /// A scan of a whole index instead of its table.
    pub fn index_scan(&self, rows: f64, pages: f64) -> f64 {
        self.sequential(pages) + self.cpu(rows * cpu::SCAN_ROW) + self.index_allowed(true)
    }

    /// The price of using an index at all; `only`: of nothing but a secondary one.
    pub fn index_allowed(&self, only: bool) -> f64 {
        self.allowed(if only { self.0.enable_indexonlyscan } else { self.0.enable_indexscan })
    }

    /// The first entries of a tree, leaf by leaf, by one task.
    pub fn first_entries(&self, rows: f64, pages: f64) -> f64 {
        let reads = self.absent(1.0 + pages) * self.0.page_alone_us();
        reads + cpu::DESCEND + rows * cpu::SCAN_ROW
    }

    /// A scan of `ranges` key ranges that hold `share` of a tree.
    pub fn range_scan(&self, ranges: f64, share: f64, tree_rows: f64, tree_pages: f64) -> f64 {
        let pages = (share * tree_pages).max(ranges.min(tree_pages));
        let rows = share * tree_rows;
        // The first page of a range costs a seek, the rest come in order.
        let io = self.random(ranges) + self.sequential((pages - ranges).max(0.0));
        io + self.cpu(ranges * cpu::DESCEND + rows * cpu::SCAN_ROW)
    }

    /// Look-ups of `keys` keys in a hash index, which hold `share` of it.
    pub fn hash_scan(&self, keys: f64, share: f64, tree_rows: f64, tree_pages: f64) -> f64 {
        let descents = self.cpu(keys * (cpu::DESCEND - cpu::HASH));
        self.range_scan(keys, share, tree_rows, tree_pages) - descents
    }

    /// Rows fetched by key, in an order with this correlation to that of the clustered tree.
    pub fn fetch(&self, rows: f64, tree_rows: f64, from: Fetched, order: f64) -> f64 {
        let pages = fetched_pages(rows, tree_rows, from, order);
        let reads = match from.remote {
            Some(remote) => self.downloaded_rows(rows, remote, order),
            None => self.random(pages),
        };
        reads + self.cpu(fetch_cpu(rows, from))
    }

    /// The same for the first entries of an index, whose one task fetches the rows of one leaf after the other:
    /// it uses one core.
    pub fn fetch_by_one(&self, rows: f64, tree_rows: f64, from: Fetched, order: f64) -> f64 {
        let pages = fetched_pages(rows, tree_rows, from, order);
        let reads = match from.remote {
            Some(remote) => self.downloaded_rows(rows, remote, order),
            None => self.random_by_one(pages),
        };
        reads + fetch_cpu(rows, from)
    }

    /// The inner side of an index nested-loop join.
    pub fn lookup(&self, probe: Probe) -> f64 {
        let near = probe.matches.max(probe.keys) * probe.tree_pages / probe.tree_rows.max(1.0);
        let random = distinct_pages(probe.tree_pages, probe.keys).max(near.min(probe.tree_pages));
        let order = if probe.hashed { 0.0 } else { probe.order };
        let pages = random + order * order * (near.min(random) - random);
        let descend = if probe.hashed { cpu::HASH } else { cpu::DESCEND };
        let cpu = probe.keys * descend + probe.matches * cpu::LOOKUP_ROW;
        let fetch = match probe.fetched {
            Some(from) => self.fetch(probe.matches, probe.tree_rows, from, 0.0),
            None => 0.0,
        };
        self.random(pages) + self.cpu(cpu) + fetch + self.allowed(self.0.enable_indexnestloop)
    }

    /// A hash join, its inputs excluded.
    pub fn hash_join(&self, build: f64, probe: f64, output: f64) -> f64 {
        let cpu = build * cpu::BUILD_ROW + probe * cpu::PROBE_ROW + output * cpu::OUTPUT_ROW;
        self.cpu(cpu) + self.allowed(self.0.enable_hashjoin)
    }

    /// A nested-loop join, its inputs excluded.
    pub fn nested_loop(&self, left: f64, right: f64, output: f64) -> f64 {
        self.cpu(left * right * cpu::PAIR + output * cpu::OUTPUT_ROW)
    }

    /// Grouping, its input excluded.
    pub fn aggregate(&self, input: f64, groups: f64) -> f64 {
        self.cpu(input * cpu::GROUP_ROW + groups * cpu::BUILD_ROW)
    }

    /// Sorting, its input excluded; `kept` rows are in memory at a time.
    pub fn sort(&self, input: f64, kept: f64) -> f64 {
        self.cpu(input * kept.max(2.0).log2() * cpu::COMPARE)
    }

    /// Passing rows through expressions.
    pub fn output(&self, rows: f64) -> f64 {
        self.cpu(rows * cpu::OUTPUT_ROW)
    }
}
