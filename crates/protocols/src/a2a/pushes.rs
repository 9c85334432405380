//! Push configurations of tasks: the URLs that agents name, and the credentials for them.
//!
//! A task changes without a request only when its poll or batch ends. All other changes are responses to a request.

use ep_kernel::app::App;
use ep_kernel::{Effect, Fault, Kind};
use ep_store::{AgentPush, AgentTask, MAX_PUSHES, RequestId, TaskWork, WebhookUrl};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::dialect::Dialect;
use super::errors::{Answer, Refusal};
use super::fields::{field_of, identifier, invalid, task_id};
use super::message_names::digest;
use super::request::AgentRequest;

/// A validated push configuration.
pub(super) struct PushConfig {
    id: Option<String>,
    /// True if a message contains it, which can be repeated.
    is_of_message: bool,
    url: WebhookUrl,
    secrets: Secrets,
}

/// Credentials that authenticate the sender to the receiver.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Secrets {
    pub(super) token: Option<String>,
    pub(super) scheme: Option<String>,
    pub(super) credentials: Option<String>,
}

/// Maximum length of a token or credentials, in bytes.
const MAX_SECRET: usize = 4096;

impl PushConfig {
    /// Reads the configuration in a message, if any.
    pub(super) fn with_message(
        agent: &AgentRequest,
        params: &Value,
        configuration: &Value,
    ) -> Answer<Option<Self>> {
        const NAMES: [(&str, &str); 3] = [
            ("taskPushNotificationConfig", "task_push_notification_config"),
            ("pushNotificationConfig", "push_notification_config"),
            ("pushNotification", "push_notification"),
        ];
        let of =
            |object: &Value| NAMES.iter().find_map(|(name, other)| field_of(object, name, other).cloned());
        let requested =
            of(configuration).or_else(|| of(params)).map(|sent| Self::read(agent, &sent)).transpose()?;
        Ok(requested.map(|requested| Self { is_of_message: true, ..requested }))
    }

    /// Reads a configuration in any dialect.
    fn read(agent: &AgentRequest, sent: &Value) -> Answer<Self> {
        if !sent.is_object() {
            return Err(invalid("pushNotificationConfig", "must be an object with a url"));
        }
        let url = sent.get("url").and_then(Value::as_str).unwrap_or_default();
        let url = agent.state.app.agent_pushes.sender.check(url);
        let url = url.map_err(|rule| invalid("url", &rule))?;
        let authentication = sent.get("authentication").filter(|given| !given.is_null());
        let scheme = authentication.and_then(|given| {
            let schemes = given.get("schemes").and_then(Value::as_array);
            given.get("scheme").or_else(|| schemes?.first()).filter(|scheme| !scheme.is_null())
        });
        let credentials = authentication.and_then(|given| field_of(given, "credentials", "credentials"));
        let secrets = Secrets {
            token: header_text("token", sent.get("token"))?,
            scheme: header_text("authentication.scheme", scheme)?,
            credentials: header_text("authentication.credentials", credentials)?,
        };
        let id = identifier(sent, "id", ("id", "id"))?.map(str::to_owned);
        Ok(Self { id, is_of_message: false, url, secrets })
    }

    /// Stores the configuration for a task.
    pub(super) async fn store(
        self,
        agent: &AgentRequest,
        task: &AgentTask,
        dialect: Dialect,
    ) -> Answer<Value> {
        agent.check_scope(Effect::Consult)?;
        let app = &agent.state.app;
        let internal = RequestId::from_random(app.ports.entropy.bytes()).to_string();
        let Self { id, is_of_message, url, secrets } = self;
        // In 0.3 a task has one configuration, unless configurations are named.
        let config = id.unwrap_or_else(|| match dialect {
            // A repeated message sets the same one.
            Dialect::V1 if is_of_message => digest(&url.as_str().into()),
            Dialect::V1 => internal.clone(),
            _ => task.id.clone(),
        });
        if is_of_message {
            let known = app.ports.store.pushes_of_task(task.owner, &task.id).await.map_err(Fault::from)?;
            for push in known.iter().filter(|push| push.config == config && push.url == url) {
                if opened(app, push)? == secrets {
                    return Ok(shown(push, &secrets, dialect));
                }
            }
        }
        let text = serde_json::to_string(&secrets).map_err(Fault::internal)?;
        let push = AgentPush {
            secrets: app.agent_pushes.sealer.seal(&text, &internal, app.ports.entropy.bytes())?,
            id: internal,
            task: task.id.clone(),
            config,
            owner: task.owner,
            url,
            version: if dialect == Dialect::V1 { "1.0" } else { "0.3" }.to_owned(),
        };
        if !app.ports.store.set_push(&push).await.map_err(Fault::from)? {
            let rule = format!("task {} has {MAX_PUSHES} configurations, which is the maximum", task.id);
            return Err(invalid("id", &rule));
        }
        match &task.work {
            Some(TaskWork::Poll(poll)) => app.ports.polls.notify_agent(poll),
            // The batch may have ended already.
            Some(TaskWork::Batch(_)) => app.ports.polls.ended_tasks().notify_one(),
            None => {}
        }
        Ok(shown(&push, &secrets, dialect))
    }
}

/// Reads text that is valid in a header.
fn header_text(field: &str, given: Option<&Value>) -> Answer<Option<String>> {
    match given {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text))
            if text.len() <= MAX_SECRET && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) =>
        {
            Ok(Some(text.clone()))
        }
        Some(_) => Err(invalid(field, &format!("must be at most {MAX_SECRET} printable ASCII characters"))),
    }
}

/// Returns a configuration in its dialect, without credentials.
fn shown(push: &AgentPush, secrets: &Secrets, dialect: Dialect) -> Value {
    let mut config = json!({ "id": push.config, "url": push.url.as_str() });
    if let Some(token) = &secrets.token {
        config["token"] = token.as_str().into();
    }
    if let Some(scheme) = &secrets.scheme {
        config["authentication"] = match dialect {
            Dialect::V1 => json!({ "scheme": scheme }),
            _ => json!({ "schemes": [scheme] }),
        };
    }
    match dialect {
        Dialect::V1 => {
            config["taskId"] = push.task.as_str().into();
            config
        }
        Dialect::V03Rest => {
            let name = format!("tasks/{}/pushNotificationConfigs/{}", push.task, push.config);
            json!({ "name": name, "pushNotificationConfig": config })
        }
        Dialect::V03 | Dialect::Legacy => json!({ "taskId": push.task, "pushNotificationConfig": config }),
    }
}

/// An action on the push configurations of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PushAction {
    Create,
    Get,
    List,
    Delete,
}

/// Runs an action on push configurations.
pub(super) async fn act(
    agent: &AgentRequest,
    action: PushAction,
    params: &Value,
    dialect: Dialect,
) -> Answer<Value> {
    let task = match identifier(params, "taskId", ("taskId", "task_id"))? {
        Some(task) => task,
        // 0.3 names the task `id` if the configuration has its own id.
        None if dialect != Dialect::V1 => task_id(params)?,
        None => return Err(invalid("taskId", "taskId is missing: name the task")),
    };
    let task = agent.task(task).await?.task;
    if action == PushAction::Delete {
        agent.check_scope(Effect::Consult)?;
    }
    if action == PushAction::Create {
        let nested = ["pushNotificationConfig", "push_notification_config", "config"];
        let outer = nested.iter().find_map(|name| params.get(*name)).unwrap_or(params);
        let inner = nested.iter().find_map(|name| outer.get(*name)).unwrap_or(outer);
        let mut requested = PushConfig::read(agent, inner)?;
        let named = identifier(params, "configId", ("configId", "config_id"))?;
        requested.id = requested.id.or_else(|| named.map(str::to_owned));
        return requested.store(agent, &task, dialect).await;
    }
    let store = &agent.state.app.ports.store;
    let name = ("pushNotificationConfigId", "push_notification_config_id");
    let config = match identifier(params, "pushNotificationConfigId", name)? {
        Some(config) => Some(config),
        None => match identifier(params, "id", ("id", "id"))? {
            Some(id) if dialect == Dialect::V1 || id != task.id => Some(id),
            _ => None,
        },
    };
    let pushes = store.pushes_of_task(task.owner, &task.id).await.map_err(Fault::from)?;
    let missing = || {
        let text = format!("task {} has no such push notification configuration", task.id);
        Refusal::from(Fault::new(Kind::NotFound, text))
    };
    match action {
        PushAction::Delete => {
            let config = match (config, dialect) {
                (Some(config), _) => config,
                (None, Dialect::V1) => return Err(invalid("id", "id is missing: name the configuration")),
                (None, _) => task.id.as_str(),
            };
            store.delete_push(task.owner, &task.id, config).await.map_err(Fault::from)?;
            Ok(if dialect == Dialect::V03 { Value::Null } else { json!({}) })
        }
        PushAction::Get => {
            if config.is_none() && dialect == Dialect::V1 {
                return Err(invalid("id", "id is missing: name the configuration"));
            }
            let found = pushes.iter().find(|push| config.is_none_or(|config| push.config == config));
            let push = found.ok_or_else(missing)?;
            Ok(shown(push, &opened(&agent.state.app, push)?, dialect))
        }
        PushAction::List | PushAction::Create => {
            let mut configs = Vec::with_capacity(pushes.len());
            for push in &pushes {
                configs.push(shown(push, &opened(&agent.state.app, push)?, dialect));
            }
            Ok(match dialect {
                Dialect::V03 | Dialect::Legacy => configs.into(),
                Dialect::V1 | Dialect::V03Rest => json!({ "configs": configs, "nextPageToken": "" }),
            })
        }
    }
}

/// Opens the sealed credentials.
pub(super) fn opened(app: &App, push: &AgentPush) -> Result<Secrets, Fault> {
    let text = app.agent_pushes.sealer.open(&push.secrets, &push.id)?;
    serde_json::from_str(&text).map_err(Fault::internal)
}
