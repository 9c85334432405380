//! Tools for tests and benches, here and in the packages that use this one: an upstream that plays a
//! script over HTTP, a memory without a database, and a clock that is set by hand.

mod memory;
mod reading;
mod script;
mod server;

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use ep_kernel::ports::Clock;
use ep_polling::time::Timestamp;

pub use memory::InMemory;
pub use reading::AskedFor;
pub use script::{Act, Billing, Choose, Form, Forms, Part, Script, bare, priced};
pub use server::{ScriptedUpstream, Seen};

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct HandClock(AtomicI64);

impl HandClock {
    /// A clock at this time.
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.millis()))
    }

    /// Moves it on.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_millis() as i64, Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}
