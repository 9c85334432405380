//! `ep admin`: manages accounts, keys and money in the database.

mod audit;
mod command;

use std::time::Duration;

use ep_kernel::app::App;
use ep_kernel::{DepositStatus, Fault};
use ep_polling::counted::counted;
use ep_polling::{MicroUsd, Usd, UsdFigure};
use ep_site::config::Config;
use ep_store::{CreditOutcome, DepositId, IntegrityCheck, RevokedCredentials};
use ep_tools::account::whole_export;
use ep_tools::keys::ListedKey;
use serde_json::{Value, json};
use tokio::time::Instant;

use self::audit::{audit, chain_lines};
use self::command::DeclaredOutcome;
use crate::app::assemble;
use crate::app::assemble::Environment;
use crate::cli::target::GRACE;
use crate::cli::{End, print, print_json};
use crate::payments::{PaymentRail, Rails};

pub(super) use self::command::Command;

/// Period of deposits that `ep admin reconcile` compares with the chain.
const COMPARED_PAST: Duration = Duration::from_hours(24 * 30);

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
            for user in accounts.treasury.users(after).await.map_err(Fault::from)? {
                print_json(&serde_json::to_string(&user)?)?;
            }
        }
        Command::ListKeys { account } => {
            let user = account.find(accounts).await?;
            for key in keys.of_user(user).await? {
                print_json(&serde_json::to_string(&ListedKey::from(key))?)?;
            }
        }
        Command::RevokeAll { account } => {
            let RevokedCredentials { keys, sessions } =
                accounts.lock_out(account.find(accounts).await?).await?;
            print(&format!("revoked {}, ended {}", counted(keys, "key"), counted(sessions, "session")))?;
        }
        Command::Freeze { account } => {
            let user = account.find(accounts).await?;
            accounts.treasury.freeze(user, true).await.map_err(Fault::from)?;
            print("frozen")?;
        }
        Command::Unfreeze { account } => {
            let user = account.find(accounts).await?;
            accounts.treasury.freeze(user, false).await.map_err(Fault::from)?;
            print("no longer frozen")?;
        }
        Command::MergeIdentity { from, into } => {
            let moved = accounts.treasury.merge_identities(from, into).await.map_err(Fault::from)?;
            print(&format!("moved {}", counted(moved, "identity")))?;
        }
        Command::ExportUser { account } => {
            let user = account.find(accounts).await?;
            print_json(&serde_json::to_string_pretty(&whole_export(&app.ports, user).await?)?)?;
        }
        Command::DeleteUser { account, yes, forfeit_balance } => {
            let user = account.find(accounts).await?;
            let record = accounts.treasury.user(user).await.map_err(Fault::from)?;
            if yes {
                let forfeited =
                    app.ports.account_data.delete_account_as_operator(user, forfeit_balance).await?;
                print(&format!("deleted the personal data of {user}; forfeited {forfeited}"))?;
            } else {
                print_json(&serde_json::to_string(&record)?)?;
                print(
                    "nothing was deleted; add --yes to delete the address, identities, sessions, labels of keys, panels, files, batches, webhooks, agents' messages and feedback",
                )?;
            }
        }
        Command::Reconcile => {
            let mut reconciled = Vec::new();
            for running in payments.all() {
                reconciled.push(format!(
                    "{} {}",
                    running.reconcile_all().await?,
                    running.rail().words.payments
                ));
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
    if json { print_json(&value.to_string()) } else { print(&text()) }
}
