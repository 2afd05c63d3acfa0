//! Plans of TPC-H, of its selective variants, and errors of binding.

mod physical_plans;
pub(crate) mod tpch;

use plan::Plan;
use types::SqlResult;

use crate::catalog::{Catalog, missing};
use crate::explain::explain_text;
use crate::options::{DeviceProfile, InFlight, PlannerOptions};
use crate::parse::statement::Statement;
use crate::parse::text::parse;
use crate::tests::tpch::Tpch;

const QUERIES: [&str; 22] = [
    include_str!("../../bench/queries/q01.sql"),
    include_str!("../../bench/queries/q02.sql"),
    include_str!("../../bench/queries/q03.sql"),
    include_str!("../../bench/queries/q04.sql"),
    include_str!("../../bench/queries/q05.sql"),
    include_str!("../../bench/queries/q06.sql"),
    include_str!("../../bench/queries/q07.sql"),
    include_str!("../../bench/queries/q08.sql"),
    include_str!("../../bench/queries/q09.sql"),
    include_str!("../../bench/queries/q10.sql"),
    include_str!("../../bench/queries/q11.sql"),
    include_str!("../../bench/queries/q12.sql"),
    include_str!("../../bench/queries/q13.sql"),
    include_str!("../../bench/queries/q14.sql"),
    include_str!("../../bench/queries/q15.sql"),
    include_str!("../../bench/queries/q16.sql"),
    include_str!("../../bench/queries/q17.sql"),
    include_str!("../../bench/queries/q18.sql"),
    include_str!("../../bench/queries/q19.sql"),
    include_str!("../../bench/queries/q20.sql"),
    include_str!("../../bench/queries/q21.sql"),
    include_str!("../../bench/queries/q22.sql"),
];

fn plan(text: &str) -> SqlResult<Plan> {
    let mut statements = parse(text)?;
    let Some(Statement::Query(query)) = statements.pop() else { panic!("no query: {text}") };
    crate::planner::plan_query(&query, &Tpch::new(), &PlannerOptions::default())
}

fn query(number: usize) -> String {
    QUERIES[number - 1].to_string()
}

/// The outline of a plan: its titles without estimates.
fn outline(text: &str) -> String {
    let lines = explain_text(&plan(text).unwrap_or_else(|e| panic!("{text}: {e}")), None, true);
    let titles = lines.iter().filter(|l| l.contains("(rows="));
    titles.map(|l| l.split("  (rows=").next().unwrap_or_default().to_string() + "\n").collect()
}

fn error(text: &str) -> String {
    match plan(text) {
        Ok(plan) => format!("planned: {}", explain_text(&plan, None, true).join("\n")),
        Err(error) => {
            let hint = error.hint.map(|h| format!(" ({h})")).unwrap_or_default();
            format!("{}: {}{hint}", error.state, error.message)
        }
    }
}

/// The plan contains each of these, in any order.
fn check_has(text: &str, expected: &[&str]) {
    let outline = outline(text);
    for part in expected {
        assert!(outline.contains(part), "no {part} in the plan of {text}:\n{outline}");
    }
}

fn check_error(text: &str, expected: &str) {
    let got = error(text);
    assert!(got.starts_with(expected), "{text}\n got: {got}\nwant: {expected}");
}

#[test]
fn names_and_types_are_checked() {
    check_error(
        "select n_nam from nation",
        "42703: column \"n_nam\" does not exist (perhaps you meant the column \"n_name\")",
    );
    check_error(
        "select * from nations",
        "42P01: relation \"nations\" does not exist (perhaps you meant the table \"nation\")",
    );
    check_error("select n.n_name from nation x", "42P01: missing FROM-clause entry for table");
    check_error(
        "select n_comment, count(*) from nation group by n_name",
        "42803: column \"nation.n_comment\" must appear in the GROUP BY clause",
    );
    check_error("select n_name from nation where count(*) > 1", "42803");
    check_error(
        "select frobnicate(n_name) from nation",
        "42883: function frobnicate(text) does not",
    );
    check_error("select sum(n_name) from nation", "42883: function sum does not accept");
    check_error("select n_name + 1 from nation", "42883: operator does not exist: text + integer");
    check_error("select * from nation where n_name", "42804");
    check_error(
        "select * from nation where n_nationkey = 'abc'",
        "22P02: invalid input syntax for type integer: \"abc\"",
    );
    check_error("select * from nation a, nation b where n_name = 'X'", "42702");
    check_error("select 9223372036854775807 + 1", "22003");
    check_error("select 1 limit -1", "2201W");
    check_error("select cast(1 as json)", "0A000");
}

#[test]
fn what_cannot_run_is_refused() {
    check_error("select $1", "0A000: a parameter");
    check_error("select now()", "0A000: a function of the clock");
}

#[test]
fn access_paths() {
    let cases = [
        (
            "select * from lineitem where l_orderkey = 5",
            "Index Scan using lineitem_pkey on lineitem\n",
        ),
        (
            "select * from lineitem where l_orderkey in (1, 3, 2) and l_linenumber > 2",
            "Index Scan using lineitem_pkey on lineitem\n",
        ),
        (
            "select l_comment from lineitem where l_partkey = 5 and l_suppkey between 3 and 9",
            "Index Scan using lineitem_part_supplier on lineitem\n",
        ),
        (
            "select l_orderkey from lineitem where l_shipdate = date '1995-01-01'",
            "Index Only Scan using lineitem_shipdate on lineitem\n",
        ),
        ("select * from lineitem where l_shipdate > date '1995-01-01'", "Full Scan on lineitem\n"),
        ("select * from orders where o_orderkey < 100.5", "Full Scan on orders\n"),
    ];
    for (text, expected) in cases {
        assert_eq!(outline(text), expected, "{text}");
    }
}

/// The ranges keep their promise: what they do not guarantee stays in the filter.
#[test]
fn ranges_and_filters() {
    let first = |text: &str| explain_text(&plan(text).unwrap(), None, true)[1..].join("\n");
    assert_eq!(
        first(
            "select * from lineitem where l_orderkey in (3, 1) and l_linenumber > 2 and l_tax > 0"
        ),
        "  Index Cond: (l_orderkey = 1 AND l_linenumber > 2) OR (l_orderkey = 3 AND l_linenumber > 2)\n  \
         Filter: (l_tax > 0.00)"
    );
    assert_eq!(
        first("select * from orders where o_orderkey = 7 and o_orderdate < date '1995-01-01'"),
        "  Index Cond: (o_orderkey = 7)\n  Filter: (o_orderdate < '1995-01-01')"
    );
    assert_eq!(
        first("select * from orders where o_orderkey between 5 and 9 and o_orderkey <> 7"),
        "  Index Cond: (o_orderkey >= 5 AND o_orderkey <= 9)\n  Filter: (o_orderkey <> 7)"
    );
}

/// TPC-H's queries restricted to one day drive look-ups, not scans of the big tables.
#[test]
fn selective_queries_use_index_joins() {
    let day = "date '1995-03-15'";
    check_has(
        &format!(
            "select l_orderkey, sum(l_extendedprice) from customer, orders, lineitem \
             where c_custkey = o_custkey and l_orderkey = o_orderkey and o_orderdate = {day} \
             and c_mktsegment = 'BUILDING' group by l_orderkey"
        ),
        &[
            "Index Nested Loop Join on lineitem using lineitem_pkey",
            "customer using customer_pkey",
            "Index Scan using orders_date on orders",
        ],
    );
    check_has(
        &format!(
            "select o_orderpriority, count(*) from orders where o_orderdate = {day} and exists \
             (select * from lineitem where l_orderkey = o_orderkey and l_commitdate < l_receiptdate) \
             group by o_orderpriority"
        ),
        &["Index Semi Nested Loop Join on lineitem", "Index Scan using orders_date on orders"],
    );
    check_has(
        &format!(
            "select sum(l_extendedprice) from lineitem, part where l_partkey = p_partkey \
             and l_shipdate = {day} and p_type like 'PROMO%'"
        ),
        &["part using part_pkey", "Index Scan using lineitem_shipdate on lineitem"],
    );
    check_has(
        "select s_name, sum(l_quantity) from part, lineitem, supplier where p_partkey = l_partkey \
         and s_suppkey = l_suppkey and p_partkey between 100 and 120 group by s_name",
        &["Index Scan using lineitem_part_supplier on lineitem", "Full Scan on supplier"],
    );
}

/// A semi join is driven from the side that is smaller.
#[test]
fn semi_joins_are_driven_from_either_side() {
    check_has(
        "select count(l_comment) from lineitem where l_orderkey in \
         (select o_orderkey from orders where o_orderdate = date '1995-03-15')",
        &["Index Nested Loop Join on lineitem using lineitem_pkey", "-> Distinct"],
    );
    check_has(
        "select count(*) from orders where o_orderdate = date '1995-03-15' and o_orderkey in \
         (select l_orderkey from lineitem where l_quantity > 30)",
        &["Index Semi Nested Loop Join on lineitem using lineitem_pkey"],
    );
}

/// Every operator can be switched off, as far as another can do its work.
#[test]
fn operators_can_be_disabled() {
    let text = query(3);
    let defaults = PlannerOptions::default();
    let with = |options: PlannerOptions| {
        let mut statements = parse(&text).unwrap();
        let Some(Statement::Query(query)) = statements.pop() else { panic!("no query") };
        explain_text(
            &crate::planner::plan_query(&query, &Tpch::new(), &options).unwrap(),
            None,
            true,
        )
        .join("\n")
    };
    assert!(!with(PlannerOptions { enable_hashjoin: false, ..defaults }).contains("Hash Semi"));
    assert!(
        !with(PlannerOptions { enable_indexnestloop: false, ..defaults }).contains("Index Nested")
    );
}

/// The titles of a plan for a mode and a device.
fn titles(text: &str, options: &PlannerOptions) -> String {
    let mut statements = parse(text).unwrap();
    let Some(Statement::Query(query)) = statements.pop() else { panic!("no query: {text}") };
    let plan = crate::planner::plan_query(&query, &Tpch::new(), options).unwrap();
    explain_text(&plan, None, false).join("\n")
}

/// Up to how many customers (half as many again at each step) the lines of their orders are looked up by key,
/// instead of scanning all lines.
fn looked_up_until(options: &PlannerOptions) -> u32 {
    let is_looked_up = |customers: u32| {
        let text = format!(
            "select sum(l_quantity) from orders, lineitem
             where l_orderkey = o_orderkey and o_custkey <= {customers}"
        );
        titles(&text, options).contains("Index Nested Loop Join on lineitem")
    };
    let steps = (0..30).map(|step| 1.5_f64.powi(step) as u32);
    steps.take_while(|customers| is_looked_up(*customers)).last().unwrap_or(0)
}

#[test]
fn a_serial_query_turns_from_look_ups_to_scans_earlier() {
    let with = |in_flight| PlannerOptions { in_flight, ..PlannerOptions::default() };
    let [serial, some, many] = [InFlight::AtMost(1), InFlight::AtMost(4), InFlight::Many]
        .map(with)
        .map(|o| looked_up_until(&o));
    assert!(serial < some && some < many, "{serial}, {some}, {many}");
    assert!(serial > 0, "one row is looked up in any mode");
}

#[test]
fn a_device_that_does_one_read_at_a_time_is_scanned_earlier() {
    // A disk with a head: 8 ms a read, however many wait.
    let disk = DeviceProfile { read_ns: 8_000_000, reads_per_s: 150, bytes_per_s: 200_000_000 };
    let disk = PlannerOptions { device: disk, ..PlannerOptions::default() };
    let (disk, default) = (looked_up_until(&disk), looked_up_until(&PlannerOptions::default()));
    assert!(disk * 4 <= default, "{disk}, {default}");
}

#[test]
fn results_are_named_as_in_postgresql() {
    let names = |text: &str| {
        let plan = plan(text).unwrap();
        plan.root.schema.fields().iter().map(|f| f.name().clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names("select count(*), sum(n_nationkey) s, 1 from nation"), "count s ?column?");
    assert_eq!(names("select n_name, n_name from nation"), "n_name n_name");
    assert_eq!(names("select extract(year from o_orderdate) from orders"), "extract");
    assert_eq!(names("select case when true then 1 end"), "case");
    assert_eq!(names("select * from region"), "r_regionkey r_name r_comment");
    assert_eq!(names("select 1 as a union select 2"), "a");
}

/// Plans of all TPC-H queries at scale factor 1; the estimates must be sane, too.
#[test]
fn tpch_plans() {
    let mut all = String::new();
    for number in 1..=22 {
        let text = query(number);
        all += &format!("-- Q{number}\n{}", outline(&text));
        let root = plan(&text).unwrap().root;
        assert!(root.rows >= 1.0 && root.rows < 1e7, "Q{number}: {} rows", root.rows);
        assert!(root.cost > 100e3 && root.cost < 10e6, "Q{number}: {} us", root.cost);
    }
    let expected = include_str!("tests/tpch_plans.txt");
    assert!(all == expected, "the plans changed; now they are:\n{all}");
}

/// Whatever the parser lets through must not overflow the stack. The library is not optimised in
/// this build, so that its frames are several times as large as in a release.
#[test]
#[allow(clippy::disallowed_methods)] // A test of the stack needs a stack of known size.
fn deep_statements_plan_or_fail_cleanly() {
    let thread = std::thread::Builder::new().stack_size(8 << 20).spawn(plan_deep_statements);
    thread.unwrap().join().unwrap();
}

fn plan_deep_statements() {
    let nested = |n: usize| {
        let open = "select * from (".repeat(n);
        format!("{open}select n_nationkey from nation{}", ") x".repeat(n))
    };
    for text in [
        format!("select n_nationkey{} from nation", " + 1".repeat(290)),
        format!("select * from nation where n_nationkey = 1{}", " or n_name = 'x'".repeat(140)),
        format!("select * from nation where {}true", "not ".repeat(40)),
        format!("select {}n_nationkey{} from nation", "(1 + ".repeat(40), ")".repeat(40)),
        nested(20),
        format!("select n_nationkey from nation{}", " union select 1".repeat(60)),
        format!(
            "select count(*) from nation n0{}",
            (1..30).map(|i| format!(", nation n{i}")).collect::<String>()
        ),
    ] {
        if let Err(error) = plan(&text) {
            assert_ne!(error.state.0, "XX000", "{text}: {error}");
        }
    }
}

#[test]
fn inserted_values_are_converted() {
    let insert = |text: &str| {
        let mut statements = parse(text).unwrap();
        let Some(Statement::Insert(insert)) = statements.pop() else { panic!("{text}") };
        let catalog = Tpch::new();
        let Some(table) = Catalog::table(&catalog, &insert.table) else {
            return Err(missing::table_not_found(&catalog, &insert.table));
        };
        let mut defaults = crate::dml::defaults::Defaults::new(&table, &catalog)?;
        match crate::dml::insert::insert_rows(&insert, &catalog, &mut defaults)? {
            crate::dml::insert::InsertRows::Values(batch) => Ok(batch),
            crate::dml::insert::InsertRows::Queries(..) => panic!("{text} has a query"),
        }
    };
    let show = |text: &str| match insert(text) {
        Ok(batch) => {
            let cell = |c: &arrow_array::ArrayRef| {
                types::text::format_value(c, 0).unwrap_or_else(|| "null".into())
            };
            batch.columns().iter().map(cell).collect::<Vec<_>>().join("|")
        }
        Err(error) => error.state.to_string(),
    };
    let check = |text: &str, expected: &str| assert_eq!(show(text), expected, "{text}");
    check("insert into region values (1, 'ASIA', null)", "1|ASIA|null");
    check("insert into region (r_name, r_regionkey) values ('A  ', -2)", "-2|A|null");
    check("insert into region values (1.5 + 0.2, 'x' || 'y', default)", "2|xy|null");
    check("insert into region values (2147483648, 'x', '')", "22003");
    check("insert into region values (1, null, '')", "23502");
    check("insert into region (r_regionkey) values (1)", "23502");
    check("insert into region values ('abc', 'x', '')", "22P02");
    check("insert into region values (1, 'a name that is longer than 25', '')", "22001");
    check("insert into region values (1, 'x')", "1|x|null");
    check("insert into region (r_regionkey, r_name) values (1)", "42601");
    check("insert into region values (1, 'x', '', 4)", "42601");
    check("insert into region (r_nam) values (1)", "42703");
    check("insert into regio values (1)", "42P01");
    check("insert into region values (date '2020-01-01', 'x', '')", "42804");
    check("insert into region values (1/0, 'x', '')", "22012");
}
