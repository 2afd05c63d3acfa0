//! Waiting for work whose client may leave, and whose server may end, before it is done.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use engine::{Session, SqlResult};
use runtime::time;

use crate::connection::{Connection, flush};
use crate::drain::{self, Drain};
use crate::log::Severity;
use crate::stream::Stream;

/// How long work goes on in silence before the server looks whether its client is still there: much
/// longer than a look-up takes, much shorter than a query that is worth stopping.
pub(crate) const SILENCE: Duration = Duration::from_millis(100);

/// How long cancelled work may go on when the server closes, before its client is told: it should be
/// told while there still is a process to do so.
const CLOSING: Duration = Duration::from_secs(1);

/// Why nobody waits for a work any more.
#[derive(PartialEq)]
enum Left {
    Client,
    Server,
}

impl Connection {
    /// What planning gives. A client that leaves meanwhile ends it.
    pub(crate) async fn planned<T>(
        &mut self,
        plan: impl AsyncFnOnce(&mut Session) -> SqlResult<T>,
    ) -> io::Result<SqlResult<T>> {
        let ending = self.ending();
        unless_gone(&self.stream, ending, plan(&mut self.session)).await
    }

    /// Waits for what the session does, in any case, and passes on what it has to tell. The work is
    /// cancelled when its client leaves, and when the server closes; then the client is told. Either
    /// ends the connection.
    pub(crate) async fn attended<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Session) -> T,
    ) -> io::Result<T> {
        let (handle, ending) = (self.session.cancel_handle(), self.ending());
        let done = {
            let mut work = pin!(work(&mut self.session));
            let done = unless_left(&self.stream, &self.shared.drain, ending, &mut work).await;
            if let Err(left) = &done {
                handle.cancel();
                if *left == Left::Server {
                    self.output.error(&drain::farewell(), "FATAL");
                    flush(&mut self.stream, &mut self.output).await?;
                }
                drop(work.await);
            }
            done
        };
        match &done {
            Ok(_) => self.pass_notices(),
            Err(Left::Server) => self.record_error(&drain::farewell(), Severity::Fatal),
            Err(Left::Client) => {}
        }
        done.map_err(|_| io::ErrorKind::ConnectionAborted.into())
    }
}

/// What work gives, unless nobody waits for it any more.
async fn unless_left<T>(
    stream: &Stream,
    drain: &Drain,
    is_ending: impl Fn() -> bool,
    work: &mut Pin<&mut impl Future<Output = T>>,
) -> Result<T, Left> {
    let mut gone = pin!(gone(stream, is_ending));
    let mut closed = pin!(async {
        drain.closed().await;
        time::sleep(CLOSING).await;
    });
    poll_fn(|cx| {
        if let Poll::Ready(done) = work.as_mut().poll(cx) {
            return Poll::Ready(Ok(done));
        }
        if gone.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(Left::Client));
        }
        closed.as_mut().poll(cx).map(|()| Err(Left::Server))
    })
    .await
}

/// What work gives, or an error when the client hangs up first.
pub(crate) async fn unless_gone<T>(
    stream: &Stream,
    is_ending: impl Fn() -> bool,
    work: impl Future<Output = T>,
) -> io::Result<T> {
    let (mut work, mut gone) = (pin!(work), pin!(gone(stream, is_ending)));
    poll_fn(|cx| {
        if let Poll::Ready(done) = work.as_mut().poll(cx) {
            return Poll::Ready(Ok(done));
        }
        gone.as_mut().poll(cx).map(|()| Err(io::ErrorKind::ConnectionAborted.into()))
    })
    .await
}

/// Ends when the client has hung up, but not before a while. The server wakes a connection that is to
/// end by the end of its input: then work is cancelled already, and the client is to be told.
pub(crate) async fn gone(stream: &Stream, is_ending: impl Fn() -> bool) {
    time::sleep(SILENCE).await;
    // An error of the wait is the end of the connection too.
    let _ = stream.hung_up().await;
    if is_ending() {
        std::future::pending::<()>().await;
    }
}
