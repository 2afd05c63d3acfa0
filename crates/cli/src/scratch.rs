//! Folders that a measurement makes and removes.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use bench::figure::Figure;
use engine::{SqlError, SqlResult, SqlState};

use crate::tpch::print_figure;

/// What figures that need files of their own have in common.
#[derive(Args)]
pub struct ScratchArgs {
    /// Print figures as JSON lines
    #[arg(long)]
    json: bool,
    /// Runs of each
    #[arg(long, default_value_t = 5)]
    pub runs: usize,
    /// Folder for files of some gigabytes, which are removed afterwards
    #[arg(long, default_value = "data")]
    folder: PathBuf,
}

impl ScratchArgs {
    /// Calls `bench` with a new folder.
    pub fn in_folder(
        &self,
        bench: impl FnOnce(&Path, usize, &mut dyn FnMut(Figure)) -> SqlResult<()>,
    ) -> SqlResult<ExitCode> {
        in_new_folder(&self.folder, |folder| {
            bench(folder, self.runs, &mut |figure| print_figure(&figure, self.json))
        })
    }
}

/// Calls `bench` with a new folder within `parent`, which is removed afterwards.
pub(crate) fn in_new_folder(
    parent: &Path,
    bench: impl FnOnce(&Path) -> SqlResult<()>,
) -> SqlResult<ExitCode> {
    let folder = parent.join(format!("bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)
        .map_err(|e| SqlError::new(SqlState::IO_ERROR, format!("{}: {e}", folder.display())))?;
    let done = bench(&folder);
    std::fs::remove_dir_all(&folder).ok();
    done.map(|()| ExitCode::SUCCESS)
}
