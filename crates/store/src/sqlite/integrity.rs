//! Detection of damage in the database file.

use crate::maintenance::IntegrityCheck;

use super::connection::SqliteConnection;

/// Maximum number of reported findings of each kind.
const QUICK: &str = "PRAGMA quick_check(100)";
const FULL: &str = "PRAGMA integrity_check(100)";

/// Rows with unreadable JSON. SQLite has no checksums: a damaged page of a long value is only found by
/// reading the value.
const UNREADABLE: &str = "SELECT 'poll ' || id || ' is unreadable' FROM polls \
         WHERE closing IS NOT NULL AND NOT json_valid(closing) \
     UNION ALL SELECT 'plan ' || number || ' is unreadable' FROM plans \
         WHERE NOT json_valid(options) OR NOT json_valid(rules) \
     UNION ALL SELECT 'roster ' || id || ' is unreadable' FROM rosters WHERE NOT json_valid(members) \
     UNION ALL SELECT 'agent task ' || id || ' is unreadable' FROM a2a_tasks WHERE NOT json_valid(content) \
     LIMIT 100";

/// Describes the damage; returns an empty list for an intact file. An error of the check itself is a finding.
pub(super) fn check(db: &SqliteConnection, check: IntegrityCheck) -> Vec<String> {
    let pages = match check {
        IntegrityCheck::Quick => QUICK,
        IntegrityCheck::Full => FULL,
    };
    let mut found = Vec::new();
    for statement in [pages, UNREADABLE] {
        match db.texts(statement) {
            Ok(rows) => found.extend(rows.into_iter().filter(|row| row != "ok")),
            Err(error) => found.push(error.to_string()),
        }
    }
    found
}
