//! The method table (jsonrpsee's `RpcModule`).

use std::sync::LazyLock;

use ep_kernel::guard::Credential;
use ep_kernel::reading;
use ep_kernel::{Entry, Fault, Kind, Links};
use jsonrpsee_core::server::{Extensions, RpcModule};
use jsonrpsee_types::{ErrorObjectOwned, Params};
use serde_json::{Value, json};

use super::dialect::Dialect;
use super::errors::{Answer, Refusal};
use super::operations::{Reply, cancel, get, list, send};
use super::pushes;
use super::pushes::PushAction;
use super::request::AgentRequest;

/// An action of a method.
#[derive(Debug, Clone, Copy)]
pub(super) enum Action {
    Send,
    Get,
    Cancel,
    List,
    /// The agent card for authenticated callers.
    ExtendedCard,
    /// Push notifications.
    Push(PushAction),
}

/// All methods of the protocol, by their names in each dialect.
const TABLE: &[(&str, Action)] = &[
    ("SendMessage", Action::Send),
    ("message/send", Action::Send),
    ("tasks/send", Action::Send),
    ("GetTask", Action::Get),
    ("tasks/get", Action::Get),
    ("CancelTask", Action::Cancel),
    ("tasks/cancel", Action::Cancel),
    ("ListTasks", Action::List),
    ("GetExtendedAgentCard", Action::ExtendedCard),
    ("tasks/list", Action::List),
    ("agent/getAuthenticatedExtendedCard", Action::ExtendedCard),
    ("CreateTaskPushNotificationConfig", Action::Push(PushAction::Create)),
    ("SetTaskPushNotificationConfig", Action::Push(PushAction::Create)),
    ("GetTaskPushNotificationConfig", Action::Push(PushAction::Get)),
    ("ListTaskPushNotificationConfig", Action::Push(PushAction::List)),
    ("ListTaskPushNotificationConfigs", Action::Push(PushAction::List)),
    ("DeleteTaskPushNotificationConfig", Action::Push(PushAction::Delete)),
    ("tasks/pushNotificationConfig/set", Action::Push(PushAction::Create)),
    ("tasks/pushNotificationConfig/get", Action::Push(PushAction::Get)),
    ("tasks/pushNotificationConfig/list", Action::Push(PushAction::List)),
    ("tasks/pushNotificationConfig/delete", Action::Push(PushAction::Delete)),
];

/// Methods that return events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Streaming {
    Send,
    Subscribe,
}

impl Streaming {
    /// Returns the streaming method with this name.
    pub(super) fn of(method: &str) -> Option<Self> {
        match method {
            "SendStreamingMessage" | "message/stream" => Some(Self::Send),
            "SubscribeToTask" | "tasks/resubscribe" => Some(Self::Subscribe),
            _ => None,
        }
    }
}

/// The registered methods.
pub(super) static METHODS: LazyLock<RpcModule<()>> = LazyLock::new(|| {
    let mut module = RpcModule::new(());
    for &(name, action) in TABLE {
        let registered = module.register_async_method(name, move |params, _, extensions| async move {
            call(name, action, &params, &extensions).await
        });
        if let Err(error) = registered {
            tracing::error!(method = name, error = %error, "a method is registered twice");
        }
    }
    module
});

/// Parses the parameters, which the envelope left unparsed.
pub(super) async fn read_params(params: Option<&str>) -> Answer<Value> {
    let Some(params) = params.map(str::to_owned) else { return Ok(json!({})) };
    let read = reading::read(params.len(), move || serde_json::from_str(&params)).await?;
    read.map_err(|error| Fault::new(Kind::MalformedJson, format!("params is not valid JSON: {error}")).into())
}

async fn call(
    name: &'static str,
    action: Action,
    params: &Params<'static>,
    extensions: &Extensions,
) -> Result<Value, ErrorObjectOwned> {
    let dialect = Dialect::of_method(name);
    let Some(agent) = extensions.get::<AgentRequest>() else {
        return Err(Refusal::from(Fault::internal("internal error: the request's caller is missing"))
            .error(dialect, &Links::default()));
    };
    let calls = &agent.calls();
    let params = match read_params(params.as_str()).await {
        Ok(params) => params,
        Err(refusal) => return Err(refusal.error(dialect, calls)),
    };
    act(agent, action, &params, dialect).await.map_err(|refusal| refusal.error(dialect, calls))
}

/// Runs an action; returns the result of its method.
pub(super) async fn act(
    agent: &AgentRequest,
    action: Action,
    params: &Value,
    dialect: Dialect,
) -> Answer<Value> {
    match action {
        // 1.0 wraps the results of SendMessage.
        Action::Send => send(agent, params, dialect).await.map(|reply| match reply {
            Reply::Task(task) => dialect.task_event(task),
            Reply::Message(message) => dialect.message_event(message),
        }),
        Action::Get => get(agent, params, dialect).await,
        Action::Cancel => cancel(agent, params, dialect).await,
        Action::List => list(agent, params, dialect).await,
        Action::ExtendedCard => extended_card(agent, dialect),
        Action::Push(action) => pushes::act(agent, action, params, dialect).await,
    }
}

/// Returns the card with every skill that the caller may use.
fn extended_card(agent: &AgentRequest, dialect: Dialect) -> Answer<Value> {
    // The guard rejects callers without a credential, except the compatibility kits; the kit for 1.0 needs the card.
    if matches!(agent.head.credential, Credential::None) && dialect != Dialect::V1 {
        return Err(Refusal::NoExtendedCard("the extended card is for callers with an API key".to_owned()));
    }
    let may_use =
        |entry: &Entry| entry.spec.access.key && agent.admission.check_scope(entry.spec.effect).is_ok();
    Ok((agent.extended_card)(&agent.state.site, &may_use, dialect != Dialect::V1))
}

/// Returns the refusal of an unknown method.
pub(super) fn unknown(name: &str) -> Refusal {
    let shown: String = name.chars().take(64).collect();
    Refusal::MethodNotFound(format!("there is no method {shown}; {}", Dialect::of_method(name).offered()))
}
