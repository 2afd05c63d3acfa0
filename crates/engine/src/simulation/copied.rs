//! `COPY .. FROM STDIN`: rows that a client sends in pieces, of which all or none stay.

use std::fmt::Write as _;

use stdx::Prng;
use types::{SqlError, SqlResult, SqlState};

use super::client::Client;
use super::model::{self, Rows, Step};
use crate::pipe::{PipeSender, pipe};
use crate::session::client::{self, COPY_CHUNKS};

/// Bytes of a piece: a row may lie in two of them.
const PIECE_BYTES: usize = 100;

/// Rows for a client's table as `COPY` reads them; sometimes one that it cannot read is the last.
pub(super) fn random(prng: &mut Prng, number: usize, rows: &Rows) -> Step {
    let new = if prng.chance(0.2) { many_rows(prng) } else { model::new_rows(prng) };
    let mut data = String::new();
    for (k, (v, length)) in &new {
        let _ = writeln!(data, "{k}\t{v}\t{}", "c".repeat(*length));
    }
    let is_new = !new.keys().any(|key| rows.contains_key(key));
    let is_whole = prng.chance(0.8);
    if !is_whole {
        data.push_str("many\t1\tx\n");
    }
    let sql = format!("copy t{number} (k, v, s) from stdin");
    // Rows are read before their keys are looked for.
    let refusal =
        if is_whole { SqlState::UNIQUE_VIOLATION } else { SqlState::INVALID_TEXT_REPRESENTATION };
    let next = (is_new && is_whole).then(|| model::with(rows, new));
    Step { sql, data: Some(data), next, refusal }
}

fn many_rows(prng: &mut Prng) -> Rows {
    let ((begin, end), length) = (model::series(prng), prng.below(20) as usize);
    (begin..end).map(|key| (key, (key % 20, length))).collect()
}

impl Client {
    /// Runs a step, with its data beside it.
    pub(super) async fn run_step(&mut self, step: &Step) -> SqlResult<()> {
        let Some(data) = &step.data else { return self.session.run_all(&step.sql).await.map(drop) };
        let statement = sql::parse(&step.sql)?.pop();
        let statement = statement.ok_or_else(|| SqlError::internal("no statement"))?;
        let (sender, receiver) = pipe(COPY_CHUNKS);
        let pieces = data.as_bytes().chunks(PIECE_BYTES).map(<[u8]>::to_vec).collect();
        let sending = runtime::spawn(send(sender, pieces));
        let client = client::Client { input: Some(receiver), output: None };
        let done = self.session.run(statement, client).await;
        sending.abort();
        done.map(drop)
    }
}

/// Sends all pieces, unless nobody takes them any more.
async fn send(sender: PipeSender<Vec<u8>>, pieces: Vec<Vec<u8>>) {
    for piece in pieces {
        if sender.send(piece).await.is_err() {
            return;
        }
    }
    sender.finish();
}
