//! The reference answers, part of the binary: `tpch verify` needs no file.

/// A scale factor for which there are reference answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Scale factor 0.01.
    Hundredth,
    /// Scale factor 1.
    One,
}

impl Scale {
    /// The scale with this factor, if there are answers for it.
    pub fn from_factor(factor: f64) -> Option<Scale> {
        match factor {
            0.01 => Some(Scale::Hundredth),
            1.0 => Some(Scale::One),
            _ => None,
        }
    }
}

macro_rules! answers {
    ($folder:literal: $($query:literal)*) => {
        [$(include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"), "/../../tests/tpch/answers/", $folder, "/q", $query, ".csv"
        ))),*]
    };
}

const HUNDREDTH: [&str; 22] = answers!("sf0.01":
    "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11"
    "12" "13" "14" "15" "16" "17" "18" "19" "20" "21" "22");

const ONE: [&str; 22] = answers!("sf1":
    "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11"
    "12" "13" "14" "15" "16" "17" "18" "19" "20" "21" "22");

/// The columns, from 0, by which each query orders its rows.
const ORDER_COLUMNS: [&[usize]; 22] = [
    &[0, 1],       // Q1: l_returnflag, l_linestatus
    &[0, 2, 1, 3], // Q2: s_acctbal, n_name, s_name, p_partkey
    &[1, 2],       // Q3: revenue, o_orderdate
    &[0],          // Q4: o_orderpriority
    &[1],          // Q5: revenue
    &[],           // Q6: one row
    &[0, 1, 2],    // Q7: supp_nation, cust_nation, l_year
    &[0],          // Q8: o_year
    &[0, 1],       // Q9: nation, o_year
    &[2],          // Q10: revenue
    &[1],          // Q11: value
    &[0],          // Q12: l_shipmode
    &[1, 0],       // Q13: custdist, c_count
    &[],           // Q14: one row
    &[0],          // Q15: s_suppkey
    &[3, 0, 1, 2], // Q16: supplier_cnt, p_brand, p_type, p_size
    &[],           // Q17: one row
    &[4, 3],       // Q18: o_totalprice, o_orderdate
    &[],           // Q19: one row
    &[0],          // Q20: s_name
    &[1, 0],       // Q21: numwait, s_name
    &[0],          // Q22: cntrycode
];

/// The answer to query 1 to 22; `None` for another number.
pub fn reference(query: usize, scale: Scale) -> Option<&'static str> {
    let answers = match scale {
        Scale::Hundredth => &HUNDREDTH,
        Scale::One => &ONE,
    };
    answers.get(query.checked_sub(1)?).copied()
}

/// The columns by which query 1 to 22 orders its rows; `None` for another number.
pub fn order_columns(query: usize) -> Option<&'static [usize]> {
    ORDER_COLUMNS.get(query.checked_sub(1)?).copied()
}
