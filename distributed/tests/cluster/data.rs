//! The tables: some like TPC-H's, as rows and as columns, with nulls; copies of their file for each
//! node.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use distributed::local::Local;
use engine::{Database, DeviceChoice, DeviceProfile, Options};

/// Memory of each node.
pub const MEMORY_BYTES: usize = 128 << 20;

const TABLES: &str = "
create table orders (
    o_orderkey bigint primary key, o_custkey bigint not null, o_orderstatus text not null,
    o_totalprice numeric(15,2) not null, o_orderdate date not null, o_orderpriority text);
insert into orders select i, i * 7 % 500, case i % 3 when 0 then 'F' when 1 then 'O' else 'P' end,
    (i * 37 % 100000) / 4.0, date '1992-01-01' + (i * 13 % 2400)::int,
    case when i % 11 = 0 then null else (i % 5 + 1) || '-PRIORITY' end
  from generate_series(1, 5000) as g(i);
create table lineitem (
    l_orderkey bigint not null, l_linenumber int not null, l_quantity numeric(15,2) not null,
    l_extendedprice numeric(15,2) not null, l_discount numeric(15,2) not null,
    l_returnflag text not null, l_linestatus text not null, l_shipdate date not null,
    l_comment text, l_weight double precision, primary key (l_orderkey, l_linenumber));
insert into lineitem select i / 4 + 1, i % 4, i * 17 % 50 + 1, (i * 101 % 90000) / 3.0 + 900,
    (i * 3 % 11) / 100.0, case i % 3 when 0 then 'A' when 1 then 'N' else 'R' end,
    case i % 2 when 0 then 'F' else 'O' end, date '1992-01-02' + (i * 29 % 2500)::int,
    case when i % 7 = 0 then null else 'comment ' || i % 100 end,
    case when i % 13 = 0 then null else (i % 1000) / 8.0 end
  from generate_series(0, 19999) as g(i);
create table lines (
    l_orderkey bigint not null, l_linenumber int not null, l_quantity numeric(15,2) not null,
    l_extendedprice numeric(15,2) not null, l_discount numeric(15,2) not null,
    l_returnflag text not null, l_linestatus text not null, l_shipdate date not null,
    l_comment text, l_weight double precision) with (storage = column);
insert into lines select * from lineitem;
insert into lines select i, 9, 1, 1000, 0, 'Z', 'O', date '2001-01-01', null, null
  from generate_series(1, 10) as g(i);
create table nothing (a int, b text);
";

/// Opens a file as who changes it does.
pub fn options() -> Options {
    let device = DeviceChoice::Fixed(DeviceProfile::default());
    Options { memory_bytes: MEMORY_BYTES, workers: 2, device, direct: false, ..pg::options() }
}

/// The file that all tests of this process copy.
fn original() -> &'static Path {
    static ORIGINAL: OnceLock<PathBuf> = OnceLock::new();
    ORIGINAL.get_or_init(|| made("original", TABLES))
}

/// A new file with these tables.
pub fn made(name: &str, statements: &str) -> PathBuf {
    let path = place(name);
    let database = Database::create(&path, options()).expect("a new file");
    database.session().execute(statements).expect("tables");
    database.close().expect("all is in the file");
    path
}

/// A copy for one node.
pub fn copy() -> PathBuf {
    let path = place("copy");
    std::fs::copy(original(), &path).expect("a copy");
    path
}

/// A copy that is open in this process.
pub fn local() -> Local {
    Local::open(&copy(), MEMORY_BYTES, Some(2)).expect("a copy opens")
}

fn place(name: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(std::process::id().to_string());
    std::fs::create_dir_all(&folder).expect("a folder");
    folder.join(format!("{name}-{number}.dovetail"))
}
