//! Polls that other processes run and somebody follows here: each is read once, however many follow it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::Inner;
use super::live::{PollState, Watch, publish, publish_end};
use crate::ports::{Change, StoreError};
use ep_polling::poll_id::PollId;

/// How often a followed poll is looked at without an announcement: one that was missed costs at most this.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The polls that are followed here and run elsewhere.
#[derive(Default)]
pub(super) struct Followers(Mutex<HashMap<PollId, Arc<Follower>>>);

/// Follows one poll in the database for everyone here.
struct Follower {
    state: watch::Sender<PollState>,
    changed: Notify,
    /// Whether more may have changed than that there are new ballots.
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
    /// What is followed already.
    pub(super) fn watch(&self, id: &PollId) -> Option<Watch> {
        Some(Watch::of(self.0.lock().ok()?.get(id)?.state.subscribe()))
    }

    /// Looks at once at a poll that has changed, if it is followed here.
    pub(super) fn wake(&self, id: &PollId, change: Change) {
        let follower = self.0.lock().ok().and_then(|followers| followers.get(id).cloned());
        if let Some(follower) = follower {
            follower.wake(change);
        }
    }

    /// Looks at all of them at once: announcements may have been missed.
    pub(super) fn wake_all(&self) {
        let followers: Vec<_> =
            self.0.lock().map(|followers| followers.values().cloned().collect()).unwrap_or_default();
        for follower in followers {
            follower.wake(Change::Ended);
        }
    }

    /// Forgets a follower that nobody watches; `false` if somebody does.
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

/// Watches a poll that does not run here, from this state on.
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

/// Reads a poll whenever it has changed, until it has ended, nobody watches it, or the service stops.
async fn follow(inner: &Inner, id: &PollId, follower: &Follower) {
    loop {
        tokio::select! {
            () = follower.state.closed() => if inner.followers.remove_unwatched(id) { return },
            () = inner.tasks.stopping() => return inner.followers.remove(id),
            () = follower.changed.notified() => {}
            () = tokio::time::sleep(LOOK_EVERY) => follower.more.store(true, Ordering::SeqCst),
        }
        match read(inner, id, follower).await {
            Ok(true) => return inner.followers.remove(id),
            Ok(false) => {}
            Err(error) => tracing::warn!(poll = %id, error = %error, "a followed poll cannot be read"),
        }
    }
}

/// Publishes what is new; returns whether there is nothing more to come.
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
