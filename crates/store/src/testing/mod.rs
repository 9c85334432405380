//! Support for tests that use a database.

mod interruption;
mod postgres;
pub mod test_database;

use std::sync::Arc;

pub use interruption::Interruption;
pub use postgres::{Database, Postgres, SERVER};
pub use test_database::TestDatabase;

use crate::database;
use crate::handles::{Runtime, Store};

/// Returns the lists of the store, for tests that read their plans.
pub fn lists() -> &'static [crate::lists::List] {
    crate::lists::LISTS
}

impl Store {
    /// Returns a handle of the same database, whose operations this interrupts.
    pub fn interrupted(&self, by: &Arc<Interruption>) -> Self {
        Self(interrupted(&self.0, by))
    }
}

impl Runtime {
    /// Returns a handle of the same database, whose operations this interrupts.
    pub fn interrupted(&self, by: &Arc<Interruption>) -> Self {
        Self { database: interrupted(&self.database, by), ..self.clone() }
    }
}

fn interrupted(database: &database::Database, by: &Arc<Interruption>) -> Arc<database::Database> {
    let database::Database { engine, rosters } = database;
    Arc::new(database::Database { engine: engine.interrupted(Arc::clone(by)), rosters: rosters.clone() })
}
