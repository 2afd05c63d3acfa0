//! Casts of vectors as PostgreSQL makes them, where those of the library differ.

pub(crate) mod exact;
pub(crate) mod floats;
pub(crate) mod moments;
pub(crate) mod own;
pub(crate) mod strict;
pub(crate) mod text;
