//! The operator's decisions about deposits of unknown outcome.

use super::{DepositOutcome, Deposited, Deposits};
use crate::fault::{Fault, Kind, Result};
use crate::ports::TransferOutcome;
use ep_store::{DepositId, DepositState, StoredDeposit, Transfer};

/// The hash of a transaction: `0x` and 64 hexadecimal digits, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionHash(String);

/// Error of parsing a [`TransactionHash`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a transaction hash is 0x and 64 hexadecimal digits")]
pub struct InvalidTransactionHash;

impl std::str::FromStr for TransactionHash {
    type Err = InvalidTransactionHash;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("0x").ok_or(InvalidTransactionHash)?;
        let is_hash = digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        if is_hash { Ok(Self(text.to_ascii_lowercase())) } else { Err(InvalidTransactionHash) }
    }
}

impl TransactionHash {
    /// Returns the hash as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deposits {
    /// Credits a deposit by its transaction, once. A node checks the transaction; without a node, the
    /// operator is trusted. [`Kind::NotFound`] for an unknown deposit, [`Kind::Conflict`] if the transaction
    /// does not pay it.
    pub async fn settle_by_transaction(
        &self,
        id: DepositId,
        transaction: &TransactionHash,
    ) -> Result<Deposited> {
        let known = self.known(id).await?;
        if let DepositState::Settled(received) = &known.state {
            let text = format!("this deposit was already credited, by transaction {}", received.transaction);
            return Err(Fault::new(Kind::Conflict, text));
        }
        let transfer = if self.network.has_node() {
            match self.network.check_transaction(&known.deposit.payment, transaction.as_str()).await {
                TransferOutcome::Moved(transfer) => transfer,
                TransferOutcome::NotMoved(_) => {
                    let text = "this transaction does not pay this deposit";
                    return Err(Fault::new(Kind::Conflict, text));
                }
                TransferOutcome::Unused { .. } | TransferOutcome::Unknown => return Err(not_shown()),
            }
        } else {
            Transfer { transaction: transaction.as_str().to_owned(), block: None, is_final: true }
        };
        match self.credit(&known, &transfer, false).await? {
            DepositOutcome::Deposited(deposited) => Ok(*deposited),
            DepositOutcome::Rejected(why) => Err(Fault::new(Kind::Conflict, why.to_string())),
        }
    }

    /// Declares that a deposit was not paid, and ends its look-ups. A node must show that it was not and never
    /// will be. Without a node, the operator is trusted once the authorization has expired. [`Kind::NotFound`]
    /// for an unknown deposit, [`Kind::Conflict`] if it was or can still be paid.
    pub async fn declare_unpaid(&self, id: DepositId) -> Result<()> {
        let known = self.known(id).await?;
        let conflict = |text: String| Err(Fault::new(Kind::Conflict, text));
        if let Some(received) = known.state.received() {
            return conflict(format!("this deposit was paid by transaction {}", received.transaction));
        }
        let payment = &known.deposit.payment;
        match self.network.look_up(payment, known.deposit.since).await {
            TransferOutcome::Moved(transfer) => {
                return conflict(format!("this deposit was paid by transaction {}", transfer.transaction));
            }
            TransferOutcome::NotMoved(_) => {}
            TransferOutcome::Unused { at: None } if self.clock.now() > payment.valid_before => {}
            TransferOutcome::Unused { .. } => {
                let text = "this deposit can still be paid; try again a few minutes after its authorization has expired";
                return conflict(text.to_owned());
            }
            TransferOutcome::Unknown => return Err(not_shown()),
        }
        // Without a node, a later look-up would never end.
        Ok(self.store.fail_deposit(&payment.reference, None).await?)
    }

    async fn known(&self, id: DepositId) -> Result<StoredDeposit> {
        let known = self.store.deposit_by_id(id).await?;
        known.ok_or_else(|| Fault::new(Kind::NotFound, format!("deposit {id} was not found")))
    }
}

fn not_shown() -> Fault {
    let text =
        "the chain's node does not show this transaction in a block, or is unavailable; try again later";
    Fault::new(Kind::Unavailable, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_hash_has_64_digits() {
        let digits = "aB".repeat(32);
        let hash: TransactionHash = format!("0x{digits}").parse().unwrap();
        assert_eq!(hash.as_str(), format!("0x{}", digits.to_lowercase()));
        for text in ["", "0x", &digits, &format!("0x{digits}0"), &format!("0x{}g", &digits[1..])] {
            assert_eq!(text.parse::<TransactionHash>(), Err(InvalidTransactionHash), "{text}");
        }
    }
}
