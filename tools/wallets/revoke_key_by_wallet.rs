//! `revoke_key_by_wallet`: revokes a key by a wallet's signature.

use ep_store::KeyId;

use super::example_message;
use crate::prelude::*;

/// Revokes an API key of a wallet's account.
pub struct RevokeKeyByWallet;

/// A signed message and the key to revoke.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SignedRevocation {
    /// The message that was signed.
    pub message: String,
    /// Its signature in hexadecimal, beginning with 0x.
    pub signature: String,
    /// The key's id, as `list_keys` shows it.
    #[schemars(with = "KeyId")]
    pub key_id: String,
}

/// The response to a revocation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RevokedByWallet {
    /// Always true.
    pub revoked: bool,
    /// The key's id.
    pub key_id: String,
}

impl ToolOutput for RevokedByWallet {}

impl Tool for RevokeKeyByWallet {
    const SPEC: Spec = Spec {
        name: "revoke_key_by_wallet",
        title: "Revoke an API key by signature",
        summary: "Revokes an API key of a wallet's account, authorised by a signed message. Free.",
        manual: include_str!("revoke_key_by_wallet.md"),
        example: concat!(
            r#"{ "message": ""#,
            example_message!(),
            r#"", "signature": "0x00", "key_id": "3f2b8c1e-5d4a-4f6b-9a7c-8e1d2f3a4b5c" }"#
        ),
        access: Access::PUBLIC,
        effect: Effect::Destroy,
        rate: Rate::SignIn,
        rest: Some(Rest::post("/api/wallet/revoke-key")),
        intents: &["revoke a key with my wallet", "revoke an API key by a wallet's signature"],
        faults: &[Kind::Unauthenticated, Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = SignedRevocation;
    type Output = RevokedByWallet;

    async fn call(cx: &Ctx, input: SignedRevocation) -> Result<RevokedByWallet, Fault> {
        // An invalid id matches no key.
        let key = input.key_id.parse().ok();
        cx.wallets().revoke_key(&input.message, &input.signature, key).await?;
        Ok(RevokedByWallet { revoked: true, key_id: input.key_id })
    }
}
