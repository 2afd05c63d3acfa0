//! Functions that return rows.

/// Functions that return an array of what the function named first returns rows of.
pub(crate) const SET_FUNCTIONS: [(&str, &str); 5] = [
    ("regexp_matches", "regexp_matches_array"),
    ("pg_partition_ancestors", "pg_partition_ancestors_array"),
    ("generate_series", SERIES),
    ("regexp_split_to_table", "regexp_split_to_array"),
    ("string_to_table", "string_to_array"),
];

/// `generate_series` as an array, to be unnested: the planner has the executor make the values as they are
/// wanted, where it sees this call below the unnesting. So it must not be computed before.
pub(crate) const SERIES: &str = "generate_series_array";
