//! The names of the simulated disk, current and durable. Directories themselves always survive.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use stdx::Prng;

#[derive(Clone, Debug)]
enum NameChange {
    Create(PathBuf, u64),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<PathBuf, u64>) {
        match self {
            NameChange::Create(path, node) => drop(names.insert(path.clone(), *node)),
            NameChange::Remove(path) => drop(names.remove(path)),
            NameChange::Rename(from, to) => {
                if let Some(node) = names.remove(from) {
                    names.insert(to.clone(), node);
                }
            }
        }
    }

    fn is_in(&self, dir: &Path) -> bool {
        let inside = |path: &PathBuf| path.parent() == Some(dir);
        match self {
            NameChange::Create(path, _) | NameChange::Remove(path) => inside(path),
            NameChange::Rename(from, to) => inside(from) || inside(to),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    current: BTreeMap<PathBuf, u64>,
    durable: BTreeMap<PathBuf, u64>,
    unsynced: Vec<NameChange>,
    dirs: BTreeSet<PathBuf>,
}

impl Names {
    pub(super) fn find(&self, path: &Path) -> Option<u64> {
        self.current.get(path).copied()
    }

    fn change(&mut self, change: NameChange) {
        change.apply(&mut self.current);
        self.unsynced.push(change);
    }

    pub(super) fn create(&mut self, path: &Path, node: u64) {
        self.change(NameChange::Create(path.to_owned(), node));
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.find(from).ok_or(io::ErrorKind::NotFound)?;
        self.change(NameChange::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.find(path).ok_or(io::ErrorKind::NotFound)?;
        self.change(NameChange::Remove(path.to_owned()));
        Ok(())
    }

    pub(super) fn create_dir(&mut self, path: &Path) {
        self.dirs.extend(path.ancestors().map(Path::to_owned));
    }

    pub(super) fn exists(&self, path: &Path) -> bool {
        let below = |(name, _): (&PathBuf, &u64)| name.starts_with(path);
        self.dirs.contains(path) || self.current.iter().any(below)
    }

    pub(super) fn list(&self, dir: &Path) -> Vec<String> {
        let child = |path: &PathBuf| {
            let inside = path.strip_prefix(dir).ok()?;
            let first = inside.components().next()?;
            Some(first.as_os_str().to_string_lossy().into_owned())
        };
        let names: BTreeSet<String> =
            self.current.keys().chain(&self.dirs).filter_map(child).collect();
        names.into_iter().collect()
    }

    pub(super) fn sync_dir(&mut self, dir: &Path) {
        for change in std::mem::take(&mut self.unsynced) {
            match change.is_in(dir) {
                true => change.apply(&mut self.durable),
                false => self.unsynced.push(change),
            }
        }
    }

    /// The names after a crash: the durable ones and the first few unsynced changes (file systems
    /// commit names in order).
    pub(super) fn crash(&self, prng: &mut Prng) -> Names {
        let mut names = self.durable.clone();
        let survivors = prng.below(self.unsynced.len() as u64 + 1) as usize;
        self.unsynced[..survivors].iter().for_each(|change| change.apply(&mut names));
        Names {
            current: names.clone(),
            durable: names,
            unsynced: Vec::new(),
            dirs: self.dirs.clone(),
        }
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = (&PathBuf, u64)> {
        self.current.iter().map(|(path, node)| (path, *node))
    }
}
