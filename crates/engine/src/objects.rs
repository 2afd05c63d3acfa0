//! Object stores as statements name them: locations, who opens them, objects that are read as files, and
//! what errors of stores become.

mod begun;
mod fault;
mod file;
mod location;
mod pace;
mod path;
mod ranges;
mod room;
mod seal;
mod stores;
mod stream;
mod tally;
mod writer;

pub(crate) use begun::Begun;
pub(crate) use fault::{of_object, of_store};
pub(crate) use file::ObjectFile;
pub(crate) use location::{Location, Scheme, is_within};
pub(crate) use path::{ObjectPath, is_object};
pub(crate) use room::{Room, Taken};
pub(crate) use seal::{BODY, bytes_of_hex, is_sealed, key_of, open_list};
pub(crate) use stores::{Bucket, Stores, price_of};
pub(crate) use stream::ObjectStream;
pub(crate) use tally::Tally;
pub(crate) use writer::ObjectWriter;
