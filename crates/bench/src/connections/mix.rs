//! What the clients ask: a mix of everything that many connections do, each answer checked.

use std::io;

use stdx::Prng;

use super::client::{Answer, Client};

/// Rows of the table; `id` is 1 to this.
pub(crate) const ROW_COUNT: u64 = 100_000;
/// Rows of one COPY.
const COPY_COUNT: u64 = 100;
/// The name of the prepared look-up.
const LOOK_UP: &str = "look_up";

/// Makes the table and brings it into the buffer pool.
pub(crate) fn fill(client: &mut Client) -> io::Result<()> {
    let text = format!(
        "create table accounts (id int primary key, branch int, balance int, filler text);
         insert into accounts select i, i % 100, i % 1000, repeat('x', 84)
         from generate_series(1, {ROW_COUNT}) as g(i);
         analyze accounts; select sum(balance) from accounts"
    );
    expect("the table", &client.simple(&text)?, 1, None)
}

/// Prepares what a client runs by name.
pub(crate) fn prepare(client: &mut Client) -> io::Result<()> {
    let text = "select balance from accounts where id = $1";
    expect("prepare", &client.prepare(LOOK_UP, text)?, 0, None)
}

/// One look-up by the prepared statement.
pub(crate) fn look_up(client: &mut Client, random: &mut Prng) -> io::Result<()> {
    let id = random.below(ROW_COUNT) + 1;
    expect("prepared look-up", &client.execute(LOOK_UP, &id.to_string())?, 1, None)
}

/// Kinds of steps, the frequent ones several times.
pub(crate) const KIND_COUNT: u64 = 20;

/// One step of the mix.
///
/// # Errors
/// The connection's, or `Other` for an answer that is not the right one.
pub(crate) fn step(client: &mut Client, kind: u64, random: &mut Prng) -> io::Result<()> {
    let id = random.below(ROW_COUNT - COPY_COUNT) + 1;
    match kind {
        0..8 => look_up(client, random),
        8..12 => {
            let text = format!("select filler from accounts where id = {id}");
            expect("look-up as text", &client.simple(&text)?, 1, None)
        }
        12..14 => {
            let text = format!(
                "select branch % 2, count(*), sum(balance) from accounts
                 where id between {id} and {} group by 1",
                id + COPY_COUNT - 1
            );
            expect("aggregate", &client.simple(&text)?, 2, None)
        }
        14 => expect("failing", &client.simple("select 1 / (1 - 1)")?, 0, Some("22012")),
        15 => {
            let answer = client.simple("select nothing from accounts")?;
            expect("failing", &answer, 0, Some("42703"))
        }
        16..18 => block(client, id),
        18 => {
            let text = format!(
                "copy (select * from accounts where id between {id} and {}) to stdout",
                id + COPY_COUNT - 1
            );
            expect("copy", &client.simple(&text)?, COPY_COUNT as usize, None)
        }
        _ => {
            let text = format!("select upper('id') || {id}; show search_path");
            expect("two statements", &client.simple(&text)?, 2, None)
        }
    }
}

/// A transaction block that reads, and is refused when it writes.
fn block(client: &mut Client, id: u64) -> io::Result<()> {
    expect("begin", &client.simple("begin read only")?, 0, None)?;
    let text = format!("select balance from accounts where id = {id}");
    expect("look-up in a block", &client.simple(&text)?, 1, None)?;
    let written = client.simple("delete from accounts")?;
    expect("write in a read-only block", &written, 0, Some("25006"))?;
    expect("rollback", &client.simple("rollback")?, 0, None)
}

fn expect(what: &str, answer: &Answer, row_count: usize, error: Option<&str>) -> io::Result<()> {
    match answer.row_count == row_count && answer.error.as_deref() == error {
        true => Ok(()),
        false => Err(io::Error::other(format!("{what}: an unexpected answer {answer:?}"))),
    }
}
