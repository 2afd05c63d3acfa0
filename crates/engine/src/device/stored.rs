//! Profiles as the catalog keeps them (`docs/format/catalog.md`): one for each ring, all of one device.

use serde::{Deserialize, Serialize};
use sql::DeviceProfile;
use types::datetime::civil_of;

use super::Place;

/// What a probe has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredProfile {
    /// The device, in words that another one would not have.
    pub(crate) device: String,
    /// The ring by which it was reached.
    pub(crate) ring: String,
    /// Nanoseconds of a read alone.
    pub(crate) read_ns: u64,
    /// Reads per second with many in flight.
    pub(crate) reads_per_s: u64,
    /// Bytes per second of reads in sequence.
    pub(crate) bytes_per_s: u64,
    /// When, in microseconds since 1970.
    pub(crate) probed_us: i64,
}

impl StoredProfile {
    /// Figures of 0 would make prices without bounds; a file may say anything.
    pub(crate) fn profile(&self) -> DeviceProfile {
        DeviceProfile {
            read_ns: self.read_ns.max(1),
            reads_per_s: self.reads_per_s.max(1),
            bytes_per_s: self.bytes_per_s.max(1),
        }
    }

    /// When, how and where.
    pub(super) fn origin(&self) -> String {
        let seconds = self.probed_us.div_euclid(1_000_000);
        let day = civil_of(seconds.div_euclid(86_400));
        let second = seconds.rem_euclid(86_400);
        let (hour, minute) = (second / 3_600, second / 60 % 60);
        let date = format!("{:04}-{:02}-{:02}", day.year, day.month, day.day);
        let when = format!("{date} {hour:02}:{minute:02}:{:02} UTC", second % 60);
        format!("{when} through {} on {}", self.ring, self.device)
    }
}

/// The profiles of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Profiles(Vec<StoredProfile>);

impl Profiles {
    /// That of a device and a ring.
    pub(super) fn of(&self, place: &Place) -> Option<&StoredProfile> {
        self.0.iter().find(|stored| stored.device == place.device && stored.ring == place.ring)
    }

    /// Puts one in its place; those of other devices go.
    pub(super) fn put(&mut self, found: StoredProfile) {
        self.0.retain(|stored| stored.device == found.device && stored.ring != found.ring);
        self.0.push(found);
    }
}
