//! Which cores a thread may use.

/// A set of cores.
#[derive(Clone, Copy)]
pub(crate) struct Affinity(libc::cpu_set_t);

impl Affinity {
    /// The cores of the calling thread; `None` if the system does not tell.
    pub(crate) fn current() -> Option<Affinity> {
        // SAFETY: all-zero is a valid (empty) set.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::cpu_set_t>();
        // SAFETY: `set` is a valid place of the given size; 0 is the calling thread.
        let rc = unsafe { libc::sched_getaffinity(0, size, &mut set) };
        (rc == 0).then_some(Affinity(set))
    }

    /// Only the `index`-th core of this set, counted around.
    pub(crate) fn nth(&self, index: usize) -> Option<Affinity> {
        // SAFETY: the index is below the size of the set.
        let has = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, &self.0) };
        let cpus: Vec<usize> = (0..libc::CPU_SETSIZE as usize).filter(has).collect();
        let cpu = cpus.get(index % cpus.len().max(1))?;
        // SAFETY: all-zero is a valid set, and `cpu` is below its size.
        let one = unsafe {
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(*cpu, &mut one);
            one
        };
        Some(Affinity(one))
    }

    /// Binds the calling thread. A refusal (a container's rules) only costs speed.
    pub(crate) fn apply(&self) {
        // SAFETY: a valid set of the given size; 0 is the calling thread.
        let _ = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &self.0) };
    }
}
