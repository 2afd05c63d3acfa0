//! A download manager for object stores, after AnyBlob ("Exploiting Cloud Object Storage for
//! High-Performance Analytics", section 3): a request is a coroutine on the worker's ring, beside
//! its disk I/O, so that hundreds in flight need no thread of their own.
//!
//! See the crate's README for an example and the rules.

mod allow;
mod attempt;
mod backoff;
#[cfg(feature = "object_store")]
mod bridge;
mod client;
mod concurrency;
mod connection;
mod credentials;
mod date;
mod encode;
mod error;
mod get;
mod http;
mod limits;
mod location;
mod lock;
mod operation;
mod pool;
mod price;
mod provider;
mod resolve;
mod restart;
mod seal;
mod shared;
mod store;
mod throttle;
mod tls;
mod upload;
mod write;
mod xml;

pub use allow::AllowList;
#[cfg(feature = "object_store")]
pub use bridge::ObjectStoreBridge;
pub use client::{AzureOptions, Client, ClientStats, GoogleOptions, S3Options, Style};
pub use credentials::{
    CredentialChain, Credentials, Handing, Keys, SessionKeys, Token, TokenClient,
};
pub use error::{Error, ErrorKind, Result};
pub use get::Object;
pub use limits::Limits;
pub use location::Endpoint;
pub use operation::{Condition, ListPage, ObjectInfo};
pub use seal::{ChunkPlace, DataKey, FileId, FileOwner, Opener, Sealer, Segments, sealed_len};
pub use shared::Options;
pub use store::{Store, Usage};
pub use tls::Trust;
pub use upload::Upload;
