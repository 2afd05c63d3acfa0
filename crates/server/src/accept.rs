//! Taking connections, and turning them away where there are no descriptors left for them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use engine::{SqlError, SqlState};
use runtime::net::{Address, Listener, Shutdown, Socket, Spare};
use runtime::{spawn_on, time, worker_count};

use crate::connection::Connection;
use crate::log::Severity;
use crate::output::Output;
use crate::shared::Shared;
use crate::slots::Unauthenticated;

/// How long accepting rests after an error that may pass.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long, and for how many bytes, a connection that has ended waits for its client to hang up;
/// the bytes are taken in so many at once.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES_MAX: usize = 16 << 20;
const LINGER_BYTES: usize = 4 << 10;

/// Descriptors that a server must have left when it starts: one to turn clients away with, and for a
/// client its socket and the two files that its query may open.
const DESCRIPTORS_MIN: usize = 4;

/// The errors of a process, and of a system, without descriptors.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// The error of a wait that ends because the runtime stops.
const ECANCELED: i32 = 125;

/// Fails where there are too few descriptors to serve anybody.
pub(crate) fn check_descriptors(listener: &Listener) -> io::Result<()> {
    (0..DESCRIPTORS_MIN).map(|_| listener.spare()).collect::<io::Result<Vec<Spare>>>().map(drop)
}

/// Takes connections until the server ends.
pub(crate) async fn accept(listener: Listener, shared: Arc<Shared>) {
    prepare(&shared).await;
    let mut turn = 0;
    let mut spare = listener.spare().ok();
    let mut is_told = false;
    loop {
        let Some(accepted) = shared.drain.unless_over(listener.accept()).await else { return };
        match accepted {
            Ok((socket, peer)) => {
                // Too many that have not logged in: this one is hung up on.
                let Some(unauthenticated) = shared.slots.unauthenticated() else { continue };
                let shared = shared.clone();
                let serve = move || serve(socket, peer, unauthenticated, shared);
                drop(spawn_on(turn % worker_count(), serve));
                turn += 1;
                is_told = false;
            }
            Err(error) => match error.raw_os_error() {
                Some(ECANCELED) => return,
                Some(EMFILE | ENFILE) => {
                    if !std::mem::replace(&mut is_told, true) {
                        tell(&shared);
                    }
                    // Whoever waits in the kernel's line is told with the one that was kept.
                    drop(spare.take());
                    // The server may end meanwhile.
                    if shared.drain.unless_over(turn_away(&listener)).await.is_none() {
                        return;
                    }
                    spare = listener.spare().ok();
                }
                _ => time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
}

/// Has each worker take what it needs to wait for clients, before these have taken all descriptors.
async fn prepare(shared: &Shared) {
    for worker in 0..worker_count() {
        let prepared = spawn_on(worker, || async { runtime::net::prepare() }).await;
        if let Ok(Err(error)) = prepared {
            let message = format!("Worker {worker} cannot wait for clients: {error}.");
            shared.log.entry(Severity::Warning, message).write();
        }
    }
}

fn tell(shared: &Shared) {
    let message = "No descriptor is left for another client (ulimit -n, LimitNOFILE).";
    shared.log.entry(Severity::Warning, message).with("clients", shared.slots.count()).write();
}

/// Tells the next client that there is no room for it; rests where even that cannot be.
async fn turn_away(listener: &Listener) {
    match listener.accept().await {
        Ok((socket, _)) => say_full(&socket).await,
        Err(_) => time::sleep(ACCEPT_PAUSE).await,
    }
}

async fn say_full(socket: &Socket) {
    let mut output = Output::default();
    let error = SqlError::new(SqlState("53300"), "sorry, too many clients already")
        .with_detail("The server has no descriptor left for another connection.");
    output.error(&error, "FATAL");
    // Who does not take it at once is gone without it.
    let _ = time::timeout(ACCEPT_PAUSE, socket.send_all(&output.bytes)).await;
    linger(socket, ACCEPT_PAUSE).await;
}

pub(crate) async fn serve(
    socket: Socket,
    peer: Address,
    unauthenticated: Unauthenticated,
    shared: Arc<Shared>,
) {
    let mut connection = Connection::new(socket, peer, shared);
    connection.unauthenticated = Some(unauthenticated);
    // Whatever ends a connection was told to the client, or it is gone.
    match connection.start().await {
        Ok(true) => drop(connection.run().await),
        Ok(false) => {}
        Err(error) => connection.record_failed_start(&error),
    }
    connection.depart();
    let replicates = connection.replicates;
    let last_words = async {
        let _ = connection.flush().await;
        let _ = connection.stream.finish().await;
    };
    match replicates {
        // A replica that takes nothing keeps no server from its end.
        true => drop(time::timeout(LINGER, last_words).await),
        false => last_words.await,
    }
    let (socket, shared) = (connection.stream.socket().clone(), connection.shared.clone());
    // It counts until its descriptor is closed.
    let counted = (connection.unauthenticated.take(), connection.slot.take());
    drop(connection);
    shared.drain.unless_over(linger(&socket, LINGER)).await;
    drop((socket, counted));
}

/// Takes in what the client still sends until it hangs up. A socket that is closed with bytes
/// nobody has read is reset, and many a client then shows the reset and not the error before it.
async fn linger(socket: &Socket, limit: Duration) {
    if socket.shutdown(Shutdown::Write).is_err() {
        return;
    }
    let taken = async {
        let mut bytes = vec![0; LINGER_BYTES];
        let mut left = LINGER_BYTES_MAX;
        while let Ok(received @ 1..) = socket.recv(&mut bytes).await {
            left = left.saturating_sub(received);
            if left == 0 {
                break;
            }
        }
    };
    let _ = time::timeout(limit, taken).await;
}
