//! Data of the account page: the request, and the outputs of its operations.

use ep_kernel::Fault;
use ep_polling::Timestamp;
use ep_site::http::Form;
use ep_store::{CheckoutRecord, PastPoll, TransferRecord};
use ep_tools::account::{BalanceReply, CurrentUser};
use ep_tools::batches::BatchList;
use ep_tools::evaluations::StoredEvaluation;
use ep_tools::keys::{CreatedKey, ListedKey};

/// Data of a request for an account's page.
#[derive(Default)]
pub struct AccountView<'a> {
    /// Page number of the poll list, from 1.
    pub page: u32,
    /// Search words for questions.
    pub search: &'a str,
    /// Cursor of the list of batches; empty for the newest.
    pub batches: &'a str,
    /// The payment that the browser returns from; `no` if it was abandoned.
    pub funded: &'a str,
    /// Notice from the sign-in.
    pub notice: &'a str,
    /// Outcome of a form.
    pub done: &'a str,
    /// A newly created key.
    pub created: Option<CreatedKey>,
    /// The rejected form and its fault.
    pub refused: Option<(&'static str, &'a Fault)>,
    /// The submitted values of the rejected form.
    pub typed: Option<&'a Form>,
}

/// Outputs of the operations, and data that no operation returns.
pub struct AccountData {
    /// The time of the request.
    pub now: Timestamp,
    /// The account.
    pub user: CurrentUser,
    /// The balance.
    pub balance: BalanceReply,
    /// Spending by day.
    pub spending: ep_tools::account::Spending,
    /// The running polls.
    pub running: Vec<PastPoll>,
    /// One page of all polls, with one extra entry if another page follows.
    pub past: Vec<PastPoll>,
    /// A page of the batches.
    pub batches: BatchList,
    /// The evaluations.
    pub evaluations: Vec<StoredEvaluation>,
    /// Number of polls per page.
    pub listed: usize,
    /// The newest payments to and from the account.
    pub payments: Vec<TransferRecord>,
    /// The account's card payment that the browser returns from.
    pub funded: Option<CheckoutRecord>,
    /// The API keys.
    pub keys: Vec<ListedKey>,
    /// The configuration of an MCP client.
    pub mcp_config: String,
    /// Idempotency key of the forms on this page: submitting one twice runs it once.
    pub nonce: String,
    /// True if the refused form names a poll that was deleted recently.
    pub is_deleted_poll: bool,
}
