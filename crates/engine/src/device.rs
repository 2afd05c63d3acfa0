//! The device below the database, as the planner prices its reads: what a probe found through the ring that
//! serves, what is stored of that, or a default.
//!
//! A probe reads for a quarter of a second. It needs a file with something in it, so it is not made when a
//! database is created or opened: it is wanted from the first query that is planned when the file has
//! [`PROBED_BYTES_MIN`] of data, begins when nothing was written to the file for some seconds, and plans have the
//! default profile until then. What it finds is stored with the next checkpoint, for this device and this ring; on
//! another one it is made again.

pub(crate) mod probing;
pub(crate) mod stored;
pub(crate) mod text;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};

use runtime::sync::Semaphore;
use sql::DeviceProfile;
use types::SqlError;

use probing::PROBED_BYTES_MIN;
use stored::{Profiles, StoredProfile};
use text::shown;

/// Where the profile of a database comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DeviceChoice {
    /// From the device: it is probed once, and again on another device or through another ring. A simulated
    /// machine has the default one.
    #[default]
    Probed,
    /// It is this one, and nothing is probed or stored.
    Fixed(DeviceProfile),
}

/// The profile that sessions have unless they set another one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Known {
    /// The default one, and why.
    Default(String),
    /// Whoever opened the database has said it.
    Fixed(DeviceProfile),
    /// A probe found it.
    Probed(StoredProfile),
}

impl Known {
    pub(crate) fn profile(&self) -> DeviceProfile {
        match self {
            Known::Default(_) => DeviceProfile::default(),
            Known::Fixed(profile) => *profile,
            Known::Probed(stored) => stored.profile(),
        }
    }

    /// As `SHOW device_profile` has it.
    pub(crate) fn shown(&self) -> String {
        let origin = match self {
            Known::Default(why) => format!("the default: {why}"),
            Known::Fixed(_) => "fixed when the database was opened".to_owned(),
            Known::Probed(stored) => format!("probed {}", stored.origin()),
        };
        shown(&self.profile(), &origin)
    }
}

/// What is known of a database's device.
#[derive(Debug)]
pub(crate) struct Device {
    /// Which device it is, and the ring by which it is reached; nothing where it is not probed.
    place: Option<Place>,
    known: RwLock<Known>,
    /// A probe is to be made when there is something to read.
    is_wanted: AtomicBool,
    /// Somebody waits for the file to settle, to probe it then.
    is_awaited: AtomicBool,
    /// One probe at a time.
    probing: Semaphore,
    /// What the file has, or is to have.
    profiles: Mutex<Profiles>,
    /// The same, if it is to be stored.
    unsaved: Mutex<Option<Profiles>>,
}

/// Where a profile holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The device (`runtime::probe::device_identity`).
    pub(crate) device: String,
    /// The ring, with its options.
    pub(crate) ring: String,
}

impl Device {
    /// One whose profile never changes.
    pub(crate) fn known(known: Known) -> Device {
        Device {
            place: None,
            known: RwLock::new(known),
            is_wanted: AtomicBool::new(false),
            is_awaited: AtomicBool::new(false),
            probing: Semaphore::new(1),
            unsaved: Mutex::default(),
            profiles: Mutex::default(),
        }
    }

    /// One that is probed if the file has no profile of it; `again`: even so.
    pub(crate) fn at(place: Place, profiles: &Profiles, again: bool) -> Device {
        let stored = profiles.of(&place).cloned();
        let is_wanted = again || stored.is_none();
        let size = PROBED_BYTES_MIN >> 20;
        let why = || format!("the device is probed when the file has {size} MB of data");
        let known = stored.map_or_else(|| Known::Default(why()), Known::Probed);
        Device {
            place: Some(place),
            is_wanted: AtomicBool::new(is_wanted),
            profiles: Mutex::new(profiles.clone()),
            ..Device::known(known)
        }
    }

    /// The profile now.
    pub(crate) fn profile(&self) -> DeviceProfile {
        self.known.read().unwrap_or_else(PoisonError::into_inner).profile()
    }

    /// As `SHOW device_profile` has it.
    pub(crate) fn shown(&self) -> String {
        self.known.read().unwrap_or_else(PoisonError::into_inner).shown()
    }

    /// Whether a probe is to be made.
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed)
    }

    /// Whether a probe is to be made for which nobody waits yet.
    pub(crate) fn is_due(&self) -> bool {
        self.is_wanted() && !self.is_awaited.load(Ordering::Relaxed)
    }

    /// The same, to whoever asks first: he waits for it.
    fn take_due(&self) -> bool {
        self.is_wanted() && !self.is_awaited.swap(true, Ordering::Relaxed)
    }

    /// Whether a probe is to be made, to whoever asks first: he makes it.
    fn take_wish(&self) -> bool {
        self.is_wanted.swap(false, Ordering::Relaxed)
    }

    fn known_mut(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A probe has found this; it is to be stored.
    fn learn(&self, found: StoredProfile) {
        let mut profiles = locked(&self.profiles);
        profiles.put(found.clone());
        *locked(&self.unsaved) = Some(profiles.clone());
        *self.known_mut() = Known::Probed(found);
    }

    /// A probe has failed that nobody waits for. What an earlier one has found stays.
    fn failed(&self, error: &SqlError) {
        if let Known::Default(why) = &mut *self.known_mut() {
            *why = format!("the probe failed: {}", error.message);
        }
    }

    /// What is to be stored with the checkpoint that is being made.
    pub(crate) fn take_unsaved(&self) -> Option<Profiles> {
        locked(&self.unsaved).take()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
