//! Idempotency records: requests with an `Idempotency-Key` and their replies.

use std::time::Duration;

use ep_polling::Timestamp;

use crate::connection::Durability;
use crate::error::{UnexpectedData, failed};
use crate::handles::Runtime;
use crate::lease::Lease;
use crate::row::from_row;
use crate::store_error::Result;
use crate::value::values;

/// The state of an idempotent request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimState {
    /// The request was new, or its claim had expired: now it is claimed by this caller, who must run it.
    Claimed(ClaimRecord),
    /// Another caller is running it.
    Running(ClaimRecord),
    /// The key was used for a request with another fingerprint.
    Mismatch,
    /// The request was finished; this is the reply given to [`Runtime::finish_claim`](crate::Runtime::finish_claim).
    Done(ClaimRecord, String),
}

/// The stored properties of a request besides its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimRecord {
    /// Number of claims of the request. Only the last claimant may write.
    pub epoch: i64,
    /// Expiry of the record. The same for every repetition of the request, and a new one once the key is used
    /// again after that.
    pub expires_at: Timestamp,
}

/// Claims a request that is unknown or expired, or that has an ended claim without a reply. A claim that
/// ends later than any correct clock allows ($6) counts as ended.
const CLAIM_REQUEST: &str = "INSERT INTO replays (scope, fingerprint, lease_until, expires_at, epoch) \
     VALUES ($1, $2, (SELECT now FROM clock) + $4, $5, 1) \
     ON CONFLICT (scope) DO UPDATE SET fingerprint = excluded.fingerprint, reply = NULL, \
         lease_until = excluded.lease_until, epoch = replays.epoch + 1, \
         expires_at = CASE WHEN replays.expires_at <= $3 THEN excluded.expires_at ELSE replays.expires_at END \
     WHERE replays.expires_at <= $3 OR (replays.reply IS NULL AND replays.fingerprint = excluded.fingerprint \
         AND (replays.lease_until <= (SELECT now FROM clock) OR replays.lease_until > (SELECT now FROM clock) + $6)) \
     RETURNING fingerprint, reply, epoch, expires_at";
const CLAIMED_REQUEST: &str = "SELECT fingerprint, reply, epoch, expires_at FROM replays WHERE scope = $1";
const RENEW_CLAIM: &str =
    "UPDATE replays SET lease_until = (SELECT now FROM clock) + $3 WHERE scope = $1 AND epoch = $2";
const SAVE_REPLY: &str = "UPDATE replays SET reply = $3 WHERE scope = $1 AND epoch = $2";
const DELETE_EXPIRED: &str = "DELETE FROM replays WHERE expires_at <= $1";

/// The maximum number of attempts to claim a request, if its record is repeatedly deleted before the read.
const MAX_ATTEMPTS: u32 = 3;

/// A stored idempotency record.
struct StoredClaim {
    fingerprint: String,
    reply: Option<String>,
    epoch: i64,
    expires_at: Timestamp,
}

from_row!(StoredClaim { fingerprint, reply, epoch, expires_at });

impl StoredClaim {
    /// Returns the record's response to a request with this fingerprint that could not claim it.
    fn state(self, fingerprint: &str) -> ClaimState {
        let record = self.record();
        match self.reply {
            _ if self.fingerprint != fingerprint => ClaimState::Mismatch,
            Some(reply) => ClaimState::Done(record, reply),
            None => ClaimState::Running(record),
        }
    }

    /// Returns the record without its reply.
    const fn record(&self) -> ClaimRecord {
        ClaimRecord { epoch: self.epoch, expires_at: self.expires_at }
    }
}

/// Stores idempotency records.
impl Runtime {
    /// Claims a request for `lasts`, by the database's clock, atomically. A record past its `expires_at` is
    /// ignored. A claim without a reply that expired or was released is granted again for the same
    /// fingerprint, and keeps its `expires_at`.
    pub async fn begin_claim(
        &self,
        scope: &str,
        fingerprint: &str,
        now: Timestamp,
        lasts: Duration,
        expires_at: Timestamp,
    ) -> Result<ClaimState> {
        for _ in 0..MAX_ATTEMPTS {
            let claim = values![scope, fingerprint, now, lasts, expires_at, Lease::longest(lasts)];
            // The later commit of the request's changes makes the claim durable too.
            let claimed: Vec<StoredClaim> =
                self.database.fetch_changed(Durability::ProcessCrash, CLAIM_REQUEST, claim).await?;
            if let Some(claimed) = claimed.into_iter().next() {
                return Ok(ClaimState::Claimed(claimed.record()));
            }
            let record: Option<StoredClaim> =
                self.database.fetch_optional(CLAIMED_REQUEST, values![scope]).await?;
            if let Some(record) = record {
                return Ok(record.state(fingerprint));
            }
        }
        Err(failed(UnexpectedData::ClaimDeleted))
    }

    /// Extends the claim of this epoch to `lasts` from now. Zero releases it, so that the request can be sent
    /// again.
    pub async fn renew_claim(&self, scope: &str, epoch: i64, lasts: Duration) -> Result<()> {
        self.database
            .execute(Durability::ProcessCrash, RENEW_CLAIM, values![scope, epoch, lasts])
            .await
            .map(drop)
    }

    /// Stores the reply, if the claim is still of this epoch. Acknowledged once a power loss cannot undo it.
    pub async fn finish_claim(&self, scope: &str, epoch: i64, reply: &str) -> Result<()> {
        // If a power loss undoes it, the request runs again and finds its earlier changes.
        let values = values![scope, epoch, reply];
        self.database.execute(Durability::ProcessCrash, SAVE_REPLY, values).await.map(drop)
    }

    /// Deletes expired records. Returns their number.
    pub async fn sweep_claims(&self, now: Timestamp) -> Result<u64> {
        self.database.sweep().await?;
        self.database.execute(Durability::ProcessCrash, DELETE_EXPIRED, values![now]).await
    }
}
