//! Asks the person behind a client (elicitation, 2026-07-28): before a poll that can cost more than its account wants
//! unasked, and, where the balance is too small, to add funds.
//!
//! The client sends its request again with the answer, and with a state that only this service can make: it is bound to
//! the account and to what was asked.

use std::time::Duration;

use ep_kernel::caller::UserId;
use ep_kernel::canonical;
use ep_kernel::fault::{ADD_FUNDS, Fault, Kind};
use ep_kernel::guard::{Credential, Request};
use ep_kernel::tool::Entry;
use ep_polling::money::{MicroUsd, UsdFigure};
use ep_polling::time::Timestamp;
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, ElicitationCapability, InputRequiredResult};
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::handler::Handler;

/// The names of what is asked.
const CONFIRM: &str = "confirm_cost";
const FUND: &str = "add_funds";
/// How long an answer may take.
const ANSWER_WITHIN: Duration = Duration::from_mins(10);

/// Whether a call may go on.
pub(super) enum Asked {
    /// Nothing needs to be asked, or the person agrees.
    GoOn,
    /// The client asks first.
    First(InputRequiredResult),
}

impl Handler {
    /// Asks before a poll that can cost more than its account wants unasked, where the client can ask.
    pub(super) async fn confirm(
        &self,
        entry: &'static Entry,
        params: &CallToolRequestParams,
        request: &Request,
        context: &RequestContext<RoleServer>,
    ) -> Result<Asked, Fault> {
        if !can_ask(context, |elicitation| elicitation.form.is_some() || elicitation.url.is_none()) {
            return Ok(Asked::GoOn);
        }
        let Some(user) = user_of(request) else { return Ok(Asked::GoOn) };
        let Some(above) = self.app().ports.confirmations.confirm_above(user).await? else {
            return Ok(Asked::GoOn);
        };
        let arguments = params.arguments.clone().unwrap_or_default();
        let Some(most) = self.most_it_can_cost(entry, &arguments, request).await? else {
            return Ok(Asked::GoOn);
        };
        if most <= above {
            return Ok(Asked::GoOn);
        }
        let subject = format!("{CONFIRM} {user} {}", digest(&params.name, &arguments));
        if let Some(answer) = self.answer(params, CONFIRM, &subject)? {
            let agreed = answer["action"] == "accept" && answer["content"][CONFIRM] == true;
            let text = format!("no model was asked: spending up to {most} was not confirmed");
            return if agreed { Ok(Asked::GoOn) } else { Err(Fault::new(Kind::Forbidden, text)) };
        }
        let question = arguments.get("question").and_then(Value::as_str).unwrap_or_default();
        let question: String = question.chars().take(300).collect();
        let message = format!(
            "This poll can cost up to {most}, and your account asks to confirm more than {above}. Question: {question}"
        );
        let schema = json!({
            "type": "object",
            "properties": { CONFIRM: { "type": "boolean", "title": format!("Spend up to {most} on this poll") } },
            "required": [CONFIRM],
        });
        let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
        self.ask_first(CONFIRM, params, &subject).map(Asked::First)
    }

    /// Where the balance was too small and the client can show a page: asks to add funds, once.
    pub(super) fn fund(
        &self,
        fault: &Fault,
        params: &CallToolRequestParams,
        request: &Request,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<InputRequiredResult>, Fault> {
        let links = &self.app().ports.links;
        let page = links.has(ADD_FUNDS).then(|| links.url(ADD_FUNDS, &[]));
        let page = page.filter(|page| fault.kind() == Kind::InsufficientBalance && page.starts_with("http"));
        let (Some(page), Some(user)) = (page, user_of(request)) else { return Ok(None) };
        if !can_ask(context, |elicitation| elicitation.url.is_some()) {
            return Ok(None);
        }
        let arguments = params.arguments.clone().unwrap_or_default();
        let subject = format!("{FUND} {user} {}", digest(&params.name, &arguments));
        if self.answer(params, FUND, &subject)?.is_some() {
            return Ok(None);
        }
        let params = json!({ "mode": "url", "message": fault.message(), "url": page });
        self.ask_first(FUND, params, &subject).map(Some)
    }

    /// The most that a poll can cost; `None` if it would only be checked and priced.
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
        let answer = self.ask(entry, Value::Object(priced), request.clone()).await?;
        let most = answer.value.pointer("/estimates/cost_usd_at_most").cloned().unwrap_or_default();
        Ok(serde_json::from_value::<UsdFigure>(most).ok().map(UsdFigure::ceil_micro))
    }

    /// A result that asks the person, and the state that comes back with the answer.
    fn ask_first(&self, name: &str, params: Value, subject: &str) -> Result<InputRequiredResult, Fault> {
        let requests = json!({ name: { "method": "elicitation/create", "params": params } });
        let requests = serde_json::from_value(requests).map_err(Fault::internal)?;
        let app = self.app();
        let until = app.ports.clock.now().after(ANSWER_WITHIN).millis().to_string();
        let state = app.request_states.seal(&until, subject, app.entropy.bytes())?;
        Ok(InputRequiredResult::new(Some(requests), Some(state)))
    }

    /// The answer that came with a request, if it is to this question about this request, and in time.
    fn answer<'a>(
        &self,
        params: &'a CallToolRequestParams,
        name: &str,
        subject: &str,
    ) -> Result<Option<&'a Value>, Fault> {
        let answer = params.input_responses.as_ref().and_then(|responses| responses.get(name));
        let (Some(answer), Some(state)) = (answer, params.request_state.as_deref()) else { return Ok(None) };
        let changed = |_| {
            let text = "requestState is not what was sent for this request, or its arguments have changed";
            Fault::new(Kind::InvalidInput, text)
        };
        let app = self.app();
        let until = app.request_states.open(state, subject).map_err(changed)?;
        let in_time = until.parse().is_ok_and(|until| app.ports.clock.now() < Timestamp::from_millis(until));
        Ok(in_time.then_some(answer))
    }
}

/// Names a request by what it asks.
fn digest(name: &str, arguments: &Map<String, Value>) -> String {
    hex::encode(Sha256::digest(canonical::text(&json!([name, arguments]))))
}

/// Whether the client offers to ask its user in this way. Only since 2026-07-28 can a result ask.
fn can_ask(context: &RequestContext<RoleServer>, way: impl Fn(&ElicitationCapability) -> bool) -> bool {
    let declared = context.meta.client_capabilities().unwrap_or_default();
    declared.elicitation.as_ref().is_some_and(way)
}

/// The account of an admitted request.
fn user_of(request: &Request) -> Option<UserId> {
    match &request.credential {
        Credential::Admitted(admission) => admission.caller.user(),
        _ => None,
    }
}
