//! What a thread gets that reads a page with each system call and waits: no ring, no runtime, no tree.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Instant;

use engine::SqlResult;
use runtime::IoBuf;

use super::{PAGE_BYTES, SLICE, failed};
use crate::figure::Figure;

/// Random pages of the file by `pread`, past the page cache, `n` times.
pub(super) fn by_pread(path: &Path, n: usize, emit: &mut impl FnMut(Figure)) -> SqlResult<()> {
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_DIRECT).open(path).map_err(failed)?;
    let page_count = file.metadata().map_err(failed)?.len() / PAGE_BYTES as u64;
    let mut random = stdx::Prng::new(1);
    let mut buf = IoBuf::alloc(PAGE_BYTES);
    let mut rates = vec![];
    for _ in 0..n {
        let (began, mut count) = (Instant::now(), 0);
        while began.elapsed() < SLICE {
            let offset = random.below(page_count) * PAGE_BYTES as u64;
            file.read_exact_at(buf.as_mut_slice(), offset).map_err(failed)?;
            count += 1;
        }
        rates.push(f64::from(count) / began.elapsed().as_secs_f64());
    }
    let figure = Figure::of("pagefault.pread", "1/s", &rates);
    emit(figure.with_detail("control: random pages by one thread that waits in `pread`"));
    Ok(())
}
