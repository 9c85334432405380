//! Calls operations in this process or on a server.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use ep_kernel::app::App;
use ep_kernel::dispatch::dispatch;
use ep_kernel::guard::{Admission, Credential, Request};
use ep_kernel::output::Body;
use ep_kernel::{Call, CallOutput, Entry, Fault, Progress, ProgressSink};
use ep_labels::operations::{OnceReply, Operations};
use ep_site::config::Config;
use ep_store::RequestId;
use serde_json::Value;
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use super::remote::Remote;
use crate::app::assemble;
use crate::app::assemble::{Assembled, Environment};

/// Time that a command waits for background tasks before it exits.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// Target of operation calls.
pub(super) enum Target {
    /// In this process, as the operator.
    InProcess(Box<Assembled>),
    /// At a server.
    Server(Remote),
}

impl Target {
    /// Selects the server if a URL is given, else this process.
    pub(super) async fn new(config: &Config, server: Option<&str>) -> anyhow::Result<Self> {
        match server {
            Some(url) => Ok(Self::Server(Remote::new(url)?)),
            None => {
                Ok(Self::InProcess(Box::new(assemble::service(config, Environment::without_server()).await?)))
            }
        }
    }

    /// Calls an operation and sends its progress. A text body is returned as a JSON string.
    pub(super) async fn call_with_progress(
        &self,
        entry: &'static Entry,
        input: Value,
        steps: Option<Sender<Progress>>,
    ) -> Result<Value, Fault> {
        match self {
            Self::InProcess(service) => {
                let progress = steps.map(|steps| ProgressSink::new(move |step| drop(steps.try_send(step))));
                let call = Call { progress, ..Call::new(local(&service.app)) };
                let CallOutput { value, presentation } =
                    dispatch(&service.app, entry, call, Ok(input)).await.result?;
                Ok(match presentation.body {
                    Body::Text(text) => Value::String(text),
                    Body::Json => value,
                })
            }
            Self::Server(remote) => remote.call_with_progress(entry, input, steps).await,
        }
    }

    /// Returns the in-process service, if used.
    pub(super) const fn app(&self) -> Option<&Arc<App>> {
        match self {
            Self::InProcess(service) => Some(&service.app),
            Self::Server(_) => None,
        }
    }

    /// Returns the server, if used.
    pub(super) const fn server(&self) -> Option<&Remote> {
        match self {
            Self::InProcess(_) => None,
            Self::Server(remote) => Some(remote),
        }
    }

    /// Stops the in-process service, waiting briefly for background tasks.
    pub(super) async fn close(self) {
        if let Self::InProcess(service) = self {
            service.stop(Instant::now() + GRACE).await;
        }
    }
}

impl Operations for Target {
    async fn call(&self, operation: &'static Entry, input: Value) -> Result<Value, Fault> {
        self.call_with_progress(operation, input, None).await
    }

    async fn call_once(
        &self,
        operation: &'static Entry,
        input: Value,
        reference: &str,
    ) -> Result<OnceReply, Fault> {
        match self {
            Self::InProcess(service) => {
                let call = Call { request_ref: Some(reference.to_owned()), ..Call::new(local(&service.app)) };
                let output = dispatch(&service.app, operation, call, Ok(input)).await.result?;
                Ok(OnceReply { value: output.value, is_replayed: output.presentation.replayed })
            }
            Self::Server(remote) => remote.call_once(operation, input, reference).await,
        }
    }
}

/// Returns a request of the operator.
fn local(app: &App) -> Request {
    Request {
        surface: "cli",
        request_id: RequestId::from_random(app.ports.entropy.bytes()),
        credential: Credential::Admitted(Admission::LOCAL),
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
    }
}
