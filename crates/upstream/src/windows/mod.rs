//! Windows: the numbers of calls in flight, to each model and to the whole upstream.
//!
//! A refusal reduces the window of its model to half of the calls in flight. Refusals of two models within a second also halve
//! the window of the upstream, if there is at least one for every four answers or calls in flight: a few models with limits of
//! their own say nothing about the others. An answer widens each window by one call, unless the window was halved in the last second (additive increase,
//! multiplicative decrease: Chiu and Jain, 1989). Refusals of calls that were sent together count as one. Windows are in memory only.

mod line;
mod state;
mod window;

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ep_kernel::Turn;
use ep_polling::ModelId;
use tokio::sync::oneshot;
use tokio::time::Instant;

use self::state::State;
use self::window::TOGETHER;

/// The time between two looks of a call in line.
pub(crate) const LOOK: Duration = Duration::from_millis(200);
/// The time after its last halving from which a window widens on its own: calls that hang must not delay others for long.
const SETTLED: Duration = Duration::from_secs(10);
const WINDOW: &str = "ep_upstream_window";
const LIMITED_MODELS: &str = "ep_upstream_limited_models";
const WAITING: &str = "ep_upstream_calls_waiting";
const HALVINGS: &str = "ep_upstream_halvings_total";
/// The values of the label of [`HALVINGS`].
const SCOPES: [&str; 2] = ["model", "upstream"];

/// The windows of one upstream.
pub(crate) struct Windows {
    label: Arc<str>,
    state: Mutex<State>,
}

/// A place for one call, given back when dropped.
pub(crate) struct Place<'w> {
    windows: &'w Windows,
    model: &'w ModelId,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.windows.give_back(self.model);
    }
}

/// A call that waits for its place.
pub(crate) struct Waiting<'w> {
    windows: &'w Windows,
    model: &'w ModelId,
    stage: Stage,
}

enum Stage {
    InLine(oneshot::Receiver<()>),
    HasPlace,
    Done,
}

impl<'w> Future for Waiting<'w> {
    type Output = Place<'w>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Place<'w>> {
        if let Stage::InLine(woken) = &mut self.stage {
            // A waiter leaves its line only to be woken.
            let _ = ready!(Pin::new(woken).poll(cx));
        }
        self.stage = Stage::Done;
        Poll::Ready(Place { windows: self.windows, model: self.model })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let has_place = match &mut self.stage {
            Stage::InLine(woken) => {
                woken.close();
                woken.try_recv().is_ok()
            }
            Stage::HasPlace => true,
            Stage::Done => false,
        };
        if has_place {
            self.windows.give_back(self.model);
        }
    }
}

impl Windows {
    /// Creates windows of this many calls.
    pub(crate) fn new(most: usize, label: Arc<str>) -> Self {
        let windows = Self { label, state: Mutex::new(State::new(most.max(1))) };
        windows.measure(&windows.lock());
        for scope in SCOPES {
            windows.halvings(scope).increment(0);
        }
        windows
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for a call to this model, or waits for it in line.
    pub(crate) fn place<'w>(&'w self, model: &'w ModelId, turn: Turn) -> Waiting<'w> {
        let mut state = self.lock();
        let stage = match state.enter(model, turn) {
            None => Stage::HasPlace,
            Some(woken) => {
                self.measure(&state);
                Stage::InLine(woken)
            }
        };
        drop(state);
        Waiting { windows: self, model, stage }
    }

    fn give_back(&self, model: &ModelId) {
        let mut state = self.lock();
        state.upstream.in_flight -= 1;
        state.leave(model);
        if state.advance(model) {
            self.measure(&state);
        }
    }

    /// Returns true if a window in front of a call to this model was halved and is not wide again.
    pub(crate) fn are_narrow(&self, model: &ModelId) -> bool {
        let state = self.lock();
        let own = state.models.get(model).is_some_and(|own| own.window.limit < state.most);
        own || state.upstream.limit < state.most
    }

    /// Records that the upstream was too busy for a call to this model, which was sent at this time and has given its place back.
    pub(crate) fn note_refusal(&self, model: &ModelId, sent_at: Instant) {
        let mut state = self.lock();
        state.recent.now().refusals += 1;
        if state.halve(model, sent_at) {
            self.halvings(SCOPES[0]).increment(1);
        }
        let now = Instant::now();
        let earlier = state.refused.replace((model.clone(), now));
        let is_wide = earlier.is_some_and(|(other, at)| other != *model && now - at <= TOGETHER);
        if is_wide
            && state.recent.are_refusals_frequent(state.upstream.in_flight)
            && state.upstream.halve(sent_at)
        {
            self.halvings(SCOPES[1]).increment(1);
        }
        self.measure(&state);
    }

    /// Records an answer of this model.
    pub(crate) fn note_answer(&self, model: &ModelId) {
        let mut state = self.lock();
        state.recent.now().answers += 1;
        self.widen(state, model, TOGETHER);
    }

    /// Widens each window in front of a call to this model that was not halved for [`SETTLED`], at most once in [`LOOK`].
    pub(crate) fn widen_settled(&self, model: &ModelId) {
        let mut state = self.lock();
        if state.settled_at.elapsed() >= LOOK {
            state.settled_at = Instant::now();
            self.widen(state, model, SETTLED);
        }
    }

    fn widen(&self, mut state: MutexGuard<'_, State>, model: &ModelId, unhalved_for: Duration) {
        if state.widen(model, |window| window.is_unhalved_for(unhalved_for)) {
            state.advance(model);
            self.measure(&state);
        }
    }

    fn halvings(&self, scope: &'static str) -> metrics::Counter {
        metrics::counter!(HALVINGS, "upstream" => Arc::clone(&self.label), "scope" => scope)
    }

    fn measure(&self, state: &State) {
        let gauges =
            [(WINDOW, state.upstream.limit), (LIMITED_MODELS, state.narrow), (WAITING, state.waiting)];
        for (name, value) in gauges {
            metrics::gauge!(name, "upstream" => Arc::clone(&self.label)).set(value as f64);
        }
    }
}

#[cfg(test)]
mod tests;
