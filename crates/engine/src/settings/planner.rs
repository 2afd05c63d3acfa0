//! Settings of PostgreSQL's planner and of its parallel workers. Clients set them to get other plans; plans
//! are chosen otherwise here, and no result depends on them: they are kept and shown.

use super::setting::{Context, Home, Kind, Setting, Unset};

const ABOUT: &str = "Kept; plans are chosen otherwise here.";

const fn kept(name: &'static str, kind: Kind, default: &'static str) -> Setting {
    Setting {
        name,
        category: "Query Tuning",
        kind,
        context: Context::Session,
        unset: Unset::Is(default),
        description: ABOUT,
        home: Home::Kept,
    }
}

const fn switch(name: &'static str) -> Setting {
    kept(name, Kind::Bool, "on")
}

/// The settings.
pub(super) const PLANNER: &[Setting] = &[
    kept("constraint_exclusion", Kind::Text, "partition"),
    kept("cpu_index_tuple_cost", Kind::Text, "0.005"),
    kept("cpu_operator_cost", Kind::Text, "0.0025"),
    kept("cpu_tuple_cost", Kind::Text, "0.01"),
    kept("default_statistics_target", Kind::Text, "100"),
    kept("effective_cache_size", Kind::Text, "4GB"),
    switch("enable_bitmapscan"),
    switch("enable_gathermerge"),
    switch("enable_hashagg"),
    switch("enable_incremental_sort"),
    switch("enable_material"),
    switch("enable_memoize"),
    switch("enable_mergejoin"),
    switch("enable_nestloop"),
    switch("enable_parallel_append"),
    switch("enable_parallel_hash"),
    switch("enable_sort"),
    switch("enable_tidscan"),
    kept("force_parallel_mode", Kind::Text, "off"),
    kept("from_collapse_limit", Kind::Text, "8"),
    switch("geqo"),
    kept("geqo_threshold", Kind::Text, "12"),
    kept("hash_mem_multiplier", Kind::Text, "2"),
    kept("jit_above_cost", Kind::Text, "100000"),
    kept("join_collapse_limit", Kind::Text, "8"),
    kept("max_parallel_maintenance_workers", Kind::Text, "2"),
    kept("max_parallel_workers", Kind::Text, "8"),
    kept("max_parallel_workers_per_gather", Kind::Text, "2"),
    kept("min_parallel_index_scan_size", Kind::Text, "512kB"),
    kept("min_parallel_table_scan_size", Kind::Text, "8MB"),
    switch("parallel_leader_participation"),
    kept("parallel_setup_cost", Kind::Text, "1000"),
    kept("parallel_tuple_cost", Kind::Text, "0.1"),
    kept("random_page_cost", Kind::Text, "4"),
    kept("seq_page_cost", Kind::Text, "1"),
];
