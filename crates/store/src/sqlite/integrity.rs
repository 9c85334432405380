//! Finds damage in the database file.

use ep_kernel::ports::IntegrityCheck;
use sqlx::SqliteConnection;

/// Maximum number of reported findings of each kind.
const QUICK: &str = "PRAGMA quick_check(100)";
const FULL: &str = "PRAGMA integrity_check(100)";

/// Rows whose JSON cannot be read. SQLite has no checksums: a damaged page of a long value is found only by reading the
/// value.
const UNREADABLE: &str = "SELECT 'the poll ' || id || ' cannot be read' FROM polls \
         WHERE NOT json_valid(plan) OR (closing IS NOT NULL AND NOT json_valid(closing)) \
     UNION ALL SELECT 'the agent task ' || id || ' cannot be read' FROM a2a_tasks WHERE NOT json_valid(content) \
     LIMIT 100";

/// Describes what is damaged; an empty list if nothing is. An error of the check itself is a finding.
pub(super) async fn check(db: &mut SqliteConnection, check: IntegrityCheck) -> Vec<String> {
    let pages = match check {
        IntegrityCheck::Quick => QUICK,
        IntegrityCheck::Full => FULL,
    };
    let mut found = Vec::new();
    for statement in [pages, UNREADABLE] {
        match sqlx::query_scalar::<_, String>(statement).fetch_all(&mut *db).await {
            Ok(rows) => found.extend(rows.into_iter().filter(|row| row != "ok")),
            Err(error) => found.push(error.to_string()),
        }
    }
    found
}
