//! `COPY`: text, CSV and binary as PostgreSQL reads and writes them, and Parquet. A bad row fails the whole
//! statement and the table stays as it was, unless such rows are to be ignored.

pub(crate) mod binary;
pub(crate) mod csv;
pub(crate) mod form;
pub(crate) mod out;
pub(crate) mod parquet;
pub(crate) mod parsing;
pub(crate) mod portions;
pub(crate) mod received;
pub(crate) mod rejected;
pub(crate) mod rejects;
pub(crate) mod rows;
pub(crate) mod statement;
pub(crate) mod to;
