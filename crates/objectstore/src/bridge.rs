//! A store as the public trait of the crate `object_store`, so that other engines can plug it in. The
//! requests run as tasks of our own workers; what the caller polls is a future that any executor may
//! poll, from any thread, and that has no I/O of its own.

mod reading;
mod uploading;
mod wording;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    CopyMode, CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use runtime::{Aborted, Handle, RemoteHandle};

use crate::error::{Error, ErrorKind, Result};
use crate::operation::{Condition, ListPage};
use crate::store::Store;
use uploading::Upload;
use wording::{attributes_refused, generic, meta, public_error, receipt};

/// Objects removed at once.
const DELETES_AT_ONCE: usize = 8;
/// Names on a page of a list, as many as all stores give.
const PAGE_OBJECTS: u32 = 1000;

/// What the public trait returns.
type PublicResult<T> = object_store::Result<T>;

/// A store that implements [`object_store::ObjectStore`]. Cloning gives another handle of the same.
///
/// Streams are read in pieces of 8 MiB, of which four are under way at once, all of the same version of
/// the object. Versions are asked for by their tags only; attributes and tags of objects are refused.
/// A copy goes through this process.
#[derive(Clone)]
pub struct ObjectStoreBridge {
    store: Store,
    workers: Handle,
    /// Whose turn it is.
    turns: Arc<AtomicUsize>,
}

/// A task of a worker. Dropping it drops the task.
struct Running<T>(RemoteHandle<T>);

impl<T> Future for Running<T> {
    type Output = std::result::Result<T, Aborted>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ObjectStoreBridge {
    /// A store whose requests run on these workers, in turn. When their runtime has stopped, requests
    /// are errors.
    pub fn new(store: Store, workers: Handle) -> ObjectStoreBridge {
        ObjectStoreBridge { store, workers, turns: Arc::default() }
    }

    /// Runs a request on the worker whose turn it is.
    async fn run<T, F>(&self, request: impl FnOnce(Store) -> F + Send + 'static) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + 'static,
    {
        let worker = self.turns.fetch_add(1, Relaxed) % self.workers.workers();
        let store = self.store.clone();
        let running = Running(self.workers.spawn_on(worker, move || request(store)));
        let aborted = |error| Error::new(ErrorKind::Unavailable, format!("a request: {error}"));
        running.await.map_err(aborted)?
    }

    async fn page(
        &self,
        prefix: &str,
        delimiter: Option<&'static str>,
        from: Option<String>,
    ) -> PublicResult<ListPage> {
        let prefix = prefix.to_owned();
        let listed = self.run(async move |store| {
            store.list_some(&prefix, delimiter, from.as_deref(), PAGE_OBJECTS).await
        });
        listed.await.map_err(|error| public_error("", error))
    }

    /// Writes an object, on the condition that a mode is.
    async fn write(&self, to: &Path, body: Bytes, mode: &PutMode) -> PublicResult<PutResult> {
        let condition = match mode {
            PutMode::Overwrite => Condition::None,
            PutMode::Create => Condition::Absent,
            PutMode::Update(version) => match &version.e_tag {
                Some(tag) => Condition::Matches(tag.clone()),
                None => return Err(generic("an update of a version without a tag")),
            },
        };
        let key = to.as_ref().to_owned();
        let put = self.run(async move |store| store.put_if(&key, &body, &condition).await);
        match put.await {
            Ok(info) => Ok(receipt(info)),
            Err(error)
                if error.kind() == ErrorKind::Precondition && matches!(mode, PutMode::Create) =>
            {
                Err(object_store::Error::AlreadyExists {
                    path: to.to_string(),
                    source: Box::new(error),
                })
            }
            Err(error) => Err(public_error(to.as_ref(), error)),
        }
    }
}

#[async_trait]
impl ObjectStore for ObjectStoreBridge {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> PublicResult<PutResult> {
        attributes_refused(&options.attributes, &options.tags)?;
        self.write(location, payload.into(), &options.mode).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> PublicResult<Box<dyn MultipartUpload>> {
        attributes_refused(&options.attributes, &options.tags)?;
        Ok(Box::new(Upload::begin(self, location.as_ref()).await?))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> PublicResult<GetResult> {
        reading::get(self, location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, PublicResult<Path>>,
    ) -> BoxStream<'static, PublicResult<Path>> {
        let bridge = self.clone();
        let delete = move |location: PublicResult<Path>| {
            let bridge = bridge.clone();
            async move {
                let location = location?;
                let key = location.as_ref().to_owned();
                let deleted = bridge.run(async move |store| store.delete(&key).await).await;
                deleted.map_err(|error| public_error(location.as_ref(), error))?;
                Ok(location)
            }
        };
        locations.map(delete).buffered(DELETES_AT_ONCE).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, PublicResult<ObjectMeta>> {
        let (bridge, prefix) = (self.clone(), folder(prefix));
        // The inner option is where the next page begins, the outer one whether there is one.
        let pages = stream::try_unfold(Some(None), move |from: Option<Option<String>>| {
            let (bridge, prefix) = (bridge.clone(), prefix.clone());
            async move {
                let Some(from) = from else { return Ok(None) };
                let page = bridge.page(&prefix, None, from.clone()).await?;
                if from.is_some() && page.next == from {
                    return Err(generic("the list goes round in circles"));
                }
                let objects = page.objects.into_iter().map(meta);
                Ok(Some((stream::iter(objects), page.next.map(Some))))
            }
        });
        pages.try_flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> PublicResult<ListResult> {
        let (prefix, mut from) = (folder(prefix), None);
        let mut all = ListResult { common_prefixes: Vec::new(), objects: Vec::new() };
        loop {
            let page = self.page(&prefix, Some("/"), from.clone()).await?;
            for object in page.objects {
                all.objects.push(meta(object)?);
            }
            for prefix in &page.prefixes {
                all.common_prefixes.push(Path::parse(prefix)?);
            }
            match page.next {
                None => return Ok(all),
                next if next == from => return Err(generic("the list goes round in circles")),
                next => from = next,
            }
        }
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> PublicResult<()> {
        let mode = match options.mode {
            CopyMode::Overwrite => PutMode::Overwrite,
            CopyMode::Create => PutMode::Create,
        };
        let body = self.get_opts(from, GetOptions::default()).await?.bytes().await?;
        self.write(to, body, &mode).await.map(drop)
    }
}

/// What the names below a path begin with. A path stands for whole parts of names.
fn folder(prefix: Option<&Path>) -> String {
    match prefix.map(Path::as_ref) {
        None | Some("") => String::new(),
        Some(path) => format!("{path}/"),
    }
}

impl fmt::Display for ObjectStoreBridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.store)
    }
}

impl fmt::Debug for ObjectStoreBridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectStoreBridge({:?})", self.store)
    }
}
