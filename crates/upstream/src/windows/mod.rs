//! Windows: the numbers of calls in flight, to each model and to the whole upstream.
//!
//! A refusal halves the window of a model. Refusals of two models within a second halve the window of the upstream, if they are
//! as many as a quarter of the answers: a few models with limits of their own say nothing about the others. After a second
//! without a refusal, each answer widens both by one call (additive increase, multiplicative decrease: Chiu and Jain, 1989).
//! Several refusals of calls that were sent together count as one. Windows are in memory only.

mod line;
mod state;
mod window;

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ep_kernel::ports::Turn;
use ep_polling::roster::ModelId;
use tokio::sync::oneshot;
use tokio::time::Instant;

use self::state::{State, Waiter};
use self::window::{TOGETHER, Window};

/// The time after which a window without a refusal widens on its own, because calls that hang must not delay others for long.
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
        let (wake, woken) = oneshot::channel();
        let mut state = self.lock();
        let has_place = state.enter(Waiter { model: model.clone(), wake }, turn);
        if !has_place {
            self.measure(&state);
        }
        drop(state);
        let stage = if has_place { Stage::HasPlace } else { Stage::InLine(woken) };
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

    /// Records that the upstream was too busy for a call to this model, which was sent at this time and has given its place back.
    pub(crate) fn note_refusal(&self, model: &ModelId, sent_at: Instant) {
        let mut state = self.lock();
        state.recent.now().refusals += 1;
        if state.model(model).window.halve(sent_at) {
            self.halvings(SCOPES[0]).increment(1);
        }
        let now = Instant::now();
        let earlier = state.refused.replace((model.clone(), now));
        let is_wide = earlier.is_some_and(|(other, at)| other != *model && now - at <= TOGETHER);
        if is_wide && state.recent.are_refusals_frequent() && state.upstream.halve(sent_at) {
            self.halvings(SCOPES[1]).increment(1);
        }
        self.measure(&state);
    }

    /// Records an answer of this model.
    pub(crate) fn note_answer(&self, model: &ModelId) {
        self.lock().recent.now().answers += 1;
        self.widen(model, |window| window.is_unhalved_for(TOGETHER));
    }

    /// Widens the windows in front of a call to this model if neither was halved for a while.
    pub(crate) fn widen_settled(&self, model: &ModelId) {
        self.widen(model, |window| window.is_unhalved_for(SETTLED));
    }

    fn widen(&self, model: &ModelId, is_wider: impl Fn(&Window) -> bool) {
        let mut state = self.lock();
        let most = state.most;
        let State { upstream, models, .. } = &mut *state;
        let own = models.get_mut(model).map(|model| &mut model.window);
        let narrow = [Some(upstream), own].into_iter().flatten().filter(|window| window.limit < most);
        if narrow.filter(|window| is_wider(window)).map(|window| window.limit += 1).count() > 0 {
            state.advance(model);
            self.measure(&state);
        }
    }

    fn halvings(&self, scope: &'static str) -> metrics::Counter {
        metrics::counter!(HALVINGS, "upstream" => Arc::clone(&self.label), "scope" => scope)
    }

    fn measure(&self, state: &State) {
        let limited = state.models.values().filter(|model| model.window.limit < state.most).count();
        let gauges = [(WINDOW, state.upstream.limit), (LIMITED_MODELS, limited), (WAITING, state.waiting)];
        for (name, value) in gauges {
            metrics::gauge!(name, "upstream" => Arc::clone(&self.label)).set(value as f64);
        }
    }
}

#[cfg(test)]
mod tests;
