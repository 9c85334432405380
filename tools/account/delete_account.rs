//! `delete_account`: deletes the caller's account.

use ep_polling::Usd;
use ep_store::AccountRecord;

use crate::prelude::*;

/// Deletes the caller's account.
pub struct DeleteAccount;

/// The consent to the deletion.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct AccountToDelete {
    /// The id, the email address or a wallet address of the account, as a confirmation.
    pub confirm: String,
    /// Gives up the money that is left. Without it, an account that has some is not deleted.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub forfeit_balance: bool,
}

/// The confirmation of a deletion.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedAccount {
    /// Always true.
    pub deleted: bool,
    /// The forfeited amount, in USD.
    #[schemars(with = "f64")]
    pub forfeited_usd: Usd,
}

impl ToolOutput for DeletedAccount {
    fn presentation(&self) -> Presentation {
        Presentation { session: Some(SessionChange::End), ..Presentation::default() }
    }
}

impl Tool for DeleteAccount {
    const SPEC: Spec = Spec {
        name: "delete_account",
        title: "Delete your account",
        summary: "Deletes your account permanently: sign-ins, keys, panels, webhooks, feedback and agents' messages. Free.",
        manual: include_str!("delete_account.md"),
        example: r#"{ "confirm": "someone@example.com", "forfeit_balance": false }"#,
        access: Access::ACCOUNT,
        effect: Effect::Destroy,
        rest: Some(Rest::post("/api/account/delete")),
        agents: Agents::Set(ToolSet::Account),
        intents: &[
            "delete my account",
            "delete my account and all my data",
            "close my account for good",
            "erase my personal data",
            "remove my account and everything about me",
        ],
        faults: &[Kind::NotFound, Kind::Conflict, Kind::AccountFrozen],
        ..Spec::PLAIN
    };
    type Input = AccountToDelete;
    type Output = DeletedAccount;
    const NEEDS_ACCOUNT: bool = true;

    async fn call(cx: &Ctx, input: AccountToDelete) -> Result<DeletedAccount, Fault> {
        let user = cx.account()?;
        let account = cx.account_data().own_account(user).await?;
        if !identifies(&account, input.confirm.trim()) {
            let rule = "must be your account's id, its email address or its wallet's address, as export_account shows \
                        them, because the deletion cannot be undone";
            return Err(Fault::invalid("confirm", rule));
        }
        let forfeited = cx.account_data().delete_account(user, input.forfeit_balance).await?;
        Ok(DeletedAccount { deleted: true, forfeited_usd: Usd(forfeited) })
    }
}

/// Returns true if the text is the account's id, email address or wallet address.
fn identifies(account: &AccountRecord, text: &str) -> bool {
    let wallets = account.identities.iter().filter(|identity| identity.kind == "wallet");
    account.id.to_string() == text.to_lowercase()
        || account.email.eq_ignore_ascii_case(text)
        || wallets.map(|wallet| &wallet.subject).any(|address| address.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use ep_kernel::Caller;
    use serde_json::json;

    use super::*;
    use crate::testing::Service;

    #[tokio::test]
    async fn deletion_requires_the_account_id_and_forfeits_the_balance() {
        let service = Service::start().await;
        let user = service.user().await;
        let Caller::Session { user: id } = user else { panic!("{user:?}") };
        let delete = async |confirm: &str, forfeit_balance: bool| {
            let input = json!({ "confirm": confirm, "forfeit_balance": forfeit_balance });
            service.call::<DeleteAccount>(&user, input).await
        };
        assert_eq!(delete("yes", true).await.unwrap_err().kind(), Kind::InvalidInput);
        let refused = delete(&id.to_string(), false).await.unwrap_err();
        assert!(refused.kind() == Kind::Conflict && refused.message().contains("$1.00"), "{refused}");
        let deleted = delete(&id.to_string().to_uppercase(), true).await.unwrap();
        assert_eq!(deleted.value, json!({ "deleted": true, "forfeited_usd": 1.0 }));
        assert!(deleted.presentation.session.is_some());
    }
}
