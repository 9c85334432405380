//! `ep admin`: manages accounts, keys and money in the database.

use std::time::Duration;

use ep_kernel::accounts::Accounts;
use ep_kernel::app::App;
use ep_kernel::caller::{DepositId, KeyId, UserId};
use ep_kernel::deposits::{ChainComparison, DepositStatus, TransactionHash};
use ep_kernel::email::Email;
use ep_kernel::fault::Fault;
use ep_kernel::key_label::KeyLabel;
use ep_kernel::ports::{CreditOutcome, IntegrityCheck, RevokedCredentials};
use ep_polling::money::{MicroUsd, Usd, UsdFigure};
use ep_tools::account::whole_export;
use ep_tools::keys::ListedKey;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::target::GRACE;
use super::{End, print};
use crate::app::assemble;
use crate::app::assemble::Environment;
use crate::config::Config;
use crate::payments::{PaymentRail, Rails};

/// Period of deposits that `ep admin reconcile` compares with the chain.
const COMPARED_PAST: Duration = Duration::from_hours(24 * 30);

/// Selection of an account.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Account {
    /// The user's email address
    #[arg(long)]
    email: Option<Email>,
    /// The user's id, if several users have the same address
    #[arg(long, value_name = "ID")]
    user: Option<UserId>,
}

impl Account {
    /// Finds the account. An address of several accounts is an error that lists their ids.
    async fn find(self, accounts: &Accounts) -> Result<UserId, Fault> {
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
pub(super) struct DeclaredOutcome {
    /// Hash of the transaction that settled the payment; checked with the chain's node if configured
    #[arg(long, value_name = "HASH")]
    transaction: Option<TransactionHash>,
    /// Declare that nothing was paid; checked with the chain's node if configured
    #[arg(long)]
    not_paid: bool,
}

#[derive(clap::Subcommand)]
pub(super) enum Command {
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

pub(super) async fn run(config: &Config, command: Command) -> anyhow::Result<End> {
    let service = assemble::service(config, Environment::system()).await?;
    let ended = run_in(&service.app, &service.payments, config.settled_within(), command).await;
    service.stop(Instant::now() + GRACE).await;
    ended
}

async fn run_in(
    app: &App,
    payments: &Rails,
    settled_within: Duration,
    command: Command,
) -> anyhow::Result<End> {
    let (accounts, keys) = (&app.accounts, &app.ports.keys);
    match command {
        Command::CreateUser { email, credit_usd, json } => {
            let user = accounts.create_user(email, amount_of("--credit-usd", credit_usd)?).await?;
            let issued = keys.issue(user, "first key".parse()?).await?;
            let key = issued.key.reveal();
            show(json, &json!({ "user_id": user, "api_key": key }), || {
                format!("user     {user}\nAPI key  {key}   (shown only now)")
            })?;
        }
        Command::CreateKey { account, label, json } => {
            let user = account.find(accounts).await?;
            let issued = keys.issue(user, label).await?;
            let (id, key) = (issued.id, issued.key.reveal());
            show(json, &json!({ "user_id": user, "key_id": id, "api_key": key }), || {
                format!("key id   {id}\nAPI key  {key}   (shown only now)")
            })?;
        }
        Command::RevokeKey { account, key_id } => {
            let user = account.find(accounts).await?;
            keys.revoke(user, key_id).await?;
            print("revoked")?;
        }
        Command::Credit { account, usd, reference } => {
            let user = account.find(accounts).await?;
            let amount = amount_of("--usd", usd)?;
            match accounts.credit(user, amount, &reference).await? {
                CreditOutcome::Credited => print(&format!("credited {amount}"))?,
                CreditOutcome::AlreadyCredited => print("this reference is already credited")?,
            }
        }
        Command::Debit { account, usd, reference } => {
            let user = account.find(accounts).await?;
            let amount = amount_of("--usd", usd)?;
            match accounts.debit(user, amount, &reference).await? {
                CreditOutcome::Credited => print(&format!("took {amount}"))?,
                CreditOutcome::AlreadyCredited => print("this reference is already deducted")?,
            }
        }
        Command::ListUsers { after } => {
            for user in accounts.operator().users(after).await.map_err(Fault::from)? {
                print(&serde_json::to_string(&user)?)?;
            }
        }
        Command::ListKeys { account } => {
            let user = account.find(accounts).await?;
            for key in keys.of_user(user).await? {
                print(&serde_json::to_string(&ListedKey::from(key))?)?;
            }
        }
        Command::RevokeAll { account } => {
            let RevokedCredentials { keys, sessions } =
                accounts.lock_out(account.find(accounts).await?).await?;
            print(&format!("revoked {keys} keys, ended {sessions} sessions"))?;
        }
        Command::Freeze { account } => {
            let user = account.find(accounts).await?;
            accounts.operator().freeze(user, true).await.map_err(Fault::from)?;
            print("frozen")?;
        }
        Command::Unfreeze { account } => {
            let user = account.find(accounts).await?;
            accounts.operator().freeze(user, false).await.map_err(Fault::from)?;
            print("no longer frozen")?;
        }
        Command::MergeIdentity { from, into } => {
            let moved = accounts.operator().merge_identities(from, into).await.map_err(Fault::from)?;
            print(&format!("moved {moved} identities"))?;
        }
        Command::ExportUser { account } => {
            let user = account.find(accounts).await?;
            print(&serde_json::to_string_pretty(&whole_export(&app.ports, user).await?)?)?;
        }
        Command::DeleteUser { account, yes, forfeit_balance } => {
            let user = account.find(accounts).await?;
            let record = accounts.operator().user(user).await.map_err(Fault::from)?;
            if yes {
                let forfeited =
                    app.ports.account_data.delete_account_as_operator(user, forfeit_balance).await?;
                print(&format!("deleted the personal data of {user}; forfeited {forfeited}"))?;
            } else {
                print(&serde_json::to_string(&record)?)?;
                print(
                    "nothing was deleted; add --yes to delete the address, identities, sessions, labels of keys, webhooks, agents' messages and feedback",
                )?;
            }
        }
        Command::Reconcile => {
            let mut reconciled = Vec::new();
            for running in payments.all() {
                reconciled.push(format!("{} {}", running.reconcile().await?, running.rail().words.payments));
            }
            print(&format!("reconciled {}", reconciled.join(" and ")))?;
            for deposits in payments.all().filter_map(PaymentRail::deposits) {
                if let Some(compared) = deposits.compare_recent(COMPARED_PAST).await? {
                    print(&chain_lines(&compared).join("\n"))?;
                }
            }
        }
        Command::SettleDeposit { deposit, outcome } => settle_deposit(payments, deposit, outcome).await?,
        Command::Balance { account, json } => {
            let user = account.find(accounts).await?;
            let balance = accounts.balance(user).await?;
            let shown = json!({
                "available_usd": Usd(balance.available()),
                "held_usd": Usd(balance.held),
                "used_usd": Usd(balance.used),
            });
            show(json, &shown, || {
                format!(
                    "available  {}\nheld       {}\nused       {}",
                    balance.available(),
                    balance.held,
                    balance.used
                )
            })?;
        }
        Command::Audit { full, json } => {
            let check = if full { IntegrityCheck::Full } else { IntegrityCheck::Quick };
            return audit(accounts, payments, settled_within, check, json).await;
        }
    }
    Ok(End::Done)
}

async fn audit(
    accounts: &Accounts,
    payments: &Rails,
    settled_within: Duration,
    check: IntegrityCheck,
    json: bool,
) -> anyhow::Result<End> {
    // Sums over a damaged database are meaningless.
    let damage = accounts.operator().check_integrity(check).await.map_err(Fault::from)?;
    if !damage.is_empty() {
        show(json, &json!({ "clean": false, "damaged": damage }), || {
            let advice = "the database is damaged: restore a backup; the ledger was not checked";
            let lines = damage.iter().map(|found| format!("damaged: {found}"));
            std::iter::once(advice.to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
        })?;
        return Ok(End::Code(1));
    }
    let audit = accounts.audit(settled_within).await?;
    let mut compared = Vec::new();
    for running in payments.all() {
        if let Some(deposits) = running.deposits()
            && let Some(comparison) = deposits.compare_all().await?
        {
            compared.push((running.rail().id, comparison));
        }
    }
    let is_clean = audit.is_clean() && compared.iter().all(|(_, comparison)| comparison.is_clean());
    let mut shown =
        json!({ "clean": is_clean, "accounts": audit.accounts, "transfers": audit.transfers, "damaged": [] });
    for (name, _, found) in audit.findings() {
        shown[name] = json!(found);
    }
    for (rail, compared) in &compared {
        shown[*rail] = json!({
            "deposits": compared.deposits,
            "settled_usd": Usd(compared.settled),
            "on_chain_usd": Usd(compared.on_chain),
            "missing_deposits": compared.missing,
            "unchecked_deposits": compared.unchecked,
        });
    }
    show(json, &shown, || {
        let verdict = if is_clean { "the ledger is consistent" } else { "the check found errors" };
        let mut lines =
            vec![format!("{verdict}: {} accounts, {} transfers", audit.accounts, audit.transfers)];
        for (_, description, found) in audit.findings() {
            lines.extend(found.iter().map(|id| format!("{description}: {id}")));
        }
        lines.extend(compared.iter().flat_map(|(_, comparison)| chain_lines(comparison)));
        lines.join("\n")
    })?;
    Ok(if is_clean { End::Done } else { End::Code(1) })
}

/// Describes the comparison of settled deposits with the chain.
fn chain_lines(compared: &ChainComparison) -> Vec<String> {
    let ChainComparison { deposits, settled, on_chain, missing, unchecked } = compared;
    let mut lines = vec![format!("{deposits} USDC deposits: {settled} settled, {on_chain} on the chain")];
    lines.extend(missing.iter().map(|id| format!("settled deposit not found on the chain: {id}")));
    lines.extend(unchecked.iter().map(|id| format!("settled deposit that the node cannot look up: {id}")));
    lines
}

async fn settle_deposit(
    payments: &Rails,
    deposit: DepositId,
    outcome: DeclaredOutcome,
) -> anyhow::Result<()> {
    let deposits = payments.deposits()?;
    let Some(transaction) = outcome.transaction else {
        deposits.declare_unpaid(deposit).await?;
        print("declared unpaid")?;
        return Ok(());
    };
    let deposited = deposits.settle_by_transaction(deposit, &transaction).await?;
    let (amount, user) = (deposited.amount, deposited.user);
    match deposited.status {
        DepositStatus::Settled => print(&format!("credited {amount} to {user}"))?,
        DepositStatus::Confirming => print(&format!("{amount} to {user} is waiting for confirmations"))?,
    }
    Ok(())
}

/// Converts an option's amount to whole micro-USD, rounded down.
fn amount_of(option: &str, usd: UsdFigure) -> Result<MicroUsd, Fault> {
    usd.checked_floor_micro().ok_or_else(|| {
        let text = format!(
            "{option} must be from 0 to 1,000,000,000,000 USD (10^12), the most that an account can hold; choose an \
             amount in that range"
        );
        Fault::invalid("", text)
    })
}

fn show(json: bool, value: &Value, text: impl FnOnce() -> String) -> std::io::Result<()> {
    print(&if json { value.to_string() } else { text() })
}
