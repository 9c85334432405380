//! Calls in progress.

use std::sync::{Arc, Mutex, PoisonError};

use ep_kernel::guard::Guarded;
use ep_kernel::{CallOutput, Progress};
use futures::future::BoxFuture;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A call in progress.
pub(super) struct OngoingCall {
    dispatched: BoxFuture<'static, Guarded<CallOutput>>,
    steps: mpsc::Receiver<Box<Progress>>,
    token: Option<ProgressToken>,
    /// Cancels the request if the call is dropped before its end.
    cancel_on_drop: Option<DropGuard>,
    done: Option<Box<Guarded<CallOutput>>>,
}

/// Next event of a call.
pub(super) enum CallEvent {
    Progress(ProgressNotificationParam),
    End(Box<Guarded<CallOutput>>),
}

impl OngoingCall {
    pub(super) fn new(
        dispatched: BoxFuture<'static, Guarded<CallOutput>>,
        steps: mpsc::Receiver<Box<Progress>>,
        token: Option<ProgressToken>,
        cancel_on_drop: Option<&CancellationToken>,
    ) -> Self {
        let cancel_on_drop = cancel_on_drop.map(|token| token.clone().drop_guard());
        Self { dispatched, steps, token, cancel_on_drop, done: None }
    }

    /// Returns the next step, or the result after the last step.
    pub(super) async fn next(&mut self) -> CallEvent {
        loop {
            let step = if self.done.is_some() {
                self.steps.try_recv().ok()
            } else {
                tokio::select! {
                    biased;
                    Some(step) = self.steps.recv() => Some(step),
                    done = &mut self.dispatched => {
                        self.cancel_on_drop.take().map(DropGuard::disarm);
                        self.done = Some(Box::new(done));
                        continue;
                    }
                }
            };
            match (step, &self.token) {
                (Some(step), Some(token)) => {
                    let note = ProgressNotificationParam::new(token.clone(), f64::from(step.done));
                    return CallEvent::Progress(
                        note.with_total(f64::from(step.total)).with_message(step.message),
                    );
                }
                (Some(_), None) => {}
                (None, _) => {
                    if let Some(done) = self.done.take() {
                        return CallEvent::End(done);
                    }
                }
            }
        }
    }
}

/// Hands a call over between rmcp's two passes over a request.
#[derive(Clone, Default)]
pub(super) struct Handover(Arc<Mutex<HandoverState>>);

#[derive(Default)]
enum HandoverState {
    #[default]
    Nothing,
    Begun(Box<OngoingCall>),
    Done(Box<Guarded<CallOutput>>),
}

impl Handover {
    fn swap(&self, handed: HandoverState) -> HandoverState {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), handed)
    }

    /// Hands a call over to the stream.
    pub(super) fn begin(&self, call: OngoingCall) {
        self.swap(HandoverState::Begun(Box::new(call)));
    }

    /// Returns the call that was handed over, if any.
    pub(super) fn begun(&self) -> Option<OngoingCall> {
        match self.swap(HandoverState::Nothing) {
            HandoverState::Begun(call) => Some(*call),
            _ => None,
        }
    }

    /// Hands the result over to rmcp's second pass.
    pub(super) fn end(&self, done: Box<Guarded<CallOutput>>) {
        self.swap(HandoverState::Done(done));
    }

    /// Returns the call's result on the second pass.
    pub(super) fn done(&self) -> Option<Guarded<CallOutput>> {
        match self.swap(HandoverState::Nothing) {
            HandoverState::Done(done) => Some(*done),
            _ => None,
        }
    }
}
