//! The device, and the ways to it.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runtime::fs::{File, OpenOptions};
use runtime::{Config, IoBuf, RingChoice, Runtime, Sqpoll};

/// A namespace by its two devices.
#[derive(Clone, Debug)]
pub struct Device {
    pub generic: PathBuf,
    pub block: PathBuf,
}

/// A way to the device.
#[derive(Clone, Copy)]
pub struct Way {
    pub name: &'static str,
    pub iopoll: bool,
    sqpoll: bool,
    registered: bool,
}

const fn way(name: &'static str) -> Way {
    Way { name, iopoll: false, sqpoll: false, registered: true }
}

/// All ways by passthrough; the first is polled.
pub const WAYS: [Way; 4] = [
    Way { iopoll: true, ..way("passthrough, IOPOLL") },
    way("passthrough"),
    Way { registered: false, ..way("passthrough, nothing registered") },
    Way { sqpoll: true, ..way("passthrough, SQPOLL") },
];

/// For reading and writing past the page cache.
pub const WRITABLE: OpenOptions = OpenOptions {
    read: true,
    write: true,
    create: false,
    create_new: false,
    direct: true,
    lock: false,
    overlay: None,
};

impl Device {
    /// The namespace that may be overwritten.
    pub fn of_environment() -> Device {
        Device::named("DOVETAIL_NVME").expect("tests/device/passthrough.py emulates a device")
    }

    /// The namespace that a variable names by its generic device, as `/dev/ng0n1`.
    pub fn named(variable: &str) -> Option<Device> {
        let Ok(generic) = std::env::var(variable) else {
            eprintln!("skipped: {variable} names no NVMe device");
            return None;
        };
        let block = generic.replace("/dev/ng", "/dev/nvme");
        Some(Device { generic: generic.into(), block: block.into() })
    }

    /// The name of the block device.
    pub fn name(&self) -> String {
        self.block.file_name().unwrap().to_string_lossy().into_owned()
    }

    /// Bytes of a block.
    pub fn block_bytes(&self) -> usize {
        let path = format!("/sys/class/block/{}/queue/logical_block_size", self.name());
        std::fs::read_to_string(path).unwrap().trim().parse().unwrap()
    }

    /// True if its completions can be polled for.
    pub fn polls(&self) -> bool {
        let path = format!("/sys/class/block/{}/queue/io_poll", self.name());
        std::fs::read_to_string(path).unwrap().trim() == "1"
    }

    /// Both of its devices, on the back ends that this way promises.
    pub async fn open_both(&self, way: Way) -> (File, File) {
        let generic = File::open(&self.generic, WRITABLE).await.unwrap();
        let backend = generic.backend();
        assert!(backend.passthrough && backend.polled == way.iopoll, "{backend:?}");
        let block = File::open(&self.block, WRITABLE).await.unwrap();
        let backend = block.backend();
        assert!(backend.direct && !backend.passthrough, "{backend:?}");
        assert_eq!(backend.polled, way.iopoll, "{backend:?}");
        (generic, block)
    }
}

impl Way {
    pub fn config(&self) -> Config {
        Config {
            workers: 2,
            ring: RingChoice::Uring,
            passthrough: true,
            iopoll: self.iopoll,
            sqpoll: self.sqpoll.then_some(Sqpoll { idle: Duration::from_millis(1), cpu: None }),
            registered_files: self.registered,
            registered_buffers: self.registered,
            ..Config::default()
        }
    }

    pub fn start(&self) -> Runtime {
        Runtime::start(self.config()).unwrap()
    }

    /// True if a write and its flush can be linked: with SQPOLL they cannot.
    pub fn links(&self) -> bool {
        !self.sqpoll
    }
}

/// True if the kernel polls for commands, from Linux 6.5 on: the script that runs these tests
/// knows.
pub fn polls_commands() -> bool {
    std::env::var_os("DOVETAIL_NVME_POLLS_COMMANDS").is_some()
}

/// Has one test after the other use the device: who writes to it holds it.
pub fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a test on each way that the device has.
pub fn with_device(test: impl Fn(Way, Device)) {
    let device = Device::of_environment();
    let _one = one_at_a_time();
    let is_polled = device.polls() && polls_commands();
    if !is_polled {
        println!("not by polling: no queues for it, or an old kernel");
    }
    WAYS.into_iter().skip(usize::from(!is_polled)).for_each(|way| test(way, device.clone()));
}

/// Bytes that tell their place and their seed.
pub fn pattern(len: usize, seed: u8) -> IoBuf {
    let mut buf = IoBuf::alloc(len);
    for (i, byte) in buf.as_mut_slice().iter_mut().enumerate() {
        *byte = seed.wrapping_mul(31).wrapping_add((i / 512) as u8).wrapping_add((i % 251) as u8);
    }
    buf
}
