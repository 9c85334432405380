//! Statements of both engines. Statements that differ have one variant per engine.

/// The condition that this program knows the form of a poll; see [`ep_polling::plan::FORM`].
macro_rules! form_is_known {
    () => {
        "polls.form = 1"
    };
}

/// The columns of `StoredPlan`, in [`polls_with_plans!`].
macro_rules! plan_columns {
    () => {
        "form, roster, seed, question, options, rules"
    };
}

/// Polls with their plans. Deleted polls have none.
macro_rules! polls_with_plans {
    () => {
        "polls LEFT JOIN plans ON plans.number = polls.number"
    };
}

/// The columns of a ballot without its poll.
macro_rules! ballot_columns {
    () => {
        "seq, position, choice, latency_ms, at_ms, cost, basis, mode, reasoned, reason, detail, answered_by, \
         prompt_tokens, completion_tokens, probabilities, asked_again"
    };
}

/// The values of [`ballot_columns!`] as the decoding of ballots has them. PostgreSQL stores small numbers in small columns.
macro_rules! ballot_values {
    () => {
        "CAST(seq AS BIGINT) AS seq, CAST(position AS BIGINT) AS position, CAST(choice AS BIGINT) AS choice, latency_ms, \
         at_ms, cost, CAST(basis AS BIGINT) AS basis, CAST(mode AS BIGINT) AS mode, CAST(reasoned AS BIGINT) AS reasoned, \
         reason, detail, answered_by, CAST(prompt_tokens AS BIGINT) AS prompt_tokens, \
         CAST(completion_tokens AS BIGINT) AS completion_tokens, probabilities, CAST(asked_again AS BIGINT) AS asked_again"
    };
}

macro_rules! adopt_polls {
    ($lock:literal) => {
        concat!(
            "UPDATE polls SET lease_worker = $1, lease_until = (SELECT now FROM clock) + $2, \
                 lease_epoch = lease_epoch + 1 \
             WHERE id IN (SELECT id FROM polls WHERE settled = 0 AND (lease_until <= (SELECT now FROM clock) - $3 \
                 OR lease_until > (SELECT now FROM clock) + $5) AND ",
            form_is_known!(),
            " ORDER BY lease_until LIMIT $4",
            $lock,
            ") RETURNING id, lease_epoch AS epoch, deadline_at - (SELECT now FROM clock) AS left_ms"
        )
    };
}

/// `$held` returns rows with a `value`: an array of an id and an epoch.
macro_rules! renew_leases {
    ($held:literal, $epoch:literal) => {
        concat!(
            "UPDATE polls SET lease_until = (SELECT now FROM clock) + $2 FROM ",
            $held,
            " WHERE polls.id = held.value ->> 0 AND polls.lease_epoch = ",
            $epoch,
            " RETURNING polls.id AS id"
        )
    };
}

/// The columns of [`crate::records::TransferRecord`].
macro_rules! transfer_columns {
    () => {
        "ref AS reference, debit_account, credit_account, amount, created_at"
    };
}

/// `$busy` returns the accounts to skip, as rows of one value.
macro_rules! due_deliveries {
    ($table:literal, $key:literal, $ended:expr, $returning:literal, $busy:literal, $lock:literal) => {
        concat!(
            "UPDATE ",
            $table,
            " SET next_at = (SELECT now FROM clock) + $3, attempts = attempts + 1 WHERE ",
            $key,
            " IN (SELECT ",
            $key,
            " FROM ",
            $table,
            " WHERE state = 'waiting' AND next_at <= (SELECT now FROM clock) AND ",
            $key,
            " IN (SELECT due_key FROM (SELECT ",
            $key,
            " AS due_key, next_at, row_number() OVER (PARTITION BY user_id ORDER BY next_at, ",
            $key,
            ") AS place FROM ",
            $table,
            " WHERE state = 'waiting' AND next_at <= (SELECT now FROM clock) AND EXISTS (",
            $ended,
            ") AND user_id NOT IN (",
            $busy,
            ")) AS due WHERE place <= $2 ORDER BY next_at LIMIT $1)",
            $lock,
            ") RETURNING ",
            $returning
        )
    };
}

macro_rules! due_notifications {
    ($busy:literal, $lock:literal) => {
        due_deliveries!(
            "notifications",
            "poll_id",
            concat!(
                "SELECT 1 FROM polls WHERE polls.id = notifications.poll_id AND closing IS NOT NULL AND ",
                form_is_known!()
            ),
            "poll_id, user_id, url, attempts, \
                 (SELECT secret_number FROM webhooks WHERE user_id = notifications.user_id) AS secret_number, \
                 (SELECT secret_replaced_at FROM webhooks WHERE user_id = notifications.user_id) AS replaced_at",
            $busy,
            $lock
        )
    };
}

macro_rules! due_batch_notifications {
    ($busy:literal, $lock:literal) => {
        due_deliveries!(
            "batch_notifications",
            "batch",
            "SELECT 1 FROM batches WHERE batches.id = batch_notifications.batch AND ended_at IS NOT NULL",
            "batch, user_id, url, attempts, \
                 (SELECT secret_number FROM webhooks WHERE user_id = batch_notifications.user_id) AS secret_number, \
                 (SELECT secret_replaced_at FROM webhooks WHERE user_id = batch_notifications.user_id) AS replaced_at",
            $busy,
            $lock
        )
    };
}

/// The accounts with keys that an account may see and revoke: its own, and those of its pre-funded keys.
macro_rules! accounts_of {
    ($user:literal) => {
        concat!("(SELECT id FROM accounts WHERE id = ", $user, " OR funder = ", $user, ")")
    };
}

macro_rules! available {
    ($lock:literal) => {
        concat!(
            "SELECT posted - held AS available, frozen, \
                 CAST(CASE WHEN deleted_at IS NULL THEN 0 ELSE 1 END AS BIGINT) AS deleted FROM accounts WHERE id = $1",
            $lock
        )
    };
}

/// The cost of a poll's explanations, which are stored as JSON.
macro_rules! sqlite_explanations_cost {
    () => {
        "(SELECT COALESCE(SUM(value -> 'spend' ->> 'amount'), 0) FROM json_each(polls.explanations))"
    };
}

macro_rules! postgres_explanations_cost {
    () => {
        "(SELECT CAST(COALESCE(SUM(CAST(value -> 'spend' ->> 'amount' AS BIGINT)), 0) AS BIGINT) \
             FROM json_array_elements(CAST(polls.explanations AS json)))"
    };
}

/// Settled polls with a capture that differs from the cost of their calls, limited to the hold.
macro_rules! wrong_captures {
    ($explanations:expr) => {
        concat!(
            "WITH voted AS (SELECT poll, SUM(cost) AS cost FROM votes GROUP BY poll), \
             spent AS (SELECT polls.id AS id, COALESCE(voted.cost, 0) + COALESCE(unused_cost, 0) + ",
            $explanations,
            " AS cost \
                 FROM polls LEFT JOIN voted ON voted.poll = polls.number WHERE deleted_at IS NULL) \
             SELECT holds.ref AS id FROM holds JOIN spent ON spent.id = holds.ref WHERE holds.status <> 'open' \
                 AND holds.captured <> CASE WHEN spent.cost < holds.amount THEN spent.cost ELSE holds.amount END"
        )
    };
}

/// Polls of the rows of a batch, whose references begin with its id. Equal to an expression of an index.
macro_rules! of_batch {
    ($batch:literal) => {
        concat!("substr(request_ref, 1, 6) = 'batch_' AND substr(request_ref, 1, 38) = ", $batch, " AND ")
    };
}

pub(crate) use ballot_columns;

mod account_data;
mod agent_tasks;
mod batches;
pub(crate) mod by_engine;
mod deposits;
mod erased_batches;
mod evaluations;
mod history;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod lists;
mod panels;
mod plans;
mod reputation;
mod upstreams;
mod webhooks;

pub(crate) use account_data::*;
pub(crate) use agent_tasks::*;
pub(crate) use batches::*;
pub(crate) use deposits::*;
pub(crate) use erased_batches::*;
pub(crate) use evaluations::*;
pub(crate) use history::*;
pub(crate) use panels::*;
pub(crate) use plans::*;
pub(crate) use reputation::*;
pub(crate) use upstreams::*;
pub(crate) use webhooks::*;

// Polls.

/// Inserts nothing if a poll already has this request reference.
pub(crate) const OPEN_POLL: &str = "INSERT INTO polls \
     (id, owner, created_at, billed, lease_until, lease_worker, request_ref, lease_epoch, deadline_at, form, number) \
     VALUES ($1, $2, $3, $4, (SELECT now FROM clock) + $5, $6, $7, $8, (SELECT now FROM clock) + $9, $10, $11) \
     ON CONFLICT (request_ref) WHERE request_ref IS NOT NULL DO NOTHING";
/// A poll was interrupted if another process adopted it, or can.
pub(crate) const POLL_BY_REQUEST: &str = "SELECT id, created_at, CAST(CASE WHEN lease_epoch > 1 \
         OR (closing IS NULL AND lease_until <= (SELECT now FROM clock)) THEN 1 ELSE 0 END AS BIGINT) AS interrupted \
     FROM polls WHERE request_ref = $1";
pub(crate) const POLL: &str = concat!(
    "SELECT id, owner, created_at, billed, settled, (SELECT amount FROM holds WHERE ref = polls.id) AS held, \
         unused_cost, closing, decided, explanations, ",
    plan_columns!(),
    " FROM ",
    polls_with_plans!(),
    " WHERE id = $1 AND deleted_at IS NULL"
);
/// Sequence numbers have no gaps, so the number of ballots is the last one.
pub(crate) const POLL_PROGRESS: &str = "SELECT closing, unused_cost, explanations, settled, \
     (SELECT count(*) FROM votes WHERE poll = polls.number) AS ballots \
     FROM polls WHERE id = $1 AND deleted_at IS NULL";
pub(crate) const START_POLL: &str = "UPDATE polls SET deadline_at = (SELECT now FROM clock) + $3 \
     WHERE id = $1 AND lease_epoch = $2 AND closing IS NULL";
pub(crate) const DECIDE_POLL: &str = "UPDATE polls SET decided = $3, explanations = $4 \
     WHERE id = $1 AND lease_epoch = $2 AND closing IS NULL RETURNING number";
/// A settled poll needs no lease.
pub(crate) const CLOSE_POLL: &str = "UPDATE polls SET closing = $3, unused_cost = $4, settled = $5, \
         decided = NULL, explanations = $6, \
         lease_worker = CASE $5 WHEN 1 THEN '' ELSE lease_worker END, \
         lease_until = CASE $5 WHEN 1 THEN 0 ELSE lease_until END, \
         deadline_at = CASE $5 WHEN 1 THEN NULL ELSE deadline_at END \
     WHERE id = $1 AND lease_epoch = $2 AND closing IS NULL RETURNING number";
pub(crate) const SETTLE_POLL: &str = "UPDATE polls SET settled = 1, unused_cost = $3, lease_worker = '', lease_until = 0, deadline_at = NULL \
     WHERE id = $1 AND lease_epoch = $2 AND closing IS NOT NULL AND settled = 0";
pub(crate) const POLL_IS_SETTLED: &str = "SELECT settled FROM polls WHERE id = $1";
pub(crate) const RENEW_LEASES: &str = renew_leases!("json_each($1) AS held", "held.value ->> 1");
pub(crate) const RENEW_LEASES_POSTGRES: &str =
    renew_leases!("json_array_elements($1::json) AS held (value)", "(held.value ->> 1)::bigint");
pub(crate) const ADOPT_POLLS: &str = adopt_polls!("");
pub(crate) const ADOPT_POLLS_FOR_UPDATE: &str = adopt_polls!(" FOR UPDATE SKIP LOCKED");

pub(crate) const CANCEL_POLL: &str = "INSERT INTO cancellations (poll_id, created_at) \
     SELECT id, $2 FROM polls WHERE id = $1 AND closing IS NULL ON CONFLICT (poll_id) DO NOTHING";
pub(crate) const IS_CANCELLED: &str = "SELECT poll_id AS id FROM cancellations WHERE poll_id = $1";
pub(crate) const CANCELLED_OF: &str = "SELECT poll_id AS id FROM cancellations \
     JOIN polls ON polls.id = poll_id WHERE closing IS NULL AND lease_worker = $1";
pub(crate) const DELETE_OLD_CANCELLATIONS: &str =
    "DELETE FROM cancellations WHERE poll_id IN (SELECT id FROM polls WHERE settled = 1 AND id = poll_id)";

/// The ballots of the poll $1 with sequence numbers above $2.
pub(crate) const BALLOTS: &str = concat!(
    "SELECT ",
    ballot_values!(),
    " FROM votes WHERE poll = (SELECT number FROM polls WHERE id = $1) AND votes.seq > $2 ORDER BY votes.seq"
);

// Money.

pub(crate) const AVAILABLE: &str = available!("");
pub(crate) const AVAILABLE_FOR_UPDATE: &str = available!(" FOR UPDATE");
pub(crate) const ADD_HOLD: &str =
    "INSERT INTO holds (ref, account, amount, key_id, day, batch) VALUES ($1, $2, $3, $4, $5, $6)";
/// The total spending of a key, and its spending on one day.
pub(crate) const KEY_SPENDING: &str = "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) AS total, \
     CAST(COALESCE(SUM(CASE day WHEN $2 THEN amount ELSE 0 END), 0) AS BIGINT) AS today \
     FROM key_spending WHERE key_id = $1";
pub(crate) const ADD_KEY_SPENDING: &str = "INSERT INTO key_spending (key_id, day, amount) VALUES ($1, $2, $3) \
     ON CONFLICT (key_id, day) DO UPDATE SET amount = key_spending.amount + excluded.amount";
pub(crate) const REDUCE_KEY_SPENDING: &str =
    "UPDATE key_spending SET amount = amount - $3 WHERE key_id = $1 AND day = $2";
pub(crate) const RESERVE: &str = "UPDATE accounts SET held = held + $2 WHERE id = $1 AND posted - held >= $2";
/// Ends a hold once; captures at most its amount.
pub(crate) const END_HOLD: &str = "UPDATE holds SET \
     captured = CASE WHEN $2 < amount THEN $2 ELSE amount END, \
     status = CASE WHEN $2 > 0 THEN 'captured' ELSE 'released' END \
     WHERE ref = $1 AND status = 'open' RETURNING account, amount, captured, key_id, day, batch, \
         (SELECT funder FROM accounts WHERE id = account) AS funder";
pub(crate) const RELEASE_AND_DEBIT: &str =
    "UPDATE accounts SET held = held - $2, posted = posted - $3 WHERE id = $1";
pub(crate) const ADD_TRANSFER: &str = "INSERT INTO transfers (ref, debit_account, credit_account, amount, created_at) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (ref) DO NOTHING";
pub(crate) const TRANSFER: &str = concat!("SELECT ", transfer_columns!(), " FROM transfers WHERE ref = $1");
/// Credits an account, up to the limit of `MicroUsd::MAX`.
pub(crate) const CREDIT: &str =
    "UPDATE accounts SET posted = posted + $2 WHERE id = $1 AND posted <= 1000000000000000000 - $2";
/// Most transfers are captures, so `used` is computed from the others: their credits, minus their debits,
/// minus the posted balance. The conditions are those of two indices.
pub(crate) const BALANCE: &str = "SELECT posted, held, CAST( \
     COALESCE((SELECT SUM(amount) FROM transfers \
         WHERE credit_account = accounts.id AND debit_account <> 'sys:revenue' AND credit_account <> 'sys:revenue'), 0) - \
     COALESCE((SELECT SUM(amount) FROM transfers \
         WHERE debit_account = accounts.id AND credit_account <> 'sys:revenue'), 0) - posted AS BIGINT) AS used \
     FROM accounts WHERE id = $1";

/// The source account of credits.
pub(crate) const CREDITS_ACCOUNT: &str = "sys:credits";
/// The target account of captures.
pub(crate) const REVENUE_ACCOUNT: &str = "sys:revenue";

// Audit.

pub(crate) const AUDIT_SIZE: &str = "SELECT (SELECT count(*) FROM accounts) AS accounts, \
     (SELECT count(*) FROM transfers) AS transfers";
pub(crate) const WRONG_POSTED: &str = "\
     WITH moves AS ( \
         SELECT credit_account AS account, amount FROM transfers \
         UNION ALL SELECT debit_account, -amount FROM transfers), \
     sums AS (SELECT account, SUM(amount) AS amount FROM moves WHERE account NOT LIKE 'sys:%' GROUP BY account) \
     SELECT accounts.id AS id FROM accounts LEFT JOIN sums ON sums.account = accounts.id \
         WHERE accounts.posted <> COALESCE(sums.amount, 0) \
     UNION ALL SELECT sums.account FROM sums LEFT JOIN accounts ON accounts.id = sums.account \
         WHERE accounts.id IS NULL";
pub(crate) const WRONG_HELD: &str = "\
     WITH parts AS (SELECT account, amount FROM holds WHERE status = 'open' \
         UNION ALL SELECT user_id, held FROM batches WHERE ended_at IS NULL), \
     sums AS (SELECT account, SUM(amount) AS amount FROM parts GROUP BY account) \
     SELECT accounts.id AS id FROM accounts LEFT JOIN sums ON sums.account = accounts.id \
     WHERE accounts.held <> COALESCE(sums.amount, 0)";
pub(crate) const ORPHANED_HOLDS: &str = "SELECT holds.ref AS id FROM holds JOIN polls ON polls.id = holds.ref \
     WHERE holds.status = 'open' AND polls.settled = 1";
pub(crate) const WRONG_CAPTURES: &str = wrong_captures!(sqlite_explanations_cost!());
pub(crate) const WRONG_CAPTURES_POSTGRES: &str = wrong_captures!(postgres_explanations_cost!());
/// Polls with gaps or repetitions in the sequence of their ballots, and plans without a poll.
pub(crate) const WRONG_BALLOTS: &str = "\
     SELECT polls.id AS id FROM (SELECT poll FROM votes GROUP BY poll \
         HAVING MIN(seq) <> 1 OR MAX(seq) <> count(*) OR count(DISTINCT seq) <> count(*)) AS broken \
         JOIN polls ON polls.number = broken.poll \
     UNION ALL SELECT 'plan ' || CAST(plans.number AS TEXT) FROM plans \
         LEFT JOIN polls ON polls.number = plans.number WHERE polls.id IS NULL";
/// Card or USDC credits without a payment, and payments without a credit.
pub(crate) const UNPROVEN_CREDITS: &str = "\
     SELECT transfers.ref AS id FROM transfers LEFT JOIN checkouts \
         ON transfers.ref = 'stripe:' || session_id AND status = 'paid' \
         AND checkouts.amount = transfers.amount AND user_id = credit_account \
     WHERE debit_account = 'sys:card' AND substr(transfers.ref, 1, 10) = 'stripe:cs_' AND checkouts.id IS NULL \
     UNION ALL SELECT checkouts.id FROM checkouts LEFT JOIN transfers ON transfers.ref = 'stripe:' || session_id \
         WHERE status = 'paid' AND transfers.ref IS NULL \
     UNION ALL SELECT transfers.ref FROM transfers LEFT JOIN deposits \
         ON transfers.ref = 'x402:' || deposits.ref AND status IN ('settled', 'vanished') \
         AND deposits.amount = transfers.amount AND user_id = credit_account \
         WHERE debit_account = 'sys:usdc' AND deposits.ref IS NULL \
     UNION ALL SELECT deposits.id FROM deposits LEFT JOIN transfers ON transfers.ref = 'x402:' || deposits.ref \
         WHERE status IN ('settled', 'vanished') AND transfers.ref IS NULL";
pub(crate) const WRONG_SPENDING: &str = "\
     WITH parts AS (SELECT key_id, day, CASE status WHEN 'open' THEN amount ELSE captured END AS amount FROM holds \
         UNION ALL SELECT key_id, day, held FROM batches WHERE held > 0), \
     sums AS (SELECT key_id, day, SUM(amount) AS amount FROM parts WHERE key_id IS NOT NULL GROUP BY key_id, day) \
     SELECT key_spending.key_id AS id FROM key_spending \
         LEFT JOIN sums ON sums.key_id = key_spending.key_id AND sums.day = key_spending.day \
         WHERE key_spending.amount <> COALESCE(sums.amount, 0) \
     UNION SELECT sums.key_id FROM sums \
         LEFT JOIN key_spending ON sums.key_id = key_spending.key_id AND sums.day = key_spending.day \
         WHERE key_spending.amount IS NULL";
/// Held amounts are excluded: they return once their poll is settled.
pub(crate) const UNRETURNED_FUNDS: &str = "SELECT accounts.id AS id FROM accounts \
     WHERE funder IS NOT NULL AND posted > held \
     AND NOT EXISTS (SELECT 1 FROM api_keys WHERE user_id = accounts.id AND revoked_at IS NULL)";
pub(crate) const STRANDED_POLLS: &str = "SELECT id FROM polls \
     WHERE settled = 0 AND COALESCE(deadline_at, lease_until) + $1 < (SELECT now FROM clock) ORDER BY id";
pub(crate) const FALSE_LEASES: &str =
    "SELECT id FROM polls WHERE settled = 0 AND lease_until > (SELECT now FROM clock) + $1 ORDER BY id";

// Users and keys.

pub(crate) const ADD_USER: &str = "INSERT INTO users (id, email, created_at) VALUES ($1, $2, $3)";
pub(crate) const ADD_ACCOUNT: &str = "INSERT INTO accounts (id, funder) VALUES ($1, $2)";
pub(crate) const USERS_BY_EMAIL: &str =
    "SELECT id FROM users WHERE email = $1 ORDER BY created_at, id LIMIT $2";
pub(crate) const CONFIRM_ABOVE: &str = "SELECT confirm_above FROM accounts WHERE id = $1";
pub(crate) const SET_CONFIRM_ABOVE: &str = "UPDATE accounts SET confirm_above = $2 WHERE id = $1";
pub(crate) const EMAIL: &str = "SELECT email FROM users WHERE id = $1";
/// Claims an identity before its user exists, so that concurrent claims wait for each other.
pub(crate) const ADD_IDENTITY: &str = "INSERT INTO identities (kind, issuer, subject, user_id, created_at) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (kind, issuer, subject) DO NOTHING";
pub(crate) const USER_OF_IDENTITY: &str =
    "SELECT user_id AS id FROM identities WHERE kind = $1 AND issuer = $2 AND subject = $3";
/// Counts a starter credit, unless the limit of the day ($3; 0 is no limit) is reached.
pub(crate) const COUNT_STARTER_CREDIT: &str = "INSERT INTO starter_credits (day, scope, given) \
     VALUES ($1, $2, 1) ON CONFLICT (day, scope) DO UPDATE SET given = starter_credits.given + 1 \
     WHERE $3 = 0 OR starter_credits.given < $3";
pub(crate) const DELETE_STARTER_CREDITS: &str = "DELETE FROM starter_credits WHERE day < $1";
macro_rules! users {
    () => {
        "SELECT users.id AS id, email, users.created_at AS created_at, frozen \
         FROM users JOIN accounts ON accounts.id = users.id WHERE "
    };
}

pub(crate) const USER: &str = concat!(users!(), "users.id = $1");
pub(crate) const USERS: &str =
    concat!(users!(), "funder IS NULL AND users.id > $1 ORDER BY users.id LIMIT $2");
/// The identities of the users in a range of ids.
pub(crate) const IDENTITIES: &str = "SELECT user_id, kind, issuer, subject, created_at FROM identities \
     WHERE user_id BETWEEN $1 AND $2 ORDER BY user_id, created_at, kind, subject";
pub(crate) const MOVE_IDENTITIES: &str = "UPDATE identities SET user_id = $2 WHERE user_id = $1";
/// Adds a key, unless its account ($12) already has the maximum number of active keys.
pub(crate) const ADD_KEY: &str = concat!(
    "INSERT INTO api_keys \
         (id, user_id, hash, prefix, label, created_at, expires_at, scope, cap, daily_cap) \
     SELECT $1, $2, $3, $4, $5, $6, $8, $9, $10, $11 \
     WHERE (SELECT COUNT(*) FROM api_keys WHERE user_id IN ",
    accounts_of!("$12"),
    " AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $6)) < $7"
);
/// Includes the balance of pre-funded keys, and the spending of capped ones: total, and on day $3.
pub(crate) const KEYS_OF_USER: &str = concat!(
    "SELECT api_keys.id AS id, prefix, label, last_used_at, revoked_at, created_at, scope, expires_at, cap, daily_cap, \
         CASE WHEN funder IS NULL THEN NULL ELSE posted - held END AS available, \
         CASE WHEN funder IS NULL THEN NULL ELSE held END AS funds_held, \
         CAST(COALESCE((SELECT SUM(amount) FROM key_spending WHERE key_id = api_keys.id), 0) AS BIGINT) AS spent, \
         COALESCE((SELECT amount FROM key_spending WHERE key_id = api_keys.id AND day = $3), 0) AS spent_today \
     FROM api_keys JOIN accounts ON accounts.id = user_id WHERE user_id IN ",
    accounts_of!("$1"),
    " ORDER BY created_at DESC, api_keys.id LIMIT $2"
);
/// The account of an active pre-funded key.
pub(crate) const FUNDED_ACCOUNT: &str = "SELECT user_id AS id FROM api_keys JOIN accounts ON accounts.id = user_id \
     WHERE api_keys.id = $1 AND funder = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)";
pub(crate) const FUNDER: &str = "SELECT funder AS id FROM accounts WHERE id = $1 AND funder IS NOT NULL";
/// Accounts of pre-funded keys with an available balance.
pub(crate) const FUNDED_BY: &str = "SELECT id FROM accounts WHERE funder = $1 AND posted > held ORDER BY id";
/// An active key, by its id, at time $2.
pub(crate) const ACTIVE_KEY: &str = "SELECT user_id AS id FROM api_keys \
     WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)";
pub(crate) const ANY_SESSION_OF: &str = "SELECT user_id AS id FROM sessions WHERE user_id = $1 LIMIT 1";
pub(crate) const IS_ACTIVE: &str = "SELECT id FROM api_keys WHERE user_id = $1 AND revoked_at IS NULL";
pub(crate) const FUNDS: &str = "SELECT posted - held AS available, held FROM accounts WHERE id = $1";
pub(crate) const KEY_OWNER: &str = "SELECT id, user_id, scope, expires_at, cap, daily_cap FROM api_keys \
     WHERE hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)";
pub(crate) const REVOKE_KEY: &str = concat!(
    "UPDATE api_keys SET revoked_at = $3 WHERE id = $1 AND revoked_at IS NULL AND user_id IN ",
    accounts_of!("$2"),
    " RETURNING user_id AS id"
);
pub(crate) const REVOKE_KEYS: &str = concat!(
    "UPDATE api_keys SET revoked_at = $2 WHERE revoked_at IS NULL AND user_id IN ",
    accounts_of!("$1"),
    " RETURNING user_id AS id"
);

// Sessions.

pub(crate) const START_SESSION: &str = "INSERT INTO sessions (hash, user_id, created_at, used_at, provider_token) \
     VALUES ($1, $2, $3, $3, $4)";
pub(crate) const SESSION: &str =
    "SELECT user_id, created_at, used_at, provider_token FROM sessions WHERE hash = $1";
pub(crate) const TOUCH_SESSION: &str = "UPDATE sessions SET used_at = $2 WHERE hash = $1 AND used_at < $2";
pub(crate) const END_SESSION: &str =
    "DELETE FROM sessions WHERE hash = $1 RETURNING user_id, created_at, used_at, provider_token";
pub(crate) const END_SESSIONS: &str = "DELETE FROM sessions WHERE user_id = $1";
pub(crate) const DELETE_OLD_SESSIONS: &str = "DELETE FROM sessions WHERE used_at < $1 OR created_at < $2";
pub(crate) const USED_NONCE: &str =
    "SELECT nonce AS id FROM used_nonces WHERE nonce = $1 AND expires_at > $2";
pub(crate) const USE_NONCE: &str =
    "INSERT INTO used_nonces (nonce, expires_at) VALUES ($1, $2) ON CONFLICT (nonce) DO NOTHING";
pub(crate) const DELETE_USED_NONCES: &str = "DELETE FROM used_nonces WHERE expires_at <= $1";

// Card payments.

/// Freezes an account and the accounts of its pre-funded keys.
pub(crate) const FREEZE: &str = "UPDATE accounts SET frozen = $2 WHERE id = $1 OR funder = $1";
pub(crate) const DEBIT: &str =
    "UPDATE accounts SET posted = posted - $2 WHERE id = $1 AND posted - held >= $2";
pub(crate) const ADD_CHECKOUT: &str =
    "INSERT INTO checkouts (id, user_id, amount, created_at) VALUES ($1, $2, $3, $4)";
pub(crate) const CHECKOUT_OPENED: &str =
    "UPDATE checkouts SET session_id = $2 WHERE id = $1 AND session_id IS NULL";
/// Marks a payment as made, once, if its amount matches the request.
pub(crate) const CHECKOUT_PAID: &str = "UPDATE checkouts SET status = 'paid', session_id = $2, payment_id = $3 \
     WHERE id = $1 AND amount = $4 AND status <> 'paid' AND (session_id IS NULL OR session_id = $2) \
     RETURNING user_id AS id";
pub(crate) const CHECKOUT_WAS_PAID: &str =
    "SELECT id FROM checkouts WHERE id = $1 AND session_id = $2 AND amount = $3 AND status = 'paid'";
pub(crate) const CLOSE_CHECKOUT: &str =
    "UPDATE checkouts SET status = 'closed' WHERE id = $1 AND status = 'open'";
/// Finds the reversed payment and locks it, so that it is not settled concurrently.
pub(crate) const LOCK_CHECKOUT: &str =
    "UPDATE checkouts SET status = status WHERE id = $1 OR payment_id = $2 RETURNING id";
pub(crate) const OPEN_CHECKOUTS: &str = "SELECT id, user_id, amount, session_id, created_at FROM checkouts \
     WHERE status = 'open' AND created_at < $1 ORDER BY created_at, id LIMIT $2";
/// Adds a reversal. The latest report counts, in any order of arrival; of reports in the same second, the
/// larger amount counts. A lifted reversal stays lifted.
pub(crate) const ADD_REVERSAL: &str = "INSERT INTO card_reversals (ref, checkout_id, payment_id, amount, lifted, reported_at) \
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (ref) DO UPDATE SET \
         amount = CASE WHEN excluded.reported_at > card_reversals.reported_at \
             OR (excluded.reported_at = card_reversals.reported_at AND excluded.amount > card_reversals.amount) \
             THEN excluded.amount ELSE card_reversals.amount END, \
         reported_at = CASE WHEN excluded.reported_at > card_reversals.reported_at \
             THEN excluded.reported_at ELSE card_reversals.reported_at END, \
         lifted = CASE WHEN excluded.lifted = 1 THEN 1 ELSE card_reversals.lifted END";
pub(crate) const ADD_REFUND_FAILURE: &str = "INSERT INTO card_refund_failures (refund_id, reversal, amount, failed_at) \
     VALUES ($1, $2, $3, $4) ON CONFLICT (refund_id) DO NOTHING";
/// The payment of a reversal.
pub(crate) const CHECKOUT_OF_REVERSAL: &str =
    "SELECT checkout_id AS id FROM card_reversals WHERE ref = $1 AND checkout_id IS NOT NULL";
/// Reversals of a settled payment that are not yet applied to the ledger.
pub(crate) const WAITING_REVERSALS: &str = "SELECT ref AS reference, checkouts.user_id AS user_id, applied, bad_debt, changes, target \
     FROM card_reversal_targets AS reversals JOIN checkouts ON checkouts.status = 'paid' \
         AND (checkouts.id = reversals.checkout_id OR checkouts.payment_id = reversals.payment_id) \
     WHERE checkouts.id = $1 AND applied <> target ORDER BY ref";
/// Settled payments with reversals that are not yet applied to the ledger.
pub(crate) const REVERSED_CHECKOUTS: &str = "SELECT DISTINCT checkouts.id AS id FROM card_reversal_targets AS reversals \
     JOIN checkouts ON checkouts.status = 'paid' \
         AND (checkouts.id = reversals.checkout_id OR checkouts.payment_id = reversals.payment_id) \
     WHERE applied <> target LIMIT 100";
/// Advances a reversal from one state to the next, unless another transaction has.
pub(crate) const REVERSAL_APPLIED: &str = "UPDATE card_reversals SET applied = $3, bad_debt = $4, changes = changes + 1 WHERE ref = $1 AND applied = $2 AND changes = $5";

/// The source account of card payments.
pub(crate) const CARD_ACCOUNT: &str = "sys:card";
/// The account that covers unrecoverable reversals.
pub(crate) const BAD_DEBT_ACCOUNT: &str = "sys:bad_debt";

// Idempotency records. Their table is named `replays`.

/// Claims a request that is unknown or expired, or that has an ended claim without a reply. A claim that
/// ends later than any correct clock allows ($6) counts as ended.
pub(crate) const CLAIM_REQUEST: &str = "INSERT INTO replays (scope, fingerprint, lease_until, expires_at, epoch) \
     VALUES ($1, $2, (SELECT now FROM clock) + $4, $5, 1) \
     ON CONFLICT (scope) DO UPDATE SET fingerprint = excluded.fingerprint, reply = NULL, \
         lease_until = excluded.lease_until, epoch = replays.epoch + 1, \
         expires_at = CASE WHEN replays.expires_at <= $3 THEN excluded.expires_at ELSE replays.expires_at END \
     WHERE replays.expires_at <= $3 OR (replays.reply IS NULL AND replays.fingerprint = excluded.fingerprint \
         AND (replays.lease_until <= (SELECT now FROM clock) OR replays.lease_until > (SELECT now FROM clock) + $6)) \
     RETURNING fingerprint, reply, epoch, expires_at";
pub(crate) const CLAIMED_REQUEST: &str =
    "SELECT fingerprint, reply, epoch, expires_at FROM replays WHERE scope = $1";
pub(crate) const RENEW_CLAIM: &str =
    "UPDATE replays SET lease_until = (SELECT now FROM clock) + $3 WHERE scope = $1 AND epoch = $2";
pub(crate) const SAVE_REPLY: &str = "UPDATE replays SET reply = $3 WHERE scope = $1 AND epoch = $2";
pub(crate) const DELETE_EXPIRED: &str = "DELETE FROM replays WHERE expires_at <= $1";

/// Writes a row that the next deletion of expired records removes. Only a write shows that the database is
/// neither full nor read-only.
pub(crate) const PING: &str = "INSERT INTO replays (scope, fingerprint, lease_until, expires_at) \
     VALUES ('ping', '', 0, 0) ON CONFLICT (scope) DO UPDATE SET lease_until = excluded.lease_until";

#[cfg(test)]
mod tests {
    use ep_polling::plan::FORM;

    #[test]
    fn the_form_of_this_release_is_known() {
        assert_eq!(form_is_known!(), format!("polls.form = {FORM}"));
    }
}
