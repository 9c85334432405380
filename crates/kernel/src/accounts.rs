//! Accounts: creating users and crediting money.
//!
//! Every change of an account goes through [`Accounts`], so ids, timestamps and hashes are created in one
//! place.

use std::sync::Arc;

use crate::fault::{Fault, Kind, Result};
use crate::ports::{Clock, Entropy};
use ep_polling::MicroUsd;
use ep_store::{
    Balance, CreditOutcome, Email, NewUser, RevokedCredentials, Store, StoreError, Treasury, UserId,
};

/// Users and their money.
pub struct Accounts {
    /// Adds money to the ledger, and has the operator's actions.
    pub treasury: Treasury,
    /// Reads balances.
    pub store: Store,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
}

impl Accounts {
    /// Creates a user for the operator, with a starter credit unless it is zero. [`Kind::Conflict`] if an
    /// account already has this address, because the address would be ambiguous.
    pub async fn create_user(&self, email: Email, starter_credit: MicroUsd) -> Result<UserId> {
        if !self.treasury.users_by_email(&email).await?.is_empty() {
            let text = format!("an account with the address {email} already exists");
            return Err(Fault::new(Kind::Conflict, text));
        }
        let id = UserId::from_random(self.entropy.bytes());
        let user = NewUser { id, email, starter_credit, created_at: self.clock.now() };
        self.treasury.create_user(&user).await?;
        Ok(id)
    }

    /// Returns the user with this address. [`Kind::NotFound`] if no account has it, [`Kind::Conflict`] with
    /// the ids if several do.
    pub async fn user_by_email(&self, email: &Email) -> Result<UserId> {
        match *self.treasury.users_by_email(email).await? {
            [user] => Ok(user),
            [] => Err(Fault::new(Kind::NotFound, format!("no account has the address {email}"))),
            ref users => {
                let ids: Vec<String> = users.iter().map(ToString::to_string).collect();
                let text = format!(
                    "several accounts have the address {email}; name one by its id: {}",
                    ids.join(", ")
                );
                Err(Fault::new(Kind::Conflict, text))
            }
        }
    }

    /// Deletes the counts of starter credits given before today.
    pub async fn forget_starter_credits(&self) -> Result<()> {
        Ok(self.treasury.delete_old_starter_credits(self.clock.now()).await?)
    }

    /// Credits an account, once per `reference`. [`Kind::InvalidInput`] for an amount of zero,
    /// [`Kind::NotFound`] for an unknown user, [`Kind::Conflict`] if the reference was used for another
    /// amount or account.
    pub async fn credit(&self, user: UserId, amount: MicroUsd, reference: &str) -> Result<CreditOutcome> {
        above_zero(amount)?;
        Ok(self.treasury.credit(user, amount, reference, self.clock.now()).await?)
    }

    /// Debits the available balance of an account, once per `reference`. [`Kind::InvalidInput`] for an amount
    /// of zero, [`Kind::Conflict`] if the balance is insufficient or the reference was used differently.
    pub async fn debit(&self, user: UserId, amount: MicroUsd, reference: &str) -> Result<CreditOutcome> {
        above_zero(amount)?;
        let debited = self.treasury.debit(user, amount, reference, self.clock.now()).await;
        debited.map_err(|error| match error {
            StoreError::InsufficientBalance { available, .. } => Fault::new(
                Kind::Conflict,
                format!("the available balance is {available}; debit at most this amount"),
            ),
            other => other.into(),
        })
    }

    /// Revokes all keys of a user, and ends all sessions.
    pub async fn lock_out(&self, user: UserId) -> Result<RevokedCredentials> {
        Ok(self.treasury.lock_out(user, self.clock.now()).await?)
    }

    /// Returns an account's balance. [`Kind::NotFound`] for an unknown user.
    pub async fn balance(&self, user: UserId) -> Result<Balance> {
        let balance = self.store.balance(user).await?;
        balance.ok_or_else(|| Fault::new(Kind::NotFound, "this account no longer exists"))
    }
}

fn above_zero(amount: MicroUsd) -> Result<()> {
    if amount.is_zero() { Err(Fault::invalid("", "the amount must be greater than 0")) } else { Ok(()) }
}
