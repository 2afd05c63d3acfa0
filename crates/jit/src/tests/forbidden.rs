//! A system that refuses executable memory: made by a filter of system calls for one thread.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use super::compiler;
use crate::fuzz::Case;
use crate::{ColumnKind, NotCompiled};

/// Refuses `mprotect` with `PROT_EXEC` from now on, in this thread; false where filters are
/// refused.
fn forbid() -> bool {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IS: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const HAS: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut steps = [
        // The number of the call; its third argument, of which the lower half comes first.
        step(LOAD, 0, 0, 0),
        step(IS, 0, 3, libc::SYS_mprotect as u32),
        step(LOAD, 0, 0, 32),
        step(HAS, 0, 1, libc::PROT_EXEC as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EACCES as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the calls read the filter, which is alive; they change what this thread may do.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter) == 0
    }
}

#[test]
fn forbidden_executable_memory_is_named() {
    let compile_forbidden = || {
        if !forbid() {
            return None;
        }
        let (compiler, case) = (compiler(), Case::new(7, 10));
        let kinds: Vec<_> = case.columns.iter().map(|c| ColumnKind::of(c.data_type())).collect();
        let why = compiler.compile_one(&case.program, &kinds).map(|_| ()).unwrap_err();
        assert_eq!(compiler.code_bytes(), 0, "what was taken is given back");
        assert_eq!(compiler.counts().executable_memory, 1);
        Some(why)
    };
    let why = std::thread::scope(|scope| scope.spawn(compile_forbidden).join().unwrap());
    let Some(why) = why else {
        println!("SKIPPED: filters of system calls are refused here");
        return;
    };
    let expected = NotCompiled::ExecutableMemory { call: "mprotect", errno: libc::EACCES };
    assert_eq!(why, expected);
    assert!(why.to_string().starts_with("executable memory is refused: mprotect: "), "{why}");
}
