//! TPC-H at scale factor 1 as a catalog with statistics made from the specification, for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use plan::catalog::{
    ColumnStatistics, IndexDef, IndexId, TableDef, TableId, TableStatistics, TableStorage,
};
use types::Schema;

use crate::catalog::{Catalog, empty};
use crate::parse::statement::Statement;
use crate::parse::text::parse;

/// The tables by name.
pub(crate) struct Tpch(BTreeMap<String, Arc<TableDef>>);

impl Catalog for Tpch {
    fn table(&self, name: &str) -> Option<Arc<TableDef>> {
        self.0.get(name).cloned()
    }

    fn tables(&self) -> Vec<Arc<TableDef>> {
        self.0.values().cloned().collect()
    }
}

const DDL: &str = "
create table region (r_regionkey int primary key, r_name char(25) not null, r_comment varchar(152));
create table nation (n_nationkey int primary key, n_name char(25) not null, n_regionkey int not null,
  n_comment varchar(152));
create table supplier (s_suppkey int primary key, s_name char(25) not null,
  s_address varchar(40) not null, s_nationkey int not null, s_phone char(15) not null,
  s_acctbal decimal(15,2) not null, s_comment varchar(101) not null);
create table customer (c_custkey int primary key, c_name varchar(25) not null,
  c_address varchar(40) not null, c_nationkey int not null, c_phone char(15) not null,
  c_acctbal decimal(15,2) not null, c_mktsegment char(10) not null, c_comment varchar(117) not null);
create table part (p_partkey int primary key, p_name varchar(55) not null, p_mfgr char(25) not null,
  p_brand char(10) not null, p_type varchar(25) not null, p_size int not null,
  p_container char(10) not null, p_retailprice decimal(15,2) not null, p_comment varchar(23) not null);
create table partsupp (ps_partkey int not null, ps_suppkey int not null, ps_availqty int not null,
  ps_supplycost decimal(15,2) not null, ps_comment varchar(199) not null,
  primary key (ps_partkey, ps_suppkey));
create table orders (o_orderkey bigint primary key, o_custkey int not null,
  o_orderstatus char(1) not null, o_totalprice decimal(15,2) not null, o_orderdate date not null,
  o_orderpriority char(15) not null, o_clerk char(15) not null, o_shippriority int not null,
  o_comment varchar(79) not null);
create table lineitem (l_orderkey bigint not null, l_partkey int not null, l_suppkey int not null,
  l_linenumber int not null, l_quantity decimal(15,2) not null,
  l_extendedprice decimal(15,2) not null, l_discount decimal(15,2) not null,
  l_tax decimal(15,2) not null, l_returnflag char(1) not null, l_linestatus char(1) not null,
  l_shipdate date not null, l_commitdate date not null, l_receiptdate date not null,
  l_shipinstruct char(25) not null, l_shipmode char(10) not null, l_comment varchar(44) not null,
  primary key (l_orderkey, l_linenumber));
create index supplier_nation on supplier (s_nationkey);
create index customer_nation on customer (c_nationkey);
create index partsupp_supplier on partsupp (ps_suppkey);
create index orders_customer on orders (o_custkey);
create index orders_date on orders (o_orderdate);
create index lineitem_part_supplier on lineitem (l_partkey, l_suppkey);
create index lineitem_shipdate on lineitem (l_shipdate);
";

/// Rows and leaf pages at scale factor 1.
const SIZES: [(&str, u64, u64); 8] = [
    ("region", 5, 1),
    ("nation", 25, 1),
    ("supplier", 10_000, 400),
    ("customer", 150_000, 6_500),
    ("part", 200_000, 7_000),
    ("partsupp", 800_000, 32_000),
    ("orders", 1_500_000, 45_000),
    ("lineitem", 6_001_215, 190_000),
];

impl Tpch {
    /// The catalog.
    pub fn new() -> Tpch {
        let mut tables: BTreeMap<String, TableDef> = BTreeMap::new();
        for (i, statement) in parse(DDL).unwrap().into_iter().enumerate() {
            match statement {
                Statement::CreateTable(t) => {
                    let (rows, pages) = size(&t.name);
                    let id = TableId(i as u32);
                    let draft = crate::define::Draft::of(&t, vec![], id, &empty::NoTables).unwrap();
                    let def = TableDef {
                        storage: TableStorage::Row,
                        constraints: Arc::default(),
                        id,
                        statistics: Arc::new(statistics(&draft.schema, rows, pages)),
                        name: t.name.name.clone(),
                        schema: draft.schema,
                        primary_key: draft.primary_key,
                        indexes: vec![],
                    };
                    tables.insert(t.name.name, def);
                }
                Statement::CreateIndex(index) => {
                    let table = tables.get_mut(&index.table.name).unwrap();
                    let ordinal = |c: &String| table.schema.ordinal(c).unwrap();
                    let columns = index.columns.iter().map(ordinal).collect();
                    table.indexes.push(Arc::new(IndexDef {
                        unique: index.unique,
                        method: index.method,
                        ..IndexDef::new(
                            IndexId(i as u32),
                            index.name.as_deref().unwrap_or_default(),
                            columns,
                        )
                    }));
                    let mut with = TableStatistics::clone(&table.statistics);
                    with.index_leaf_pages.push(with.row_count / 150);
                    table.statistics = Arc::new(with);
                }
                other => panic!("{other:?}"),
            }
        }
        Tpch(tables.into_iter().map(|(name, def)| (name, Arc::new(def))).collect())
    }
}

fn size(table: &str) -> (u64, u64) {
    let (_, rows, pages) = SIZES.iter().find(|s| s.0 == table).unwrap();
    (*rows, *pages)
}

fn statistics(schema: &Schema, rows: u64, pages: u64) -> TableStatistics {
    let columns = schema.columns.iter().map(|c| column(&c.name, &c.ty.arrow(), rows)).collect();
    TableStatistics {
        row_count: rows,
        leaf_pages: pages,
        index_leaf_pages: vec![],
        column_bytes: vec![],
        is_remote: false,
        columns,
    }
}

/// A column with values spread evenly over numbers.
fn even(ty: &DataType, distinct: f64, low: i64, high: i64) -> ColumnStatistics {
    let value = |v: i64| match ty {
        DataType::Decimal128(p, s) => ScalarValue::Decimal128(Some(i128::from(v)), *p, *s),
        DataType::Date32 => ScalarValue::Date32(Some(v as i32)),
        DataType::Int32 => ScalarValue::Int32(Some(v as i32)),
        _ => ScalarValue::Int64(Some(v)),
    };
    let bound = |i: i64| value(low + (high - low) * i / 100);
    ColumnStatistics {
        distinct_count: distinct,
        min: Some(value(low)),
        max: Some(value(high)),
        histogram: (0..=100).map(bound).collect(),
        width: 8.0,
        ..ColumnStatistics::default()
    }
}

/// A column with a few words, equally common.
fn words(words: &[&str]) -> ColumnStatistics {
    let text = |w: &str| ScalarValue::Utf8View(Some(w.into()));
    let share = 1.0 / words.len() as f64;
    ColumnStatistics {
        distinct_count: words.len() as f64,
        min: words.iter().min().map(|w| text(w)),
        max: words.iter().max().map(|w| text(w)),
        most_common: words.iter().map(|w| (text(w), share)).collect(),
        width: 10.0,
        ..ColumnStatistics::default()
    }
}

/// A column with many different texts; `values` are bounds of its histogram.
fn texts(distinct: f64, values: &[String]) -> ColumnStatistics {
    let mut sorted = values.to_vec();
    sorted.sort();
    let text = |w: &String| ScalarValue::Utf8View(Some(w.clone()));
    ColumnStatistics {
        distinct_count: distinct,
        min: sorted.first().map(text),
        max: sorted.last().map(text),
        histogram: sorted.iter().map(text).collect(),
        width: 30.0,
        ..ColumnStatistics::default()
    }
}

const NATIONS: [&str; 25] = [
    "ALGERIA",
    "ARGENTINA",
    "BRAZIL",
    "CANADA",
    "EGYPT",
    "ETHIOPIA",
    "FRANCE",
    "GERMANY",
    "INDIA",
    "INDONESIA",
    "IRAN",
    "IRAQ",
    "JAPAN",
    "JORDAN",
    "KENYA",
    "MOROCCO",
    "MOZAMBIQUE",
    "PERU",
    "CHINA",
    "ROMANIA",
    "SAUDI ARABIA",
    "VIETNAM",
    "RUSSIA",
    "UNITED KINGDOM",
    "UNITED STATES",
];
const COLORS: [&str; 10] =
    ["almond", "blue", "chiffon", "forest", "green", "ivory", "lemon", "navy", "plum", "white"];

fn column(name: &str, ty: &DataType, rows: u64) -> ColumnStatistics {
    let n = rows as f64;
    let (first_day, last_day) = (8035, 10_440);
    match name {
        "r_name" => words(&["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]),
        "n_name" => words(&NATIONS),
        "n_regionkey" => even(ty, 5.0, 0, 4),
        "s_nationkey" | "c_nationkey" => even(ty, 25.0, 0, 24),
        "c_mktsegment" => words(&["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]),
        "c_acctbal" | "s_acctbal" => even(ty, n.min(140_000.0), -99_999, 999_999),
        "c_phone" | "s_phone" => texts(
            n,
            &(0..101).map(|i| format!("{}-{:03}-555-1234", 10 + i % 25, i)).collect::<Vec<_>>(),
        ),
        "p_brand" => brands(),
        "p_container" => containers(),
        "p_type" => types_of_part(),
        "p_size" => even(ty, 50.0, 1, 50),
        "p_name" => texts(n, &(0..101).map(part_name).collect::<Vec<_>>()),
        "ps_partkey" | "l_partkey" => ColumnStatistics {
            correlation: if name == "ps_partkey" { 1.0 } else { 0.0 },
            ..even(ty, 200_000.0, 1, 200_000)
        },
        "ps_suppkey" | "l_suppkey" => even(ty, 10_000.0, 1, 10_000),
        "ps_availqty" => even(ty, 9999.0, 1, 9999),
        "ps_supplycost" => even(ty, 99_900.0, 100, 100_000),
        "o_custkey" => even(ty, 100_000.0, 1, 150_000),
        "l_orderkey" => {
            ColumnStatistics { correlation: 1.0, ..even(ty, 1_500_000.0, 1, 6_000_000) }
        }
        "l_linenumber" => even(ty, 7.0, 1, 7),
        "o_orderstatus" => words(&["F", "O", "P"]),
        "o_orderdate" => even(ty, 2406.0, first_day, last_day),
        "o_orderpriority" => words(&["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]),
        "l_shipdate" | "l_commitdate" | "l_receiptdate" => {
            even(ty, 2526.0, first_day + 1, last_day + 121)
        }
        "l_quantity" => even(ty, 50.0, 100, 5000),
        "l_discount" => even(ty, 11.0, 0, 10),
        "l_returnflag" => words(&["A", "N", "N", "R"]),
        "l_linestatus" => words(&["F", "O"]),
        "l_shipmode" => words(&["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]),
        "l_shipinstruct" => {
            words(&["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"])
        }
        other if other.ends_with("comment") => {
            let sample = |i: usize| match i {
                50 => "the special packages about requests".into(),
                i => format!("{} carefully final {i}", COLORS[i % 10]),
            };
            texts(n * 0.9, &(0..101).map(sample).collect::<Vec<_>>())
        }
        other if other.ends_with("key") => even(ty, n, 1, rows as i64),
        _ if matches!(ty, DataType::Utf8View) => {
            texts(n, &(0..101).map(|i| format!("text {i:05}")).collect::<Vec<_>>())
        }
        _ => even(ty, n / 2.0, 1, rows as i64),
    }
}

fn part_name(i: usize) -> String {
    format!("{} {} {}", COLORS[i % 10], COLORS[(i / 10) % 10], COLORS[(i * 7 + 3) % 10])
}

fn brands() -> ColumnStatistics {
    let names: Vec<String> = (0..25).map(|i| format!("Brand#{}{}", i / 5 + 1, i % 5 + 1)).collect();
    words(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

fn containers() -> ColumnStatistics {
    let sizes = ["SM", "LG", "MED", "JUMBO", "WRAP"];
    let kinds = ["CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"];
    let names = sizes.iter().flat_map(|s| kinds.iter().map(move |k| format!("{s} {k}")));
    words(&names.collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>())
}

fn types_of_part() -> ColumnStatistics {
    let first = ["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"];
    let second = ["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"];
    let third = ["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"];
    let mut names = Vec::new();
    for a in first {
        for b in second {
            names.extend(third.map(|c| format!("{a} {b} {c}")));
        }
    }
    words(&names.iter().map(String::as_str).collect::<Vec<_>>())
}
