//! Machine code of expressions, made beside the workers: no worker waits for the code generator.

use std::sync::Arc;
use std::time::Duration;

use plan::codegen::{Codegen, Start};
use runtime::time;

use crate::query::Query;

/// A code generator for one execution, whose work is timed by the clock of the runtime.
pub fn codegen(start: Start) -> Arc<Codegen> {
    Arc::new(Codegen::new(start, timed))
}

fn timed(work: &mut dyn FnMut()) -> Duration {
    let begun = time::now();
    work();
    begun.elapsed()
}

/// Has made what expressions have asked for, on a thread beside the workers. The task waits for it,
/// others go on meanwhile.
pub(crate) async fn make_asked(query: &Query) {
    let Some(codegen) = &query.codegen else { return };
    while let Some(work) = codegen.take_asked() {
        let permit = query.beside.acquire().await;
        let work = move || {
            let _permit = permit;
            work();
        };
        // Without code the interpreter goes on.
        if let Err(aborted) = runtime::offload(work).await {
            codegen.failed(&aborted);
        }
    }
}
