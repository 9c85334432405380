//! Sends notifications to where callers want them.

use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::ports::{NotDelivered, PreparedNotification, WebhookSender};
use ep_kernel::webhook_url::WebhookUrl;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, StatusCode};

use crate::HttpClients;
use crate::targets::{PublicTargets, TargetError};

/// How long a receiver may take, connecting included.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Sends notifications by HTTP, to public addresses alone. What a receiver answers is not read.
pub struct HttpWebhooks {
    targets: PublicTargets,
    client: Client,
}

impl HttpWebhooks {
    /// Sends to these targets.
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
        // What the operator allows can have changed since it was stored.
        let url = self.targets.check(url.as_str()).map_err(|error| refused(format!("the URL {error}")))?;
        let request = self.client.post(url).timeout(TIMEOUT).header(CONTENT_TYPE, *media_type);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        let answer = request.body(body.clone()).send().await.map_err(|error| refused(unreachable(&error)))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let pause = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        Err(NotDelivered {
            error: format!("the receiver answered {}", status.as_u16()),
            gone: status == StatusCode::GONE,
            retry_after: pause.map(Duration::from_secs),
        })
    }
}

fn refused(error: String) -> NotDelivered {
    NotDelivered { error, gone: false, retry_after: None }
}

/// Why no answer came, without what the network says of itself.
fn unreachable(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let is_private = causes.into_iter().any(<dyn std::error::Error>::is::<TargetError>);
    if is_private {
        return "the host has no public address".to_owned();
    }
    let what = match (error.is_timeout(), error.is_connect()) {
        (true, _) => "the receiver took too long",
        (_, true) => "no connection to the receiver could be made",
        _ => "the receiver ended the connection without an answer",
    };
    what.to_owned()
}
