//! The poll that the start page shows: one of the operator's, or the service's own example if it is clear.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use askama::Template;
use ep_kernel::dispatch::dispatch;
use ep_kernel::guard::{Admission, Credential};
use ep_kernel::{Call, Fault, Kind, Tool};
use ep_polling::{PollId, Timestamp};
use ep_site::http::{AppState, RequestHead};
use ep_tools::entry_of;
use ep_tools::polls::PollFree;
use ep_tools::polls::sentences::EndedPoll;
use ep_tools::results::PollResult;
use serde_json::Value;

use super::PageState;
use super::open_poll::{free_poll, poll_of};
use crate::web::result::{Read, View, page_of, read};

/// Time until another of the operator's polls is shown.
const TURN: Duration = Duration::from_mins(1);
/// Delay between attempts to poll the example.
const REST: Duration = Duration::from_mins(10);
/// The example is shown if its winner has at least this share of the votes.
const CLEAR_SHARE: f64 = 0.6;

/// A small version of a result.
#[derive(Template)]
#[template(path = "web/start/featured.html")]
struct SmallResult<'a> {
    poll: &'a View,
}

struct Shown {
    id: PollId,
    html: Arc<str>,
}

/// The shown poll, rendered once.
#[derive(Default)]
pub struct Featured {
    shown: RwLock<Option<Shown>>,
    /// Time of the next search, in milliseconds since 1970.
    due: AtomicI64,
    /// Polls whose absence has been logged; at most as many as the operator has named.
    logged: Mutex<HashSet<PollId>>,
}

impl Featured {
    /// Returns the poll's section of the page, if there is one.
    pub(in crate::web) fn html(&self) -> Option<Arc<str>> {
        Some(Arc::clone(&self.shown.read().ok()?.as_ref()?.html))
    }

    /// Hides the poll if it was deleted. Returns true if it was.
    fn hide_deleted(&self, state: &AppState) -> bool {
        let is_deleted = |shown: &Shown| state.app.ports.polls.is_deleted(&shown.id);
        if !self.shown.read().is_ok_and(|shown| shown.as_ref().is_some_and(is_deleted)) {
            return false;
        }
        self.show(None);
        self.due.store(0, Ordering::Relaxed);
        true
    }

    fn show(&self, shown: Option<Shown>) {
        if let Ok(mut known) = self.shown.write() {
            *known = shown;
        }
    }

    /// True if the caller should search now. Also begins the delay until the next search.
    fn is_due(&self, now: Timestamp, delay: Duration) -> bool {
        let due = self.due.load(Ordering::Relaxed);
        let next = now.after(delay).millis();
        due <= now.millis()
            && self.due.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Logs once that a poll of the operator cannot be shown.
    fn log(&self, id: &PollId, fault: &Fault) {
        if self.logged.lock().is_ok_and(|mut logged| logged.insert(id.clone())) {
            let id = id.as_str();
            tracing::warn!(poll = id, error = %fault, "a poll of EP_FEATURED_POLLS cannot be shown; it is skipped");
        }
    }
}

/// Renews the shown poll if it is due. The operator's polls take turns. The service's own example is polled in the
/// background.
pub(super) async fn renew(of_pages: &PageState, state: &AppState, head: &RequestHead, admission: &Admission) {
    let featured = &of_pages.featured;
    if featured.hide_deleted(state) {
        of_pages.pages.forget_start();
    }
    let now = state.app.ports.clock.now();
    let chosen = &state.site.settings.featured_polls;
    if chosen.is_empty() {
        if featured.html().is_none() && featured.is_due(now, REST) {
            let task = poll_example(of_pages.clone(), state.clone(), head.clone(), admission.clone());
            state.app.tasks.spawn(task);
        }
    } else if featured.is_due(now, TURN) {
        featured.show(first_of(chosen, featured, state, head, admission, now).await);
    }
}

/// Returns the first of these polls that can be shown, from the one whose turn it is.
async fn first_of(
    chosen: &[PollId],
    featured: &Featured,
    state: &AppState,
    head: &RequestHead,
    admission: &Admission,
    now: Timestamp,
) -> Option<Shown> {
    let turn = (now.millis() / TURN.as_millis() as i64) as usize % chosen.len();
    for id in chosen[turn..].iter().chain(&chosen[..turn]) {
        let found = match read(state, Credential::None, head, admission, id.as_str()).await {
            Ok(read) if read.result.status.is_open() => {
                Err(Fault::new(Kind::Conflict, "the poll has not ended"))
            }
            Ok(read) => shown(state, read, id.clone()),
            Err(fault) => Err(fault),
        };
        match found {
            Ok(found) => return Some(found),
            Err(fault) => featured.log(id, &fault),
        }
    }
    None
}

fn shown(state: &AppState, read: Read, id: PollId) -> Result<Shown, Fault> {
    let page = page_of(state, read, "");
    let html = SmallResult { poll: &page.poll }.render().map_err(Fault::internal)?.into();
    Ok(Shown { id, html })
}

/// True if a poll is decided and not close.
fn is_clear(result: &PollResult) -> bool {
    let ended = EndedPoll::from(result);
    let votes = result.winning_option.as_ref().map_or(0, |winner| result.tally.of(winner));
    let share = f64::from(votes) / f64::from(result.tally.votes().max(1));
    let is_sure = ended.percent() >= ended.threshold_percent().unwrap_or(100.0);
    !result.status.is_open() && share >= CLEAR_SHARE && is_sure
}

/// Polls the example and shows its result if it is clear. For a day, every replica gets the same poll for its
/// idempotency key.
async fn poll_example(of_pages: PageState, state: AppState, head: RequestHead, admission: Admission) {
    let head = RequestHead { address: IpAddr::V4(Ipv4Addr::LOCALHOST), credential: Credential::None, ..head };
    let answered = async {
        let input: Value = serde_json::from_str(PollFree::SPEC.example).map_err(Fault::internal)?;
        let call = Call {
            idempotency_key: Some("start page example".to_owned()),
            ..Call::new(head.guarded("web", Credential::None))
        };
        let done = dispatch(&state.app, entry_of::<PollFree>()?, call, Ok(input)).await.result;
        let id = poll_of(free_poll(done))?;
        let read = read(&state, Credential::None, &head, &admission, id.as_str()).await?;
        if is_clear(&read.result) {
            of_pages.featured.show(Some(shown(&state, read, id)?));
            of_pages.pages.forget_start();
        }
        Ok::<_, Fault>(())
    };
    if let Err(fault) = answered.await {
        tracing::debug!(error = %fault, "the example of the start page could not be answered");
    }
}
