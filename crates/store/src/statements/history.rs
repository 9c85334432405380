//! Statements that list an account's polls.

/// A page of an account's polls with their votes counted: a row for each choice of each poll. The page is
/// selected from the index before other columns are read.
macro_rules! polls_of_user {
    ($private:literal, $explanations:expr, $owner:expr, $only:expr, $offset:literal) => {
        concat!(
            "WITH page AS MATERIALIZED (SELECT id, number FROM polls WHERE ",
            $owner,
            " = $1 AND deleted_at IS NULL ",
            $only,
            " ORDER BY created_at DESC, id DESC LIMIT $2 ",
            $offset,
            "), \
             listed AS MATERIALIZED (SELECT id, form, created_at, closing, question, options, ",
            $private,
            " AS private, ",
            $explanations,
            " + COALESCE(unused_cost, 0) AS other_cost, \
                 (SELECT captured FROM holds WHERE ref = polls.id AND status <> 'open') AS captured \
                 FROM ",
            polls_with_plans!(),
            " WHERE id IN (SELECT id FROM page)), \
             counts AS (SELECT id AS poll_id, choice, count(*) AS answers, CAST(SUM(cost) AS BIGINT) AS cost \
                 FROM page JOIN votes ON poll = page.number GROUP BY id, choice) \
             SELECT listed.id AS id, form, created_at, closing, other_cost, question, options, private, captured, \
                 CAST(choice AS BIGINT) AS choice, COALESCE(answers, 0) AS answers, COALESCE(counts.cost, 0) AS cost \
             FROM listed LEFT JOIN counts ON counts.poll_id = listed.id \
             ORDER BY created_at DESC, listed.id DESC"
        )
    };
}

/// The list for SQLite.
macro_rules! sqlite_polls {
    ($owner:expr, $only:expr, $offset:literal) => {
        polls_of_user!(
            "COALESCE(plans.rules ->> 'private', 0)",
            sqlite_explanations_cost!(),
            $owner,
            $only,
            $offset
        )
    };
}

/// The list for PostgreSQL.
macro_rules! postgres_polls {
    ($owner:expr, $only:expr, $offset:literal) => {
        polls_of_user!(
            "CAST(COALESCE(CAST(plans.rules AS json) ->> 'private', 'false') = 'true' AS int)::bigint",
            postgres_explanations_cost!(),
            $owner,
            $only,
            $offset
        )
    };
}

/// Limits the list to polls with matching questions: for each inner array, the question contains at least one
/// of its texts. Letters beyond ASCII are compared unchanged.
macro_rules! with_words {
    ($words:literal, $forms:literal, $place:literal) => {
        concat!(
            "AND NOT EXISTS (SELECT 1 FROM ",
            $words,
            " WHERE NOT EXISTS (SELECT 1 FROM ",
            $forms,
            " WHERE ",
            $place,
            " > 0)) "
        )
    };
}

macro_rules! sqlite_words {
    () => {
        with_words!(
            "json_each($4) AS word",
            "json_each(word.value) AS form",
            "instr(lower((SELECT question FROM plans WHERE plans.number = polls.number)), form.value)"
        )
    };
}

macro_rules! postgres_words {
    () => {
        with_words!(
            "json_array_elements($4::json) AS word (value)",
            "json_array_elements_text(word.value) AS form (value)",
            "strpos(lower((SELECT question FROM plans WHERE plans.number = polls.number) COLLATE \"C\"), form.value)"
        )
    };
}

/// The ended polls of an account and their cost, by day; the rows of batches apart.
macro_rules! spending_by_day {
    ($explanations:expr) => {
        concat!(
            "SELECT day, CAST(SUM(1 - is_row) AS BIGINT) AS polls, CAST(SUM(is_row) AS BIGINT) AS batch_rows, \
                 CAST(SUM(cost) AS BIGINT) AS cost FROM \
             (SELECT created_at / 86400000 AS day, \
                 CASE WHEN substr(request_ref, 1, 6) = 'batch_' THEN 1 ELSE 0 END AS is_row, COALESCE( \
                 (SELECT captured FROM holds WHERE ref = polls.id AND status <> 'open'), \
                 (SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) FROM votes WHERE poll = polls.number) \
                     + COALESCE(unused_cost, 0) + ",
            $explanations,
            ") AS cost \
             FROM polls WHERE owner = $1 AND created_at >= $2 AND closing IS NOT NULL) AS ended GROUP BY day ORDER BY day"
        )
    };
}

/// Polls that are no rows of batches. Equal to the condition of an index.
macro_rules! asked {
    () => {
        "COALESCE(substr(request_ref, 1, 6), '') <> 'batch_' AND "
    };
}

/// Reads the index of unsettled polls, because few polls run and an account may have many.
macro_rules! running {
    () => {
        "settled = 0 AND closing IS NULL AND owner || ''"
    };
}

macro_rules! after {
    () => {
        "AND (created_at, id) < ($3, $4)"
    };
}

pub(crate) const POLLS_OF_USER: &str = sqlite_polls!(concat!(asked!(), "owner"), "", "OFFSET $3");
pub(crate) const POLLS_OF_USER_POSTGRES: &str = postgres_polls!(concat!(asked!(), "owner"), "", "OFFSET $3");
pub(crate) const POLLS_AFTER: &str = sqlite_polls!(concat!(asked!(), "owner"), after!(), "");
pub(crate) const POLLS_AFTER_POSTGRES: &str = postgres_polls!(concat!(asked!(), "owner"), after!(), "");
pub(crate) const ALL_POLLS_AFTER: &str = sqlite_polls!("owner", after!(), "");
pub(crate) const ALL_POLLS_AFTER_POSTGRES: &str = postgres_polls!("owner", after!(), "");
pub(crate) const POLLS_OF_BATCH_AFTER: &str = sqlite_polls!(concat!(of_batch!("$5"), "owner"), after!(), "");
pub(crate) const POLLS_OF_BATCH_AFTER_POSTGRES: &str =
    postgres_polls!(concat!(of_batch!("$5"), "owner"), after!(), "");
pub(crate) const FIND_POLLS: &str = sqlite_polls!(concat!(asked!(), "owner"), sqlite_words!(), "OFFSET $3");
pub(crate) const FIND_POLLS_POSTGRES: &str =
    postgres_polls!(concat!(asked!(), "owner"), postgres_words!(), "OFFSET $3");
pub(crate) const FIND_IN_BATCH: &str =
    sqlite_polls!(concat!(of_batch!("$5"), "owner"), sqlite_words!(), "OFFSET $3");
pub(crate) const FIND_IN_BATCH_POSTGRES: &str =
    postgres_polls!(concat!(of_batch!("$5"), "owner"), postgres_words!(), "OFFSET $3");
pub(crate) const FIND_RUNNING: &str =
    sqlite_polls!(concat!(asked!(), running!()), sqlite_words!(), "OFFSET $3");
pub(crate) const FIND_RUNNING_POSTGRES: &str =
    postgres_polls!(concat!(asked!(), running!()), postgres_words!(), "OFFSET $3");
pub(crate) const FIND_RUNNING_IN_BATCH: &str =
    sqlite_polls!(concat!(of_batch!("$5"), running!()), sqlite_words!(), "OFFSET $3");
pub(crate) const FIND_RUNNING_IN_BATCH_POSTGRES: &str =
    postgres_polls!(concat!(of_batch!("$5"), running!()), postgres_words!(), "OFFSET $3");
pub(crate) const SPENDING_BY_DAY: &str = spending_by_day!(sqlite_explanations_cost!());
pub(crate) const SPENDING_BY_DAY_POSTGRES: &str = spending_by_day!(postgres_explanations_cost!());
