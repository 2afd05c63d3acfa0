//! Connections between nodes: kept, without delays for small messages, and given up soon when the
//! other side does not answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_array::RecordBatch;
use async_trait::async_trait;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{
    ChannelResolver, CoordinatorToWorkerMsg, ExecuteTaskRequest, GetWorkerInfoRequest,
    GetWorkerInfoResponse, SetPlanRequest, WorkerChannel, WorkerToCoordinatorMsg,
};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use http::HeaderMap;
use tonic::transport::{Channel, Endpoint};
use url::Url;

/// A node that does not accept a connection for so long is not there.
const CONNECT: Duration = Duration::from_secs(2);

/// How often a connection is asked whether it lives, and for how long an answer is waited for: a
/// node that hangs is given up after 4 s, within the 5 s in which a query has to end.
const ASK_EVERY: Duration = Duration::from_secs(1);
const ANSWER: Duration = Duration::from_secs(3);

/// The connections of this process, by address.
#[derive(Clone, Default)]
pub struct Channels(Arc<Mutex<HashMap<Url, Channel>>>);

impl Channels {
    /// Connections are made when they are first used, and again when they have broken.
    fn channel(&self, url: &Url) -> Result<Channel> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = known.get(url) {
            return Ok(channel.clone());
        }
        let endpoint = Endpoint::from_shared(url.to_string())
            .map_err(|error| exec_datafusion_err!("{url} is no address of a worker: {error}"))?;
        let endpoint = endpoint
            .connect_timeout(CONNECT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(ASK_EVERY)
            .keep_alive_timeout(ANSWER)
            .keep_alive_while_idle(true);
        let channel = endpoint.connect_lazy();
        known.insert(url.clone(), channel.clone());
        Ok(channel)
    }
}

#[async_trait]
impl ChannelResolver for Channels {
    async fn get_worker_client_for_url(
        &self,
        url: &Url,
    ) -> Result<Box<dyn WorkerChannel>, DataFusionError> {
        let inner = create_worker_client(BoxCloneSyncChannel::new(self.channel(url)?));
        Ok(Box::new(Named { inner, address: url.authority().to_owned() }))
    }
}

/// A connection whose errors say which worker they come from.
struct Named {
    inner: Box<dyn WorkerChannel>,
    address: String,
}

impl Named {
    fn named<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| named(&self.address, error))
    }

    fn stream<T: 'static>(
        &self,
        stream: BoxStream<'static, Result<T>>,
    ) -> BoxStream<'static, Result<T>> {
        let address = self.address.clone();
        stream.map_err(move |error| named(&address, error)).boxed()
    }
}

fn named(address: &str, error: DataFusionError) -> DataFusionError {
    error.context(format!("worker {address}"))
}

#[async_trait]
impl WorkerChannel for Named {
    async fn coordinator_channel(
        &mut self,
        headers: HeaderMap,
        request: SetPlanRequest,
        messages: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        let answers = self.inner.coordinator_channel(headers, request, messages, metrics, context);
        let answers = answers.await;
        Ok(self.stream(self.named(answers)?))
    }

    async fn execute_task(
        &mut self,
        headers: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        let streams = self.inner.execute_task(headers, request, metrics, context).await;
        Ok(self.named(streams)?.into_iter().map(|stream| self.stream(stream)).collect())
    }

    async fn get_worker_info(
        &mut self,
        request: GetWorkerInfoRequest,
    ) -> Result<GetWorkerInfoResponse> {
        let answer = self.inner.get_worker_info(request).await;
        self.named(answer)
    }
}
