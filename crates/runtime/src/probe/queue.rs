//! The queue of the block device below a file, as the kernel tells it in `/sys`.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::nvme::generic::generic_of;

/// What a device's queue allows (Linux: Documentation/ABI/stable/sysfs-block). `None` is what the kernel does
/// not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueReport {
    /// The kernel's name of the device; of those below it where it is made of others.
    pub device: String,
    /// Requests that wait for the device at once (`nr_requests`): more make submitting wait.
    pub requests_max: Option<u64>,
    /// Bytes of the largest request that the hardware takes (`max_hw_sectors_kb`).
    pub hardware_bytes_max: Option<u64>,
    /// Bytes of the largest request that the kernel makes (`max_sectors_kb`).
    pub request_bytes_max: Option<u64>,
    /// Pieces of memory of one request (`max_segments`).
    pub segments_max: Option<u64>,
    /// Whether it says that its cache loses what it holds with the power (`write_cache`): one with
    /// power-loss protection says that it has none such.
    pub is_cache_volatile: Option<bool>,
    /// Whether a single write can be forced past its cache (`fua`).
    pub forces_writes: Option<bool>,
    /// Whether its completions can be polled for (`io_poll`).
    pub can_poll: Option<bool>,
    /// Where it takes commands past the block layer: its generic device (NVMe).
    pub passthrough: Option<PathBuf>,
    /// The scheduler of its requests.
    pub scheduler: Option<String>,
    /// Bytes that it writes at once without reading (`physical_block_size`).
    pub physical_block_bytes: Option<u64>,
}

/// The queue of the device below a file or folder; `None` where there is none that the kernel shows: a file
/// system in memory or across a network, a container without `/sys`.
///
/// # Errors
/// When the path cannot be looked at.
pub fn queue(path: impl AsRef<Path>) -> io::Result<Option<QueueReport>> {
    let path = fs::canonicalize(path)?;
    let found = fs::metadata(&path)?;
    let is_device = found.file_type().is_block_device();
    let device = if is_device { found.rdev() } else { found.dev() };
    Ok(folder_of(&path, device).map(|folder| report(&folder)))
}

/// The kernel's folder of the device below a file that the file system numbers by `device`.
pub(super) fn folder_of(path: &Path, device: u64) -> Option<PathBuf> {
    device_folder(device).or_else(|| device_folder(mounted(path)?)).map(lowest)
}

/// The folder of a device's whole disk.
fn device_folder(device: u64) -> Option<PathBuf> {
    let (major, minor) = (libc::major(device), libc::minor(device));
    let folder = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let is_whole = folder.join("queue").is_dir();
    if is_whole { Some(folder) } else { Some(folder.parent()?.to_owned()) }
}

/// The device that is mounted where the path lies: some file systems number their files by another one.
fn mounted(path: &Path) -> Option<u64> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let source = mounts.lines().filter_map(|line| mount_of(line, path)).max_by_key(|(len, _)| *len);
    Some(fs::metadata(source?.1).ok()?.rdev()).filter(|device| *device != 0)
}

/// The length of a mount's path, if `path` lies in it, and what is mounted (proc(5)).
fn mount_of<'a>(line: &'a str, path: &Path) -> Option<(usize, &'a str)> {
    let (mount, source) = line.split_once(" - ")?;
    let point = mount.split(' ').nth(4)?;
    let source = source.split(' ').nth(1).filter(|source| source.starts_with("/dev/"))?;
    path.starts_with(point).then_some((point.len(), source))
}

/// What a device is made of, as long as it is one other device.
fn lowest(folder: PathBuf) -> PathBuf {
    let below = fs::read_dir(folder.join("slaves")).into_iter().flatten().flatten();
    let below: Vec<PathBuf> =
        below.filter_map(|entry| fs::canonicalize(entry.path()).ok()).collect();
    match below.as_slice() {
        [one] if one.join("queue").is_dir() => lowest(one.clone()),
        _ => folder,
    }
}

fn report(folder: &Path) -> QueueReport {
    let text = |name: &str| {
        let text = fs::read_to_string(folder.join("queue").join(name)).ok()?;
        Some(text.trim().to_owned())
    };
    let number = |name: &str| text(name)?.parse::<u64>().ok();
    let kilobytes = |name: &str| Some(number(name)?.saturating_mul(1024));
    let chosen = |all: String| {
        let named = all.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        named.map_or(all.clone(), |(chosen, _)| chosen.to_owned())
    };
    QueueReport {
        device: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        requests_max: number("nr_requests"),
        hardware_bytes_max: kilobytes("max_hw_sectors_kb"),
        request_bytes_max: kilobytes("max_sectors_kb"),
        segments_max: number("max_segments"),
        is_cache_volatile: text("write_cache").map(|mode| mode == "write back"),
        forces_writes: number("fua").map(|fua| fua == 1),
        can_poll: number("io_poll").map(|polls| polls == 1),
        passthrough: generic_of(folder),
        scheduler: text("scheduler").map(chosen),
        physical_block_bytes: number("physical_block_size"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_mount_names_the_device() {
        let lines = [
            "22 1 252:0 / / rw,relatime - ext4 /dev/vda rw",
            "41 22 0:40 / /data rw shared:1 - btrfs /dev/nvme0n1p2 rw,subvol=/data",
            "42 22 0:41 / /tmp rw - tmpfs tmpfs rw",
        ];
        let source = |path: &str| {
            let found = lines.iter().filter_map(|line| mount_of(line, Path::new(path)));
            found.max_by_key(|(len, _)| *len).map(|(_, source)| source)
        };
        assert_eq!(source("/data/db"), Some("/dev/nvme0n1p2"));
        assert_eq!(source("/database"), Some("/dev/vda"));
        assert!(mount_of(lines[2], Path::new("/tmp/x")).is_none(), "tmpfs has no device");
    }

    #[test]
    fn files_of_a_queue_are_read_as_the_kernel_writes_them() {
        let folder = std::env::temp_dir().join(format!("dovetail-queue-{}", std::process::id()));
        fs::create_dir_all(folder.join("queue")).unwrap();
        let files = [("nr_requests", "127\n"), ("max_hw_sectors_kb", "128\n"), ("io_poll", "0\n")];
        let caches =
            [("write_cache", "write through\n"), ("scheduler", "none [mq-deadline] bfq\n")];
        for (name, text) in files.into_iter().chain(caches) {
            fs::write(folder.join("queue").join(name), text).unwrap();
        }
        let found = report(&folder);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((found.requests_max, found.hardware_bytes_max), (Some(127), Some(131_072)));
        assert_eq!((found.can_poll, found.is_cache_volatile), (Some(false), Some(false)));
        assert_eq!((found.scheduler.as_deref(), found.forces_writes), (Some("mq-deadline"), None));
    }
}
