//! What sessions do, and what they do to each other.
#![allow(clippy::disallowed_methods)] // tests prepare and look at files of their own, and make threads

mod activity;
mod altered;
mod anew;
mod clients;
mod deferrable_keys;
mod definitions;
mod embedded;
mod isolation;
mod privileges;
mod privileges_support;
mod safety_net;
mod streamed;
mod temporary;
mod transactions;
mod two_sessions;
mod writers;
