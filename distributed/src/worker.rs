//! A worker: runs stages that a coordinator sends, over its own copy of the database file.

use std::time::Duration;

use async_trait::async_trait;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion_distributed::{DistributedExt, Worker, WorkerQueryContext, WorkerSessionBuilder};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use crate::channels::Channels;
use crate::codec::Codec;
use crate::local::Local;

/// A peer that is silent is asked so often whether it is there, and has so long to answer.
const ASK_EVERY: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(3);

/// Makes the session of each stage.
struct Sessions {
    codec: Codec,
    channels: Channels,
}

#[async_trait]
impl WorkerSessionBuilder for Sessions {
    async fn build_session_state(
        &self,
        context: WorkerQueryContext,
    ) -> Result<SessionState, DataFusionError> {
        let builder = context.builder.with_distributed_user_codec(self.codec.clone());
        Ok(builder.with_distributed_channel_resolver(self.channels.clone()).build())
    }
}

/// Serves until the process ends.
///
/// # Errors
/// Those of the socket.
pub async fn serve(local: &Local, listener: TcpListener) -> Result<()> {
    let sessions = Sessions { codec: Codec(local.clone()), channels: Channels::default() };
    let worker = Worker::from_session_builder(sessions).with_version(env!("CARGO_PKG_VERSION"));
    // Otherwise small messages wait for confirmations of those before them, up to 100 ms.
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let served = Server::builder()
        .http2_keepalive_interval(Some(ASK_EVERY))
        .http2_keepalive_timeout(Some(ANSWER))
        .add_service(worker.into_worker_server())
        .serve_with_incoming(incoming)
        .await;
    served.map_err(|error| DataFusionError::External(Box::new(error)))
}
