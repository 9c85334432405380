//! `rotate_key_by_wallet`: replaces all keys with a new one, by a wallet's signature.

use ep_store::KeyId;
use serde_json::json;

use super::example_message;
use super::verify_wallet::SignedMessage;
use crate::prelude::*;

/// Replaces all API keys of a wallet's account with a new one.
pub struct RotateKeyByWallet;

/// The new key, with its plaintext.
#[derive(Serialize, JsonSchema)]
pub struct RotatedKey {
    /// Number of revoked keys.
    pub revoked_count: u32,
    /// The key. It is returned once; the response to a repeated request has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// The key's id, for revoking it.
    pub key_id: KeyId,
    /// Its first 10 characters, as shown in lists.
    pub key_prefix: String,
    /// Advice about storing the key.
    pub warning: &'static str,
}

/// The warning in response to a repeated request.
const SHOWN_BEFORE: &str = "The new key was in the first response, and is not shown again. If it was lost, sign a new \
                            message from GET /api/wallet/challenge, and replace the keys once more.";

impl ToolOutput for RotatedKey {
    fn presentation(&self) -> Presentation {
        // Anyone with the signed message can repeat the request.
        let Self { revoked_count, key_id, key_prefix, .. } = self;
        let repeated = json!({
            "revoked_count": revoked_count, "key_id": key_id, "key_prefix": key_prefix, "warning": SHOWN_BEFORE,
        });
        Presentation { sensitive: true, repeated: Some(repeated), ..Presentation::default() }
    }
}

impl Tool for RotateKeyByWallet {
    const SPEC: Spec = Spec {
        name: "rotate_key_by_wallet",
        title: "Replace all API keys by signature",
        summary: "Revokes all API keys of a wallet's account and creates one, authorised by a signed message. Free.",
        manual: include_str!("rotate_key_by_wallet.md"),
        example: concat!(r#"{ "message": ""#, example_message!(), r#"", "signature": "0x00" }"#),
        access: Access::PUBLIC,
        effect: Effect::Write { idempotent: false },
        rate: Rate::SignIn,
        rest: Some(Rest::post("/api/wallet/rotate-key")),
        intents: &[
            "I lost my API key",
            "rotate my keys",
            "replace all my keys by a wallet's signature",
            "I lost all keys, get a new one with my wallet",
            "all my keys are compromised, rotate them by wallet",
        ],
        faults: &[Kind::Unauthenticated, Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = SignedMessage;
    type Output = RotatedKey;

    async fn call(cx: &Ctx, input: SignedMessage) -> Result<RotatedKey, Fault> {
        let rotated = cx.wallets().rotate_key(&input.message, &input.signature).await?;
        Ok(RotatedKey {
            revoked_count: rotated.revoked,
            api_key: Some(rotated.key.key.reveal().to_owned()),
            key_id: rotated.key.id,
            key_prefix: rotated.key.prefix,
            warning: "Store this key now: it cannot be shown again. All earlier keys are refused.",
        })
    }
}
