//! Test and benchmark tools for this crate and its dependents: a scripted upstream, an in-memory cache, a
//! manual clock, and the parsers of upstream data.

mod cache;
mod decision;
pub mod readers;
mod request;
mod script;
mod server;

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use ep_kernel::Clock;
use ep_polling::Timestamp;

pub use cache::InMemoryCache;
pub use request::RequestedForm;
pub use script::{Action, Behaviour, Billing, Form, Forms, Script, VoteFor, bare, priced};
pub use server::{ReceivedRequest, ScriptedUpstream};

/// A clock that changes only when it is advanced.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Creates a clock with this time.
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.millis()))
    }

    /// Advances the clock.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_millis() as i64, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}
