//! `verify_wallet`: signs a wallet in.

use ep_store::{UserId, WalletAddress};
use serde_json::json;

use super::example_message;
use crate::prelude::*;

/// Signs a wallet in.
pub struct VerifyWallet;

/// A signed message.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SignedMessage {
    /// The message that was signed.
    pub message: String,
    /// Its signature in hexadecimal, beginning with 0x.
    pub signature: String,
}

/// The account of a wallet.
#[derive(Serialize, JsonSchema)]
pub struct WalletAccount {
    /// The wallet's address with its checksum.
    pub address: WalletAddress,
    /// The account.
    pub user_id: UserId,
    /// True if the account is new.
    pub is_new_user: bool,
    /// The first key of a new account. It is returned once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// Notice about the new account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<&'static str>,
    #[serde(skip)]
    session: SessionChange,
}

/// The notice in response to a repeated request.
const SHOWN_BEFORE: &str = "the API key of this account was in the first response, and is not shown again; if it was lost, \
                            replace it with POST /api/wallet/rotate-key";

impl ToolOutput for WalletAccount {
    fn presentation(&self) -> Presentation {
        // Anyone with the signed message can repeat the request.
        let repeated = self.api_key.as_ref().map(|_| {
            let Self { address, user_id, is_new_user, .. } = self;
            json!({ "address": address, "user_id": user_id, "is_new_user": is_new_user, "notice": SHOWN_BEFORE })
        });
        let session = Some(self.session.clone());
        Presentation { sensitive: true, session, repeated, ..Presentation::default() }
    }
}

impl Tool for VerifyWallet {
    const SPEC: Spec = Spec {
        name: "verify_wallet",
        title: "Sign in with a wallet",
        summary: "Signs an Ethereum wallet in by its signed message. A new wallet gets an account and an API key. Free.",
        manual: include_str!("verify_wallet.md"),
        example: concat!(r#"{ "message": ""#, example_message!(), r#"", "signature": "0x00" }"#),
        access: Access::PUBLIC,
        effect: Effect::Write { idempotent: false },
        rate: Rate::SignIn,
        rest: Some(Rest::post("/api/wallet/verify")),
        intents: &[
            "create an account with my wallet",
            "verify a signed message",
            "log in with the signature of my wallet",
            "sign up with a wallet",
            "sign up with a wallet and get an account",
            "send the signed message",
            "I signed the message, log me in",
        ],
        faults: &[Kind::Unauthenticated],
        ..Spec::PLAIN
    };
    type Input = SignedMessage;
    type Output = WalletAccount;

    async fn call(cx: &Ctx, input: SignedMessage) -> Result<WalletAccount, Fault> {
        let signed_in = cx.wallets().sign_in(&input.message, &input.signature, &cx.caller).await?;
        let account = signed_in.account;
        Ok(WalletAccount {
            address: signed_in.address,
            user_id: account.user,
            is_new_user: account.is_new,
            api_key: account.key.map(|issued| issued.key.reveal().to_owned()),
            notice: account.notice,
            session: signed_in.session,
        })
    }
}
