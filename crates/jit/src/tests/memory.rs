//! Memory of code: bounded, and given back.

use std::sync::atomic::AtomicBool;

use arrow_array::ArrayRef;

use super::compiler;
use crate::fuzz::Case;
use crate::{ColumnKind, Compiled, Compiler, NotCompiled, NotRun, Source};

fn compile(compiler: &Compiler, case: &Case) -> Result<Compiled, NotCompiled> {
    let kinds: Vec<_> = case.columns.iter().map(|c| ColumnKind::of(c.data_type())).collect();
    compiler.compile_one(&case.program, &kinds)
}

/// Mappings of this process.
#[cfg(target_os = "linux")]
fn executable_mappings() -> usize {
    use std::io::BufRead;
    #[allow(clippy::disallowed_methods)] // a test that looks at the process from outside
    let maps = std::fs::File::open("/proc/self/maps").unwrap();
    let lines = std::io::BufReader::new(maps).lines().map(Result::unwrap);
    let accesses: Vec<String> =
        lines.filter_map(|line| line.split(' ').nth(1).map(String::from)).collect();
    assert!(!accesses.iter().any(|access| access.contains('w') && access.contains('x')));
    accesses.iter().filter(|access| access.contains('x')).count()
}

#[test]
#[cfg(target_os = "linux")]
fn code_is_given_back() {
    let (compiler, case) = (compiler(), Case::new(7, 10));
    let before = executable_mappings();
    for _ in 0..60 {
        let compiled = compile(&compiler, &case).unwrap();
        assert!(compiler.code_bytes() > 0 && compiled.code_bytes() <= compiler.code_bytes());
        drop(compiled);
        assert_eq!(compiler.code_bytes(), 0);
    }
    // Other tests have code at the same time; 60 that stay would be seen.
    assert!(executable_mappings() < before + 30);
}

#[test]
fn programs_of_a_set_share_pages() {
    let (compiler, case) = (compiler(), Case::new(7, 10));
    let kinds: Vec<_> = case.columns.iter().map(|c| ColumnKind::of(c.data_type())).collect();
    let source = Source { program: &case.program, columns: &kinds };
    let mut set = compiler.compile(&[source; 3]);
    let all = compiler.code_bytes();
    let last = set.pop().unwrap().unwrap();
    drop(set);
    assert_eq!(compiler.code_bytes(), all);
    let columns: Vec<&ArrayRef> = case.columns.iter().collect();
    let run = last.run(&columns, case.rows, &AtomicBool::new(false));
    assert!(matches!(run, Ok(_) | Err(NotRun::Refused)));
    drop(last);
    assert_eq!(compiler.code_bytes(), 0);
}

#[test]
fn code_is_bounded() {
    let (compiler, case) = (Compiler::new(4096), Case::new(7, 1));
    let first = compile(&compiler, &case).unwrap();
    let second = compile(&compiler, &case).unwrap_err();
    assert_eq!(second, NotCompiled::Budget { bytes: 4096, limit: 4096 });
    assert_eq!(compiler.counts().budget, 1);
    drop(first);
    assert!(compile(&compiler, &case).is_ok());
}
