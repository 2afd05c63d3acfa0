//! Setting rings up: the flags that the kernel grants, and what a ring is then allowed to do.

use std::io;

use io_uring::register::{Probe, Restriction};
use io_uring::{Builder, IoUring, cqueue, opcode, squeue};

use super::queues::Queues;
use super::registered::{self, Tables};
use crate::config::{Config, Sqpoll};
use crate::probe::refusal::explain_refusal;

/// Submission entries: a batch is flushed before it gets this long.
pub(super) const SQ_ENTRIES: u32 = 256;

/// How a ring is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) depth: u32,
    pub(crate) kind: Kind,
    /// With large entries, for commands of NVMe devices.
    pub(crate) passthrough: bool,
    pub(crate) registered_files: bool,
    pub(crate) registered_buffers: bool,
}

/// Who submits, and how completions are learned of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The worker submits, interrupts tell of completions.
    Plain,
    /// A kernel thread submits: that of the ring with this descriptor, if there is one.
    Sqpoll(Sqpoll, Option<i32>),
    /// The worker submits and polls the device. Direct reads and writes, nothing else.
    Iopoll,
}

impl Wish {
    /// The ring of a worker. With SQPOLL the workers share the thread of the ring `first`.
    pub(crate) fn of(config: &Config, first: Option<i32>) -> Wish {
        let kind = config.sqpoll.map_or(Kind::Plain, |sqpoll| Kind::Sqpoll(sqpoll, first));
        Wish { kind, ..Wish::registering(config) }
    }

    /// The second ring of a worker, for polled files.
    pub(crate) fn polled(config: &Config) -> Wish {
        Wish { kind: Kind::Iopoll, ..Wish::registering(config) }
    }

    fn registering(config: &Config) -> Wish {
        Wish {
            passthrough: config.passthrough,
            registered_files: config.registered_files,
            registered_buffers: config.registered_buffers,
            ..Wish::plain(config.depth)
        }
    }

    pub(crate) fn plain(depth: u32) -> Wish {
        Wish {
            depth,
            kind: Kind::Plain,
            passthrough: false,
            registered_files: false,
            registered_buffers: false,
        }
    }

    pub(crate) fn iopoll(depth: u32) -> Wish {
        Wish { kind: Kind::Iopoll, ..Wish::plain(depth) }
    }

    /// Flag sets from the best to the least.
    fn levels(&self) -> &'static [(u32, &'static str)] {
        match self.kind {
            Kind::Plain => {
                &[(2, "SINGLE_ISSUER | DEFER_TASKRUN"), (1, "COOP_TASKRUN"), (0, "no flags")]
            }
            // The kernel grants no deferred completions where another thread submits.
            Kind::Sqpoll(..) => &[(3, "SQPOLL | SINGLE_ISSUER"), (0, "SQPOLL")],
            Kind::Iopoll => &[(3, "IOPOLL | SINGLE_ISSUER"), (0, "IOPOLL")],
        }
    }

    fn build(&self, level: u32) -> io::Result<Queues> {
        match self.passthrough {
            false => self.builder(level).build(SQ_ENTRIES).map(Queues::Small),
            true => self.builder(level).build(SQ_ENTRIES).map(Queues::Large),
        }
    }

    fn builder<S, C>(&self, level: u32) -> Builder<S, C>
    where
        S: squeue::EntryMarker,
        C: cqueue::EntryMarker,
    {
        let mut builder = IoUring::<S, C>::builder();
        builder.setup_r_disabled();
        builder.setup_clamp().setup_cqsize((self.depth + 1).next_power_of_two().max(SQ_ENTRIES));
        if level == 1 || level == 2 {
            builder.setup_coop_taskrun().setup_taskrun_flag();
        }
        if level >= 2 {
            builder.setup_single_issuer();
        }
        if level == 2 {
            builder.setup_defer_taskrun();
        }
        match self.kind {
            Kind::Plain => {}
            Kind::Iopoll => {
                builder.setup_iopoll();
            }
            Kind::Sqpoll(sqpoll, first) => {
                builder.setup_sqpoll(sqpoll.idle.as_millis() as u32);
                if let Some(cpu) = sqpoll.cpu {
                    builder.setup_sqpoll_cpu(cpu);
                }
                if let Some(first) = first {
                    builder.setup_attach_wq(first);
                }
            }
        }
        builder
    }
}

/// A ring, ready for use.
pub(crate) struct Opened {
    pub(crate) ring: Queues,
    pub(super) tables: Tables,
    /// The flags and tables obtained, and which tables were refused.
    pub(crate) flags: String,
    pub(crate) abilities: Abilities,
}

/// Abilities of the kernel with sockets beyond plain sends and receives, and with commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Abilities {
    /// Sends of lent memory (Linux 6.0).
    pub(crate) zero_copy: bool,
    /// Receives that go on, into buffers that the ring provides (Linux 6.0).
    pub(crate) multishot: bool,
    /// Completions that tell of several buffers (Linux 6.10).
    pub(crate) bundles: bool,
    /// Entries that other rings leave in this one (Linux 5.18).
    pub(crate) messages: bool,
    /// Commands whose memory is registered (Linux 6.1).
    pub(crate) fixed_commands: bool,
}

impl Abilities {
    fn of(ring: &Queues, wish: &Wish) -> Abilities {
        let mut probe = Probe::new();
        // A kernel that cannot be asked is older than all of this.
        let is_asked = ring.submitter().register_probe(&mut probe).is_ok();
        let zero_copy = is_asked && probe.is_supported(opcode::SendZc::CODE);
        // Receives that go on came with the same version and cannot be asked for by themselves.
        let (multishot, bundles) = (zero_copy, ring.params().is_feature_recvsend_bundle());
        let messages = is_asked && probe.is_supported(opcode::MsgRingData::CODE);
        // This one came with the same version, too.
        let is_new = is_asked && probe.is_supported(opcode::SendMsgZc::CODE);
        let fixed_commands = wish.passthrough && is_new;
        match wish.kind {
            Kind::Iopoll => Abilities { fixed_commands, ..Abilities::default() },
            Kind::Plain | Kind::Sqpoll(..) => {
                Abilities { zero_copy, multishot, bundles, messages, fixed_commands }
            }
        }
    }

    /// The missing abilities, in words.
    fn describe(self) -> String {
        let missing = [
            (!self.zero_copy, ", no zero-copy sends"),
            (!self.multishot, ", no multishot receives"),
            (!self.bundles, ", no bundles"),
            (!self.messages, ", no ring messages"),
        ];
        missing.into_iter().filter(|(is_so, _)| *is_so).map(|(_, words)| words).collect()
    }
}

/// A ring with as many wished-for flags as the kernel grants, and their names. What makes the kind
/// of ring is among them or the ring is refused.
pub(crate) fn open(wish: &Wish) -> Result<Opened, String> {
    let mut refusals = Vec::new();
    for (level, name) in wish.levels() {
        match wish.build(*level) {
            Ok(ring) => return check(ring, describe(name, wish), wish),
            Err(error) => refusals.push(error),
        }
    }
    let last = refusals.pop().expect("at least one level was tried");
    Err(explain(&last, wish))
}

fn describe(flags: &str, wish: &Wish) -> String {
    let Kind::Sqpoll(sqpoll, _) = wish.kind else { return flags.to_owned() };
    let cpu = sqpoll.cpu.map_or_else(|| "any core".to_owned(), |cpu| format!("core {cpu}"));
    format!("{flags}, its thread on {cpu}, asleep after {} ms", sqpoll.idle.as_millis())
}

fn explain(error: &io::Error, wish: &Wish) -> String {
    match (wish.kind, error.raw_os_error()) {
        (Kind::Sqpoll(Sqpoll { cpu: Some(cpu), .. }, _), Some(libc::EINVAL)) => {
            format!("SQPOLL: the kernel refuses core {cpu} for its thread ({error})")
        }
        (Kind::Sqpoll(..), Some(libc::EPERM)) => format!(
            "SQPOLL: before Linux 5.13 only with CAP_SYS_NICE; else {}",
            explain_refusal(error)
        ),
        (Kind::Sqpoll(..), _) => format!("SQPOLL: {}", explain_refusal(error)),
        (Kind::Iopoll, _) => format!("IOPOLL: {}", explain_refusal(error)),
        (Kind::Plain, Some(libc::EINVAL)) if wish.passthrough => {
            format!("passthrough needs entries of 128 bytes (Linux 5.19): {error}")
        }
        (Kind::Plain, _) => explain_refusal(error),
    }
}

fn check(ring: Queues, mut flags: String, wish: &Wish) -> Result<Opened, String> {
    let params = ring.params();
    if !params.is_feature_ext_arg() {
        return Err("the kernel is too old: no timeout in io_uring_enter (Linux 5.11)".to_owned());
    }
    if !params.is_feature_nodrop() {
        return Err("the kernel is too old: it may drop completions (Linux 5.5)".to_owned());
    }
    if matches!(wish.kind, Kind::Sqpoll(..)) && !params.is_feature_sqpoll_nonfixed() {
        return Err("SQPOLL: the kernel is too old for ordinary files (Linux 5.11)".to_owned());
    }
    if params.cq_entries() <= wish.depth {
        return Err(format!("the completion queue is too small for depth {}", wish.depth));
    }
    let (tables, words) =
        registered::prepare(&ring.submitter(), wish.registered_files, wish.registered_buffers);
    flags.push_str(&words);
    let abilities = Abilities::of(&ring, wish);
    if wish.kind != Kind::Iopoll {
        flags.push_str(&abilities.describe());
    }
    if wish.passthrough {
        flags.push_str(", large entries for passthrough");
        flags.push_str(if abilities.fixed_commands { "" } else { " without registered memory" });
    }
    restrict(&ring, wish, abilities)
        .map_err(|error| format!("the ring cannot be restricted: {error}"))?;
    Ok(Opened { ring, tables, flags, abilities })
}

/// What reads and writes files.
const TRANSFERS: [u8; 4] =
    [opcode::Read::CODE, opcode::Write::CODE, opcode::Readv::CODE, opcode::Writev::CODE];
/// Changing the tables of registered files and buffers, as the kernel numbers it.
const FILES_UPDATE: u8 = 6;
const BUFFERS_UPDATE: u8 = 16;
/// Letting the ring hand out buffers, and taking them back.
const PROVIDE: u8 = 22;
const WITHDRAW: u8 = 23;
/// What a polled ring cannot do.
const OTHERS: [u8; 7] = [
    opcode::Fsync::CODE,
    opcode::PollAdd::CODE,
    opcode::PollRemove::CODE,
    opcode::Send::CODE,
    opcode::Recv::CODE,
    opcode::Connect::CODE,
    opcode::AsyncCancel::CODE,
];

/// Allows what this driver does and nothing else: much of io_uring's attack surface lies in
/// operations that a database never asks for.
fn restrict(ring: &Queues, wish: &Wish, abilities: Abilities) -> io::Result<()> {
    let others: &[u8] = if wish.kind == Kind::Iopoll { &[] } else { &OTHERS };
    let codes = TRANSFERS.iter().chain(others);
    let mut allowed: Vec<Restriction> = codes.map(|code| Restriction::sqe_op(*code)).collect();
    if wish.registered_files {
        allowed.push(Restriction::register_op(FILES_UPDATE));
    }
    let mut flags = squeue::Flags::empty();
    flags.set(squeue::Flags::FIXED_FILE, wish.registered_files);
    flags.set(squeue::Flags::IO_LINK, wish.kind != Kind::Iopoll);
    flags.set(squeue::Flags::BUFFER_SELECT, abilities.multishot);
    allowed.push(Restriction::sqe_flags_allowed(flags.bits()));
    if abilities.zero_copy {
        allowed.push(Restriction::sqe_op(opcode::SendZc::CODE));
    }
    if abilities.messages {
        allowed.push(Restriction::sqe_op(opcode::MsgRingData::CODE));
    }
    if abilities.multishot {
        allowed.push(Restriction::register_op(PROVIDE));
        allowed.push(Restriction::register_op(WITHDRAW));
    }
    if wish.passthrough {
        allowed.push(Restriction::sqe_op(opcode::UringCmd80::CODE));
    }
    if wish.registered_buffers {
        allowed.push(Restriction::register_op(BUFFERS_UPDATE));
        allowed.push(Restriction::sqe_op(opcode::ReadFixed::CODE));
        allowed.push(Restriction::sqe_op(opcode::WriteFixed::CODE));
    }
    ring.submitter().register_restrictions(&mut allowed)?;
    ring.submitter().register_enable_rings()
}
