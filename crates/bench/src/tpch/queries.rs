//! The 22 queries with the specification's validation parameters.

macro_rules! queries {
    ($($number:literal $file:literal)*) => {
        /// Number and text of each query.
        pub const QUERIES: &[(u8, &str)] =
            &[$(($number, include_str!(concat!("../../queries/q", $file, ".sql")))),*];
    };
}

queries!(
    1 "01" 2 "02" 3 "03" 4 "04" 5 "05" 6 "06" 7 "07" 8 "08" 9 "09" 10 "10" 11 "11"
    12 "12" 13 "13" 14 "14" 15 "15" 16 "16" 17 "17" 18 "18" 19 "19" 20 "20" 21 "21" 22 "22"
);

/// The text of query `number` at a scale factor: the threshold of query 11 depends on it
/// (TPC-H specification, 2.4.11.3).
pub fn query(number: u8, scale: f64) -> Option<String> {
    let (_, text) = QUERIES.iter().find(|(n, _)| *n == number)?;
    Some(text.replace("0.0001000000", &format!("{:.10}", 0.0001 / scale)))
}
