//! What this machine offers.

mod refusal;

pub(crate) use refusal::explain_refusal;
