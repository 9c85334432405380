//! The core of the service: operations, polls and accounts. Storage is [`ep_store`]; models, clock and randomness are ports
//! ([`ports`]) that the caller provides.
//!
//! Read [`tool`] first: it is the contract that every operation implements. Polls are defined in
//! `ep_polling`.

pub mod account_data;
pub mod accounts;
pub mod api_key;
pub mod app;
pub mod batches;
pub mod caller;
pub mod canonical;
pub mod cards;
pub mod ctx;
pub mod deposits;
pub mod dispatch;
pub mod event;
pub mod executor;
pub mod fault;
pub mod guard;
pub mod idempotency;
pub mod key_uses;
pub mod keys;
mod likeness;
pub mod links;
pub mod method;
pub mod output;
pub mod ports;
pub mod proposals;
pub mod purpose;
pub mod reading;
pub mod reputation;
pub mod schema;
pub mod sealing;
pub mod sign_in;
pub mod signing;
pub mod tasks;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tool;
pub mod turns;
pub mod webhooks;

pub use account_data::AccountData;
pub use accounts::Accounts;
pub use api_key::{ApiKey, Pepper};
pub use batches::{
    BatchNotifications, BatchRequest, BatchRows, BatchSettings, Batches, CreatedBatch, FileRequest,
    ReceivedFile, RowResponse, RowRunner, Upload, UploadPermit,
};
pub use caller::Caller;
pub use cards::Cards;
pub use ctx::{Ctx, DatabaseHealth, Settings, ToolPorts};
pub use deposits::{ChainComparison, DepositOutcome, DepositStatus, Deposited, Deposits, TransactionHash};
pub use dispatch::{Call, Entry, WhileRunning};
pub use event::{PollEvent, Progress, ProgressSink, StartedEvent, VoteEvent};
pub use executor::{Billing, EventProjection, Opener, PollExecutor, PollLimits, PollState};
pub use fault::{ErrorBody, Fault, FieldFault, Kind, Problem, RecoveryAction};
pub use idempotency::Idempotency;
pub use key_uses::KeyUses;
pub use keys::Keys;
pub use likeness::resemblance;
pub use links::{ActionCall, ActionRequest, Calls, Links};
pub use output::{CallOutput, Typed};
pub use ports::{
    AbandonPolicy, CallLimits, CardEvent, CardProcessor, CheckoutPage, Clock, Entropy, ExplanationResponse,
    MessageError, Models, NotDelivered, PanelOrder, PaymentNetwork, PaymentRejection, PreparedNotification,
    Presence, ProposalResponse, ProvenToken, RankedPanel, Registry, TokenVerifier, TransferOutcome, Turn,
    Variant, VariantPricing, Verification, WalletMessage, WalletMessages, WebhookSender,
};
pub use proposals::{Proposals, Proposed};
pub use purpose::Purpose;
pub use reputation::Reputation;
pub use schema::JsonType;
pub use sealing::Sealer;
pub use sign_in::{
    AccessTokens, ChallengeNonces, Lifetimes, Sessions, SignUps, StarterCredit, WalletParts, Wallets,
};
pub use signing::SigningKeys;
pub use tasks::Tasks;
pub use tool::{
    Access, Agents, Cost, Effect, Latency, MessageContent, Nothing, ParsedInput, Rate, Rest, Spec, Task,
    Tool, ToolSet,
};
pub use turns::Turns;
pub use webhooks::{Outbox, WebhookParts, WebhookSecrets, Webhooks};
