//! The consistency conditions (TPC-C, clause 3.3.2): each is a query that counts what breaks it.

use engine::{Database, SqlError, SqlResult, StatementResult};

use super::Scale;
use crate::tpch::as_text;

/// Number of the condition, and a query of how many rows break it.
const CONDITIONS: [(u8, &str); 10] = [
    (
        1,
        "select count(*) from warehouse join (select d_w_id, sum(d_ytd) as ytd from district \
         group by d_w_id) d on d_w_id = w_id where w_ytd <> ytd",
    ),
    (
        2,
        "select count(*) from district join (select o_w_id, o_d_id, max(o_id) as last from orders \
         group by o_w_id, o_d_id) o on o_w_id = d_w_id and o_d_id = d_id \
         where d_next_o_id - 1 <> last",
    ),
    (
        3,
        "select count(*) from (select max(no_o_id) - min(no_o_id) + 1 - count(*) as gap \
         from new_order group by no_w_id, no_d_id) n where gap <> 0",
    ),
    (
        4,
        "select count(*) from (select o_w_id as w, o_d_id as d, sum(o_ol_cnt) as lines from orders \
         group by o_w_id, o_d_id) o join (select ol_w_id, ol_d_id, count(*) as there from order_line \
         group by ol_w_id, ol_d_id) l on ol_w_id = w and ol_d_id = d where lines <> there",
    ),
    (
        5,
        "select count(*) from orders left join new_order on no_w_id = o_w_id and no_d_id = o_d_id \
         and no_o_id = o_id where (o_carrier_id is null) <> (no_o_id is not null)",
    ),
    (
        6,
        "select count(*) from orders join (select ol_w_id, ol_d_id, ol_o_id, count(*) as there \
         from order_line group by ol_w_id, ol_d_id, ol_o_id) l on ol_w_id = o_w_id \
         and ol_d_id = o_d_id and ol_o_id = o_id where o_ol_cnt <> there",
    ),
    (
        7,
        "select count(*) from order_line join orders on o_w_id = ol_w_id and o_d_id = ol_d_id \
         and o_id = ol_o_id where (ol_delivery_d is null) <> (o_carrier_id is null)",
    ),
    (
        8,
        "select count(*) from warehouse join (select h_w_id, sum(h_amount) as paid from history \
         group by h_w_id) h on h_w_id = w_id where w_ytd <> paid - :first + 30000.00 * :districts",
    ),
    (
        9,
        "select count(*) from district join (select h_w_id, h_d_id, sum(h_amount) as paid \
         from history group by h_w_id, h_d_id) h on h_w_id = d_w_id and h_d_id = d_id \
         where d_ytd <> paid - :each + 30000.00",
    ),
    (
        10,
        "select count(*) from customer join (select h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) as paid \
          from history group by h_c_w_id, h_c_d_id, h_c_id) h on h_c_w_id = c_w_id \
          and h_c_d_id = c_d_id and h_c_id = c_id where c_ytd_payment <> paid",
    ),
];

/// Asks all conditions.
///
/// Of 8 and 9 the sums are those since the beginning: what a smaller number of customers has paid before is
/// not what warehouses and districts begin with.
///
/// # Errors
/// XX000 when one is broken: which, and by how many rows.
pub(super) fn check(db: &Database, scale: Scale) -> SqlResult<()> {
    let mut session = db.session();
    let each = 10 * scale.customers;
    for (number, query) in CONDITIONS {
        let query = query
            .replace(":districts", &scale.districts.to_string())
            .replace(":first", &(each * scale.districts).to_string())
            .replace(":each", &each.to_string());
        let results = session.execute(&query)?;
        let Some(StatementResult::Rows(rows)) = results.into_iter().next() else {
            return Err(SqlError::internal("a condition gives a row"));
        };
        let broken = as_text(&rows).rows.swap_remove(0).swap_remove(0);
        if broken.as_deref() != Some("0") {
            let count = broken.unwrap_or_default();
            let message = format!("condition {number} of TPC-C is broken by {count} rows");
            return Err(SqlError::internal(message));
        }
    }
    Ok(())
}
