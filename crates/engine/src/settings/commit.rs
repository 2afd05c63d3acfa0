//! `synchronous_commit`: what a commit waits for.

/// What a commit waits for. There are no other servers, so all but one are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SynchronousCommit {
    #[default]
    On,
    Off,
    Local,
    RemoteWrite,
    RemoteApply,
}

impl SynchronousCommit {
    /// The names of all, in the order of [`SynchronousCommit::ALL`].
    pub(super) const NAMES: &[&str] = &["on", "off", "local", "remote_write", "remote_apply"];

    const ALL: [SynchronousCommit; 5] = [
        SynchronousCommit::On,
        SynchronousCommit::Off,
        SynchronousCommit::Local,
        SynchronousCommit::RemoteWrite,
        SynchronousCommit::RemoteApply,
    ];

    pub(super) fn name(self) -> &'static str {
        SynchronousCommit::NAMES[self as usize]
    }

    pub(super) fn of_name(name: &str) -> Option<SynchronousCommit> {
        let at = SynchronousCommit::NAMES.iter().position(|known| *known == name)?;
        Some(SynchronousCommit::ALL[at])
    }

    /// Whether a commit waits until it is durable.
    pub(crate) fn waits(self) -> bool {
        self != SynchronousCommit::Off
    }
}
