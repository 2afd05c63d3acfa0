//! Files and memory that the kernel has looked up once and for all: a transfer then names them by
//! their places in two tables of the ring.
//!
//! A file is entered when it has been used several times, memory in pieces as they are used. Who
//! closes a file or frees an arena tells the workers ([`crate::known`]). No operation is in flight
//! then: each owns its file and its buffer.

use io_uring::Submitter;

use crate::buf::{Arena, IoBuf};
use crate::fs::file::File;
use crate::inbox;
use crate::known::Known;
use crate::op::Transfer;
use crate::stats::{Counters, bump};

/// Places for files; a database has a few that matter. Beyond, or when two fall on one place, the
/// descriptor serves as ever.
const FILE_PLACE_COUNT: usize = 64;
/// Transfers of a file before it is entered: spill files and catalogs come and go.
const FILE_USE_COUNT_MIN: u32 = 8;
/// Memory is pinned in pieces of this size, so that only what is used is pinned, in less than a
/// millisecond each, and the usual limit of 8 MiB still gives room for one.
pub(super) const PIECE_BYTES: usize = 4 << 20;
/// Pieces at most, of all arenas: 32 GiB, in a table of 64 KiB.
const PIECE_COUNT_MAX: usize = 8192;

/// Where a transfer's file and buffer stand in the ring's tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) file: Option<u32>,
    pub(super) buffer: Option<u16>,
}

/// The tables of one ring; either may be missing.
#[derive(Default)]
pub(super) struct Tables {
    files: Option<Box<[FilePlace]>>,
    memory: Option<Memory>,
}

#[derive(Clone, Copy, Default)]
struct FilePlace {
    number: u64,
    uses: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Out,
    In,
    /// The system would not have it.
    Refused,
}

/// The pieces of arenas: those of one arena stand one after the other.
struct Memory {
    arenas: Vec<ArenaPlaces>,
}

struct ArenaPlaces {
    number: u64,
    first: usize,
    pieces: Vec<State>,
    refused: bool,
}

/// Registers empty tables as wished; what the kernel does not grant is left out, and said.
pub(super) fn prepare(submitter: &Submitter<'_>, files: bool, buffers: bool) -> (Tables, String) {
    let (mut tables, mut words) = (Tables::default(), String::new());
    let mut add = |wish: bool, what: &str, tried: &dyn Fn() -> std::io::Result<()>| {
        let granted = wish.then(tried);
        match &granted {
            Some(Ok(())) => words.push_str(&format!(", registered {what}")),
            Some(Err(error)) => words.push_str(&format!(", no registered {what} ({error})")),
            None => {}
        }
        matches!(granted, Some(Ok(())))
    };
    if add(files, "files", &|| submitter.register_files_sparse(FILE_PLACE_COUNT as u32)) {
        tables.files = Some(vec![FilePlace::default(); FILE_PLACE_COUNT].into());
    }
    if add(buffers, "buffers", &|| submitter.register_buffers_sparse(PIECE_COUNT_MAX as u32)) {
        tables.memory = Some(Memory { arenas: Vec::new() });
    }
    (tables, words)
}

impl Tables {
    /// The places of a transfer, which may be entered now.
    #[inline]
    pub(super) fn places(
        &mut self,
        transfer: &Transfer,
        submitter: &Submitter<'_>,
        worker: u32,
        counters: &Counters,
    ) -> Places {
        let mut entering = Entering { submitter, worker, counters };
        let file = self.files.as_mut();
        let file = file.and_then(|files| file_place(files, &transfer.file, &mut entering));
        let memory = self.memory.as_mut().zip(transfer.arena_buf());
        let buffer =
            memory.and_then(|(memory, (arena, buf))| memory.place(arena, buf, &mut entering));
        bump(&counters.registered_files, u64::from(file.is_some()));
        bump(&counters.registered_buffers, u64::from(buffer.is_some()));
        Places { file, buffer }
    }

    /// The place of a buffer alone.
    pub(super) fn buffer_place(
        &mut self,
        buf: &IoBuf,
        submitter: &Submitter<'_>,
        worker: u32,
        counters: &Counters,
    ) -> Places {
        let mut entering = Entering { submitter, worker, counters };
        let memory = self.memory.as_mut().zip(buf.arena());
        let buffer = memory.and_then(|(memory, arena)| memory.place(arena, buf, &mut entering));
        bump(&counters.registered_buffers, u64::from(buffer.is_some()));
        Places { file: None, buffer }
    }

    /// Takes out what no longer exists.
    pub(super) fn forget(&mut self, number: u64, submitter: &Submitter<'_>) {
        let file = self.files.as_mut().and_then(|files| {
            let index = number as usize % FILE_PLACE_COUNT;
            (files[index].number == number).then(|| (index, std::mem::take(&mut files[index])))
        });
        if let Some((index, FilePlace { state: State::In, .. })) = file {
            let taken = submitter.register_files_update(index as u32, &[-1]);
            assert!(taken.is_ok(), "a registered file is taken out: {taken:?}");
        }
        if let Some(memory) = &mut self.memory {
            memory.forget(number, submitter);
        }
    }
}

/// What entering takes.
struct Entering<'a, 'b> {
    submitter: &'a Submitter<'b>,
    worker: u32,
    counters: &'a Counters,
}

impl Entering<'_, '_> {
    fn enter(&mut self, known: &Known, entered: std::io::Result<()>) -> State {
        known.note(self.worker, inbox::forget);
        match entered {
            Ok(()) => State::In,
            Err(_) => {
                bump(&self.counters.registrations_refused, 1);
                State::Refused
            }
        }
    }
}

#[inline]
fn file_place(
    files: &mut [FilePlace],
    file: &File,
    entering: &mut Entering<'_, '_>,
) -> Option<u32> {
    let known = file.known();
    let index = known.number() as usize % FILE_PLACE_COUNT;
    let place = &mut files[index];
    if place.number != known.number() {
        // Who stands here is in use: it would have been forgotten.
        if place.state != State::Out {
            return None;
        }
        *place = FilePlace { number: known.number(), ..FilePlace::default() };
    }
    if place.state == State::Out {
        place.uses += 1;
        if place.uses >= FILE_USE_COUNT_MIN {
            let entered = entering.submitter.register_files_update(index as u32, &[file.raw_fd()]);
            place.state = entering.enter(known, entered.map(drop));
        }
    }
    (place.state == State::In).then_some(index as u32)
}

impl Memory {
    /// The place of a buffer that lies in one piece of an arena.
    #[inline]
    fn place(
        &mut self,
        arena: &Arena,
        buf: &IoBuf,
        entering: &mut Entering<'_, '_>,
    ) -> Option<u16> {
        let offset = arena.offset_of(buf);
        let (piece, last) =
            (offset / PIECE_BYTES, (offset + buf.len()).saturating_sub(1) / PIECE_BYTES);
        let at = self.arena(arena)?;
        let places = &mut self.arenas[at];
        if piece != last || places.refused {
            return None;
        }
        if places.pieces[piece] == State::Out {
            let index = (places.first + piece) as u32;
            let span = arena.span(piece * PIECE_BYTES, PIECE_BYTES);
            // SAFETY: the memory stays what it is as long as the arena lives (its contract), and
            // the piece is taken out of the table when it does no more.
            let entered =
                unsafe { entering.submitter.register_buffers_update(index, &[span], NO_TAGS) };
            places.pieces[piece] = entering.enter(arena.known(), entered);
            // The limit of locked memory is reached: more of it would fail too.
            places.refused = places.pieces[piece] == State::Refused;
        }
        (places.pieces[piece] == State::In).then_some((places.first + piece) as u16)
    }

    /// Finds an arena, or gives it places.
    #[inline]
    fn arena(&mut self, arena: &Arena) -> Option<usize> {
        let number = arena.known().number();
        let found = self.arenas.iter().position(|places| places.number == number);
        found.or_else(|| self.add(number, arena.len().div_ceil(PIECE_BYTES)))
    }

    #[cold]
    fn add(&mut self, number: u64, count: usize) -> Option<usize> {
        // The arenas stand in the order of their places: the first gap that is wide enough.
        let mut first = 0;
        let mut at = 0;
        for places in &self.arenas {
            if places.first - first >= count {
                break;
            }
            first = places.first + places.pieces.len();
            at += 1;
        }
        if first + count > PIECE_COUNT_MAX {
            return None;
        }
        let pieces = vec![State::Out; count];
        self.arenas.insert(at, ArenaPlaces { number, first, pieces, refused: false });
        Some(at)
    }

    fn forget(&mut self, number: u64, submitter: &Submitter<'_>) {
        let Some(at) = self.arenas.iter().position(|places| places.number == number) else {
            return;
        };
        let places = self.arenas.remove(at);
        let none = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        for (piece, state) in places.pieces.iter().enumerate() {
            if *state == State::In {
                let index = (places.first + piece) as u32;
                // SAFETY: an empty place refers to no memory.
                let taken = unsafe { submitter.register_buffers_update(index, &[none], NO_TAGS) };
                assert!(taken.is_ok(), "registered memory is taken out: {taken:?}");
            }
        }
    }
}

/// Nobody asks when a place is free again.
const NO_TAGS: Option<&[u64]> = None;
