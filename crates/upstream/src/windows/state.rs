//! The calls in flight and those in line.

use std::collections::HashMap;

use ep_kernel::Turn;
use ep_polling::ModelId;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::line::Line;
use super::window::{Recent, Window};

/// The number of models without a call that are remembered.
const IDLE: usize = 1024;

pub(super) struct State {
    /// The widest window.
    pub(super) most: usize,
    pub(super) upstream: Window,
    /// Calls that wait for the upstream.
    pub(super) line: Line<Waiter>,
    /// Models with a call in flight, a call that waits, or a window of their own; and others, up to [`IDLE`].
    pub(super) models: HashMap<ModelId, Model>,
    /// The number of models with a narrower window than the widest.
    pub(super) narrow: usize,
    /// The last refusal.
    pub(super) refused: Option<(ModelId, Instant)>,
    pub(super) recent: Recent,
    pub(super) waiting: usize,
    /// The last time that a window was widened without an answer.
    pub(super) settled_at: Instant,
}

pub(super) struct Model {
    pub(super) window: Window,
    pub(super) line: Line<Waiter>,
}

pub(super) struct Waiter {
    pub(super) model: ModelId,
    pub(super) wake: oneshot::Sender<()>,
}

impl State {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            upstream: Window::new(most),
            line: Line::default(),
            models: HashMap::new(),
            narrow: 0,
            refused: None,
            recent: Recent::new(),
            waiting: 0,
            settled_at: Instant::now(),
        }
    }

    pub(super) fn model(&mut self, model: &ModelId) -> &mut Model {
        let most = self.most;
        let new = || Model { window: Window::new(most), line: Line::default() };
        self.models.entry(model.clone()).or_insert_with(new)
    }

    /// Takes a place for a call, or puts it in line: of its model if that has no room, else of the upstream. A call in line holds
    /// no place.
    pub(super) fn enter(&mut self, model: &ModelId, turn: Turn) -> Option<oneshot::Receiver<()>> {
        let upstream_has_room = self.upstream.has_room();
        let own = self.model(model);
        let own_has_room = own.window.has_room();
        if own_has_room && upstream_has_room {
            own.window.in_flight += 1;
            self.upstream.in_flight += 1;
            return None;
        }
        let (wake, woken) = oneshot::channel();
        let waiter = Waiter { model: model.clone(), wake };
        let line = if own_has_room { &mut self.line } else { &mut own.line };
        line.push(turn, waiter);
        self.waiting += 1;
        Some(woken)
    }

    /// Halves the window of a model after the refusal of a call that was sent at this time.
    pub(super) fn halve(&mut self, model: &ModelId, sent_at: Instant) -> bool {
        let most = self.most;
        let window = &mut self.model(model).window;
        let (was_narrow, is_halved) = (window.limit < most, window.halve(sent_at));
        let becomes_narrow = !was_narrow && window.limit < most;
        self.narrow += usize::from(becomes_narrow);
        is_halved
    }

    /// Widens the windows in front of a call to this model that may be wider. Returns true if one is.
    pub(super) fn widen(&mut self, model: &ModelId, may_widen: impl Fn(&Window) -> bool) -> bool {
        let most = self.most;
        let widen = |window: &mut Window| {
            let widens = window.limit < most && may_widen(window);
            window.limit += usize::from(widens);
            widens
        };
        let mut is_wider = widen(&mut self.upstream);
        if self.narrow > 0
            && let Some(own) = self.models.get_mut(model)
            && widen(&mut own.window)
        {
            self.narrow -= usize::from(own.window.limit == most);
            is_wider = true;
        }
        is_wider
    }

    /// Gives a place of a model back.
    pub(super) fn leave(&mut self, model: &ModelId) {
        let is_crowded = self.models.len() > IDLE;
        let Some(left) = self.models.get_mut(model) else { return };
        left.window.in_flight -= 1;
        let is_idle = left.window.in_flight == 0 && left.window.limit >= self.most && left.line.is_empty();
        if is_crowded && is_idle {
            self.models.remove(model);
        }
    }

    /// Gives the free places of the upstream and of this model to calls in line. Returns true if fewer calls wait.
    pub(super) fn advance(&mut self, model: &ModelId) -> bool {
        let before = self.waiting;
        let mut freed = if before == 0 { Vec::new() } else { vec![model.clone()] };
        loop {
            while self.upstream.has_room()
                && let Some((turn, waiter)) = self.line.pop()
            {
                if !self.model(&waiter.model).window.has_room() {
                    self.model(&waiter.model).line.push(turn, waiter);
                    continue;
                }
                self.waiting -= 1;
                if waiter.wake.send(()).is_ok() {
                    self.model(&waiter.model).window.in_flight += 1;
                    self.upstream.in_flight += 1;
                } else {
                    // Another call of the model may be next.
                    freed.push(waiter.model);
                }
            }
            let Some(model) = freed.pop() else { return self.waiting < before };
            let Some(own) = self.models.get_mut(&model) else { continue };
            let mut room = own.window.limit.saturating_sub(own.window.in_flight);
            while room > 0
                && let Some((turn, waiter)) = own.line.pop()
            {
                if waiter.wake.is_closed() {
                    self.waiting -= 1;
                } else {
                    self.line.push(turn, waiter);
                    room -= 1;
                }
            }
        }
    }
}
