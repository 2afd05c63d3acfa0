//! The settings of transactions, which are asked at each statement.

use std::sync::LazyLock;

use super::setting::Setting;

/// The isolation of a transaction.
pub(crate) static ISOLATION: LazyLock<&Setting> = LazyLock::new(|| known("transaction_isolation"));

/// The isolation of the transactions of a session.
pub(crate) static DEFAULT_ISOLATION: LazyLock<&Setting> =
    LazyLock::new(|| known("default_transaction_isolation"));

/// The access mode of a transaction: `on` where it only reads.
pub(crate) static READ_ONLY: LazyLock<&Setting> = LazyLock::new(|| known("transaction_read_only"));

/// The access mode of the transactions of a session.
pub(crate) static DEFAULT_READ_ONLY: LazyLock<&Setting> =
    LazyLock::new(|| known("default_transaction_read_only"));

fn known(name: &str) -> &'static Setting {
    Setting::find(name).expect("it is one of the settings")
}
