//! A signed-in visitor, who calls operations with the session.

use std::time::Duration;

use ep_kernel::dispatch::{admit, dispatch};
use ep_kernel::guard::{Admission, Credential};
use ep_kernel::schema::decode;
use ep_kernel::{Call, CallOutput, Fault, Kind, Nothing, Tool, WhileRunning};
use ep_site::http::{AppState, Form, RequestHead};
use ep_site::layout::HeaderVisitor;
use ep_store::UserId;
use ep_tools::account::{CurrentUser, GetBalance, GetCurrentUser, ListSpending};
use ep_tools::batches::{BatchList, ListBatches};
use ep_tools::entry_of;
use ep_tools::evaluations::ListEvaluations;
use ep_tools::examples::GetExample;
use ep_tools::keys::ListKeys;
use ep_tools::results::{ResultsPage, past_polls};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::web::operation;

use super::page_data::{AccountData, AccountView};
use super::view::AccountPage;

/// Polls per page.
const LISTED: u32 = 20;

/// Maximum number of running polls shown.
const RUNNING: u32 = 20;

/// Batches per page.
const BATCHES: u32 = 5;

/// Maximum number of payments shown.
const PAYMENTS: u32 = 12;

/// Maximum length of a payment's id at a card processor.
const LONGEST_PAYMENT_ID: usize = 255;

/// Maximum time to wait while the same submission is in progress.
const SUBMISSION_WAIT: Duration = Duration::from_secs(5);

/// A signed-in visitor.
pub(crate) struct Visitor<'a> {
    pub(in crate::web) state: &'a AppState,
    pub(super) head: &'a RequestHead,
    pub(in crate::web) admission: Admission,
    pub(super) user: CurrentUser,
}

impl<'a> Visitor<'a> {
    /// Returns the visitor, or `None` if the session has expired.
    pub(in crate::web) async fn of(
        state: &'a AppState,
        head: &'a RequestHead,
    ) -> Result<Option<Self>, Fault> {
        if !matches!(head.credential, Credential::Session(_)) {
            return Ok(None);
        }
        let call = Call::new(head.guarded("web", head.credential.clone()));
        let admitted = match admit(&state.app, entry_of::<GetCurrentUser>()?, call).await {
            Ok(admitted) => admitted,
            Err(refused) => match refused.fault() {
                fault if fault.kind() == Kind::Unauthenticated => return Ok(None),
                fault => return Err(fault),
            },
        };
        let admission = admitted.admission().clone();
        let user = admitted.run_typed::<GetCurrentUser>(Nothing {}).await?.output;
        Ok(Some(Self { state, head, admission, user }))
    }

    /// Calls an operation and returns its output.
    pub(in crate::web) async fn ask<T: Tool>(&self, input: T::Input) -> Result<T::Output, Fault> {
        operation::ask::<T>(self.state, self.head, &self.admission, input).await
    }

    /// Calls an operation and returns its output as JSON, for a download.
    pub(super) async fn json_of<T: Tool>(&self, input: Value) -> Result<Value, Fault> {
        let call = Call::new(self.head.admitted("web", self.admission.clone()));
        Ok(dispatch(&self.state.app, entry_of::<T>()?, call, Ok(input)).await.result?.value)
    }

    /// Runs an operation once per submitted form. A repeated submission returns the first output.
    pub(in crate::web) async fn change<T: Tool>(
        &self,
        input: Value,
        form: &Form,
    ) -> Result<CallOutput, Fault> {
        let mut digest = Sha256::new();
        for (name, value) in form.fields() {
            for part in [name, value] {
                digest.update(part.len().to_le_bytes());
                digest.update(part);
            }
        }
        let key = hex::encode(digest.finalize());
        let call = Call {
            idempotency_key: Some(key),
            // The form was submitted twice, and the first submission is still in progress.
            while_running: WhileRunning::AwaitOutput(SUBMISSION_WAIT),
            ..Call::new(self.head.admitted("web", self.admission.clone()))
        };
        dispatch(&self.state.app, entry_of::<T>()?, call, Ok(input)).await.result
    }

    /// Returns a new idempotency key for the forms of a page.
    pub(in crate::web) fn nonce(&self) -> String {
        hex::encode(self.state.app.ports.entropy.bytes::<16>())
    }

    /// Returns the visitor as the header of a page names it.
    pub(in crate::web) async fn header(&self) -> Result<HeaderVisitor, Fault> {
        let charges = self.state.site.settings.offer.charges;
        let balance = if charges { Some(self.ask::<GetBalance>(Nothing {}).await?.balance) } else { None };
        Ok(HeaderVisitor::new(&self.user.email, balance))
    }

    /// Returns the account's id.
    pub(crate) fn account(&self) -> Result<UserId, Fault> {
        self.admission.caller.user().ok_or_else(|| Fault::internal("a visitor has no account"))
    }

    /// Returns a page of the batches. An invalid cursor is the beginning.
    async fn batches(&self, cursor: &str) -> Result<BatchList, Fault> {
        let page = async |cursor: Option<&str>| {
            self.ask::<ListBatches>(decode(json!({ "limit": BATCHES, "cursor": cursor }))?).await
        };
        match page(Some(cursor).filter(|cursor| !cursor.is_empty())).await {
            Err(fault) if fault.kind() == Kind::InvalidInput => page(None).await,
            found => found,
        }
    }

    /// Builds the page, with the outcome of a form.
    pub(super) async fn page(&self, view: AccountView<'_>) -> Result<AccountPage<'_>, Fault> {
        let site = &self.state.site;
        let ports = &self.state.app.ports;
        let account = self.account()?;
        let data = &ports.store;
        let past = ResultsPage {
            limit: LISTED + 1,
            offset: (view.page - 1) * LISTED,
            search: Some(view.search.to_owned()),
            ..ResultsPage::default()
        };
        let running = ResultsPage { limit: RUNNING, running: true, ..ResultsPage::default() };
        let funded = match view.funded {
            "" | "no" => None,
            session if session.len() > LONGEST_PAYMENT_ID => None,
            session => data.card_payment(account, session).await?,
        };
        let example = self.ask::<GetExample>(decode(json!({ "language": "mcp-config" }))?).await?;
        let data = AccountData {
            now: ports.clock.now(),
            user: self.user.clone(),
            balance: self.ask::<GetBalance>(Nothing {}).await?,
            spending: self.ask::<ListSpending>(Nothing {}).await?,
            // `list_results` returns neither the position of the winner nor the marks of private polls.
            running: past_polls(ports, account, &running).await?,
            past: past_polls(ports, account, &past).await?,
            batches: self.batches(view.batches).await?,
            evaluations: self.ask::<ListEvaluations>(Nothing {}).await?.evaluations,
            listed: LISTED as usize,
            payments: data.newest_payments(account, PAYMENTS).await?,
            funded,
            keys: self.ask::<ListKeys>(Nothing {}).await?.keys,
            mcp_config: example.code,
            nonce: self.nonce(),
            is_deleted_poll: view
                .typed
                .and_then(|form| form.text("poll_id").parse().ok())
                .is_some_and(|id| ports.polls.is_deleted(&id)),
        };
        Ok(AccountPage::new(site, view, data))
    }
}
