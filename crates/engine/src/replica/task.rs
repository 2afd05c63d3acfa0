//! The task of a replica: takes what comes, has sessions see it, and makes it a database of its
//! own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use runtime::time;
use storage::{Advanced, Changes, FollowError, Follower, StorageError, Store, StoreOptions};
use types::{SqlError, SqlResult};

use super::fault::refused;
use super::receiver::ended_early;
use super::{ReplicaOptions, request_path};
use crate::database::open::Opened;
use crate::database::states::{self, States};
use crate::replication::{Attendant, Order, ReplicaFigures};
use crate::{catalog, fault};

/// How often the archive is asked whether it has got something.
const LOOK: Duration = Duration::from_millis(10);

/// After a failure it is asked so much later, twice as much after each further one.
pub(super) const PAUSE: Duration = Duration::from_millis(200);
pub(super) const PAUSE_MAX: Duration = Duration::from_secs(10);

/// How long statements may go on that run when a replica is promoted.
const GRACE: Duration = Duration::from_millis(100);

/// How long a replica waits in silence for the first segment before it says that there is none. As
/// long as bytes come it goes on: the segment may be as large as the database.
const FIRST_MAX: Duration = Duration::from_secs(30);

/// The task that follows an archive.
pub(super) struct Task {
    pub states: States,
    /// Of its states, and of the database of its own.
    pub options: StoreOptions,
    pub promoted: StoreOptions,
    pub path: PathBuf,
    /// Nobody else writes to the folder, or needs it.
    pub owns_folder: bool,
    pub tell: Arc<dyn Fn(&str) + Send + Sync>,
    /// How long a state lasts that was left.
    pub max_delay: Box<dyn Fn() -> Option<Duration> + Send>,
}

impl Task {
    pub async fn run(self, mut follower: Follower) {
        let mut pause = PAUSE;
        loop {
            let wait = match self.advance(&mut follower).await {
                Ok(()) => {
                    if pause > PAUSE {
                        (self.tell)("the replica goes on");
                    }
                    pause = PAUSE;
                    LOOK
                }
                Err(error) => {
                    self.note_failure(&error, pause == PAUSE);
                    let wait = pause;
                    pause = (pause * 2).min(PAUSE_MAX);
                    wait
                }
            };
            self.states.end_former((self.max_delay)());
            self.heed_request().await;
            match time::timeout(wait, self.states.status.ordered()).await {
                Err(_) => {}
                Ok(Order::Stop) => return,
                Ok(Order::Promote) if self.can_promote(&mut follower).await => {
                    self.promote(follower).await;
                    return self.rest().await;
                }
                Ok(Order::Promote) => {
                    self.states.turn(false);
                    self.states.status.take_back();
                }
            }
        }
    }

    /// Takes what has come, and has sessions see it.
    async fn advance(&self, follower: &mut Follower) -> SqlResult<()> {
        // A state that could not be opened the last time is not one to go on from.
        let is_even = self.figures().replayed == follower.followed().position;
        let advanced = follower.advance().await.map_err(|error| refused(error, &self.path))?;
        let received = follower.followed().position;
        self.states.status.change(|figures| {
            figures.received = received;
            if !self.owns_folder {
                (figures.state, figures.error) = ("streaming", None);
            }
        });
        let is_seen = match advanced {
            Advanced::Nothing => is_even,
            Advanced::Commits(changes) => is_even && self.replayed(changes).await,
            Advanced::State => false,
        };
        if !is_seen {
            if self.states.is_full() {
                return Ok(());
            }
            let opened = opened(follower, &self.options).await?;
            states::advance(&self.states, opened, true);
        }
        if self.figures().replayed != received {
            note_position(&self.states, follower);
        }
        match self.owns_folder && !is_seen {
            true => follower.prune().await.map_err(|error| refused(error, &self.path)),
            false => Ok(()),
        }
    }

    /// Puts commits into the last state; whether it goes on. What it cannot take, definitions among
    /// them, is seen in the next one, and so is what would make it a burden: nothing of it is ever
    /// written down.
    async fn replayed(&self, changes: Changes) -> bool {
        let Some(database) = states::last(&self.states) else { return true };
        match database.versions().replay(changes).await {
            Ok(is_done) => is_done && !database.store().needs_checkpoint(),
            Err(error) => {
                (self.tell)(&format!("commits are put into another state: {}", error.message));
                false
            }
        }
    }

    fn figures(&self) -> ReplicaFigures {
        self.states.status.attendant().figures()
    }

    /// `dovetail promote` leaves a file beside the copy.
    async fn heed_request(&self) {
        let request = request_path(&self.path);
        if runtime::fs::exists(&request).await.unwrap_or(false)
            && runtime::fs::remove(&request).await.is_ok()
        {
            self.states.status.attendant().promote();
        }
    }

    fn note_failure(&self, error: &SqlError, is_first: bool) {
        let said = error.message.clone();
        let is_known = self.figures().error.as_ref() == Some(&said);
        if is_first || !is_known {
            let hint = error.hint.as_deref().unwrap_or_default();
            (self.tell)(&format!("the replica does not go on: {said}. {hint}"));
        }
        self.states.status.change(|figures| {
            figures.state = "waiting";
            figures.error = Some(said);
        });
    }

    /// Takes what the archive has, before the copy becomes a database of its own; whether it can.
    /// A copy that has a part of a checkpoint cannot: it goes on following.
    async fn can_promote(&self, follower: &mut Follower) -> bool {
        (self.tell)("received promote request");
        self.states.turn(true);
        // Commits that have come and are not seen yet belong to it; those that cannot be had any
        // more do not.
        if let Err(error) = follower.advance().await {
            (self.tell)(&format!("the copy ends before what its archive has: {error}"));
        }
        let said = match follower.is_whole().await {
            Ok(true) => return true,
            Ok(false) => "it has a part of a checkpoint, and follows until it has the rest".into(),
            Err(error) => error.to_string(),
        };
        let said = format!("the replica could not be promoted: {said}");
        (self.tell)(&said);
        self.states.status.change(|figures| figures.error = Some(said));
        false
    }

    /// Makes the copy a database of its own. Where that fails sessions keep what they see.
    async fn promote(&self, follower: Follower) {
        // Short statements end meanwhile, that of who has asked for this among them.
        time::sleep(GRACE).await;
        // From its release on, states that are open see no more than they have in memory.
        self.states.end_all();
        let done = match follower.release().await {
            Err(error) => Err(refused(error, &self.path)),
            Ok(()) => self.open_promoted().await,
        };
        match done {
            Ok(opened) => {
                states::advance(&self.states, opened, false);
                self.states.end_former(Some(Duration::ZERO));
                self.states.status.change(|figures| figures.state = "stopped");
                (self.tell)("the replica is a database of its own now");
            }
            Err(error) => {
                let said = format!("the replica could not be promoted: {}", error.message);
                (self.tell)(&said);
                self.states.status.change(|figures| figures.error = Some(said));
                self.states.turn(false);
            }
        }
        self.states.status.take_back();
    }

    async fn open_promoted(&self) -> SqlResult<Opened> {
        let progress = Arc::default();
        let opening = Store::open_watched(&self.path, self.promoted.clone(), &progress);
        let store = opening.await.map_err(|error| fault::of_file(error, &self.path))?;
        let snapshot = catalog::persist::load(&store).await?;
        Ok((store, snapshot))
    }

    /// Nothing is to be done but to end.
    async fn rest(&self) {
        while self.states.status.ordered().await != Order::Stop {
            self.states.status.take_back();
        }
    }
}

/// The copy, as soon as its folder has what it begins with.
pub(super) async fn first_opened(
    path: &Path,
    follow: &ReplicaOptions,
    heard: &Attendant,
) -> SqlResult<Follower> {
    let began = time::now();
    loop {
        let error = match Follower::open(path, &follow.folder).await {
            Ok(follower) => return Ok(follower),
            Err(error) => error,
        };
        let is_early = matches!(
            error,
            FollowError::Unknown { .. }
                | FollowError::Storage(StorageError::Io { kind: std::io::ErrorKind::NotFound, .. })
        );
        let silent_since = heard.figures().came_at.unwrap_or(began);
        if !is_early || follow.upstream.is_none() || silent_since.elapsed() >= FIRST_MAX {
            return Err(refused(error, path));
        }
        if follow.ending.is_cancelled() {
            return Err(ended_early());
        }
        time::sleep(LOOK).await;
    }
}

/// The state that the copy has now.
pub(super) async fn opened(follower: &mut Follower, options: &StoreOptions) -> SqlResult<Opened> {
    let store = follower.open_store(options, &Arc::default()).await.map_err(fault::storage)?;
    let snapshot = catalog::persist::load(&store).await?;
    Ok((store, snapshot))
}

/// Sessions see what the copy has.
pub(super) fn note_position(states: &States, follower: &Follower) {
    let followed = follower.followed();
    states.status.change(|figures| {
        figures.received = followed.position;
        figures.replayed = followed.position;
        figures.replayed_us = i64::try_from(followed.time).ok();
        figures.heard_us = Some(time::unix_us());
        (figures.state, figures.error) = ("streaming", None);
    });
}
