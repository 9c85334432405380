//! Asks the client's user (elicitation, 2026-07-28): to confirm a poll above the account's cost limit, and to add
//! funds if the balance is too low.
//!
//! The client repeats its request with the user's response and a state that only this service can create. The state
//! is bound to the account and to the request.

use std::time::Duration;

use ep_kernel::canonical;
use ep_kernel::fault::ADD_FUNDS;
use ep_kernel::guard::{Credential, Request};
use ep_kernel::{Entry, Fault, Kind};
use ep_polling::{MicroUsd, QuestionText, Timestamp, UsdFigure};
use ep_store::UserId;
use rmcp::model::{CallToolRequestParams, ElicitationCapability, InputRequiredResult};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::handler::{Context, Handler};

/// Names of the input requests.
const CONFIRM: &str = "confirm_cost";
const FUND: &str = "add_funds";
/// The characters of a question that are shown.
const MOST_SHOWN: usize = 300;
/// Time limit for the user's response.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(10);

/// Decision on a call.
pub(super) enum Confirmation {
    /// No question is needed, or the user agrees.
    Proceed,
    /// The client must ask its user first.
    AskFirst(InputRequiredResult),
}

impl Handler {
    /// Asks for confirmation of a poll above the account's cost limit, if the client can ask.
    pub(super) async fn confirm(
        &self,
        entry: &'static Entry,
        params: &CallToolRequestParams,
        request: &Request,
        context: &Context,
    ) -> Result<Confirmation, Fault> {
        if !can_ask(context, |elicitation| elicitation.form.is_some() || elicitation.url.is_none()) {
            return Ok(Confirmation::Proceed);
        }
        let Some(user) = user_of(request) else { return Ok(Confirmation::Proceed) };
        let Some(above) = self.app.ports.store.confirm_above(user).await? else {
            return Ok(Confirmation::Proceed);
        };
        let arguments = params.arguments.clone().unwrap_or_default();
        let Some(most) = self.most_it_can_cost(entry, &arguments, request).await? else {
            return Ok(Confirmation::Proceed);
        };
        if most <= above {
            return Ok(Confirmation::Proceed);
        }
        let subject = format!("{CONFIRM} {user} {}", digest(&params.name, &arguments));
        if let Some(response) = self.input_response(params, CONFIRM, &subject)? {
            let agreed = response["action"] == "accept" && response["content"][CONFIRM] == true;
            let text = format!("no model was asked: spending up to {most} was not confirmed");
            return if agreed { Ok(Confirmation::Proceed) } else { Err(Fault::new(Kind::Forbidden, text)) };
        }
        let question = arguments.get("question").and_then(Value::as_str).unwrap_or_default();
        let question: String = question.chars().take(MOST_SHOWN).collect();
        // Its marks of direction end with it, because the question is normalised.
        let question = QuestionText::<1, MOST_SHOWN>::new(&question);
        let question = question.map(|shown| format!(" Question: {}", shown.as_str())).unwrap_or_default();
        let message = format!(
            "This poll can cost up to {most}, and your account asks to confirm more than {above}.{question}"
        );
        let schema = json!({
            "type": "object",
            "properties": { CONFIRM: { "type": "boolean", "title": format!("Spend up to {most} on this poll") } },
            "required": [CONFIRM],
        });
        let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
        self.ask_first(CONFIRM, params, &subject).map(Confirmation::AskFirst)
    }

    /// Asks once to add funds, if the balance is too low and the client can show a page.
    pub(super) fn fund(
        &self,
        fault: &Fault,
        params: &CallToolRequestParams,
        request: &Request,
        context: &Context,
    ) -> Result<Option<InputRequiredResult>, Fault> {
        let links = &self.app.ports.links;
        let page = links.has(ADD_FUNDS).then(|| links.url(ADD_FUNDS, &[]));
        let page = page.filter(|page| fault.kind() == Kind::InsufficientBalance && page.starts_with("http"));
        let (Some(page), Some(user)) = (page, user_of(request)) else { return Ok(None) };
        if !can_ask(context, |elicitation| elicitation.url.is_some()) {
            return Ok(None);
        }
        let arguments = params.arguments.clone().unwrap_or_default();
        let subject = format!("{FUND} {user} {}", digest(&params.name, &arguments));
        if self.input_response(params, FUND, &subject)?.is_some() {
            return Ok(None);
        }
        let params = json!({ "mode": "url", "message": fault.message(), "url": page });
        self.ask_first(FUND, params, &subject).map(Some)
    }

    /// Returns the maximum cost of a poll, or `None` for a dry run.
    async fn most_it_can_cost(
        &self,
        entry: &'static Entry,
        arguments: &Map<String, Value>,
        request: &Request,
    ) -> Result<Option<MicroUsd>, Fault> {
        if arguments.get("dry_run") == Some(&Value::Bool(true)) {
            return Ok(None);
        }
        let mut priced = arguments.clone();
        priced
            .retain(|name, _| name != super::catalogue::IDEMPOTENCY_KEY && name != super::catalogue::INCLUDE);
        priced.insert("dry_run".to_owned(), Value::Bool(true));
        let dry_run = self.ask(entry, Value::Object(priced), request.clone()).await?;
        let most = dry_run.value.pointer("/estimates/cost_usd_at_most").cloned().unwrap_or_default();
        Ok(serde_json::from_value::<UsdFigure>(most).ok().map(UsdFigure::ceil_micro))
    }

    /// Returns a result that asks the user, with the state that the client sends back.
    fn ask_first(&self, name: &str, params: Value, subject: &str) -> Result<InputRequiredResult, Fault> {
        let requests = json!({ name: { "method": "elicitation/create", "params": params } });
        let requests = serde_json::from_value(requests).map_err(Fault::internal)?;
        let app = &self.app;
        let until = app.ports.clock.now().after(RESPONSE_TIMEOUT).millis().to_string();
        let state = app.request_states.seal(&until, subject, app.ports.entropy.bytes())?;
        Ok(InputRequiredResult::new(Some(requests), Some(state)))
    }

    /// Returns the user's response to this question about this request, if it arrived in time.
    fn input_response<'a>(
        &self,
        params: &'a CallToolRequestParams,
        name: &str,
        subject: &str,
    ) -> Result<Option<&'a Value>, Fault> {
        let response = params.input_responses.as_ref().and_then(|responses| responses.get(name));
        let (Some(response), Some(state)) = (response, params.request_state.as_deref()) else {
            return Ok(None);
        };
        let changed = |_| {
            let text = "requestState does not match this request; send it with unchanged arguments";
            Fault::new(Kind::InvalidInput, text)
        };
        let app = &self.app;
        let until = app.request_states.open(state, subject).map_err(changed)?;
        let in_time = until.parse().is_ok_and(|until| app.ports.clock.now() < Timestamp::from_millis(until));
        Ok(in_time.then_some(response))
    }
}

/// Returns a digest of a request.
fn digest(name: &str, arguments: &Map<String, Value>) -> String {
    hex::encode(Sha256::digest(canonical::text(&json!([name, arguments]))))
}

/// True if the client supports this kind of elicitation. Results can ask only since version 2026-07-28.
fn can_ask(context: &Context, way: impl Fn(&ElicitationCapability) -> bool) -> bool {
    let declared = context.meta.client_capabilities().unwrap_or_default();
    declared.elicitation.as_ref().is_some_and(way)
}

/// Returns the account of an admitted request.
fn user_of(request: &Request) -> Option<UserId> {
    match &request.credential {
        Credential::Admitted(admission) => admission.caller.user(),
        _ => None,
    }
}
