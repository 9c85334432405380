//! The lists: statements whose rows are in an order.
//!
//! A list is read from a position on, for example `(created_at, id) < ($2, $3)`: one comparison of rows, for which the first page
//! has a sentinel. An alternative such as `$2 IS NULL OR …` reads the whole list for each page. The conformance suite reads the
//! plan of every list on both engines; a test below finds statements in an order that are missing here.

/// A list, and the columns that the condition of its index must have.
#[derive(Debug, Clone, Copy)]
pub struct List {
    /// The name of the statement.
    pub name: &'static str,
    /// The statement on SQLite.
    pub sqlite: &'static str,
    /// The statement on PostgreSQL.
    pub postgres: &'static str,
    /// The columns: those that are equal to a value, then those of the position.
    pub columns: &'static [&'static str],
}

macro_rules! lists {
    ($($name:ident $(/ $postgres:ident)?: $($column:literal),+;)*) => {
        /// Every list.
        pub(crate) const LISTS: &[List] = &[$(List {
            name: stringify!($name),
            sqlite: super::$name,
            postgres: lists!(@ $name $($postgres)?),
            columns: &[$($column),+],
        }),*];
    };
    (@ $name:ident) => { super::$name };
    (@ $name:ident $postgres:ident) => { super::$postgres };
}

lists! {
    FILES_OF: "user_id", "created_at, id";
    CHUNKS: "file", "first";
    BATCHES_OF: "user_id", "created_at, id";
    BATCHES_WITH_RESULTS: "user_id", "created_at, id";
    SURPLUS_FAILED_BATCHES: "user_id";
    RESULTS: "batch", "outcome", "number";
    ANSWERS: "batch", "number";
    ANSWERS_TO_REVIEW: "batch", "agreement, number";
    POLLS_TO_ERASE: "substr(request_ref, 1, 38)", "created_at, id";
    ENDED_POLLS_OF_BATCH: "substr(request_ref, 1, 38)", "created_at, id";
    POLLS_OF_USER / POLLS_OF_USER_POSTGRES: "owner";
    POLLS_AFTER / POLLS_AFTER_POSTGRES: "owner", "created_at, id";
    ALL_POLLS_AFTER / ALL_POLLS_AFTER_POSTGRES: "owner", "created_at, id";
    POLLS_OF_BATCH_AFTER / POLLS_OF_BATCH_AFTER_POSTGRES: "substr(request_ref, 1, 38)", "created_at, id";
    FIND_POLLS / FIND_POLLS_POSTGRES: "owner";
    FIND_IN_BATCH / FIND_IN_BATCH_POSTGRES: "substr(request_ref, 1, 38)";
    FIND_RUNNING_IN_BATCH / FIND_RUNNING_IN_BATCH_POSTGRES: "substr(request_ref, 1, 38)";
    SPENDING_BY_DAY / SPENDING_BY_DAY_POSTGRES: "owner", "created_at";
    BALLOTS: "poll";
    TASKS_OF_USER: "owner", "status_at, id";
    DELETE_SURPLUS_TASKS: "owner", "status_at";
    PUSHES_OF_TASK: "task_id";
    NEWEST_PANELS: "user_id";
    NEWEST_PANEL: "user_id", "name";
    PANEL_VERSIONS_AFTER: "user_id", "name, version";
    EVALUATIONS: "user_id";
    EVALUATION_RECORDS: "user_id";
    NOTIFICATIONS_OF: "user_id";
    NOTIFICATIONS_AFTER: "user_id", "poll_id";
    KEYS_OF_USER: "user_id";
    FUNDED_BY: "funder";
    USERS: "id";
    USERS_BY_EMAIL: "email";
    IDENTITIES: "user_id";
    SESSIONS_OF: "user_id";
    CHECKOUTS_OF: "user_id";
    DEPOSITS_OF: "user_id";
    FILE_RECORDS: "user_id";
    BATCH_RECORDS: "user_id";
    TRANSFERS_AFTER: "debit_account", "id";
    NEWEST_PAYMENTS: "credit_account";
    NEWEST_FEEDBACK: "poll_id";
    FEEDBACK_OF: "user_id";
    FEEDBACK_AFTER: "user_id", "poll_id";
    TASKS_AFTER: "owner", "id";
    PUSH_URLS: "user_id", "task_id";
    SETTLED_DEPOSITS: "created_at, ref";
    OPEN_DEPOSITS: "ref";
    COUNTED_POLLS: "id";
    WAITING_REVERSALS: "id";
    FALLBACK_LEVELS: "upstream";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::LISTS;

    /// Queues, whose rows leave them when the work is done, and reports that read a whole table for the operator.
    const NO_LISTS: &[&str] = &[
        "ADOPT_POLLS",
        "ADOPT_POLLS_FOR_UPDATE",
        "DEPOSITS_IN_STATUS",
        "DUE_BATCH_NOTIFICATIONS",
        "DUE_DEPOSITS",
        "DUE_NOTIFICATIONS",
        "DUE_PUSHES",
        "ERASED_BATCH",
        "FALSE_LEASES",
        "FIND_RUNNING",
        "FIND_TASK",
        "LEASE_ROWS_AGAIN",
        "LEASE_VALIDATION",
        "OLD_ANONYMOUS_POLLS",
        "OPEN_BATCHES",
        "OPEN_CHECKOUTS",
        "STRANDED_POLLS",
    ];

    /// Returns the names of the statements in an order: their texts have one, or those of macros that they use.
    fn in_an_order() -> BTreeSet<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let files = std::fs::read_dir(folder.join("statements")).unwrap();
        let files = files.map(|file| file.unwrap().path()).filter(|path| !path.ends_with("lists.rs"));
        let mut texts: Vec<String> = files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
        texts.push(std::fs::read_to_string(folder.join("statements.rs")).unwrap());
        let source = texts.join("\n");
        let lines = source.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code: Vec<&str> = lines.collect();
        let code = code.join("\n");
        let mut macros: Vec<(String, String)> = Vec::new();
        for part in code.split("macro_rules! ").skip(1) {
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
        let statements = code.split("pub(crate) const ").skip(1).filter_map(|part| part.split_once(": &str"));
        let in_order = statements.filter(|(_, text)| is_ordered(text.split(";\n").next().unwrap(), &ordered));
        in_order.map(|(name, _)| name.to_owned()).collect()
    }

    #[test]
    fn every_statement_in_an_order_is_a_list_or_a_queue() {
        let found = in_an_order();
        let known = |name: &str| LISTS.iter().any(|list| list.name == name) || NO_LISTS.contains(&name);
        let missing: Vec<&String> =
            found.iter().filter(|name| !known(name.trim_end_matches("_POSTGRES"))).collect();
        assert!(missing.is_empty(), "name these statements in LISTS: {missing:?}");
        let listed = LISTS.iter().map(|list| list.name).chain(NO_LISTS.iter().copied());
        let gone: Vec<&str> = listed.filter(|name| !found.contains(*name)).collect();
        assert!(gone.is_empty(), "these statements have no order: {gone:?}");
    }
}
