//! Who has the device of a database probed: whoever plans, a program that is about to measure, a statement.

use types::{SqlError, SqlResult, SqlState};

use crate::database::Database;
use crate::device::probing::{DEVICE_PROFILE, NOT_PROBED, Prober, asks_to_probe};
use crate::door;
use crate::result::StatementResult;
use crate::session::state::Session;

impl Database {
    /// The profile of the device by which reads are priced, as `SHOW device_profile` tells it.
    pub fn device_profile(&self) -> String {
        self.device().shown()
    }

    /// Probes the device, unless it is known: for programs that measure something and want no probe beside
    /// that. It takes a quarter of a second. From an ordinary thread.
    ///
    /// # Errors
    /// 58030 when the device cannot be read. Where there is nothing to be probed the profile says why.
    pub fn know_device(&self) -> SqlResult<()> {
        if !self.device().is_wanted() {
            return Ok(());
        }
        match door::wait(&self.handle(), || Box::pin(async { self.prober().probe().await })) {
            Err(error) if error.state == NOT_PROBED => Ok(()),
            probed => probed,
        }
    }

    /// Has the device probed beside what runs, if that is due.
    pub(crate) fn probe_device_if_due(&self) {
        if self.device().is_due() {
            self.prober().begin_if_due(&self.handle());
        }
    }

    fn prober(&self) -> Prober {
        let (store, device) = (self.store().clone(), self.device().clone());
        Prober { path: self.path().to_owned(), store, device }
    }
}

impl Session {
    /// `SET name = value`; `SET device_profile = 'probe'` probes the device, and the session has the profile
    /// of the database then.
    ///
    /// # Errors
    /// As [`crate::settings::Settings::set`]; as [`Prober::probe`], and 42501 for who is no superuser: others pay for it.
    pub(crate) async fn set_or_probe(
        &mut self,
        name: String,
        value: String,
    ) -> SqlResult<StatementResult> {
        if !asks_to_probe(&name, &value) {
            return self.set(&[(name, value)]);
        }
        if !self.is_superuser() {
            let message = "permission denied to probe the device";
            return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
                .with_detail("Only a superuser may do it.")
                .with_hint("SET device_profile to figures of the device, for this session."));
        }
        let prober = self.database().prober();
        Box::pin(prober.probe()).await?;
        self.set(&[(DEVICE_PROFILE.to_owned(), "auto".to_owned())])
    }
}
