//! The transactions, as prepared statements of SQL (TPC-C, clauses 2.4 to 2.8; CoroBase, section 5.2).

use std::collections::HashMap;
use std::sync::Arc;

use engine::{Datum, NamedStatement, Row, Session, SqlError, SqlResult, StatementResult};
use stdx::Prng;

use super::random::{between, cents, customer, item, some_last_name};
use super::{Kind, Scale};

/// Last names are used in so many of a hundred cases (clauses 2.5.1.2 and 2.6.1.2).
const BY_NAME_PERCENT: u64 = 60;

/// The statements that a terminal has prepared, by their texts.
pub(super) type Statements = HashMap<&'static str, Arc<NamedStatement>>;

/// One transaction of a kind, within a block that is open. `false` when its user takes it back.
pub(super) async fn run(
    (session, statements): (&mut Session, &mut Statements),
    kind: Kind,
    scale: Scale,
    random: &mut Prng,
) -> SqlResult<bool> {
    let home = between(random, 1, scale.warehouses);
    let mut terminal = Terminal { session, statements, scale, random, home };
    match kind {
        Kind::NewOrder => terminal.new_order().await,
        Kind::Payment => terminal.payment().await.map(|()| true),
        Kind::OrderStatus => terminal.order_status().await.map(|()| true),
        Kind::Delivery => terminal.delivery().await.map(|()| true),
        Kind::StockLevel => terminal.stock_level().await.map(|()| true),
        Kind::Suppliers => terminal.suppliers().await.map(|()| true),
    }
}

struct Terminal<'a> {
    session: &'a mut Session,
    statements: &'a mut Statements,
    scale: Scale,
    random: &'a mut Prng,
    home: u64,
}

/// Numbers as values.
fn numbers<const N: usize>(numbers: [u64; N]) -> [Datum; N] {
    numbers.map(|number| Datum::Int(number as i64))
}

impl Terminal<'_> {
    async fn run(&mut self, text: &'static str, values: &[Datum]) -> SqlResult<StatementResult> {
        let statement = match self.statements.get(text) {
            Some(statement) => statement.clone(),
            None => {
                let prepared = Arc::new(self.session.prepared_text(text).await?);
                self.statements.insert(text, prepared.clone());
                prepared
            }
        };
        self.session.run_prepared(&statement, values).await
    }

    async fn rows(&mut self, text: &'static str, values: &[Datum]) -> SqlResult<Vec<Row>> {
        match self.run(text, values).await? {
            StatementResult::Rows(result) => result.rows(),
            StatementResult::Command { .. } => Err(SqlError::internal(format!("no rows: {text}"))),
        }
    }

    /// The only row, which has to be there.
    async fn row(&mut self, text: &'static str, values: &[Datum]) -> SqlResult<Row> {
        let first = self.rows(text, values).await?.into_iter().next();
        first.ok_or_else(|| SqlError::internal(format!("a row is missing: {text}")))
    }

    /// Changes rows; how many.
    async fn change(&mut self, text: &'static str, values: &[Datum]) -> SqlResult<u64> {
        Ok(self.run(text, values).await?.row_count())
    }

    fn district(&mut self) -> u64 {
        between(self.random, 1, self.scale.districts)
    }

    /// Another warehouse in so many of a hundred cases, where there is one.
    fn remote(&mut self, percent: u64) -> u64 {
        if self.scale.warehouses == 1 || self.random.below(100) >= percent {
            return self.home;
        }
        let other = between(self.random, 1, self.scale.warehouses - 1);
        if other < self.home { other } else { other + 1 }
    }

    /// Clause 2.4. One in a hundred names an item that is not there, and is taken back.
    async fn new_order(&mut self) -> SqlResult<bool> {
        let (w, d) = (self.home, self.district());
        let c = customer(self.random, self.scale.customers);
        let count = between(self.random, 5, 15);
        let taken_back = self.random.below(100) == 0;
        self.row("select w_tax from warehouse where w_id = $1", &numbers([w])).await?;
        let who = "select c_discount, c_last, c_credit from customer \
                   where c_w_id = $1 and c_d_id = $2 and c_id = $3";
        self.row(who, &numbers([w, d, c])).await?;
        let next = "update district set d_next_o_id = d_next_o_id + 1 where d_w_id = $1 and d_id = $2 \
                    returning d_next_o_id - 1, d_tax";
        let o = self.row(next, &numbers([w, d])).await?.swap_remove(0);
        let [w_id, d_id, c, lines] = numbers([w, d, c, count]);
        let key = [w_id, d_id, o.clone()];
        let order = "insert into orders values ($1, $2, $3, $4, now()::timestamp, null, $5, 1)";
        self.change(order, &[&key[..], &[c, lines][..]].concat()).await?;
        self.change("insert into new_order values ($1, $2, $3)", &key).await?;
        for number in 1..=count {
            let missing = taken_back && number == count;
            let i = if missing { 0 } else { item(self.random, self.scale.items) };
            if !self.order_line([w, d, number, i], &o).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// False when there is no such item.
    async fn order_line(&mut self, [w, d, number, i]: [u64; 4], o: &Datum) -> SqlResult<bool> {
        let supplier = self.remote(1);
        let quantity = between(self.random, 1, 10);
        let price = "select i_price, i_name from item where i_id = $1";
        let items = self.rows(price, &numbers([i])).await?;
        let Some(price) = items.into_iter().next().map(|mut row| row.swap_remove(0)) else {
            return Ok(false);
        };
        let taken = "update stock set s_quantity = case when s_quantity >= $1 + 10 \
                     then s_quantity - $1 else s_quantity - $1 + 91 end, \
                     s_ytd = s_ytd + $1, s_order_cnt = s_order_cnt + 1, \
                     s_remote_cnt = s_remote_cnt + $2 where s_w_id = $3 and s_i_id = $4 \
                     returning s_dist";
        let values = numbers([quantity, u64::from(supplier != w), supplier, i]);
        let dist = self.row(taken, &values).await?.swap_remove(0);
        let [w, d, number, i, supplier, quantity] = numbers([w, d, number, i, supplier, quantity]);
        let line = "insert into order_line values ($1, $2, $3, $4, $5, $6, null, $7, \
                    $7::int * $8::numeric, $9)";
        self.change(line, &[w, d, o.clone(), number, i, supplier, quantity, price, dist]).await?;
        Ok(true)
    }

    /// The customer by number, or the one in the middle of those of a last name (clause 2.5.2.2).
    async fn some_customer(&mut self, w: u64, d: u64) -> SqlResult<Datum> {
        if self.random.below(100) >= BY_NAME_PERCENT {
            return Ok(Datum::Int(customer(self.random, self.scale.customers) as i64));
        }
        let name = some_last_name(self.random, self.scale.customers);
        let named = "select c_id from customer where c_w_id = $1 and c_d_id = $2 and c_last = $3 \
                     order by c_first";
        let [w, d] = numbers([w, d]);
        let mut rows = self.rows(named, &[w, d, name.as_str().into()]).await?;
        let middle = rows.len() / 2;
        if rows.is_empty() {
            return Err(SqlError::internal(format!("nobody is called {name}")));
        }
        Ok(rows.swap_remove(middle).swap_remove(0))
    }

    /// Clause 2.5.
    async fn payment(&mut self) -> SqlResult<()> {
        let (w, d) = (self.home, self.district());
        let amount = Datum::from(cents(self.random, 100, 500_000));
        let (cw, cd) = match self.remote(15) {
            other if other == w => (w, d),
            other => (other, self.district()),
        };
        let [w_id, d_id, cw_id, cd_id] = numbers([w, d, cw, cd]);
        let year = "update warehouse set w_ytd = w_ytd + $1 where w_id = $2";
        self.change(year, &[amount.clone(), w_id.clone()]).await?;
        let year = "update district set d_ytd = d_ytd + $1 where d_w_id = $2 and d_id = $3";
        self.change(year, &[amount.clone(), w_id.clone(), d_id.clone()]).await?;
        let c = self.some_customer(cw, cd).await?;
        let paid = "update customer set c_balance = c_balance - $1, \
                    c_ytd_payment = c_ytd_payment + $1, c_payment_cnt = c_payment_cnt + 1 \
                    where c_w_id = $2 and c_d_id = $3 and c_id = $4 returning c_credit";
        let key = [cw_id.clone(), cd_id.clone(), c.clone()];
        let credit =
            self.row(paid, &[&[amount.clone()][..], &key[..]].concat()).await?.swap_remove(0);
        if credit == "BC".into() {
            let note = format!("{c} {cd} {cw} {d} {w} {amount}|");
            let noted = "update customer set c_data = substr($1 || c_data, 1, 500) \
                         where c_w_id = $2 and c_d_id = $3 and c_id = $4";
            self.change(noted, &[&[note.into()][..], &key[..]].concat()).await?;
        }
        let history =
            "insert into history values ($1, $2, $3, $4, $5, now()::timestamp, $6, 'pays')";
        self.change(history, &[c, cd_id, cw_id, d_id, w_id, amount]).await.map(drop)
    }

    /// Clause 2.6.
    async fn order_status(&mut self) -> SqlResult<()> {
        let (w, d) = (self.home, self.district());
        let c = self.some_customer(w, d).await?;
        let [w, d] = numbers([w, d]);
        let who = "select c_balance, c_first, c_middle from customer \
                   where c_w_id = $1 and c_d_id = $2 and c_id = $3";
        let key = [w.clone(), d.clone(), c];
        self.row(who, &key).await?;
        let last = "select o_id, o_carrier_id, o_entry_d from orders \
                    where o_w_id = $1 and o_d_id = $2 and o_c_id = $3 order by o_id desc limit 1";
        let o = self.row(last, &key).await?.swap_remove(0);
        let lines = "select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
                     from order_line where ol_w_id = $1 and ol_d_id = $2 and ol_o_id = $3";
        self.rows(lines, &[w, d, o]).await.map(drop)
    }

    /// Clause 2.7: the oldest order of each district that is not delivered.
    async fn delivery(&mut self) -> SqlResult<()> {
        let (w, carrier) = (self.home, between(self.random, 1, 10));
        for d in 1..=self.scale.districts {
            let oldest = "select no_o_id from new_order where no_w_id = $1 and no_d_id = $2 \
                          order by no_o_id limit 1";
            let Some(mut row) = self.rows(oldest, &numbers([w, d])).await?.pop() else { continue };
            self.deliver(w, d, row.swap_remove(0), carrier).await?;
        }
        Ok(())
    }

    async fn deliver(&mut self, w: u64, d: u64, o: Datum, carrier: u64) -> SqlResult<()> {
        let [w, d, carrier] = numbers([w, d, carrier]);
        let key = [w.clone(), d.clone(), o];
        let gone = "delete from new_order where no_w_id = $1 and no_d_id = $2 and no_o_id = $3";
        if self.change(gone, &key).await? == 0 {
            // Another terminal has delivered it in the meantime.
            return Ok(());
        }
        let carried = "update orders set o_carrier_id = $4 \
                       where o_w_id = $1 and o_d_id = $2 and o_id = $3 returning o_c_id";
        let c = self.row(carried, &[&key[..], &[carrier][..]].concat()).await?.swap_remove(0);
        let arrived = "update order_line set ol_delivery_d = now()::timestamp \
                       where ol_w_id = $1 and ol_d_id = $2 and ol_o_id = $3";
        self.change(arrived, &key).await?;
        let sum = "select sum(ol_amount) from order_line \
                   where ol_w_id = $1 and ol_d_id = $2 and ol_o_id = $3";
        let sum = self.row(sum, &key).await?.swap_remove(0);
        let owed = "update customer set c_balance = c_balance + $1, \
                    c_delivery_cnt = c_delivery_cnt + 1 \
                    where c_w_id = $2 and c_d_id = $3 and c_id = $4";
        self.change(owed, &[sum, w, d, c]).await.map(drop)
    }

    /// Clause 2.8: items of the last twenty orders of which there is little left.
    async fn stock_level(&mut self) -> SqlResult<()> {
        let (w, d, threshold) = (self.home, self.district(), between(self.random, 10, 20));
        let [w, d, threshold] = numbers([w, d, threshold]);
        let next = "select d_next_o_id from district where d_w_id = $1 and d_id = $2";
        let next = self.row(next, &[w.clone(), d.clone()]).await?.swap_remove(0);
        let Datum::Int(number) = next else {
            return Err(SqlError::internal("a number of an order"));
        };
        let low = "select count(distinct s_i_id) from order_line join stock on s_w_id = $1 \
                   and s_i_id = ol_i_id where ol_w_id = $1 and ol_d_id = $2 and ol_o_id < $3 \
                   and ol_o_id >= $4 and s_quantity < $5";
        let first = Datum::Int((number - 20).max(0));
        self.row(low, &[w, d, next, first, threshold]).await.map(drop)
    }

    /// The long transaction of TPC-CH: a part of the items of a warehouse is searched, and what is scarce is
    /// ordered again.
    async fn suppliers(&mut self) -> SqlResult<()> {
        let (w, part) = (self.home, self.scale.items / 10);
        let first = between(self.random, 1, self.scale.items - part);
        let ordered = "update stock set s_quantity = s_quantity + 50 where s_w_id = $1 \
                       and s_i_id >= $2 and s_i_id < $3 and s_quantity < 15";
        self.change(ordered, &numbers([w, first, first + part])).await.map(drop)
    }
}
