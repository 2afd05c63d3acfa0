//! CSV files, read as `COPY` reads them; the types of their columns are guessed from their first records.

pub(crate) mod describe;
pub(crate) mod file;
pub(crate) mod guess;
pub(crate) mod reading;
