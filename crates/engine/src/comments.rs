//! `COMMENT ON`: what people say of the objects of a database, kept with its catalog.

pub(crate) mod kept;
pub(crate) mod subject;
