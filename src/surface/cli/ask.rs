//! One way to ask, wherever the service runs: in this process, or at a URL.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use ep_kernel::app::App;
use ep_kernel::caller::{Caller, Credential, RequestId};
use ep_kernel::dispatch::{Call, dispatch};
use ep_kernel::event::{Progress, ProgressSink};
use ep_kernel::fault::Fault;
use ep_kernel::tool::{Access, Entry};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use super::remote::Remote;
use crate::config::Config;
use crate::wiring::{self, Running};

/// Where operations are carried out.
pub(super) enum Place {
    /// In this process, as the operator.
    Here(Running),
    /// At a server.
    There(Remote),
}

impl Place {
    /// The server where one is named, else this process.
    pub(super) async fn new(config: &Config, server: Option<&str>) -> anyhow::Result<Self> {
        match server {
            Some(url) => Ok(Self::There(Remote::new(url)?)),
            None => Ok(Self::Here(wiring::assemble(config).await?)),
        }
    }

    /// Carries out an operation, sending its steps as they happen.
    pub(super) async fn ask(
        &self,
        entry: &'static Entry,
        input: Value,
        steps: Option<UnboundedSender<Progress>>,
    ) -> Result<Value, Fault> {
        match self {
            Self::Here(running) => here(&running.app, entry, input, steps).await,
            Self::There(remote) => remote.ask(entry, input, steps).await,
        }
    }

    /// The service, where it is this process.
    pub(super) fn app(&self) -> Option<&Arc<App>> {
        match self {
            Self::Here(running) => Some(&running.app),
            Self::There(_) => None,
        }
    }

    /// Ends it; what still runs gets a moment.
    pub(super) async fn close(self) {
        if let Self::Here(running) = self {
            running.stop(std::time::Duration::from_secs(5)).await;
        }
    }
}

async fn here(
    app: &Arc<App>,
    entry: &'static Entry,
    input: Value,
    steps: Option<UnboundedSender<Progress>>,
) -> Result<Value, Fault> {
    let call = Call {
        app: Arc::clone(app),
        surface: "cli",
        request_id: RequestId::from_random(app.entropy.bytes()),
        credential: Credential::Proven(Caller::Local),
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        door: Access::PUBLIC,
        idempotency_key: None,
        wait_limit: None,
        progress: steps.map(|steps| ProgressSink::new(move |step| drop(steps.send(step)))),
        told: None,
    };
    dispatch(entry, call, Ok(input)).await.result.map(|answered| answered.value)
}
