//! The transactions, as statements of SQL (TPC-C, clauses 2.4 to 2.8; CoroBase, section 5.2).

use engine::{Session, SqlError, SqlResult, StatementResult};
use stdx::Prng;

use super::random::{between, cents, customer, item, some_last_name};
use super::{Kind, Scale};
use crate::tpch::as_text;

/// Last names are used in so many of a hundred cases (clauses 2.5.1.2 and 2.6.1.2).
const BY_NAME_PERCENT: u64 = 60;

/// One transaction of a kind, within a block that is open. `false` when its user takes it back.
pub(super) async fn run(
    session: &mut Session,
    kind: Kind,
    scale: Scale,
    random: &mut Prng,
) -> SqlResult<bool> {
    let home = between(random, 1, scale.warehouses);
    let mut terminal = Terminal { session, scale, random, home };
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
    scale: Scale,
    random: &'a mut Prng,
    home: u64,
}

type Row = Vec<String>;

impl Terminal<'_> {
    async fn rows(&mut self, text: &str) -> SqlResult<Vec<Row>> {
        let results = self.session.run_all(text).await?;
        let Some(StatementResult::Rows(result)) = results.into_iter().next() else {
            return Err(SqlError::internal(format!("no rows: {text}")));
        };
        let cell = |cell: Option<String>| cell.unwrap_or_default();
        Ok(as_text(&result).rows.into_iter().map(|r| r.into_iter().map(cell).collect()).collect())
    }

    /// The only row, which has to be there.
    async fn row(&mut self, text: &str) -> SqlResult<Row> {
        let first = self.rows(text).await?.into_iter().next();
        first.ok_or_else(|| SqlError::internal(format!("a row is missing: {text}")))
    }

    /// Changes rows; how many.
    async fn change(&mut self, text: &str) -> SqlResult<u64> {
        let results = self.session.run_all(text).await?;
        Ok(results.first().map_or(0, StatementResult::row_count))
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
        let tax = format!("select w_tax from warehouse where w_id = {w}");
        self.row(&tax).await?;
        let key = format!("c_w_id = {w} and c_d_id = {d} and c_id = {c}");
        self.row(&format!("select c_discount, c_last, c_credit from customer where {key}")).await?;
        let next = format!(
            "update district set d_next_o_id = d_next_o_id + 1 where d_w_id = {w} and d_id = {d} \
             returning d_next_o_id - 1, d_tax"
        );
        let o = self.row(&next).await?.swap_remove(0);
        self.change(&format!(
            "insert into orders values ({w}, {d}, {o}, {c}, now()::timestamp, null, {count}, 1)"
        ))
        .await?;
        self.change(&format!("insert into new_order values ({w}, {d}, {o})")).await?;
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
    async fn order_line(&mut self, [w, d, number, i]: [u64; 4], o: &str) -> SqlResult<bool> {
        let supplier = self.remote(1);
        let quantity = between(self.random, 1, 10);
        let items =
            self.rows(&format!("select i_price, i_name from item where i_id = {i}")).await?;
        let Some(price) = items.first().map(|row| &row[0]) else { return Ok(false) };
        let remote = u64::from(supplier != w);
        let taken = format!(
            "update stock set s_quantity = case when s_quantity >= {quantity} + 10 \
             then s_quantity - {quantity} else s_quantity - {quantity} + 91 end, \
             s_ytd = s_ytd + {quantity}, s_order_cnt = s_order_cnt + 1, \
             s_remote_cnt = s_remote_cnt + {remote} \
             where s_w_id = {supplier} and s_i_id = {i} returning s_dist"
        );
        let dist = self.row(&taken).await?.swap_remove(0);
        self.change(&format!(
            "insert into order_line values ({w}, {d}, {o}, {number}, {i}, {supplier}, null, \
             {quantity}, {quantity} * {price}, '{dist}')"
        ))
        .await?;
        Ok(true)
    }

    /// The customer by number, or the one in the middle of those of a last name (clause 2.5.2.2).
    async fn some_customer(&mut self, w: u64, d: u64) -> SqlResult<String> {
        if self.random.below(100) >= BY_NAME_PERCENT {
            return Ok(customer(self.random, self.scale.customers).to_string());
        }
        let name = some_last_name(self.random, self.scale.customers);
        let named = format!(
            "select c_id from customer where c_w_id = {w} and c_d_id = {d} and c_last = '{name}' \
             order by c_first"
        );
        let mut rows = self.rows(&named).await?;
        let middle = rows.len() / 2;
        if rows.is_empty() {
            return Err(SqlError::internal(format!("nobody is called {name}")));
        }
        Ok(rows.swap_remove(middle).swap_remove(0))
    }

    /// Clause 2.5.
    async fn payment(&mut self) -> SqlResult<()> {
        let (w, d, amount) = (self.home, self.district(), cents(self.random, 100, 500_000));
        let (cw, cd) = match self.remote(15) {
            other if other == w => (w, d),
            other => (other, self.district()),
        };
        self.change(&format!("update warehouse set w_ytd = w_ytd + {amount} where w_id = {w}"))
            .await?;
        self.change(&format!(
            "update district set d_ytd = d_ytd + {amount} where d_w_id = {w} and d_id = {d}"
        ))
        .await?;
        let c = self.some_customer(cw, cd).await?;
        let paid = format!(
            "update customer set c_balance = c_balance - {amount}, \
             c_ytd_payment = c_ytd_payment + {amount}, c_payment_cnt = c_payment_cnt + 1 \
             where c_w_id = {cw} and c_d_id = {cd} and c_id = {c} returning c_credit"
        );
        if self.row(&paid).await?[0] == "BC" {
            let note = format!("{c} {cd} {cw} {d} {w} {amount}");
            self.change(&format!(
                "update customer set c_data = substr('{note}|' || c_data, 1, 500) \
                 where c_w_id = {cw} and c_d_id = {cd} and c_id = {c}"
            ))
            .await?;
        }
        self.change(&format!(
            "insert into history values ({c}, {cd}, {cw}, {d}, {w}, now()::timestamp, {amount}, 'pays')"
        ))
        .await
        .map(drop)
    }

    /// Clause 2.6.
    async fn order_status(&mut self) -> SqlResult<()> {
        let (w, d) = (self.home, self.district());
        let c = self.some_customer(w, d).await?;
        let key = format!("c_w_id = {w} and c_d_id = {d} and c_id = {c}");
        self.row(&format!("select c_balance, c_first, c_middle from customer where {key}")).await?;
        let last = format!(
            "select o_id, o_carrier_id, o_entry_d from orders \
             where o_w_id = {w} and o_d_id = {d} and o_c_id = {c} order by o_id desc limit 1"
        );
        let o = self.row(&last).await?.swap_remove(0);
        let lines = format!(
            "select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d from order_line \
             where ol_w_id = {w} and ol_d_id = {d} and ol_o_id = {o}"
        );
        self.rows(&lines).await.map(drop)
    }

    /// Clause 2.7: the oldest order of each district that is not delivered.
    async fn delivery(&mut self) -> SqlResult<()> {
        let (w, carrier) = (self.home, between(self.random, 1, 10));
        for d in 1..=self.scale.districts {
            let oldest = format!(
                "select no_o_id from new_order where no_w_id = {w} and no_d_id = {d} \
                 order by no_o_id limit 1"
            );
            let Some(row) = self.rows(&oldest).await?.pop() else { continue };
            self.deliver(w, d, &row[0], carrier).await?;
        }
        Ok(())
    }

    async fn deliver(&mut self, w: u64, d: u64, o: &str, carrier: u64) -> SqlResult<()> {
        let gone = format!(
            "delete from new_order where no_w_id = {w} and no_d_id = {d} and no_o_id = {o}"
        );
        if self.change(&gone).await? == 0 {
            // Another terminal has delivered it in the meantime.
            return Ok(());
        }
        let key = format!("o_w_id = {w} and o_d_id = {d} and o_id = {o}");
        let carried =
            format!("update orders set o_carrier_id = {carrier} where {key} returning o_c_id");
        let c = self.row(&carried).await?.swap_remove(0);
        let lines = format!("ol_w_id = {w} and ol_d_id = {d} and ol_o_id = {o}");
        let arrived =
            format!("update order_line set ol_delivery_d = now()::timestamp where {lines}");
        self.change(&arrived).await?;
        let sum = self.row(&format!("select sum(ol_amount) from order_line where {lines}")).await?;
        self.change(&format!(
            "update customer set c_balance = c_balance + {}, c_delivery_cnt = c_delivery_cnt + 1 \
             where c_w_id = {w} and c_d_id = {d} and c_id = {c}",
            sum[0]
        ))
        .await
        .map(drop)
    }

    /// Clause 2.8: items of the last twenty orders of which there is little left.
    async fn stock_level(&mut self) -> SqlResult<()> {
        let (w, d, threshold) = (self.home, self.district(), between(self.random, 10, 20));
        let next = format!("select d_next_o_id from district where d_w_id = {w} and d_id = {d}");
        let next = self.row(&next).await?;
        let next: u64 = next[0].parse().map_err(|_| SqlError::internal("a number of an order"))?;
        let low = format!(
            "select count(distinct s_i_id) from order_line join stock on s_w_id = {w} \
             and s_i_id = ol_i_id where ol_w_id = {w} and ol_d_id = {d} and ol_o_id < {next} \
             and ol_o_id >= {} and s_quantity < {threshold}",
            next.saturating_sub(20)
        );
        self.row(&low).await.map(drop)
    }

    /// The long transaction of TPC-CH: a part of the items of a warehouse is searched, and what is scarce is
    /// ordered again.
    async fn suppliers(&mut self) -> SqlResult<()> {
        let (w, part) = (self.home, self.scale.items / 10);
        let first = between(self.random, 1, self.scale.items - part);
        self.change(&format!(
            "update stock set s_quantity = s_quantity + 50 where s_w_id = {w} and s_i_id >= {first} \
             and s_i_id < {} and s_quantity < 15",
            first + part
        ))
        .await
        .map(drop)
    }
}
