//! `list_keys`: lists the keys of the caller's account.

use ep_polling::{Timestamp, Usd};
use ep_store::{KeyId, KeyScope, KeyTerms, StoredKey};

use crate::prelude::*;

/// Lists the caller's API keys.
pub struct ListKeys;

/// The keys of an account.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeyList {
    /// The keys, newest first, including revoked ones.
    pub keys: Vec<ListedKey>,
}

/// A key without its secret.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedKey {
    /// The key's id, for revoking it.
    pub id: KeyId,
    /// Its first 10 characters.
    pub key_prefix: String,
    /// Its label; empty if it has none.
    pub label: String,
    /// The time of its last use, within 15 seconds; null if never used.
    pub last_used_at: Option<Timestamp>,
    /// The time of its revocation; null while it is active.
    pub revoked_at: Option<Timestamp>,
    /// The time it was created.
    pub created_at: Timestamp,
    /// Time of expiry; null for never.
    pub expires_at: Option<Timestamp>,
    /// Its scope.
    pub scope: KeyScope,
    /// The most its polls may cost in total, in USD; null without a cap.
    #[schemars(with = "Option<f64>")]
    pub cap_usd: Option<Usd>,
    /// The most its polls of one day (UTC) may cost, in USD; null without a cap.
    #[schemars(with = "Option<f64>")]
    pub daily_cap_usd: Option<Usd>,
    /// The cost of its polls, including holds for running ones, in USD; null without a cap.
    #[schemars(with = "Option<f64>")]
    pub spent_usd: Option<Usd>,
    /// The cost of today's polls (UTC), including holds, in USD; null without a cap.
    #[schemars(with = "Option<f64>")]
    pub spent_today_usd: Option<Usd>,
    /// The funds of a pre-funded key, in USD; null if it spends your account's money.
    #[schemars(with = "Option<f64>")]
    pub funds_usd: Option<Usd>,
}

impl ToolOutput for KeyList {}

impl From<StoredKey> for ListedKey {
    fn from(key: StoredKey) -> Self {
        let StoredKey {
            id,
            prefix: key_prefix,
            label,
            terms,
            funds,
            spent,
            last_used_at,
            revoked_at,
            created_at,
        } = key;
        let KeyTerms { scope, expires_at, caps } = terms;
        let spent = Some(spent).filter(|_| !caps.is_none());
        Self {
            id,
            key_prefix,
            label,
            last_used_at,
            revoked_at,
            created_at,
            expires_at,
            scope,
            cap_usd: caps.total.map(Usd),
            daily_cap_usd: caps.daily.map(Usd),
            spent_usd: spent.map(|spent| Usd(spent.total)),
            spent_today_usd: spent.map(|spent| Usd(spent.today)),
            funds_usd: funds.map(|funds| Usd(funds.available)),
        }
    }
}

impl Tool for ListKeys {
    const SPEC: Spec = Spec {
        name: "list_keys",
        title: "List your API keys",
        summary: "Lists the API keys of your account, active and revoked, without the keys themselves. Free.",
        manual: include_str!("list_keys.md"),
        access: Access::ACCOUNT,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/keys").field("keys")),
        intents: &[
            "which keys exist",
            "which API keys do I have",
            "show my API keys",
            "list my keys",
            "which of my keys are revoked",
            "when was a key last used",
            "which keys are active or revoked",
        ],
        ..Spec::PLAIN
    };
    type Input = Nothing;
    type Output = KeyList;

    async fn call(cx: &Ctx, _: Nothing) -> Result<KeyList, Fault> {
        let keys = cx.keys().of_user(cx.account()?).await?;
        Ok(KeyList { keys: keys.into_iter().map(Into::into).collect() })
    }
}
