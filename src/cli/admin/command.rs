//! The arguments of `ep admin`.

use ep_kernel::{Accounts, Fault, TransactionHash};
use ep_polling::UsdFigure;
use ep_store::{DepositId, Email, KeyId, KeyLabel, UserId};

/// Selection of an account.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(in crate::cli) struct Account {
    /// The user's email address
    #[arg(long)]
    pub(super) email: Option<Email>,
    /// The user's id, if several users have the same address
    #[arg(long, value_name = "ID")]
    pub(super) user: Option<UserId>,
}

impl Account {
    /// Finds the account. An address of several accounts is an error that lists their ids.
    pub(super) async fn find(self, accounts: &Accounts) -> Result<UserId, Fault> {
        match (self.user, self.email) {
            (Some(user), _) => Ok(user),
            (None, Some(email)) => accounts.user_by_email(&email).await,
            (None, None) => Err(Fault::invalid("", "name the account with --email or --user")),
        }
    }
}

/// The operator's decision about a deposit.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(in crate::cli) struct DeclaredOutcome {
    /// Hash of the transaction that settled the payment; checked with the chain's node if configured
    #[arg(long, value_name = "HASH")]
    pub(super) transaction: Option<TransactionHash>,
    /// Declare that nothing was paid; checked with the chain's node if configured
    #[arg(long)]
    not_paid: bool,
}

#[derive(clap::Subcommand)]
pub(in crate::cli) enum Command {
    /// Create an account with an API key, and print both; the key is shown only once
    CreateUser {
        /// The user's email address
        #[arg(long)]
        email: Email,
        /// Starter credit, in USD
        #[arg(long, value_name = "USD", default_value = "1")]
        credit_usd: UsdFigure,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Create another API key for an account
    CreateKey {
        #[command(flatten)]
        account: Account,
        /// Label of the key, at most 64 characters
        #[arg(long, default_value = "")]
        label: KeyLabel,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke an API key permanently
    RevokeKey {
        #[command(flatten)]
        account: Account,
        /// Id of the key
        #[arg(long)]
        key_id: KeyId,
    },
    /// Add credit to an account, once per reference
    Credit {
        #[command(flatten)]
        account: Account,
        /// Amount in USD
        #[arg(long, value_name = "USD")]
        usd: UsdFigure,
        /// Unique reference; each reference is credited once
        #[arg(long)]
        reference: String,
    },
    /// Deduct an amount from an account's available balance, once per reference
    Debit {
        #[command(flatten)]
        account: Account,
        /// Amount in USD
        #[arg(long, value_name = "USD")]
        usd: UsdFigure,
        /// Unique reference; each reference is deducted once
        #[arg(long)]
        reference: String,
    },
    /// List users as JSON lines, up to 100 per call
    ListUsers {
        /// Start after the user with this id
        #[arg(long, value_name = "ID")]
        after: Option<UserId>,
    },
    /// List an account's API keys as JSON lines
    ListKeys {
        #[command(flatten)]
        account: Account,
    },
    /// Revoke all API keys of an account and end its browser sessions
    RevokeAll {
        #[command(flatten)]
        account: Account,
    },
    /// Freeze an account: it cannot spend money, but running polls continue
    Freeze {
        #[command(flatten)]
        account: Account,
    },
    /// Unfreeze an account, so that it can spend money again
    Unfreeze {
        #[command(flatten)]
        account: Account,
    },
    /// Move the sign-in identities of one account to another; money, keys and polls stay
    MergeIdentity {
        /// Account that has the identities now
        #[arg(long, value_name = "ID")]
        from: UserId,
        /// Account that receives the identities
        #[arg(long, value_name = "ID")]
        into: UserId,
    },
    /// Print all stored data of an account except secrets, as JSON; same as `export_account`
    ExportUser {
        #[command(flatten)]
        account: Account,
    },
    /// Delete an account's personal data, as `delete_account` does
    ///
    /// Polls and ledger entries stay under the account's id. Deposits stay under the payer's address, which is public
    /// on the chain.
    DeleteUser {
        #[command(flatten)]
        account: Account,
        /// Delete; without this, only print what would be deleted
        #[arg(long)]
        yes: bool,
        /// Forfeit the remaining balance; without this, an account with a balance cannot be deleted
        #[arg(long)]
        forfeit_balance: bool,
    },
    /// Reconcile card payments and USDC deposits, and compare settled deposits with the chain
    Reconcile,
    /// Resolve a USDC deposit with unknown outcome: credit it by its transaction, or declare it unpaid
    SettleDeposit {
        /// Id of the deposit, from `ep admin audit`
        #[arg(value_name = "DEPOSIT")]
        deposit: DepositId,
        #[command(flatten)]
        outcome: DeclaredOutcome,
    },
    /// Show an account's balance
    Balance {
        #[command(flatten)]
        account: Account,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check the database and the ledger
    ///
    /// The database must be undamaged, and balances must match the ledger. Held amounts must match open holds, and
    /// every open hold must belong to an unsettled poll. Reputation sums must match the ballots. No poll may be
    /// unsettled long after its deadline, and no USDC deposit may have an unknown outcome. The chain must show every
    /// settled deposit.
    Audit {
        /// Also compare every index with its table (SQLite only; slower)
        #[arg(long)]
        full: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
