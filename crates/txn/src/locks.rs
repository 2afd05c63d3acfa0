//! Who may write, and what of it is locked.
//!
//! A transaction that changes rows has the *right to write*, which any number may have beside each
//! other. One of them at a time may change definitions, too, of tables that it has locked as a
//! whole. What puts other trees in the place of those that others may have has the right alone: it
//! waits until the others have ended, and those who come later wait for it. (A merge of a column
//! table has the table as a whole in the place of that.) Whoever has the right keeps it until what
//! was changed is visible.
//!
//! Those who write beside each other lock the keys that they change, or that must stay as they are,
//! until they end. The modes are those of PostgreSQL's row locks. Whoever would wait in a circle
//! fails with 40P01 instead.

pub mod log;
pub mod mode;
pub mod state;
pub mod table;
pub mod watch;
