//! What io_uring itself costs on this machine, on rings that serve nothing else ("io_uring for High-Performance
//! DBMSs", sections 2 and 3.4.2). All of it blocks the calling thread.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use io_uring::{IoUring, opcode, squeue, types};
use stdx::Prng;

use crate::buf::IoBuf;
use crate::clock;
use crate::entropy::entropy;
use crate::fs::durability::Durability;

/// The size of a read or write in bytes.
const PAGE_BYTES: usize = 4096;

/// Most requests of a batch, and so entries of a ring.
pub const BATCH_MAX: u32 = 256;

/// When the kernel does the part of a completion that belongs to the thread (section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskWork {
    /// At once, by an interrupt of the thread.
    Default,
    /// At the thread's next way into the kernel.
    Cooperative,
    /// When the thread asks for completions.
    Deferred,
}

/// What requests cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestCosts {
    /// Requests a second.
    pub per_s: f64,
    /// Processor time of each, of the whole process.
    pub cpu_ns: f64,
}

/// A ring, and the file and buffers that its requests are for.
struct Bare {
    // Closed first: buffers are freed when the kernel has no request for them any more.
    ring: IoUring,
    file: Option<File>,
    buffers: Vec<IoBuf>,
    in_flight: usize,
    /// Of the file.
    pages: u64,
    random: Prng,
}

impl Bare {
    fn new(mode: TaskWork, path: Option<&Path>, buffers: u32) -> io::Result<Bare> {
        let mut builder = IoUring::builder();
        match mode {
            TaskWork::Default => {}
            TaskWork::Cooperative => drop(builder.setup_coop_taskrun()),
            TaskWork::Deferred => drop(builder.setup_single_issuer().setup_defer_taskrun()),
        }
        let ring = builder.build(BATCH_MAX)?;
        let (file, pages) = path.map(open).transpose()?.unzip();
        let buffers = IoBuf::alloc_many(buffers as usize, PAGE_BYTES);
        let random = Prng::new(u64::from_le_bytes(entropy()));
        Ok(Bare { ring, file, buffers, in_flight: 0, pages: pages.unwrap_or(1), random })
    }

    /// The place of some page of the file.
    fn somewhere(&mut self) -> u64 {
        self.random.below(self.pages) * PAGE_BYTES as u64
    }

    fn fd(&self) -> types::Fd {
        types::Fd(self.file.as_ref().expect("a probe of a file has one").as_raw_fd())
    }

    fn read(&mut self, slot: usize) {
        let offset = self.somewhere();
        let at = self.buffers[slot].as_mut_slice().as_mut_ptr();
        let entry = opcode::Read::new(self.fd(), at, PAGE_BYTES as u32).offset(offset).build();
        self.push(entry.user_data(slot as u64));
    }

    fn write(&mut self, slot: usize, flags: i32) -> squeue::Entry {
        let offset = self.somewhere();
        let at = self.buffers[slot].as_slice().as_ptr();
        let write = opcode::Write::new(self.fd(), at, PAGE_BYTES as u32).offset(offset);
        write.rw_flags(flags).build().user_data(slot as u64)
    }

    /// An entry whose buffer, if it has one, is `self.buffers[user_data]`, which nothing else uses now.
    fn push(&mut self, entry: squeue::Entry) {
        // SAFETY: the buffer of the entry is one of `self.buffers`, which are not moved or freed before the ring
        // is closed, and no other request in flight has it; the file is open as long.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("the ring has room for a batch");
        self.in_flight += 1;
    }

    /// Submits, waits for `wanted` completions at least, and hands out all that are there.
    fn reap(&mut self, wanted: usize, mut on: impl FnMut(u64)) -> io::Result<()> {
        self.ring.submit_and_wait(wanted)?;
        for completion in self.ring.completion() {
            self.in_flight -= 1;
            if completion.result() < 0 {
                return Err(io::Error::from_raw_os_error(-completion.result()));
            }
            on(completion.user_data());
        }
        Ok(())
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        while self.in_flight > 0 {
            let left = self.in_flight;
            // An error of a request is one that has ended.
            if self.reap(1, |_| ()).is_err() && self.in_flight == left {
                // The ring itself does not answer: its memory must not be used again.
                std::mem::forget(std::mem::take(&mut self.buffers));
                return;
            }
        }
    }
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = File::options().read(true).write(true).custom_flags(libc::O_DIRECT).open(path)?;
    let pages = file.metadata()?.len() / PAGE_BYTES as u64;
    if pages < u64::from(BATCH_MAX) {
        let message = format!("the file is shorter than {BATCH_MAX} pages");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok((file, pages))
}

/// Requests that do nothing, so many with each system call; by a thread of the kernel if `by_worker`. The
/// time of each.
///
/// # Errors
/// What the kernel says of the ring.
pub fn nops(batch: u32, by_worker: bool, duration: Duration) -> io::Result<Duration> {
    assert!((1..=BATCH_MAX).contains(&batch), "a batch fits the ring");
    let mut bare = Bare::new(TaskWork::Deferred, None, 0)?;
    let flags = if by_worker { squeue::Flags::ASYNC } else { squeue::Flags::empty() };
    let (began, mut count) = (Instant::now(), 0u32);
    while began.elapsed() < duration {
        for _ in 0..batch {
            bare.push(opcode::Nop::new().build().flags(flags));
        }
        bare.reap(batch as usize, |_| ())?;
        count += batch;
    }
    Ok(began.elapsed() / count)
}

/// Random reads of 4 KiB past the page cache, `depth` in flight, submitted and reaped in batches of at least
/// `batch`.
///
/// # Errors
/// Those of the file, of which direct I/O must be possible, and of the ring.
pub fn batched_reads(
    path: impl AsRef<Path>,
    mode: TaskWork,
    depth: u32,
    batch: u32,
    duration: Duration,
) -> io::Result<RequestCosts> {
    assert!(batch >= 1 && batch <= depth && depth <= BATCH_MAX, "a batch of what is in flight");
    let mut bare = Bare::new(mode, Some(path.as_ref()), depth)?;
    let (began, cpu, mut count) = (Instant::now(), clock::process(), 0u64);
    (0..depth as usize).for_each(|slot| bare.read(slot));
    let mut ended = Vec::with_capacity(depth as usize);
    while began.elapsed() < duration {
        bare.reap(batch as usize, |slot| ended.push(slot as usize))?;
        count += ended.len() as u64;
        ended.drain(..).for_each(|slot| bare.read(slot));
    }
    let (elapsed, cpu) = (began.elapsed(), clock::process() - cpu);
    let per_s = count as f64 / elapsed.as_secs_f64();
    Ok(RequestCosts { per_s, cpu_ns: cpu.as_nanos() as f64 / count.max(1) as f64 })
}

/// Latencies of writes of 4 KiB that come in batches, at the same rate whatever the batch: the mean and the
/// standard deviation, from the moment a batch is submitted (table 2). The file's pages are written over.
///
/// # Errors
/// Those of the file and of the ring.
pub fn batched_writes(
    path: impl AsRef<Path>,
    batch: u32,
    per_s: f64,
    duration: Duration,
) -> io::Result<(Duration, Duration)> {
    assert!((1..=BATCH_MAX).contains(&batch) && per_s > 0.0, "a batch fits the ring");
    let mut bare = Bare::new(TaskWork::Deferred, Some(path.as_ref()), batch)?;
    let pause = Duration::from_secs_f64(f64::from(batch) / per_s);
    let (began, mut due, mut latencies) = (Instant::now(), Instant::now(), vec![]);
    while began.elapsed() < duration {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        due += pause;
        let submitted = Instant::now();
        for slot in 0..batch as usize {
            let entry = bare.write(slot, 0);
            bare.push(entry);
        }
        while bare.in_flight > 0 {
            bare.reap(1, |_| latencies.push(submitted.elapsed().as_secs_f64()))?;
        }
    }
    let mean = latencies.iter().sum::<f64>() / latencies.len() as f64;
    let squares = latencies.iter().map(|latency| (latency - mean).powi(2)).sum::<f64>();
    let deviation = (squares / latencies.len() as f64).sqrt();
    Ok((Duration::from_secs_f64(mean), Duration::from_secs_f64(deviation)))
}

/// The median time until a write of 4 KiB over what the file has is durable, alone in flight; `None` where the
/// kernel does not know the way.
///
/// # Errors
/// Those of the file and of the ring.
pub fn durable_by_ring(
    path: impl AsRef<Path>,
    how: Durability,
    count: u32,
) -> io::Result<Option<Duration>> {
    let mut bare = Bare::new(TaskWork::Deferred, Some(path.as_ref()), 1)?;
    let mut times = Vec::with_capacity(count as usize);
    for _ in 0..count.max(1) {
        let began = Instant::now();
        match bare.write_durably(how) {
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => return Ok(None),
            ended => ended?,
        }
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok(Some(times[times.len() / 2]))
}

impl Bare {
    fn write_durably(&mut self, how: Durability) -> io::Result<()> {
        let flags = if how == Durability::Flag { libc::RWF_DSYNC } else { 0 };
        let write = self.write(0, flags);
        let sync = opcode::Fsync::new(self.fd()).flags(types::FsyncFlags::DATASYNC).build();
        match how {
            Durability::None | Durability::Flag => self.push(write),
            Durability::Sync => {
                self.push(write);
                self.reap(1, |_| ())?;
                self.push(sync);
            }
            Durability::Linked => {
                self.push(write.flags(squeue::Flags::IO_LINK));
                self.push(sync);
            }
        }
        while self.in_flight > 0 {
            self.reap(1, |_| ())?;
        }
        Ok(())
    }
}
