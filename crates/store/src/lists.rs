//! The lists: statements whose rows are in an order.
//!
//! A list is read from a position on, for example `(created_at, id) < ($2, $3)`: one comparison of rows, for which the first page
//! has a sentinel. An alternative such as `$2 IS NULL OR …` reads the whole list for each page. The conformance suite reads the
//! plan of every list on both engines; a test below finds statements in an order that are missing here.

use crate::statement::Statement;

/// A list, and the columns that the condition of its index must have.
#[derive(Debug, Clone, Copy)]
pub struct List {
    /// The columns: those that are equal to a value, then those of the position.
    pub columns: &'static [&'static str],
    path: &'static str,
    statement: fn() -> Statement,
}

impl List {
    /// Returns the name of the statement, with its module.
    pub fn name(&self) -> String {
        self.path.replace(' ', "")
    }

    /// Returns the statement on SQLite.
    pub fn sqlite(&self) -> &'static str {
        (self.statement)().sqlite
    }

    /// Returns the statement on PostgreSQL.
    pub fn postgres(&self) -> &'static str {
        (self.statement)().postgres
    }
}

macro_rules! lists {
    ($($module:ident $(::$rest:ident)+: $($column:literal),+;)*) => {
        /// Every list.
        pub(crate) const LISTS: &[List] = &[$(List {
            path: stringify!($module $(::$rest)+),
            columns: &[$($column),+],
            statement: || crate::$module $(::$rest)+.into(),
        }),*];
    };
}

lists! {
    files::transactions::FILES_OF: "user_id", "created_at, id";
    files::transactions::CHUNKS: "file", "first";
    batches::sql::BATCHES_OF: "user_id", "created_at, id";
    batches::sql::BATCHES_WITH_RESULTS: "user_id", "created_at, id";
    batches::sql::SURPLUS_FAILED_BATCHES: "user_id";
    batches::sql::RESULTS: "batch", "outcome", "number";
    batches::sql::ANSWERS: "batch", "number";
    batches::sql::ANSWERS_TO_REVIEW: "batch", "agreement, number";
    batches::erased::POLLS_TO_ERASE: "substr(request_ref, 1, 38)", "created_at, id";
    batches::erased::ENDED_POLLS_OF_BATCH: "substr(request_ref, 1, 38)", "created_at, id";
    polls::history::POLLS_OF_USER: "owner";
    polls::history::POLLS_AFTER: "owner", "created_at, id";
    polls::history::ALL_POLLS_AFTER: "owner", "created_at, id";
    polls::history::POLLS_OF_BATCH_AFTER: "substr(request_ref, 1, 38)", "created_at, id";
    polls::history::FIND_POLLS: "owner";
    polls::history::FIND_IN_BATCH: "substr(request_ref, 1, 38)";
    polls::history::FIND_RUNNING_IN_BATCH: "substr(request_ref, 1, 38)";
    polls::history::SPENDING_BY_DAY: "owner", "created_at";
    polls::sql::BALLOTS: "poll";
    tasks::transactions::TASKS_OF_USER: "owner", "status_at, id";
    tasks::transactions::DELETE_SURPLUS_TASKS: "owner", "status_at";
    tasks::pushes::PUSHES_OF_TASK: "task_id";
    panels::NEWEST_PANELS: "user_id";
    panels::NEWEST_PANEL: "user_id", "name";
    panels::PANEL_VERSIONS_AFTER: "user_id", "name, version";
    evaluations::EVALUATIONS: "user_id";
    accounts::data::EVALUATION_RECORDS: "user_id";
    webhooks::transactions::NOTIFICATIONS_OF: "user_id";
    accounts::data::NOTIFICATIONS_AFTER: "user_id", "poll_id";
    keys::transactions::KEYS_OF_USER: "user_id";
    keys::transactions::FUNDED_BY: "funder";
    accounts::operator::USERS: "id";
    accounts::users::USERS_BY_EMAIL: "email";
    accounts::users::IDENTITIES: "user_id";
    accounts::data::SESSIONS_OF: "user_id";
    accounts::data::CHECKOUTS_OF: "user_id";
    accounts::data::DEPOSITS_OF: "user_id";
    accounts::data::FILE_RECORDS: "user_id";
    accounts::data::BATCH_RECORDS: "user_id";
    accounts::data::TRANSFERS_AFTER: "debit_account", "id";
    accounts::data::NEWEST_PAYMENTS: "credit_account";
    reputation::feedback::NEWEST_FEEDBACK: "poll_id";
    accounts::data::FEEDBACK_AFTER: "user_id", "poll_id";
    accounts::data::TASKS_AFTER: "owner", "id";
    accounts::data::PUSH_URLS: "user_id", "task_id";
    deposits::transactions::SETTLED_DEPOSITS: "created_at, ref";
    deposits::transactions::OPEN_DEPOSITS: "ref";
    reputation::sql::COUNTED_POLLS: "id";
    cards::transactions::WAITING_REVERSALS: "id";
    upstreams::FALLBACK_LEVELS: "upstream";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::LISTS;

    /// Queues, whose rows leave them when the work is done, and what reads a whole table: migrations and reports for the operator.
    const NO_LISTS: &[&str] = &[
        "polls::sql::ADOPT_POLLS",
        "migrations::APPLIED",
        "ledger::transactions::DEPOSITS_IN_STATUS",
        "webhooks::transactions::DUE_BATCH_NOTIFICATIONS",
        "deposits::transactions::DUE_DEPOSITS",
        "webhooks::transactions::DUE_NOTIFICATIONS",
        "tasks::pushes::DUE_PUSHES",
        "batches::erased::ERASED_BATCH",
        "ledger::transactions::FALSE_LEASES",
        "polls::history::FIND_RUNNING",
        "tasks::transactions::FIND_TASK",
        "batches::sql::LEASE_ROWS_AGAIN",
        "batches::sql::LEASE_VALIDATION",
        "reputation::sql::OLD_ANONYMOUS_POLLS",
        "batches::sql::OPEN_BATCHES",
        "cards::transactions::OPEN_CHECKOUTS",
        "ledger::transactions::STRANDED_POLLS",
        "sqlite::migration::TABLES",
    ];

    /// Returns the names of the statements in an order: their texts have one, or those of macros that they use.
    fn in_an_order() -> BTreeSet<String> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut folders = vec![source.clone()];
        let mut files: Vec<(String, String)> = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if !path.ends_with("lists.rs") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
                    let code = code.collect::<Vec<_>>().join("\n");
                    let file = path.strip_prefix(&source).unwrap().with_extension("");
                    let module = file.display().to_string().replace('/', "::");
                    files.push((module.trim_end_matches("::mod").to_owned(), code));
                }
            }
        }
        let mut macros: Vec<(String, String)> = Vec::new();
        for part in files.iter().flat_map(|(_, code)| code.split("macro_rules! ").skip(1)) {
            let (name, body) = part.split_once(' ').unwrap();
            macros.push((format!("{name}!"), body.split("\n}\n").next().unwrap().to_owned()));
        }
        let mut ordered: BTreeSet<String> = BTreeSet::new();
        let is_ordered = |text: &str, ordered: &BTreeSet<String>| {
            text.contains("ORDER BY ") || ordered.iter().any(|name| text.contains(name.as_str()))
        };
        loop {
            let known = ordered.len();
            for (name, body) in &macros {
                if is_ordered(body, &ordered) {
                    ordered.insert(name.clone());
                }
            }
            if ordered.len() == known {
                break;
            }
        }
        let mut found = BTreeSet::new();
        for (module, code) in &files {
            let constants = code.split("const ").skip(1).filter_map(|part| part.split_once(": "));
            let statements =
                constants.filter(|(_, text)| text.starts_with("&str =") || text.starts_with("Statement ="));
            let in_order =
                statements.filter(|(_, text)| is_ordered(text.split(";\n").next().unwrap(), &ordered));
            found.extend(in_order.map(|(name, _)| format!("{module}::{name}")));
        }
        found
    }

    #[test]
    fn every_statement_in_an_order_is_a_list_or_a_queue() {
        let found = in_an_order();
        let known = |name: &str| LISTS.iter().any(|list| list.name() == name) || NO_LISTS.contains(&name);
        let missing: Vec<&String> = found.iter().filter(|name| !known(name)).collect();
        assert!(missing.is_empty(), "name these statements in LISTS: {missing:?}");
        let listed =
            LISTS.iter().map(super::List::name).chain(NO_LISTS.iter().map(|name| (*name).to_owned()));
        let gone: Vec<String> = listed.filter(|name| !found.contains(name)).collect();
        assert!(gone.is_empty(), "these statements have no order: {gone:?}");
    }
}
