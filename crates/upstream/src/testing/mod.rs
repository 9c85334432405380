//! Tools for tests and benchmarks, here and in packages that use this one: an upstream that follows a
//! script, a cache without a database, a clock that is set by hand, and the readers of what upstreams send.

mod cache;
pub mod readers;
mod request;
mod script;
mod server;

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use ep_kernel::ports::Clock;
use ep_polling::time::Timestamp;

pub use cache::InMemoryCache;
pub use request::RequestedForm;
pub use script::{Action, Behaviour, Billing, Form, Forms, Script, VoteFor, bare, priced};
pub use server::{ReceivedRequest, ScriptedUpstream};

/// A clock that stands still until it is set forward.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that shows this time.
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.millis()))
    }

    /// Sets it forward.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_millis() as i64, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}
