//! The model of section 3 of the paper: from what a read, a write and a transaction cost alone.

use super::device::Device;
use super::drive::Outcome;
use super::rung::Rung;

/// What was measured alone, in one round.
pub(super) struct Costs {
    /// Processor time of a transaction when all pages are in the pool.
    pub base_ns: f64,
    pub device: Device,
}

impl Costs {
    /// Transactions a second that the model expects of a rung, by the reads and writes that the run had.
    ///
    /// One transaction at a time waits for each of its reads, and without batches for each write; with the
    /// log for a write and a sync. Many are bounded by the processor or by the device, whichever is less.
    pub fn transactions_per_s(&self, rung: Rung, log: bool, run: &Outcome) -> f64 {
        let Device { read_us, write_us, sync_us, .. } = self.device;
        let (reads, writes) = (run.reads_each(), run.pages_written_each());
        let commit_us = if log { write_us + sync_us } else { 0.0 };
        let base_us = self.base_ns / 1e3;
        match rung {
            Rung::Synchronous => 1e6 / (base_us + reads * read_us + writes * write_us + commit_us),
            Rung::Batched => 1e6 / (base_us + reads * read_us + commit_us),
            _ => {
                let read_cpu = self.read_cpu_us(rung);
                let cpu_us = base_us + reads * read_cpu + writes * self.device.write_cpu_us;
                (1e6 / cpu_us).min(self.limit(rung) / reads.max(1e-9))
            }
        }
    }

    /// A request that is a system call of its own costs what a read alone in flight costs.
    fn read_cpu_us(&self, rung: Rung) -> f64 {
        match rung {
            Rung::Coroutines => self.device.single_read_cpu_us,
            _ => self.device.read_cpu_us,
        }
    }

    /// Reads a second that the device gives: one at a time, or many beside writes.
    pub fn limit(&self, rung: Rung) -> f64 {
        match rung.in_flight() {
            1 => 1e6 / self.device.read_us,
            _ => self.device.mixed_reads_per_s,
        }
    }
}
