//! The calls in flight and those in line.

use std::collections::HashMap;

use ep_kernel::ports::Turn;
use ep_polling::roster::ModelId;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::line::Line;
use super::window::{Recent, Window};

pub(super) struct State {
    /// The widest window.
    pub(super) most: usize,
    pub(super) upstream: Window,
    /// Calls that have a place of their model, and wait for one of the upstream.
    pub(super) line: Line<Waiter>,
    /// Models with a call in flight, a call that waits, or a window of their own.
    pub(super) models: HashMap<ModelId, Model>,
    /// The last refusal.
    pub(super) refused: Option<(ModelId, Instant)>,
    pub(super) recent: Recent,
    pub(super) waiting: usize,
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
            refused: None,
            recent: Recent::new(),
            waiting: 0,
        }
    }

    pub(super) fn model(&mut self, model: &ModelId) -> &mut Model {
        let most = self.most;
        let new = || Model { window: Window::new(most), line: Line::default() };
        self.models.entry(model.clone()).or_insert_with(new)
    }

    /// Returns true if the call has its place. Otherwise it waits in line, first for its model and then for the upstream.
    pub(super) fn enter(&mut self, waiter: Waiter, turn: Turn) -> bool {
        let model = self.model(&waiter.model);
        let line = if model.window.has_room() {
            model.window.in_flight += 1;
            if self.upstream.has_room() {
                self.upstream.in_flight += 1;
                return true;
            }
            &mut self.line
        } else {
            &mut model.line
        };
        line.push(turn, waiter);
        self.waiting += 1;
        false
    }

    /// Gives a place of a model back.
    pub(super) fn leave(&mut self, model: &ModelId) {
        let Some(left) = self.models.get_mut(model) else { return };
        left.window.in_flight -= 1;
        if left.window.in_flight == 0 && left.window.limit >= self.most && left.line.is_empty() {
            self.models.remove(model);
        }
    }

    /// Fills the places of the upstream and of this model. Returns true if a call waits no longer.
    pub(super) fn advance(&mut self, model: &ModelId) -> bool {
        let before = self.waiting;
        let mut freed = if before == 0 { Vec::new() } else { vec![model.clone()] };
        loop {
            while self.upstream.has_room()
                && let Some((_, waiter)) = self.line.pop()
            {
                self.waiting -= 1;
                if waiter.wake.send(()).is_ok() {
                    self.upstream.in_flight += 1;
                } else {
                    self.leave(&waiter.model);
                    freed.push(waiter.model);
                }
            }
            let Some(model) = freed.pop() else { return self.waiting < before };
            while let Some(model) = self.models.get_mut(&model)
                && model.window.has_room()
                && let Some((turn, waiter)) = model.line.pop()
            {
                if waiter.wake.is_closed() {
                    self.waiting -= 1;
                } else {
                    model.window.in_flight += 1;
                    self.line.push(turn, waiter);
                }
            }
        }
    }
}
