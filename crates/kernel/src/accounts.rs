//! Accounts: creating users and crediting money.
//!
//! Every change of an account goes through [`Accounts`], so ids, timestamps and hashes are created in one
//! place.

use std::sync::Arc;
use std::time::Duration;

use crate::fault::{Fault, Kind};
use crate::ports::{Clock, Entropy};
use ep_polling::money::MicroUsd;
use ep_store::{
    Audit, Balance, CreditOutcome, Email, NewUser, RevokedCredentials, Store, StoreError, Treasury, UserId,
};

/// The dependencies of [`Accounts`].
pub struct Ports {
    /// Adds money to the ledger, and has the operator's actions.
    pub treasury: Treasury,
    /// Reads balances.
    pub store: Store,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
}

/// Users and their money.
pub struct Accounts {
    ports: Ports,
}

impl Accounts {
    /// Creates the service.
    pub fn new(ports: Ports) -> Self {
        Self { ports }
    }

    /// Creates a user for the operator, with a starter credit unless it is zero. [`Kind::Conflict`] if an
    /// account already has this address, because the address would be ambiguous.
    pub async fn create_user(&self, email: Email, starter_credit: MicroUsd) -> Result<UserId, Fault> {
        if !self.ports.treasury.users_by_email(&email).await?.is_empty() {
            let text = format!("an account with the address {email} already exists");
            return Err(Fault::new(Kind::Conflict, text));
        }
        let id = UserId::from_random(self.ports.entropy.bytes());
        let user = NewUser { id, email, starter_credit, created_at: self.ports.clock.now() };
        self.ports.treasury.create_user(&user).await?;
        Ok(id)
    }

    /// Returns the user with this address. [`Kind::NotFound`] if no account has it, [`Kind::Conflict`] with
    /// the ids if several do.
    pub async fn user_by_email(&self, email: &Email) -> Result<UserId, Fault> {
        match *self.ports.treasury.users_by_email(email).await? {
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
    pub async fn forget_starter_credits(&self) -> Result<(), Fault> {
        Ok(self.ports.treasury.delete_old_starter_credits(self.ports.clock.now()).await?)
    }

    /// Credits an account, once per `reference`. [`Kind::InvalidInput`] for an amount of zero,
    /// [`Kind::NotFound`] for an unknown user, [`Kind::Conflict`] if the reference was used for another
    /// amount or account.
    pub async fn credit(
        &self,
        user: UserId,
        amount: MicroUsd,
        reference: &str,
    ) -> Result<CreditOutcome, Fault> {
        above_zero(amount)?;
        Ok(self.ports.treasury.credit(user, amount, reference, self.ports.clock.now()).await?)
    }

    /// Debits the available balance of an account, once per `reference`. [`Kind::InvalidInput`] for an amount
    /// of zero, [`Kind::Conflict`] if the balance is insufficient or the reference was used differently.
    pub async fn debit(
        &self,
        user: UserId,
        amount: MicroUsd,
        reference: &str,
    ) -> Result<CreditOutcome, Fault> {
        above_zero(amount)?;
        let debited = self.ports.treasury.debit(user, amount, reference, self.ports.clock.now()).await;
        debited.map_err(|error| match error {
            StoreError::InsufficientBalance { available, .. } => Fault::new(
                Kind::Conflict,
                format!("the available balance is {available}; debit at most this amount"),
            ),
            other => other.into(),
        })
    }

    /// Revokes all keys of a user, and ends all sessions.
    pub async fn lock_out(&self, user: UserId) -> Result<RevokedCredentials, Fault> {
        Ok(self.ports.treasury.lock_out(user, self.ports.clock.now()).await?)
    }

    /// Returns the operator's actions on accounts.
    pub fn treasury(&self) -> &Treasury {
        &self.ports.treasury
    }

    /// Returns an account's balance. [`Kind::NotFound`] for an unknown user.
    pub async fn balance(&self, user: UserId) -> Result<Balance, Fault> {
        let balance = self.ports.store.balance(user).await?;
        balance.ok_or_else(|| Fault::new(Kind::NotFound, "this account no longer exists"))
    }

    /// Checks balances against the ledger, holds against their polls, and polls against their deadlines.
    /// Every poll must be settled within `settled_within` of its deadline.
    pub async fn audit(&self, settled_within: Duration) -> Result<Audit, Fault> {
        Ok(self.ports.treasury.audit(settled_within).await?)
    }
}

fn above_zero(amount: MicroUsd) -> Result<(), Fault> {
    if amount.is_zero() { Err(Fault::invalid("", "the amount must be greater than 0")) } else { Ok(()) }
}
