//! Statements about USDC deposits.

macro_rules! deposit_columns {
    () => {
        "ref AS reference, id, payer, user_id, amount, status, payment, valid_before, since, tx_hash, created_at, \
         block, looks"
    };
}

/// Begins a deposit, or begins a failed one again.
pub(crate) const BEGIN_DEPOSIT: &str = "INSERT INTO deposits \
         (ref, id, payer, user_id, amount, payment, valid_before, since, created_at, look_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
     ON CONFLICT (ref) DO UPDATE SET status = 'settling', look_at = excluded.look_at, looks = 0 \
     WHERE deposits.status = 'failed'";
pub(crate) const DEPOSIT: &str = concat!("SELECT ", deposit_columns!(), " FROM deposits WHERE ref = $1");
pub(crate) const DEPOSIT_BY_ID: &str = concat!("SELECT ", deposit_columns!(), " FROM deposits WHERE id = $1");
pub(crate) const LOCK_DEPOSIT: &str =
    concat!("UPDATE deposits SET status = status WHERE ref = $1 RETURNING ", deposit_columns!());
/// Records the transfer of a deposit.
pub(crate) const DEPOSIT_RECEIVED: &str = "UPDATE deposits \
     SET status = $2, tx_hash = $3, block = $4, user_id = $5, look_at = $6, looks = 0 WHERE ref = $1";
pub(crate) const DEPOSIT_FAILED: &str = "UPDATE deposits SET status = 'failed', look_at = $2, looks = 0 \
     WHERE ref = $1 AND status IN ('settling', 'unknown', 'confirming', 'failed')";
pub(crate) const POSTPONE_DEPOSIT: &str = "UPDATE deposits SET look_at = $3, looks = looks + 1, \
     status = CASE WHEN status = 'settling' AND $2 = 1 THEN 'unknown' ELSE status END \
     WHERE ref = $1 AND status <> 'settled'";
pub(crate) const VANISH_DEPOSIT: &str = "UPDATE deposits SET status = 'vanished', look_at = $2, looks = 0 \
     WHERE ref = $1 AND status = 'settled' RETURNING user_id AS id";
/// Due deposits, alternating between payers.
pub(crate) const DUE_DEPOSITS: &str = concat!(
    "SELECT ",
    deposit_columns!(),
    " FROM (SELECT deposits.*, ROW_NUMBER() OVER (PARTITION BY payer ORDER BY look_at, ref) AS turn \
         FROM deposits WHERE look_at <= $1 AND status <> 'settled') AS due \
     WHERE turn <= $3 ORDER BY turn, look_at, ref LIMIT $2"
);
/// Open deposits after a given one ($1).
pub(crate) const OPEN_DEPOSITS: &str = concat!(
    "SELECT ",
    deposit_columns!(),
    " FROM deposits WHERE status <> 'settled' AND look_at IS NOT NULL AND ref > $1 ORDER BY ref LIMIT $2"
);
pub(crate) const SETTLED_DEPOSITS: &str = concat!(
    "SELECT ",
    deposit_columns!(),
    " FROM deposits WHERE status = 'settled' AND (created_at, ref) > ($1, $2) ORDER BY created_at, ref LIMIT $3"
);
pub(crate) const DEPOSITS_IN_STATUS: &str =
    "SELECT id FROM deposits WHERE status = $1 ORDER BY created_at, id";

/// The source account of USDC deposits.
pub(crate) const USDC_ACCOUNT: &str = "sys:usdc";
