//! Statements that both engines understand alike.

/// What a poll is read from, in the order of [`crate::rows::PollRow`]; for SELECT and for RETURNING.
macro_rules! poll_columns {
    () => {
        "id, owner, created_at, billed, settled, (SELECT amount FROM holds WHERE ref = polls.id), unused_cost, plan, closing"
    };
}

/// Columns of a ballot after its poll, in the order of [`crate::rows::BallotRow`].
macro_rules! ballot_columns {
    () => {
        "seq, position, model, choice, reason, detail, option_order, latency_ms, at_ms, cost, basis, answered_by"
    };
}

pub(crate) use {ballot_columns, poll_columns};

// Polls.

/// A second poll with the same reference inserts nothing.
pub(crate) const OPEN: &str = "INSERT INTO polls \
     (id, owner, created_at, billed, lease_until, lease_worker, request_ref, plan) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
     ON CONFLICT (request_ref) WHERE request_ref IS NOT NULL DO NOTHING";
pub(crate) const OPENED_BY: &str = "SELECT id FROM polls WHERE request_ref = $1";
pub(crate) const POLL: &str = concat!("SELECT ", poll_columns!(), " FROM polls WHERE id = $1");
pub(crate) const CLOSE: &str =
    "UPDATE polls SET closing = $2, unused_cost = $3, settled = $4 WHERE id = $1 AND closing IS NULL";
pub(crate) const SETTLE: &str =
    "UPDATE polls SET settled = 1, unused_cost = $2 WHERE id = $1 AND closing IS NOT NULL AND settled = 0";
pub(crate) const IS_SETTLED: &str = "SELECT settled FROM polls WHERE id = $1";
pub(crate) const RENEW: &str = "UPDATE polls SET lease_until = $2 WHERE lease_worker = $1 AND settled = 0";

// Money. The poll's row comes before its hold's, the hold's before its account's.

pub(crate) const HOLD: &str = "INSERT INTO holds (ref, account, amount) VALUES ($1, $2, $3)";
pub(crate) const SET_ASIDE: &str =
    "UPDATE accounts SET held = held + $2 WHERE id = $1 AND posted - held >= $2";
/// Ends a hold once; takes never more than was held.
pub(crate) const CAPTURE: &str = "UPDATE holds SET \
     captured = CASE WHEN $2 < amount THEN $2 ELSE amount END, \
     status = CASE WHEN $2 > 0 THEN 'captured' ELSE 'released' END \
     WHERE ref = $1 AND status = 'open' RETURNING account, amount, captured";
pub(crate) const PAY_OUT: &str = "UPDATE accounts SET held = held - $2, posted = posted - $3 WHERE id = $1";
pub(crate) const TRANSFER: &str = "INSERT INTO transfers (ref, debit_account, credit_account, amount, created_at) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (ref) DO NOTHING";
pub(crate) const PAY_IN: &str = "UPDATE accounts SET posted = posted + $2 WHERE id = $1";
/// Used is what came in from elsewhere and is neither there nor went elsewhere: a sum of few rows, where
/// the captures would be many.
pub(crate) const BALANCE: &str = "SELECT posted, held, CAST( \
     COALESCE((SELECT SUM(amount) FROM transfers \
         WHERE credit_account = accounts.id AND debit_account <> 'sys:revenue'), 0) - \
     COALESCE((SELECT SUM(amount) FROM transfers \
         WHERE debit_account = accounts.id AND credit_account <> 'sys:revenue'), 0) - posted AS BIGINT) \
     FROM accounts WHERE id = $1";

/// Where starter credits and other credits come from.
pub(crate) const CREDITS: &str = "sys:credits";
/// Where captures go.
pub(crate) const REVENUE: &str = "sys:revenue";

pub(crate) fn capture_ref(poll: &str) -> String {
    format!("hold:{poll}")
}

pub(crate) fn starter_ref(user: &str) -> String {
    format!("starter:{user}")
}

// Proving the books, within one snapshot.

pub(crate) const SEEN: &str = "SELECT (SELECT count(*) FROM accounts), (SELECT count(*) FROM transfers)";
pub(crate) const WRONG_POSTED: &str = "\
     WITH moves AS ( \
         SELECT credit_account AS account, amount FROM transfers \
         UNION ALL SELECT debit_account, -amount FROM transfers), \
     sums AS (SELECT account, SUM(amount) AS amount FROM moves WHERE account NOT LIKE 'sys:%' GROUP BY account) \
     SELECT accounts.id FROM accounts LEFT JOIN sums ON sums.account = accounts.id \
         WHERE accounts.posted <> COALESCE(sums.amount, 0) \
     UNION ALL SELECT sums.account FROM sums LEFT JOIN accounts ON accounts.id = sums.account \
         WHERE accounts.id IS NULL";
pub(crate) const WRONG_HELD: &str = "\
     WITH sums AS (SELECT account, SUM(amount) AS amount FROM holds WHERE status = 'open' GROUP BY account) \
     SELECT accounts.id FROM accounts LEFT JOIN sums ON sums.account = accounts.id \
     WHERE accounts.held <> COALESCE(sums.amount, 0)";
pub(crate) const ORPHANED_HOLDS: &str = "SELECT holds.ref FROM holds JOIN polls ON polls.id = holds.ref \
     WHERE holds.status = 'open' AND polls.settled = 1";

// Accounts and keys.

pub(crate) const ADD_USER: &str = "INSERT INTO users (id, email, created_at) VALUES ($1, $2, $3)";
pub(crate) const ADD_ACCOUNT: &str = "INSERT INTO accounts (id) VALUES ($1)";
pub(crate) const USER_BY_EMAIL: &str = "SELECT id FROM users WHERE email = $1";
pub(crate) const ADD_KEY: &str = "INSERT INTO api_keys (id, user_id, hash, prefix, label, created_at) \
     VALUES ($1, $2, $3, $4, $5, $6)";
pub(crate) const KEY_OWNER: &str = "SELECT id, user_id FROM api_keys WHERE hash = $1 AND revoked_at IS NULL";
pub(crate) const REVOKE_KEY: &str =
    "UPDATE api_keys SET revoked_at = $3 WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL";
pub(crate) const TOUCH_KEY: &str = "UPDATE api_keys SET last_used_at = $2 \
     WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)";

// Replies.

/// Claims what is unknown, expired, or the same request whose worker has died.
pub(crate) const BEGIN: &str = "INSERT INTO replays (scope, fingerprint, lease_until, expires_at) \
     VALUES ($1, $2, $4, $5) \
     ON CONFLICT (scope) DO UPDATE SET fingerprint = excluded.fingerprint, reply = NULL, \
         lease_until = excluded.lease_until, expires_at = excluded.expires_at \
     WHERE replays.expires_at <= $3 OR (replays.reply IS NULL AND replays.lease_until <= $3 \
         AND replays.fingerprint = excluded.fingerprint)";
pub(crate) const BEGUN: &str = "SELECT fingerprint, reply FROM replays WHERE scope = $1";
pub(crate) const FINISH: &str = "UPDATE replays SET reply = $2 WHERE scope = $1";
pub(crate) const FORGET: &str = "DELETE FROM replays WHERE scope = $1 AND reply IS NULL";
pub(crate) const SWEEP: &str = "DELETE FROM replays WHERE expires_at <= $1";

// Memory.

pub(crate) const REGISTRY: &str = "SELECT fetched_at, body FROM upstream_registries WHERE upstream = $1";
pub(crate) const KEEP_REGISTRY: &str = "INSERT INTO upstream_registries (upstream, fetched_at, body) \
     VALUES ($1, $2, $3) \
     ON CONFLICT (upstream) DO UPDATE SET fetched_at = excluded.fetched_at, body = excluded.body";
pub(crate) const RUNGS: &str = "SELECT model, rung FROM upstream_rungs WHERE upstream = $1 ORDER BY model";
pub(crate) const KEEP_RUNG: &str = "INSERT INTO upstream_rungs (upstream, model, rung) VALUES ($1, $2, $3) \
     ON CONFLICT (upstream, model) DO UPDATE SET rung = excluded.rung";
