//! Delivery of notifications to webhooks.

use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::{NotDelivered, PreparedNotification, WebhookSender};
use ep_store::WebhookUrl;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, StatusCode};

use crate::HttpClients;
use crate::targets::{PublicTargets, TargetError};

/// The time limit for a receiver, connecting included.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A sender of notifications by HTTP, to public addresses only. It does not read response bodies.
pub struct HttpWebhooks {
    targets: PublicTargets,
    client: Client,
}

impl HttpWebhooks {
    /// Creates a sender to these targets.
    pub fn new(targets: PublicTargets, clients: &HttpClients) -> reqwest::Result<Self> {
        let client = targets.client(clients)?;
        Ok(Self { targets, client })
    }
}

#[async_trait]
impl WebhookSender for HttpWebhooks {
    fn check(&self, url: &str) -> Result<WebhookUrl, String> {
        self.targets.check(url).map(WebhookUrl::checked).map_err(|error| error.to_string())
    }

    async fn send(&self, notification: &PreparedNotification) -> Result<(), NotDelivered> {
        let PreparedNotification { url, media_type, headers, body } = notification;
        // The operator's allowed networks may have changed since the URL was stored.
        let url = self.targets.check(url.as_str()).map_err(|error| rejected(format!("the URL {error}")))?;
        let request = self.client.post(url).timeout(TIMEOUT).header(CONTENT_TYPE, *media_type);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        let answer =
            request.body(body.clone()).send().await.map_err(|error| rejected(unreachable(&error)))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let pause = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        Err(NotDelivered {
            error: format!("the receiver responded with {}", status.as_u16()),
            gone: status == StatusCode::GONE,
            retry_after: pause.map(Duration::from_secs),
        })
    }
}

fn rejected(error: String) -> NotDelivered {
    NotDelivered { error, gone: false, retry_after: None }
}

/// Describes a failed delivery, without the text of the network error.
fn unreachable(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let is_private = causes.into_iter().any(<dyn std::error::Error>::is::<TargetError>);
    if is_private {
        return "the host has no public address".to_owned();
    }
    let what = match (error.is_timeout(), error.is_connect()) {
        (true, _) => "the receiver timed out",
        (_, true) => "failed to connect to the receiver",
        _ => "the receiver closed the connection without a response",
    };
    what.to_owned()
}
