//! The tables and the indexes: primary keys, and what selection predicates and join conditions of
//! the queries use (anagodb, section 3.1).

use super::generate::Table;

/// A table with its definition.
pub struct TableSchema {
    /// Which.
    pub table: Table,
    /// Its name.
    pub name: &'static str,
    /// `CREATE TABLE`.
    pub ddl: &'static str,
}

/// The eight tables, smallest first.
pub const TABLES: [TableSchema; 8] = [
    TableSchema {
        table: Table::Region,
        name: "region",
        ddl: "create table region (r_regionkey bigint not null primary key,
            r_name char(25) not null, r_comment varchar(152) not null)",
    },
    TableSchema {
        table: Table::Nation,
        name: "nation",
        ddl:
            "create table nation (n_nationkey bigint not null primary key,
            n_name char(25) not null, n_regionkey bigint not null, n_comment varchar(152) not null)",
    },
    TableSchema {
        table: Table::Supplier,
        name: "supplier",
        ddl: "create table supplier (s_suppkey bigint not null primary key,
            s_name char(25) not null, s_address varchar(40) not null, s_nationkey bigint not null,
            s_phone char(15) not null, s_acctbal decimal(15,2) not null,
            s_comment varchar(101) not null)",
    },
    TableSchema {
        table: Table::Customer,
        name: "customer",
        ddl: "create table customer (c_custkey bigint not null primary key,
            c_name varchar(25) not null, c_address varchar(40) not null,
            c_nationkey bigint not null, c_phone char(15) not null,
            c_acctbal decimal(15,2) not null, c_mktsegment char(10) not null,
            c_comment varchar(117) not null)",
    },
    TableSchema {
        table: Table::Part,
        name: "part",
        ddl: "create table part (p_partkey bigint not null primary key,
            p_name varchar(55) not null, p_mfgr char(25) not null, p_brand char(10) not null,
            p_type varchar(25) not null, p_size integer not null, p_container char(10) not null,
            p_retailprice decimal(15,2) not null, p_comment varchar(23) not null)",
    },
    TableSchema {
        table: Table::PartSupp,
        name: "partsupp",
        ddl: "create table partsupp (ps_partkey bigint not null, ps_suppkey bigint not null,
            ps_availqty integer not null, ps_supplycost decimal(15,2) not null,
            ps_comment varchar(199) not null, primary key (ps_partkey, ps_suppkey))",
    },
    TableSchema {
        table: Table::Orders,
        name: "orders",
        ddl: "create table orders (o_orderkey bigint not null primary key,
            o_custkey bigint not null, o_orderstatus char(1) not null,
            o_totalprice decimal(15,2) not null, o_orderdate date not null,
            o_orderpriority char(15) not null, o_clerk char(15) not null,
            o_shippriority integer not null, o_comment varchar(79) not null)",
    },
    TableSchema {
        table: Table::LineItem,
        name: "lineitem",
        ddl: "create table lineitem (l_orderkey bigint not null, l_partkey bigint not null,
            l_suppkey bigint not null, l_linenumber integer not null,
            l_quantity decimal(15,2) not null, l_extendedprice decimal(15,2) not null,
            l_discount decimal(15,2) not null, l_tax decimal(15,2) not null,
            l_returnflag char(1) not null, l_linestatus char(1) not null, l_shipdate date not null,
            l_commitdate date not null, l_receiptdate date not null,
            l_shipinstruct char(25) not null, l_shipmode char(10) not null,
            l_comment varchar(44) not null, primary key (l_orderkey, l_linenumber))",
    },
];

/// Table, index name, statement.
pub const INDEXES: [(&str, &str); 9] = [
    ("nation_regionkey", "create index nation_regionkey on nation (n_regionkey)"),
    ("supplier_nationkey", "create index supplier_nationkey on supplier (s_nationkey)"),
    ("customer_nationkey", "create index customer_nationkey on customer (c_nationkey)"),
    ("partsupp_suppkey", "create index partsupp_suppkey on partsupp (ps_suppkey)"),
    ("orders_custkey", "create index orders_custkey on orders (o_custkey)"),
    ("orders_orderdate", "create index orders_orderdate on orders (o_orderdate)"),
    ("lineitem_partkey", "create index lineitem_partkey on lineitem (l_partkey, l_suppkey)"),
    ("lineitem_suppkey", "create index lineitem_suppkey on lineitem (l_suppkey)"),
    ("lineitem_shipdate", "create index lineitem_shipdate on lineitem (l_shipdate)"),
];

/// The definition of a table as that of a column table without its key.
/// With a location its chunks lie there.
pub fn in_columns(ddl: &str, location: Option<&str>) -> String {
    let ddl = ddl.replace(" primary key,", ",");
    let columns = ddl.split(", primary key (").next().unwrap_or(&ddl);
    let open = columns.matches('(').count() > columns.matches(')').count();
    let location = location.map_or(String::new(), |at| format!(", location = '{at}'"));
    format!("{columns}{} with (storage = column{location})", if open { ")" } else { "" })
}
