//! Gets of the public trait: a short part by one request, all else in pieces of one version.

use std::ops::Range;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{Attributes, GetOptions, GetRange, GetResult, GetResultPayload, ObjectMeta};
use runtime::IoBuf;

use super::wording::{generic, meta, public_error};
use super::{ObjectStoreBridge, PublicResult};
use crate::error::ErrorKind;
use crate::get::Object;
use crate::operation::ObjectInfo;

/// Bytes of one request, as many as pay by the paper (section 2.8).
const PIECE_BYTES: u64 = 8 << 20;
/// Pieces under way at once for one reader, who takes them one by one: that much memory at most.
const PIECES_AT_ONCE: usize = 4;

/// Memory of ours, lent to the reader.
struct Owned(IoBuf);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// Gets what the options say.
pub(super) async fn get(
    bridge: &ObjectStoreBridge,
    location: &Path,
    options: GetOptions,
) -> PublicResult<GetResult> {
    if options.version.is_some() {
        let source = "versions are known by their tags only".into();
        return Err(object_store::Error::NotSupported { source });
    }
    if let Some(range) = &options.range {
        range.is_valid().map_err(|error| generic(&error.to_string()))?;
    }
    if let Some(range) = short(&options)
        && let Some(got) = get_short(bridge, location, range).await?
    {
        return Ok(got);
    }
    let key = location.as_ref().to_owned();
    let info = bridge.run(async move |store| store.head(&key).await).await;
    let info = info.map_err(|error| public_error(location.as_ref(), error))?;
    let about = meta(info.clone())?;
    options.check_preconditions(&about)?;
    if options.head {
        return Ok(result(about, 0..info.size, stream::empty().boxed()));
    }
    let range = match &options.range {
        None => 0..info.size,
        Some(range) => range.as_range(info.size).map_err(|error| generic(&error.to_string()))?,
    };
    if options.range.is_none() && info.size > 0 && info.size <= PIECE_BYTES {
        return get_whole(bridge, location, &options).await;
    }
    let body = pieces(bridge.clone(), info, range.clone());
    Ok(result(about, range, body))
}

/// The part that one request can get without knowing anything of the object.
fn short(options: &GetOptions) -> Option<Range<u64>> {
    let is_plain = options.if_match.is_none()
        && options.if_none_match.is_none()
        && options.if_modified_since.is_none()
        && options.if_unmodified_since.is_none()
        && !options.head;
    match &options.range {
        Some(GetRange::Bounded(range)) if is_plain => Some(range.clone()),
        _ => None,
    }
    .filter(|range| range.end - range.start <= PIECE_BYTES)
}

/// A part by one request; `None` when the object ends within it.
async fn get_short(
    bridge: &ObjectStoreBridge,
    location: &Path,
    range: Range<u64>,
) -> PublicResult<Option<GetResult>> {
    let (key, wanted) = (location.as_ref().to_owned(), range.clone());
    let got = bridge.run(async move |store| store.get_range(&key, wanted).await).await;
    match got {
        Ok(object) => Ok(Some(at_once(object, range)?)),
        Err(error) if error.kind() == ErrorKind::Invalid => Ok(None),
        Err(error) => Err(public_error(location.as_ref(), error)),
    }
}

/// A whole object by one request, with its checksum verified. It may have been replaced since it was
/// asked about.
async fn get_whole(
    bridge: &ObjectStoreBridge,
    location: &Path,
    options: &GetOptions,
) -> PublicResult<GetResult> {
    let key = location.as_ref().to_owned();
    let got = bridge.run(async move |store| store.get(&key).await).await;
    let object = got.map_err(|error| public_error(location.as_ref(), error))?;
    let size = object.info.size;
    let got = at_once(object, 0..size)?;
    options.check_preconditions(&got.meta)?;
    Ok(got)
}

fn at_once(object: Object, range: Range<u64>) -> PublicResult<GetResult> {
    let bytes = Bytes::from_owner(Owned(object.body));
    let body = stream::once(async move { Ok(bytes) }).boxed();
    Ok(result(meta(object.info)?, range, body))
}

/// A part in pieces, in order, all of the version that was asked about where it has a tag.
fn pieces(
    bridge: ObjectStoreBridge,
    info: ObjectInfo,
    range: Range<u64>,
) -> BoxStream<'static, PublicResult<Bytes>> {
    let end = range.end;
    let starts = range.step_by(PIECE_BYTES as usize);
    let ranges = starts.map(move |start| start..end.min(start + PIECE_BYTES));
    let get = move |range: Range<u64>| {
        let (bridge, info) = (bridge.clone(), info.clone());
        async move {
            let key = info.key.clone();
            let got = bridge.run(async move |store| match &info.tag {
                Some(tag) => store.get_version(&info.key, range, tag).await,
                None => store.get_range(&info.key, range).await,
            });
            let object = got.await.map_err(|error| public_error(&key, error))?;
            Ok(Bytes::from_owner(Owned(object.body)))
        }
    };
    stream::iter(ranges).map(get).buffered(PIECES_AT_ONCE).boxed()
}

fn result(
    meta: ObjectMeta,
    range: Range<u64>,
    body: BoxStream<'static, PublicResult<Bytes>>,
) -> GetResult {
    let (payload, attributes) = (GetResultPayload::Stream(body), Attributes::new());
    GetResult { payload, meta, range, attributes }
}
