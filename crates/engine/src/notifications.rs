//! `LISTEN` and `NOTIFY`: what transactions tell sessions when they commit.
//!
//! Notifications live in memory: who does not listen when one is sent never hears of it.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::sync::WaitQueue;
use sql::parse::NotificationStatement;
use types::{SqlError, SqlResult, SqlState};

/// Bytes of a payload, and one more.
const PAYLOAD_BYTES_END: usize = 8000;

/// Bytes of a channel's name, and one more.
const CHANNEL_BYTES_END: usize = 64;

/// Bytes that wait for a session which does not take them, and that one transaction says.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// What a listening session is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The channel.
    pub channel: String,
    /// What was said on it; may be empty.
    pub payload: String,
    /// The number of the session that said it, in place of a process id.
    pub pid: i32,
}

impl Notification {
    fn bytes(&self) -> usize {
        size_of::<Notification>() + self.channel.len() + self.payload.len()
    }
}

/// Who listens to what, of a database.
#[derive(Default)]
pub(crate) struct Channels(Mutex<BTreeMap<String, BTreeMap<u64, Arc<Inbox>>>>);

/// What has come for a session.
#[derive(Default)]
struct Inbox {
    waiting: Mutex<VecDeque<Notification>>,
    bytes: AtomicUsize,
    come: WaitQueue,
}

/// What a transaction has noted, in its order; what it says twice is told once.
#[derive(Default)]
struct Pending {
    statements: Vec<NotificationStatement>,
    said: HashSet<(String, String)>,
    bytes: usize,
}

/// The notifications of a session: what it says when its transaction commits, and what it is told.
pub(crate) struct Mailbox {
    channels: Arc<Channels>,
    session: u64,
    inbox: Arc<Inbox>,
    listening: Mutex<BTreeSet<String>>,
    /// Statements whose transaction has not ended.
    pending: Mutex<Pending>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inbox {
    fn is_full(&self) -> bool {
        self.bytes.load(Relaxed) > WAITING_BYTES_MAX
    }

    fn put(&self, notification: Notification) {
        let mut waiting = lock(&self.waiting);
        self.bytes.fetch_add(notification.bytes(), Relaxed);
        waiting.push_back(notification);
        drop(waiting);
        self.come.wake_all();
    }

    fn take(&self) -> Vec<Notification> {
        let mut waiting = lock(&self.waiting);
        self.bytes.store(0, Relaxed);
        waiting.drain(..).collect()
    }
}

impl Pending {
    fn push(&mut self, statement: NotificationStatement) {
        if let NotificationStatement::Notify { channel, payload } = &statement {
            if !self.said.insert((channel.clone(), payload.clone())) {
                return;
            }
            self.bytes += size_of::<Notification>() + channel.len() + payload.len();
        }
        self.statements.push(statement);
    }

    /// Forgets what was noted after so much.
    fn truncate(&mut self, noted: usize) {
        let kept = std::mem::take(self).statements.into_iter().take(noted);
        kept.for_each(|statement| self.push(statement));
    }
}

impl Channels {
    fn listen(&self, channel: &str, session: u64, inbox: &Arc<Inbox>) {
        lock(&self.0).entry(channel.to_owned()).or_default().insert(session, inbox.clone());
    }

    fn unlisten(&self, channel: &str, session: u64) {
        let mut channels = lock(&self.0);
        let Some(listeners) = channels.get_mut(channel) else { return };
        listeners.remove(&session);
        if listeners.is_empty() {
            channels.remove(channel);
        }
    }

    fn listeners(&self, channel: &str) -> Vec<Arc<Inbox>> {
        lock(&self.0).get(channel).into_iter().flat_map(|l| l.values().cloned()).collect()
    }
}

impl Mailbox {
    pub(crate) fn new(channels: Arc<Channels>, session: u64) -> Mailbox {
        let (listening, pending) = (Mutex::default(), Mutex::default());
        Mailbox { channels, session, inbox: Arc::default(), listening, pending }
    }

    /// Notes what is done when the transaction commits.
    ///
    /// # Errors
    /// 22023 for names and payloads that are too long, 54000 when somebody takes no notifications.
    pub(crate) fn note(&self, statement: NotificationStatement) -> SqlResult<()> {
        if let NotificationStatement::Notify { channel, payload } = &statement {
            check(channel, payload)?;
            let is_too_much = lock(&self.pending).bytes > WAITING_BYTES_MAX;
            if is_too_much || self.channels.listeners(channel).iter().any(|i| i.is_full()) {
                let message = "too many notifications in the NOTIFY queue";
                return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message).with_hint(
                    "A transaction says very much, or a session that listens takes nothing.",
                ));
            }
        }
        lock(&self.pending).push(statement);
        Ok(())
    }

    /// How much was noted in the transaction.
    pub(crate) fn noted(&self) -> usize {
        lock(&self.pending).statements.len()
    }

    /// Forgets what was noted after so much.
    pub(crate) fn forget_after(&self, noted: usize) {
        lock(&self.pending).truncate(noted);
    }

    /// The transaction has committed. `pid` is the session's number for others.
    pub(crate) fn commit(&self, pid: i32) {
        let pending = std::mem::take(&mut *lock(&self.pending));
        for statement in pending.statements {
            match statement {
                NotificationStatement::Listen(channel) => {
                    self.channels.listen(&channel, self.session, &self.inbox);
                    lock(&self.listening).insert(channel);
                }
                NotificationStatement::Unlisten(Some(channel)) => self.unlisten(&channel),
                NotificationStatement::Unlisten(None) => self.unlisten_all(),
                NotificationStatement::Notify { channel, payload } => {
                    let told = Notification { channel, payload, pid };
                    let listeners = self.channels.listeners(&told.channel);
                    listeners.iter().for_each(|inbox| inbox.put(told.clone()));
                }
            }
        }
    }

    fn unlisten(&self, channel: &str) {
        self.channels.unlisten(channel, self.session);
        lock(&self.listening).remove(channel);
    }

    /// Listens to nothing any more.
    pub(crate) fn unlisten_all(&self) {
        self.listening().iter().for_each(|channel| self.unlisten(channel));
    }

    /// The channels that the session listens to.
    pub(crate) fn listening(&self) -> Vec<String> {
        lock(&self.listening).iter().cloned().collect()
    }

    /// Whether it listens, or something has come that was not taken.
    pub(crate) fn is_used(&self) -> bool {
        !lock(&self.listening).is_empty() || !lock(&self.inbox.waiting).is_empty()
    }

    /// Takes what has come.
    pub(crate) fn take(&self) -> Vec<Notification> {
        self.inbox.take()
    }

    /// Waits until something has come.
    pub(crate) async fn arrival(&self) {
        let has_come = || (!lock(&self.inbox.waiting).is_empty()).then_some(());
        self.inbox.come.wait(has_come).await;
    }
}

fn check(channel: &str, payload: &str) -> SqlResult<()> {
    let message = match () {
        () if channel.is_empty() => "channel name cannot be empty",
        () if channel.len() >= CHANNEL_BYTES_END => "channel name too long",
        () if payload.len() >= PAYLOAD_BYTES_END => "payload string too long",
        () => return Ok(()),
    };
    Err(SqlError::new(SqlState("22023"), message))
}
