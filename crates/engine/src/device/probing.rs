//! When the device is probed, and by whom.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use runtime::Handle;
use runtime::probe::{self, ProfileReport};
use storage::Store;
use types::{SqlError, SqlResult, SqlState};

use super::stored::{Profiles, StoredProfile};
use super::{Device, DeviceChoice, Known, Place};

/// Bytes of data that a file has before its device is probed: more than a disk remembers of what was written
/// a moment ago. What is smaller is soon in memory whatever its reads cost.
pub(crate) const PROBED_BYTES_MIN: u64 = 64 << 20;

/// A probe that nobody waits for begins when the file was not written for so long: one right after a load has found
/// a quarter of what the device gave five seconds later (`docs/results.md`). A file that is always written is
/// probed after the second time.
const QUIET: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(60);

/// The setting.
pub(crate) const DEVICE_PROFILE: &str = "device_profile";

/// Its value that has the device probed.
const PROBE: &str = "probe";

/// There is nothing to be probed.
pub(crate) const NOT_PROBED: SqlState = SqlState("55000");

/// Whether `SET name = value` asks for a probe.
pub(crate) fn asks_to_probe(name: &str, value: &str) -> bool {
    name.eq_ignore_ascii_case(DEVICE_PROFILE) && value.trim().eq_ignore_ascii_case(PROBE)
}

/// How a database is opened, as far as its device is concerned.
pub(crate) struct Opening<'a> {
    pub(crate) path: &'a Path,
    pub(crate) choice: &'a DeviceChoice,
    pub(crate) is_simulated: bool,
    /// A thread of the kernel submits.
    pub(crate) sqpoll: bool,
    /// The device is probed though there is a profile of it.
    pub(crate) again: bool,
}

impl Opening<'_> {
    /// The device of a database that has just been opened. From an ordinary thread: it asks the system which
    /// one it is.
    pub(crate) fn found(&self, store: &Store, profiles: &Profiles) -> Device {
        let default = |why: String| Device::known(Known::Default(why));
        let backend = store.backend();
        match self.choice {
            DeviceChoice::Fixed(profile) => Device::known(Known::Fixed(*profile)),
            DeviceChoice::Probed if self.is_simulated => {
                default("the machine is simulated".to_owned())
            }
            DeviceChoice::Probed if !backend.direct => {
                default("reads do not bypass the page cache".to_owned())
            }
            DeviceChoice::Probed => match probe::device_identity(self.path) {
                Ok(device) => {
                    let by = if self.sqpoll { " with SQPOLL" } else { "" };
                    let polled = if backend.polled { " with IOPOLL" } else { "" };
                    let ring = format!("{}{by}{polled}", backend.kind);
                    Device::at(Place { device, ring }, profiles, self.again)
                }
                Err(error) => default(format!("the device cannot be looked at: {error}")),
            },
        }
    }
}

/// What a probe works with. It keeps no database open.
pub(crate) struct Prober {
    pub(crate) path: PathBuf,
    pub(crate) store: Store,
    pub(crate) device: Arc<Device>,
}

impl Prober {
    /// Begins a probe beside what runs, if one is to be made and there is enough to read.
    pub(crate) fn begin_if_due(self, runtime: &Handle) {
        if !self.is_enough() || !self.device.take_due() {
            return;
        }
        // A task of its own, which is no part of the query that happens to be planned now.
        drop(runtime.spawn_on(0, || async move {
            if let Err(error) = self.probe_when_settled().await {
                self.device.failed(&error);
            }
        }));
    }

    /// Whether the file is quiet by then or not; unless somebody who does not wait has probed it meanwhile.
    async fn probe_when_settled(&self) -> SqlResult<()> {
        let settled = probe::settled(&self.path, QUIET, PATIENCE).await;
        if !self.device.take_wish() {
            return Ok(());
        }
        settled.map_err(unreadable)?;
        self.probe().await
    }

    /// Probes the device now, and waits for what comes of it.
    ///
    /// # Errors
    /// 55000 where there is nothing to be probed, 58030 when the device cannot be read.
    pub(crate) async fn probe(&self) -> SqlResult<()> {
        let Some(place) = self.device.place.clone() else {
            return Err(cannot().with_detail(format!("device_profile is {}.", self.device.shown())));
        };
        if !self.is_enough() {
            return Err(self.too_small());
        }
        let _alone = self.device.probing.acquire().await;
        self.device.take_wish();
        let report = probe::profile(&self.path, self.sizes().0).await.map_err(unreadable)?;
        if !report.many.direct {
            return Err(cannot().with_detail("Reads do not bypass the page cache."));
        }
        self.device.learn(found(place, &report));
        Ok(())
    }

    /// Bytes of the file, and those of them that hold data.
    fn sizes(&self) -> (u64, u64) {
        let (page_bytes, (all, free)) = (self.store.page_size() as u64, self.store.page_counts());
        let (bytes, log) = (u64::from(all) * page_bytes, self.store.log_usage().1 as u64);
        (bytes, bytes.saturating_sub(free * page_bytes).saturating_sub(log))
    }

    /// Whether there is enough to read, and most of it has been written: the rest is read without the device.
    fn is_enough(&self) -> bool {
        let (bytes, data) = self.sizes();
        data >= PROBED_BYTES_MIN && data >= bytes / 2
    }

    fn too_small(&self) -> SqlError {
        let (bytes, data) = self.sizes();
        let (bytes, data, min) = (bytes >> 20, data >> 20, PROBED_BYTES_MIN >> 20);
        cannot().with_detail(format!(
            "The file has {data} MB of data, of {bytes} MB; it needs {min} MB, and half of it."
        ))
    }
}

fn unreadable(error: std::io::Error) -> SqlError {
    SqlError::new(SqlState::IO_ERROR, format!("the device cannot be probed: {error}"))
}

fn cannot() -> SqlError {
    SqlError::new(NOT_PROBED, "the device cannot be probed")
        .with_hint("SET device_profile to figures of the device.")
}

/// Rounded to what a probe can know: 100 ns, and 100 kB/s.
fn found(place: Place, report: &ProfileReport) -> StoredProfile {
    let rounded = |figure: f64, step: f64| ((figure / step).round().max(1.0) * step) as u64;
    let alone = report.alone.rate().max(1e-3);
    StoredProfile {
        device: place.device,
        ring: place.ring,
        read_ns: rounded(1e9 / alone, 100.0),
        // Many give no less than one, whatever came between.
        reads_per_s: rounded(report.many.rate().max(alone), 1.0),
        bytes_per_s: rounded(report.bytes_per_s, 1e5),
        probed_us: runtime::time::unix_us(),
    }
}
