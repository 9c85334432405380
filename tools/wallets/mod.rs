//! Wallets: signing in, and managing an account's keys by signature.

mod challenge_wallet;
mod revoke_key_by_wallet;
mod rotate_key_by_wallet;
mod verify_wallet;

pub use challenge_wallet::ChallengeWallet;
pub use revoke_key_by_wallet::RevokeKeyByWallet;
pub use rotate_key_by_wallet::RotateKeyByWallet;
pub use verify_wallet::VerifyWallet;

/// An unsigned message for input examples.
macro_rules! example_message {
    () => {
        "polls.example.com wants you to sign in with your Ethereum account:\\n\
         0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\\n\\nSign in to Ensemble Poll.\\n\\n\
         URI: https://polls.example.com\\nVersion: 1\\nChain ID: 8453\\n\
         Nonce: 0069f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f70\\nIssued At: 2026-11-21T12:00:00.000Z"
    };
}
use example_message;
