//! The method table (jsonrpsee's `RpcModule`).

use std::sync::LazyLock;

use ep_kernel::fault::{Fault, Kind};
use jsonrpsee_core::server::{Extensions, RpcModule};
use jsonrpsee_types::{ErrorObjectOwned, Params};
use serde_json::{Value, json};

use super::dialect::Dialect;
use super::errors::Refusal;
use super::message::member;
use super::operations::{Reply, cancel, get, send};
use super::request::AgentRequest;
use super::task::History;

/// What a method does.
#[derive(Debug, Clone, Copy)]
enum Action {
    Send,
    Get,
    Cancel,
    /// A method of the protocol that the agent card says is not offered.
    NotOffered,
    /// Push notifications, which this agent does not send.
    Push,
}

/// Every method of the protocol, by the name that its dialect uses.
const TABLE: &[(&str, Action)] = &[
    ("SendMessage", Action::Send),
    ("message/send", Action::Send),
    ("tasks/send", Action::Send),
    ("GetTask", Action::Get),
    ("tasks/get", Action::Get),
    ("CancelTask", Action::Cancel),
    ("tasks/cancel", Action::Cancel),
    ("SendStreamingMessage", Action::NotOffered),
    ("ListTasks", Action::NotOffered),
    ("SubscribeToTask", Action::NotOffered),
    ("GetExtendedAgentCard", Action::NotOffered),
    ("message/stream", Action::NotOffered),
    ("tasks/list", Action::NotOffered),
    ("tasks/resubscribe", Action::NotOffered),
    ("agent/getAuthenticatedExtendedCard", Action::NotOffered),
    ("CreateTaskPushNotificationConfig", Action::Push),
    ("SetTaskPushNotificationConfig", Action::Push),
    ("GetTaskPushNotificationConfig", Action::Push),
    ("ListTaskPushNotificationConfig", Action::Push),
    ("ListTaskPushNotificationConfigs", Action::Push),
    ("DeleteTaskPushNotificationConfig", Action::Push),
    ("tasks/pushNotificationConfig/set", Action::Push),
    ("tasks/pushNotificationConfig/get", Action::Push),
    ("tasks/pushNotificationConfig/list", Action::Push),
    ("tasks/pushNotificationConfig/delete", Action::Push),
];

/// The methods, ready to be called.
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

async fn call(
    name: &'static str,
    action: Action,
    params: &Params<'static>,
    extensions: &Extensions,
) -> Result<Value, ErrorObjectOwned> {
    let dialect = Dialect::of_method(name);
    let Some(agent) = extensions.get::<AgentRequest>() else {
        return Err(Refusal::from(Fault::internal("internal error: the request's caller is missing"))
            .error(dialect, ""));
    };
    let base_url = agent.state.links().base_url();
    // The envelope is read without looking into them.
    let params: Value = match params.as_str().map(serde_json::from_str) {
        None => json!({}),
        Some(Ok(params)) => params,
        Some(Err(error)) => {
            let fault = Fault::new(Kind::MalformedJson, format!("params is not valid JSON: {error}"));
            return Err(Refusal::from(fault).error(dialect, base_url));
        }
    };
    let result = match action {
        // 1.0 wraps the results of SendMessage.
        Action::Send => send(agent, &params, dialect).await.map(|reply| match (dialect, reply) {
            (Dialect::V1, Reply::Task(task)) => json!({ "task": task }),
            (Dialect::V1, Reply::Message(message)) => json!({ "message": message }),
            (Dialect::V03 | Dialect::Legacy, Reply::Task(bare) | Reply::Message(bare)) => bare,
        }),
        Action::Get | Action::Cancel => match member(&params, "id", "name").and_then(Value::as_str) {
            None => Err(Fault::invalid("id", "id is missing: name the task").into()),
            Some(task) if matches!(action, Action::Get) => {
                get(agent, task, History::of(&params), dialect).await
            }
            Some(task) => cancel(agent, task, dialect).await,
        },
        Action::NotOffered => {
            Err(Refusal::Unsupported(format!("{name} is not offered; {}", dialect.offered())))
        }
        Action::Push => {
            Err(Refusal::NoPush(format!("this agent sends no push notifications; {}", dialect.offered())))
        }
    };
    result.map_err(|refusal| refusal.error(dialect, base_url))
}

/// The refusal of a method that the protocol does not have.
pub(super) fn unknown(name: &str) -> Refusal {
    let shown: String = name.chars().take(64).collect();
    Refusal::MethodNotFound(format!("there is no method {shown}; {}", Dialect::of_method(name).offered()))
}
