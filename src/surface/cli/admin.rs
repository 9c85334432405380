//! `ep admin`: accounts, keys and money, at the database.

use ep_kernel::api_key::ApiKey;
use ep_kernel::app::App;
use ep_kernel::caller::{KeyId, UserId};
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::ports::{NewKey, NewUser};
use ep_polling::money::{MicroUsd, Usd, UsdFigure};
use serde_json::{Value, json};

use tokio::time::Instant;

use super::End;
use super::target::GRACE;
use crate::config::Config;
use crate::wiring::{self, Environment};

#[derive(clap::Subcommand)]
pub(super) enum Command {
    /// Create an account with an API key, and print both; the key is shown only once
    CreateUser {
        /// Its address
        #[arg(long)]
        email: String,
        /// Starter credit, in USD
        #[arg(long, value_name = "USD", default_value = "1")]
        credit_usd: UsdFigure,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Create another API key for an account
    CreateKey {
        /// Whose
        #[arg(long)]
        email: String,
        /// What to call it
        #[arg(long, default_value = "")]
        label: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke an API key for good
    RevokeKey {
        /// Whose
        #[arg(long)]
        email: String,
        /// The key's id
        #[arg(long)]
        key_id: KeyId,
    },
    /// Add credit to an account, once per reference
    Credit {
        /// Whose
        #[arg(long)]
        email: String,
        /// How much, in USD
        #[arg(long, value_name = "USD")]
        usd: UsdFigure,
        /// What it is for; the same reference is credited once
        #[arg(long)]
        reference: String,
    },
    /// Show an account's money
    Balance {
        /// Whose
        #[arg(long)]
        email: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Prove that balances equal the ledger and holds equal the open polls
    Audit {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(config: &Config, command: Command) -> anyhow::Result<End> {
    let service = wiring::assemble(config, Environment::system()).await?;
    let ended = run_in(&service.app, command).await;
    service.stop(Instant::now() + GRACE).await;
    ended
}

async fn run_in(app: &App, command: Command) -> anyhow::Result<End> {
    match command {
        Command::CreateUser { email, credit_usd, json } => {
            let user = create_user(app, &email, credit_usd).await?;
            let (_, key) = create_key(app, user, "first key").await?;
            let made = json!({ "user_id": user, "api_key": key.reveal() });
            print(json, &made, || format!("user     {user}\nAPI key  {}   (shown only now)", key.reveal()));
        }
        Command::CreateKey { email, label, json } => {
            let user = find(app, &email).await?;
            let (id, key) = create_key(app, user, &label).await?;
            let made = json!({ "user_id": user, "key_id": id, "api_key": key.reveal() });
            print(json, &made, || format!("key id   {id}\nAPI key  {}   (shown only now)", key.reveal()));
        }
        Command::RevokeKey { email, key_id } => {
            let user = find(app, &email).await?;
            if !app.accounts.revoke_key(user, key_id, app.ports.clock.now()).await.map_err(Fault::from)? {
                return Err(Fault::new(Kind::NotFound, "this account has no such active key").into());
            }
            println!("revoked");
        }
        Command::Credit { email, usd, reference } => {
            let user = find(app, &email).await?;
            let amount = positive(usd)?;
            let new = app
                .accounts
                .credit(user, amount, &reference, app.ports.clock.now())
                .await
                .map_err(Fault::from)?;
            println!(
                "{}",
                if new { format!("credited {amount}") } else { "this reference was credited before".into() }
            );
        }
        Command::Balance { email, json } => {
            let user = find(app, &email).await?;
            let balance = app.accounts.balance(user).await.map_err(Fault::from)?.unwrap_or_default();
            let shown = json!({
                "available_usd": Usd(balance.available()),
                "held_usd": Usd(balance.held),
                "used_usd": Usd(balance.used),
            });
            print(json, &shown, || {
                format!(
                    "available  {}\nheld       {}\nused       {}",
                    balance.available(),
                    balance.held,
                    balance.used
                )
            });
        }
        Command::Audit { json } => return audit(app, json).await,
    }
    Ok(End::Done)
}

async fn audit(app: &App, json: bool) -> anyhow::Result<End> {
    let audit = app.accounts.audit().await.map_err(Fault::from)?;
    let shown = json!({
        "clean": audit.is_clean(),
        "accounts": audit.accounts,
        "transfers": audit.transfers,
        "wrong_posted": audit.wrong_posted,
        "wrong_held": audit.wrong_held,
        "orphaned_holds": audit.orphaned_holds,
    });
    print(json, &shown, || {
        let verdict = if audit.is_clean() { "the books are right" } else { "THE BOOKS ARE WRONG" };
        let mut lines =
            vec![format!("{verdict}: {} accounts, {} transfers", audit.accounts, audit.transfers)];
        lines.extend(
            audit.wrong_posted.iter().map(|account| format!("posted differs from the ledger: {account}")),
        );
        lines.extend(
            audit.wrong_held.iter().map(|account| format!("held differs from the open holds: {account}")),
        );
        lines.extend(
            audit.orphaned_holds.iter().map(|hold| format!("hold without a poll that needs it: {hold}")),
        );
        lines.join("\n")
    });
    Ok(if audit.is_clean() { End::Done } else { End::Code(1) })
}

fn print(json: bool, value: &Value, text: impl FnOnce() -> String) {
    if json { println!("{value}") } else { println!("{}", text()) }
}

fn positive(usd: UsdFigure) -> Result<MicroUsd, Fault> {
    let amount = usd.floor_micro();
    if amount.is_zero() { Err(Fault::invalid("", "the amount must be greater than 0")) } else { Ok(amount) }
}

async fn create_user(app: &App, email: &str, credit_usd: UsdFigure) -> Result<UserId, Fault> {
    let plausible =
        email.split_once('@').is_some_and(|(name, domain)| !name.is_empty() && !domain.is_empty());
    if !plausible || email.len() > 254 || email.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(Fault::invalid("", "the email must look like name@example.com"));
    }
    if credit_usd.is_negative() {
        return Err(Fault::invalid("", "the amount must be greater than 0"));
    }
    let starter_credit = credit_usd.floor_micro();
    let id = UserId::from_random(app.entropy.bytes());
    let user = NewUser { id, email: email.to_owned(), starter_credit, created_at: app.ports.clock.now() };
    app.accounts.create_user(&user).await?;
    Ok(id)
}

async fn create_key(app: &App, user: UserId, label: &str) -> Result<(KeyId, ApiKey), Fault> {
    let key = ApiKey::from_random(app.entropy.bytes());
    let id = KeyId::from_random(app.entropy.bytes());
    let new = NewKey {
        id,
        user,
        hash: key.hash(&app.guard.pepper),
        prefix: key.prefix().to_owned(),
        label: label.to_owned(),
        created_at: app.ports.clock.now(),
    };
    app.accounts.add_key(&new).await?;
    Ok((id, key))
}

async fn find(app: &App, email: &str) -> Result<UserId, Fault> {
    let user = app.accounts.user_by_email(email).await?;
    user.ok_or_else(|| Fault::new(Kind::NotFound, format!("there is no account with the address {email}")))
}
