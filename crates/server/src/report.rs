//! What a client is told of the session's settings, when it begins and whenever one changes
//! (`ParameterStatus`).

use engine::Session;

use crate::output::Output;

/// Values that no session can change. Clients decide by these what they may use.
const FIXED: &[(&str, &str)] = &[
    ("server_version", concat!("15.0 (Dovetail ", env!("CARGO_PKG_VERSION"), ")")),
    ("server_encoding", "UTF8"),
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO, MDY"),
    ("integer_datetimes", "on"),
    ("standard_conforming_strings", "on"),
    ("default_transaction_read_only", "off"),
];

/// Settings that a session can change.
const CHANGING: [&str; 5] =
    ["application_name", "in_hot_standby", "IntervalStyle", "is_superuser", "TimeZone"];

/// What the client knows.
#[derive(Default)]
pub(crate) struct Reported {
    /// The count of the session's changes then.
    change_count: u64,
    /// By the names above, then the role of the session.
    values: [Option<String>; CHANGING.len() + 1],
}

impl Reported {
    /// Tells everything.
    pub fn begin(output: &mut Output, session: &mut Session) -> Reported {
        FIXED.iter().for_each(|(name, value)| output.parameter_status(name, value));
        let mut reported = Reported::default();
        reported.tell(output, session);
        reported
    }

    /// Tells what has changed since it was told.
    pub fn follow(&mut self, output: &mut Output, session: &mut Session) {
        if session.settings().change_count() != self.change_count {
            self.tell(output, session);
        }
    }

    fn tell(&mut self, output: &mut Output, session: &mut Session) {
        self.change_count = session.settings().change_count();
        let role = session.session_user().to_owned();
        let settings = session.settings();
        let changing = CHANGING.iter().map(|name| (*name, settings.show(name).unwrap_or_default()));
        let values = changing.chain([("session_authorization", role)]);
        for ((name, value), known) in values.zip(&mut self.values) {
            if known.as_ref() != Some(&value) {
                output.parameter_status(name, &value);
                *known = Some(value);
            }
        }
    }
}
