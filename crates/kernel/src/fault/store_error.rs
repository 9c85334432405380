//! Faults of errors of the store.

use std::time::Duration;

use ep_polling::MicroUsd;
use ep_store::StoreError;

use super::{Fault, Kind};

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::InsufficientBalance { available, needed } => {
                let text = if available <= MicroUsd::ZERO {
                    "insufficient balance: nothing is available; add funds, or choose the preset free, which costs nothing"
                        .to_owned()
                } else {
                    format!(
                        "insufficient balance: {available} is available, and {needed} must be set aside to begin; add \
                         funds, choose a cheaper preset (free costs nothing), or lower max_cost_usd (a complete poll \
                         needs enough for all its models)"
                    )
                };
                Fault::new(Kind::InsufficientBalance, text).lacking(needed.minus(available))
            }
            StoreError::CapReached { left, needed } => Fault::new(
                Kind::SpendingCapReached,
                format!(
                    "this API key may spend only {left} more, and {needed} must be set aside to begin; wait until \
                     running polls have ended or, for a daily cap, until 00:00 UTC, use another key, or choose \
                     the preset free, which costs nothing"
                ),
            ),
            StoreError::BatchSpent { left, needed } => Fault::new(
                Kind::InsufficientBalance,
                format!(
                    "the batch has {left} left, and this row needs {needed} to begin; create a batch of the remaining \
                     rows with more funds, a higher max_cost_usd or a cheaper preset"
                ),
            )
            .lacking(needed.minus(left)),
            StoreError::Frozen => Fault::new(
                Kind::AccountFrozen,
                "this account is frozen because a payment to it was reversed; contact the operator, or choose \
                 the preset free, which costs nothing",
            ),
            StoreError::BalanceLimit => Fault::new(
                Kind::Conflict,
                "the balance would exceed 1,000,000,000,000 USD (10^12), the most that an account can hold; credit \
                 less",
            ),
            StoreError::FilesQuota(bytes) => Fault::new(
                Kind::Conflict,
                format!("the files of the account would take more than {} MiB; delete some first", bytes >> 20),
            ),
            StoreError::Conflict(what) => Fault::new(Kind::Conflict, what),
            StoreError::NotFound(what) => Fault::new(Kind::NotFound, format!("{what} not found")),
            StoreError::UnknownForm => Fault::new(
                Kind::Unavailable,
                "a newer version of this program stored this poll, and this server cannot read it; send the request \
                 again in a few seconds to reach a server of the newer version",
            )
            .retry_after(Duration::from_secs(5)),
            StoreError::Rejected(source) | StoreError::Failed(source) => Fault::new(
                Kind::Unavailable,
                "the database is not available; try again in a moment",
            )
            .retry_after(Duration::from_secs(2))
            .caused_by(source),
        }
    }
}
