//! Support for tests that use a database.

mod interruption;
mod postgres;
pub mod test_database;

use std::sync::Arc;

pub use interruption::Interruption;
pub use postgres::{Database, Postgres, SERVER};
pub use test_database::TestDatabase;

use crate::database;
use crate::handles::Store;

/// Returns the lists of the store, for tests that read their plans.
pub fn lists() -> &'static [crate::lists::List] {
    crate::lists::LISTS
}

impl Store {
    /// Returns a handle of the same database, whose operations this interrupts.
    pub fn interrupted(&self, by: &Arc<Interruption>) -> Self {
        let database::Database { engine, rosters } = &*self.0;
        Self(Arc::new(database::Database {
            engine: engine.interrupted(Arc::clone(by)),
            rosters: rosters.clone(),
        }))
    }
}
