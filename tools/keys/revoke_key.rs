//! `revoke_key`: revokes a key permanently.

use ep_kernel::Keys;
use ep_store::KeyId;

use crate::prelude::*;

/// Revokes an API key.
pub struct RevokeKey;

/// The key to revoke.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct KeyToRevoke {
    /// Its id, as `list_keys` shows it.
    #[schemars(with = "KeyId")]
    pub key_id: String,
}

/// The response to a revocation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Revoked {
    /// Always true.
    pub revoked: bool,
}

impl ToolOutput for Revoked {}

impl Tool for RevokeKey {
    const SPEC: Spec = Spec {
        name: "revoke_key",
        title: "Revoke an API key",
        summary: "Revokes one of your API keys permanently. Free.",
        manual: include_str!("revoke_key.md"),
        example: r#"{ "key_id": "3f2b8c1e-5d4a-4f6b-9a7c-8e1d2f3a4b5c" }"#,
        access: Access::ACCOUNT,
        effect: Effect::Destroy,
        rest: Some(Rest::delete("/api/keys/{key_id}")),
        intents: &[
            "revoke an API key",
            "a key has leaked",
            "my key was stolen or exposed",
            "delete or disable a key",
            "remove an old API key",
            "get rid of a key",
            "block a key that was stolen or published",
            "disable a key that I pushed by accident",
        ],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = KeyToRevoke;
    type Output = Revoked;

    async fn call(cx: &Ctx, input: KeyToRevoke) -> Result<Revoked, Fault> {
        let owner = cx.account()?;
        // An invalid id matches no key.
        let id = input.key_id.parse().map_err(|_| Keys::not_found())?;
        cx.keys().revoke(owner, id).await?;
        Ok(Revoked { revoked: true })
    }
}
