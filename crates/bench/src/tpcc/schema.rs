//! The nine tables and what they begin with (TPC-C, clauses 1.3 and 4.3.3).

use std::io::{Cursor, Read};

use engine::{Database, SqlResult};
use stdx::Prng;

use super::Scale;
use super::random::{between, cents, data, last_name, text};

const TABLES: &[&str] = &[
    "create table warehouse (w_id int primary key, w_name varchar(10), w_street varchar(20), \
     w_city varchar(20), w_state char(2), w_zip char(9), w_tax numeric(4,4), w_ytd numeric(12,2))",
    "create table district (d_w_id int, d_id int, d_name varchar(10), d_street varchar(20), \
     d_city varchar(20), d_state char(2), d_zip char(9), d_tax numeric(4,4), d_ytd numeric(12,2), \
     d_next_o_id int, primary key (d_w_id, d_id))",
    "create table customer (c_w_id int, c_d_id int, c_id int, c_first varchar(16), c_middle char(2), \
     c_last varchar(16), c_street varchar(20), c_city varchar(20), c_state char(2), c_zip char(9), \
     c_phone char(16), c_since timestamp, c_credit char(2), c_credit_lim numeric(12,2), \
     c_discount numeric(4,4), c_balance numeric(12,2), c_ytd_payment numeric(12,2), \
     c_payment_cnt int, c_delivery_cnt int, c_data varchar(500), primary key (c_w_id, c_d_id, c_id))",
    "create table history (h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int, \
     h_date timestamp, h_amount numeric(6,2), h_data varchar(24))",
    "create table orders (o_w_id int, o_d_id int, o_id int, o_c_id int, o_entry_d timestamp, \
     o_carrier_id int, o_ol_cnt int, o_all_local int, primary key (o_w_id, o_d_id, o_id))",
    "create table new_order (no_w_id int, no_d_id int, no_o_id int, \
     primary key (no_w_id, no_d_id, no_o_id))",
    "create table order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int, \
     ol_supply_w_id int, ol_delivery_d timestamp, ol_quantity int, ol_amount numeric(6,2), \
     ol_dist_info char(24), primary key (ol_w_id, ol_d_id, ol_o_id, ol_number))",
    "create table item (i_id int primary key, i_im_id int, i_name varchar(24), i_price numeric(5,2), \
     i_data varchar(50))",
    "create table stock (s_w_id int, s_i_id int, s_quantity int, s_dist char(24), s_ytd numeric(8), \
     s_order_cnt int, s_remote_cnt int, s_data varchar(50), primary key (s_w_id, s_i_id))",
];

const INDEXES: &[&str] = &[
    "create index customer_name on customer (c_w_id, c_d_id, c_last, c_first)",
    "create index orders_customer on orders (o_w_id, o_d_id, o_c_id, o_id)",
];

/// The moment at which everything was made.
const BEGINNING: &str = "2026-01-01 00:00:00";

/// Makes and fills the tables, each by one `COPY` in the order of its keys.
pub(super) fn load(db: &Database, scale: Scale) -> SqlResult<()> {
    let mut session = db.session();
    for ddl in TABLES {
        session.execute(ddl)?;
    }
    let mut random = Prng::new(5);
    copy(&mut session, "item", (1..=scale.items).map(|i| item(&mut random, i)))?;
    let warehouses = 1..=scale.warehouses;
    copy(&mut session, "warehouse", warehouses.clone().map(|w| warehouse(scale, w)))?;
    copy(&mut session, "district", of_districts(scale, |w, d| vec![district(scale, w, d)]))?;
    let stocks = move |w| {
        let mut random = Prng::new(w << 8);
        (1..=scale.items).map(move |i| stock(&mut random, w, i))
    };
    copy(&mut session, "stock", warehouses.flat_map(stocks))?;
    load_districts(&mut session, scale)?;
    for ddl in INDEXES {
        session.execute(ddl)?;
    }
    session.execute("analyze").map(drop)
}

/// Rows of all districts, a district at a time.
fn of_districts(
    scale: Scale,
    rows: impl Fn(u64, u64) -> Vec<String> + Copy,
) -> impl Iterator<Item = String> {
    (1..=scale.warehouses).flat_map(move |w| (1..=scale.districts).flat_map(move |d| rows(w, d)))
}

fn load_districts(session: &mut engine::Session, scale: Scale) -> SqlResult<()> {
    let everyone = 1..=scale.customers;
    let customers = |w, d| {
        let random = &mut Prng::new((w << 16) | d);
        everyone.clone().map(|c| customer(random, w, d, c)).collect()
    };
    copy(session, "customer", of_districts(scale, &customers))?;
    let history = |w, d| {
        everyone
            .clone()
            .map(|c| format!("{c}\t{d}\t{w}\t{d}\t{w}\t{BEGINNING}\t10.00\tfirst"))
            .collect()
    };
    copy(session, "history", of_districts(scale, &history))?;
    copy(
        session,
        "orders",
        of_districts(scale, |w, d| orders(scale, w, d).map(|order| order.row(w, d)).collect()),
    )?;
    copy(
        session,
        "order_line",
        of_districts(scale, |w, d| {
            let random = &mut Prng::new((w << 24) | d);
            orders(scale, w, d).flat_map(|order| order.lines(random, scale, w, d)).collect()
        }),
    )?;
    copy(
        session,
        "new_order",
        of_districts(scale, |w, d| {
            let new = orders(scale, w, d).filter(|order| order.is_new);
            new.map(|order| format!("{w}\t{d}\t{}", order.id)).collect()
        }),
    )
}

/// An order that a district begins with.
struct Order {
    id: u64,
    customer: u64,
    line_count: u64,
    /// Who has delivered it, of those that are not new.
    carrier: u64,
    is_new: bool,
}

/// The orders of a district, one of each customer; the last three of ten are new.
fn orders(scale: Scale, w: u64, d: u64) -> impl Iterator<Item = Order> {
    let mut random = Prng::new((w << 32) | d);
    let mut customers: Vec<u64> = (1..=scale.customers).collect();
    random.shuffle(&mut customers);
    let undelivered = scale.customers - scale.customers * 3 / 10;
    customers.into_iter().zip(1..).map(move |(customer, id)| {
        let (line_count, carrier) = (between(&mut random, 5, 15), between(&mut random, 1, 10));
        Order { id, customer, line_count, carrier, is_new: id > undelivered }
    })
}

impl Order {
    fn row(&self, w: u64, d: u64) -> String {
        let Order { id, customer, line_count, .. } = self;
        let carrier = if self.is_new { "\\N".into() } else { self.carrier.to_string() };
        format!("{w}\t{d}\t{id}\t{customer}\t{BEGINNING}\t{carrier}\t{line_count}\t1")
    }

    fn lines(&self, random: &mut Prng, scale: Scale, w: u64, d: u64) -> Vec<String> {
        let of = |number| line(random, scale, [w, d, self.id, number], self.is_new);
        (1..=self.line_count).map(of).collect()
    }
}

fn warehouse(scale: Scale, w: u64) -> String {
    let random = &mut Prng::new(w);
    format!("{w}\tware{w}\t{}\t0.1000\t{}.00", address(random), 30_000 * scale.districts)
}

fn district(scale: Scale, w: u64, d: u64) -> String {
    let random = &mut Prng::new((w << 8) | d);
    let next = scale.customers + 1;
    format!("{w}\t{d}\tdist{d}\t{}\t0.1000\t30000.00\t{next}", address(random))
}

fn address(random: &mut Prng) -> String {
    format!("{}\t{}\tCA\t123411111", text(random, 10, 20), text(random, 10, 20))
}

fn item(random: &mut Prng, i: u64) -> String {
    let (name, price) = (text(random, 14, 24), cents(random, 100, 10_000));
    format!("{i}\t{}\t{name}\t{price}\t{}", between(random, 1, 10_000), data(random))
}

fn stock(random: &mut Prng, w: u64, i: u64) -> String {
    let quantity = between(random, 10, 100);
    format!("{w}\t{i}\t{quantity}\t{}\t0\t0\t0\t{}", text(random, 24, 24), data(random))
}

fn customer(random: &mut Prng, w: u64, d: u64, c: u64) -> String {
    let number = if c <= 1000 { c - 1 } else { random.below(1000) };
    let credit = if random.below(10) == 0 { "BC" } else { "GC" };
    let discount = format!("0.{:04}", random.below(5001));
    format!(
        "{w}\t{d}\t{c}\t{}\tOE\t{}\t{}\t{}\tCA\t123411111\t{}\t{BEGINNING}\t{credit}\t50000.00\t\
         {discount}\t-10.00\t10.00\t1\t0\t{}",
        text(random, 8, 16),
        last_name(number),
        text(random, 10, 20),
        text(random, 10, 20),
        text(random, 16, 16),
        text(random, 300, 500),
    )
}

fn line(random: &mut Prng, scale: Scale, [w, d, o, number]: [u64; 4], is_new: bool) -> String {
    let i = between(random, 1, scale.items);
    let (delivered, amount) = match is_new {
        true => ("\\N", cents(random, 1, 999_999)),
        false => (BEGINNING, "0.00".into()),
    };
    format!("{w}\t{d}\t{o}\t{number}\t{i}\t{w}\t{delivered}\t5\t{amount}\t{}", text(random, 24, 24))
}

fn copy(
    session: &mut engine::Session,
    table: &str,
    rows: impl IntoIterator<Item = String>,
) -> SqlResult<()> {
    let mut input = Rows { rows: rows.into_iter(), line: Cursor::default() };
    session.copy_in(&format!("copy {table} from stdin"), &mut input).map(drop)
}

/// Rows as `COPY` reads them.
struct Rows<I> {
    rows: I,
    line: Cursor<Vec<u8>>,
}

impl<I: Iterator<Item = String>> Read for Rows<I> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.line.position() == self.line.get_ref().len() as u64 {
            let Some(row) = self.rows.next() else { return Ok(0) };
            self.line = Cursor::new((row + "\n").into_bytes());
        }
        self.line.read(into)
    }
}
