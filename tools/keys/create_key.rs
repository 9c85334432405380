//! `create_key`: creates a key for the caller's account.

use std::borrow::Cow;

use ep_kernel::Keys;
use ep_polling::{Timestamp, Usd};
use ep_store::{KeyId, KeyLabel, KeyScope, KeyTerms, SpendingCaps};

use crate::amount::Amount;
use crate::prelude::*;

/// Creates an API key.
pub struct CreateKey;

/// The properties of a new key.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct KeyToCreate {
    /// A label, for example the program that uses the key.
    pub label: Option<KeyLabel>,
    /// Time of expiry, for example 2027-01-31T00:00:00Z; without it the key never expires. Keys created by an expiring
    /// key expire with it or earlier.
    #[schemars(extend("x-limit" = true))]
    pub expires_at: Option<Timestamp>,
    /// The scope: reading; polls and reading; or all operations that accept a key. A key without any limit has `all` by
    /// default.
    #[schemars(extend("x-limit" = true))]
    pub scope: Option<KeyScope>,
    /// Maximum cost of its polls in total, in USD.
    #[schemars(extend("x-limit" = true))]
    pub cap_usd: Option<Amount>,
    /// Maximum cost of its polls of one day (UTC), in USD.
    #[schemars(extend("x-limit" = true))]
    pub daily_cap_usd: Option<Amount>,
    /// Creates a pre-funded key, which spends only this amount of your account, in USD. Another person can use it.
    #[schemars(extend("x-limit" = true))]
    pub funds_usd: Option<Amount>,
}

/// A new key, with its plaintext.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct CreatedKey {
    /// The key's id, for revoking it.
    pub id: KeyId,
    /// The key. It is returned once.
    pub key: String,
    /// Its first 10 characters, as shown in lists.
    pub key_prefix: String,
    /// Its label; empty if it has none.
    pub label: String,
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
    /// The funds of a pre-funded key, in USD; null if it spends your account's money.
    #[schemars(with = "Option<f64>")]
    pub funds_usd: Option<Usd>,
    /// Advice about storing the key.
    pub warning: Cow<'static, str>,
}

impl ToolOutput for CreatedKey {
    fn presentation(&self) -> Presentation {
        Presentation { sensitive: true, ..Presentation::default() }
    }
}

impl Tool for CreateKey {
    const SPEC: Spec = Spec {
        name: "create_key",
        title: "Create an API key",
        summary: "Creates an API key for your account. The key is shown only in this response. Free.",
        manual: include_str!("create_key.md"),
        example: r#"{ "label": "laptop" }"#,
        access: Access::ACCOUNT,
        effect: Effect::Write { idempotent: false },
        rest: Some(Rest::post("/api/keys").status(201)),
        intents: &[
            "I need an API key",
            "give me an API token",
            "give me an access token for the API",
            "I need a second key with a limit of a few dollars",
            "make an additional key",
            "create a key for my server",
            "get an API key",
            "generate a new API token",
            "give me a key for my agent",
            "make a new key with a spending limit",
            "issue an access token",
        ],
        faults: &[Kind::Conflict, Kind::InsufficientBalance, Kind::AccountFrozen],
        ..Spec::PLAIN
    };
    type Input = KeyToCreate;
    type Output = CreatedKey;

    async fn call(cx: &Ctx, input: KeyToCreate) -> Result<CreatedKey, Fault> {
        let KeyToCreate { label, expires_at, scope, cap_usd, daily_cap_usd, funds_usd } = input;
        let (owner, label) = (cx.account()?, label.unwrap_or_default());
        let limited = cap_usd.or(daily_cap_usd).or(funds_usd).is_some();
        if limited && !cx.settings().billing {
            let text = "this service does not charge, so keys cannot have caps or funds: leave out cap_usd, \
                        daily_cap_usd and funds_usd";
            return Err(Fault::invalid("", text));
        }
        let amount = |amount: Option<Amount>| amount.map(|Amount(amount)| amount);
        let caps = SpendingCaps { total: amount(cap_usd), daily: amount(daily_cap_usd) };
        let funds = amount(funds_usd);
        // A key that can create keys could evade its limits.
        if limited && scope == Some(KeyScope::All) {
            let text =
                "of a key with a cap or funds must be polls or read, because it cannot create other keys";
            return Err(Fault::invalid("scope", text));
        }
        let expires_at = Keys::expiry_of_created_key(cx.caller.key_terms(), expires_at)?;
        let default = if limited || expires_at.is_some() { KeyScope::Polls } else { KeyScope::All };
        let terms = KeyTerms { scope: scope.unwrap_or(default), expires_at, caps };
        let (creator, request) = (cx.caller.as_creator(), cx.request_ref.as_deref());
        let issued = cx.keys().issue_on(owner, label, terms, funds, creator, request).await?;
        Ok(CreatedKey {
            id: issued.id,
            key: issued.key.reveal().to_owned(),
            key_prefix: issued.prefix,
            label: issued.label.as_str().to_owned(),
            created_at: issued.created_at,
            expires_at: issued.terms.expires_at,
            scope: issued.terms.scope,
            cap_usd: caps.total.map(Usd),
            daily_cap_usd: caps.daily.map(Usd),
            funds_usd: funds.map(Usd),
            warning: "Store this key now: it cannot be shown again.".into(),
        })
    }
}
