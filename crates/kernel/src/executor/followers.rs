//! Polls that run in other processes and are followed here. Each is read once for all its followers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::Inner;
use super::live::{PollState, Watch, publish, publish_end};
use ep_polling::PollId;
use ep_store::{Change, StoreError};

/// Interval of reading a followed poll without an announcement, in case one was missed.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Polls followed here that run in other processes.
#[derive(Default)]
pub(super) struct Followers(Mutex<HashMap<PollId, Arc<Follower>>>);

/// Reads one poll from the database for all its followers.
struct Follower {
    state: watch::Sender<PollState>,
    changed: Notify,
    /// True if the closing may have changed, besides the ballots.
    more: AtomicBool,
}

impl Follower {
    fn wake(&self, change: Change) {
        if change != Change::Ballots {
            self.more.store(true, Ordering::SeqCst);
        }
        self.changed.notify_one();
    }
}

impl Followers {
    /// Returns a watch of a poll that is already followed.
    pub(super) fn watch(&self, id: &PollId) -> Option<Watch> {
        Some(Watch::of(self.0.lock().ok()?.get(id)?.state.subscribe()))
    }

    /// Reads a followed poll again, because it has changed.
    pub(super) fn wake(&self, id: &PollId, change: Change) {
        let follower = self.0.lock().ok().and_then(|followers| followers.get(id).cloned());
        if let Some(follower) = follower {
            follower.wake(change);
        }
    }

    /// Reads all followed polls again, because announcements may have been missed.
    pub(super) fn wake_all(&self) {
        let followers: Vec<_> =
            self.0.lock().map(|followers| followers.values().cloned().collect()).unwrap_or_default();
        for follower in followers {
            follower.wake(Change::Ended);
        }
    }

    /// Removes a follower that has no watchers; returns `false` if it has some.
    fn remove_unwatched(&self, id: &PollId) -> bool {
        let Ok(mut followers) = self.0.lock() else { return true };
        let watched = followers.get(id).is_some_and(|follower| follower.state.receiver_count() > 0);
        if !watched {
            followers.remove(id);
        }
        !watched
    }

    fn remove(&self, id: &PollId) {
        if let Ok(mut followers) = self.0.lock() {
            followers.remove(id);
        }
    }
}

/// Watches a poll of another process, from this state on.
pub(super) fn watch(inner: &Arc<Inner>, state: PollState) -> Watch {
    let (sender, receiver) = watch::channel(state);
    let id = sender.borrow().record.id.clone();
    if receiver.borrow().record.closing.is_some() {
        return Watch::of(receiver);
    }
    let Ok(mut followers) = inner.followers.0.lock() else { return Watch::of(receiver) };
    if let Some(follower) = followers.get(&id) {
        return Watch::of(follower.state.subscribe());
    }
    let follower = Arc::new(Follower { state: sender, changed: Notify::new(), more: AtomicBool::default() });
    // It may have changed since it was read.
    follower.wake(Change::Ended);
    followers.insert(id.clone(), Arc::clone(&follower));
    drop(followers);
    let task = Arc::clone(inner);
    inner.tasks.spawn(async move { follow(&task, &id, &follower).await });
    Watch::of(receiver)
}

/// Reads a poll after every change, until it ends, its last watcher leaves, or the service stops.
async fn follow(inner: &Inner, id: &PollId, follower: &Follower) {
    loop {
        tokio::select! {
            () = follower.state.closed() => if inner.followers.remove_unwatched(id) { return },
            () = inner.tasks.stopping() => return inner.followers.remove(id),
            () = follower.changed.notified() => {}
            () = tokio::time::sleep(POLL_INTERVAL) => follower.more.store(true, Ordering::SeqCst),
        }
        match read(inner, id, follower).await {
            Ok(true) => return inner.followers.remove(id),
            Ok(false) => {}
            Err(error) => tracing::warn!(poll = %id, error = %error, "failed to read a followed poll"),
        }
    }
}

/// Publishes new ballots and the end. Returns `true` once the poll has ended.
async fn read(inner: &Inner, id: &PollId, follower: &Follower) -> Result<bool, StoreError> {
    let known = || follower.state.borrow().ballots.len() as u32;
    let mut ended = None;
    let more = if follower.more.swap(false, Ordering::SeqCst) {
        let Some(progress) = inner.polls.progress(id).await? else { return Ok(true) };
        ended = progress.closing.map(|closing| (closing, progress.settled));
        progress.ballots > known()
    } else {
        true
    };
    if more {
        publish(&follower.state, &inner.polls.ballots(id, known()).await?);
    }
    let Some((closing, settled)) = ended else { return Ok(false) };
    publish_end(&follower.state, closing, settled);
    Ok(true)
}
