//! `create_key`: a new key for the caller's account.

use ep_kernel::caller::KeyId;
use ep_kernel::ctx::Ctx;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::key_label::KeyLabel;
use ep_kernel::key_terms::{KeyScope, KeyTerms};
use ep_kernel::tool::{
    Access, Agents, Cost, Effect, Latency, Presentation, Rate, Rest, Spec, Task, Tool, ToolOutput,
};
use ep_polling::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Creates an API key.
pub struct CreateKey;

/// What the key is called.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct KeyToCreate {
    /// What you call it, for example the program that uses it.
    #[serde(default)]
    pub label: Option<KeyLabel>,
    /// From when on it is refused, for example 2027-01-31T00:00:00Z; never, if left out.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// What it may be used for: reading; polls and reading; or all that your account may do with a key.
    #[serde(default)]
    pub scope: Option<KeyScope>,
}

/// A new key, with its plaintext.
#[derive(Serialize, JsonSchema)]
pub struct CreatedKey {
    /// What it is revoked by.
    pub id: KeyId,
    /// The key. It is in no other response.
    pub key: String,
    /// Its first 10 characters, by which lists show it.
    pub key_prefix: String,
    /// What you call it; empty if nothing.
    pub label: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// From when on it is refused; null for never.
    pub expires_at: Option<Timestamp>,
    /// What it may be used for.
    pub scope: KeyScope,
    /// What to do with it now.
    pub warning: &'static str,
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
        cost: Cost::Free,
        latency: Latency::Instant,
        rate: Rate::Default,
        rest: Some(Rest::post("/api/keys").status(201)),
        stream: None,
        agents: Agents::None,
        task: Task::None,
        intents: &["I need an API key", "create a key for my server"],
        faults: &[Kind::Conflict],
    };
    type Input = KeyToCreate;
    type Output = CreatedKey;

    async fn call(cx: &Ctx, input: KeyToCreate) -> Result<CreatedKey, Fault> {
        let terms = KeyTerms { scope: input.scope.unwrap_or_default(), expires_at: input.expires_at };
        let issued = cx.keys().issue_on(cx.account()?, input.label.unwrap_or_default(), terms).await?;
        Ok(CreatedKey {
            id: issued.id,
            key: issued.key.reveal().to_owned(),
            key_prefix: issued.prefix,
            label: issued.label.as_str().to_owned(),
            created_at: issued.created_at,
            expires_at: issued.terms.expires_at,
            scope: issued.terms.scope,
            warning: "Store this key now: it cannot be shown again.",
        })
    }
}
