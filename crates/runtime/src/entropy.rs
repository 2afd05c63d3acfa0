//! Bytes that nobody can guess: for salts, nonces and keys.

use crate::worker;

/// Bytes of the operating system's random source. In a simulation they follow from the run's seed,
/// so that it can be replayed.
pub fn entropy<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if worker::try_with(|w| w.is_simulated()).unwrap_or(false) {
        bytes.iter_mut().for_each(|byte| *byte = crate::yielding::random_u64() as u8);
    } else {
        fill(&mut bytes);
    }
    bytes
}

fn fill(bytes: &mut [u8]) {
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = &mut bytes[filled..];
        // SAFETY: `rest` is valid for writes of its length.
        let count = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        let error = std::io::Error::last_os_error();
        let interrupted = count < 0 && error.kind() == std::io::ErrorKind::Interrupted;
        assert!(count > 0 || interrupted, "no random bytes from the system: {error}");
        filled += usize::try_from(count).unwrap_or(0);
    }
}
