//! Exchanges between nodes of a simulated cluster: exact rows or a clean error at every node, and
//! never a hang.

mod joins;
mod nodes;
mod rows;
