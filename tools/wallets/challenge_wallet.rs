//! `challenge_wallet`: creates a message for a wallet to sign.

use ep_kernel::Purpose;
use ep_polling::Timestamp;
use ep_store::WalletAddress;

use crate::prelude::*;

/// Creates a message for a wallet to sign.
pub struct ChallengeWallet;

/// A wallet and the purpose of its signature.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct WalletToChallenge {
    /// The wallet's address, in lower case or with its checksum (EIP-55).
    pub address: WalletAddress,
    /// The purpose of the signature; a message is valid only for its purpose. `any` fits all, once.
    #[serde(default = "any")]
    pub purpose: Purpose,
}

const fn any() -> Purpose {
    Purpose::Any
}

/// A message to sign.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WalletChallenge {
    /// The text to sign as it is (EIP-191, `personal_sign`).
    pub message: String,
    /// The nonce in the message, for wallets that write the message themselves (EIP-4361).
    pub nonce: String,
    /// The wallet's address with its checksum.
    pub address: WalletAddress,
    /// Time of expiry of the message.
    pub expires_at: Timestamp,
}

impl ToolOutput for WalletChallenge {}

impl Tool for ChallengeWallet {
    const SPEC: Spec = Spec {
        name: "challenge_wallet",
        title: "Get a message for a wallet to sign",
        summary: "Returns the message that an Ethereum wallet signs to sign in or to manage its keys. Free.",
        manual: include_str!("challenge_wallet.md"),
        example: r#"{ "address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }"#,
        access: Access::PUBLIC,
        effect: Effect::Read,
        rate: Rate::SignIn,
        rest: Some(Rest::get("/api/wallet/challenge")),
        intents: &[
            "connect my wallet",
            "sign in with my wallet",
            "sign in with Ethereum",
            "get the message that a wallet signs",
            "nonce for a wallet login",
            "what should my wallet sign",
            "begin a login with my wallet address",
        ],
        ..Spec::PLAIN
    };
    type Input = WalletToChallenge;
    type Output = WalletChallenge;

    async fn call(cx: &Ctx, input: WalletToChallenge) -> Result<WalletChallenge, Fault> {
        let challenge = cx.wallets().challenge(input.address, input.purpose)?;
        Ok(WalletChallenge {
            message: challenge.message,
            nonce: challenge.nonce,
            address: input.address,
            expires_at: challenge.expires_at,
        })
    }
}
