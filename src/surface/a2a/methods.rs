//! The method table (jsonrpsee's `RpcModule`).

use std::sync::LazyLock;

use ep_kernel::fault::Fault;
use jsonrpsee_core::server::{Extensions, RpcModule};
use jsonrpsee_types::{ErrorObjectOwned, Params};
use serde_json::{Value, json};

use super::dialect::Dialect;
use super::errors::Refusal;
use super::message::member;
use super::operations::{cancel, get, send};
use super::session::Session;

/// What a method does.
#[derive(Debug, Clone, Copy)]
enum Operation {
    Send,
    Get,
    Cancel,
    /// A method of the protocol that the agent card says is not offered.
    NotOffered,
    /// Push notifications, which this agent does not send.
    Push,
}

/// Every method of the protocol, by the name that its dialect uses.
const TABLE: &[(&str, Operation)] = &[
    ("SendMessage", Operation::Send),
    ("message/send", Operation::Send),
    ("tasks/send", Operation::Send),
    ("GetTask", Operation::Get),
    ("tasks/get", Operation::Get),
    ("CancelTask", Operation::Cancel),
    ("tasks/cancel", Operation::Cancel),
    ("SendStreamingMessage", Operation::NotOffered),
    ("ListTasks", Operation::NotOffered),
    ("SubscribeToTask", Operation::NotOffered),
    ("GetExtendedAgentCard", Operation::NotOffered),
    ("message/stream", Operation::NotOffered),
    ("tasks/list", Operation::NotOffered),
    ("tasks/resubscribe", Operation::NotOffered),
    ("agent/getAuthenticatedExtendedCard", Operation::NotOffered),
    ("CreateTaskPushNotificationConfig", Operation::Push),
    ("SetTaskPushNotificationConfig", Operation::Push),
    ("GetTaskPushNotificationConfig", Operation::Push),
    ("ListTaskPushNotificationConfig", Operation::Push),
    ("ListTaskPushNotificationConfigs", Operation::Push),
    ("DeleteTaskPushNotificationConfig", Operation::Push),
    ("tasks/pushNotificationConfig/set", Operation::Push),
    ("tasks/pushNotificationConfig/get", Operation::Push),
    ("tasks/pushNotificationConfig/list", Operation::Push),
    ("tasks/pushNotificationConfig/delete", Operation::Push),
];

/// The methods, ready to be called.
pub(super) static METHODS: LazyLock<RpcModule<()>> = LazyLock::new(|| {
    let mut module = RpcModule::new(());
    for &(name, operation) in TABLE {
        let registered = module.register_async_method(name, move |params, _, extensions| async move {
            call(name, operation, &params, &extensions).await
        });
        if let Err(error) = registered {
            tracing::error!(method = name, error = %error, "a method is registered twice");
        }
    }
    module
});

async fn call(
    name: &'static str,
    operation: Operation,
    params: &Params<'static>,
    extensions: &Extensions,
) -> Result<Value, ErrorObjectOwned> {
    let dialect = Dialect::of_method(name);
    let Some(session) = extensions.get::<Session>() else {
        return Err(Refusal::from(Fault::internal("the request's session is missing")).error(dialect, ""));
    };
    let params: Value = params.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or(json!({}));
    let result = match operation {
        // 1.0 wraps the results of SendMessage.
        Operation::Send => send(session, &params, dialect).await.map(|task| match dialect {
            Dialect::V1 => json!({ "task": task }),
            Dialect::V03 | Dialect::Legacy => task,
        }),
        Operation::Get | Operation::Cancel => match member(&params, "id", "name").and_then(Value::as_str) {
            None => Err(Fault::invalid("id", "id is missing: name the task").into()),
            Some(task) if matches!(operation, Operation::Get) => get(session, task, dialect).await,
            Some(task) => cancel(session, task, dialect).await,
        },
        Operation::NotOffered => {
            Err(Refusal::Unsupported(format!("{name} is not offered; {}", dialect.offered())))
        }
        Operation::Push => {
            Err(Refusal::NoPush(format!("this agent sends no push notifications; {}", dialect.offered())))
        }
    };
    result.map_err(|refusal| refusal.error(dialect, session.state.links().base_url()))
}

/// The refusal of a method that the protocol does not have.
pub(super) fn unknown(name: &str) -> Refusal {
    let shown: String = name.chars().take(64).collect();
    Refusal::MethodNotFound(format!("there is no method {shown}; {}", Dialect::of_method(name).offered()))
}
