//! Object stores as statements name them: locations, who opens them, and what their errors become.

mod fault;
mod location;
mod stores;

pub(crate) use fault::{of_object, of_store};
pub(crate) use location::{Location, Scheme};
pub(crate) use stores::{Bucket, Stores};
