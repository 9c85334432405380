//! What is known of the provider: fetched when it is first needed, so that the service starts without it.

use std::sync::Arc;
use std::time::Duration;

use ep_kernel::fault::{Fault, Kind};
use ep_outgoing::AnswerError;
use futures::FutureExt;
use futures::future::BoxFuture;
use openidconnect::core::{
    CoreAuthDisplay, CoreClaimName, CoreClaimType, CoreClientAuthMethod, CoreGrantType, CoreJsonWebKey,
    CoreJweContentEncryptionAlgorithm, CoreJweKeyManagementAlgorithm, CoreResponseMode, CoreResponseType,
    CoreSubjectIdentifierType,
};
use openidconnect::{
    AdditionalProviderMetadata, AsyncHttpClient, EndSessionUrl, HttpRequest, HttpResponse, IssuerUrl,
    ProviderMetadata,
};
use reqwest::Client;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long the provider may take for one answer.
const TIMEOUT: Duration = Duration::from_secs(4);
/// Longest answer of the provider, in bytes.
const MAX_ANSWER: usize = 1024 * 1024;
/// How long what is known of the provider is used.
const FRESH: Duration = Duration::from_hours(1);
/// The least time between two fetches for a key that is not known yet.
const BETWEEN_KEY_FETCHES: Duration = Duration::from_mins(1);
/// How long a provider that did not answer is left alone.
const BETWEEN_FAILURES: Duration = Duration::from_secs(2);

/// Members of the provider's metadata that Discovery does not define.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FurtherMetadata {
    /// OpenID Connect RP-Initiated Logout 1.0 §2.1.
    pub(super) end_session_endpoint: Option<EndSessionUrl>,
    /// RFC 9207 §3.
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl AdditionalProviderMetadata for FurtherMetadata {}

pub(super) type Metadata = ProviderMetadata<
    FurtherMetadata,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;

/// The provider, as far as it is known.
pub(super) struct Provider {
    issuer: IssuerUrl,
    http: Http,
    known: Mutex<Known>,
}

/// Sends requests of the protocol.
pub(super) struct Http(Client);

impl<'c> AsyncHttpClient<'c> for Http {
    type Error = AnswerError;
    type Future = BoxFuture<'c, Result<HttpResponse, AnswerError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        async move {
            let mut request = reqwest::Request::try_from(request).map_err(AnswerError::unreachable)?;
            *request.timeout_mut() = Some(TIMEOUT);
            let response = self.0.execute(request).await.map_err(AnswerError::unreachable)?;
            let (status, headers) = (response.status(), response.headers().clone());
            let mut answer = HttpResponse::new(ep_outgoing::read(response, MAX_ANSWER).await?);
            *answer.status_mut() = status;
            *answer.headers_mut() = headers;
            Ok(answer)
        }
        .boxed()
    }
}

#[derive(Default)]
struct Known {
    metadata: Option<(Arc<Metadata>, Instant)>,
    failed_at: Option<Instant>,
}

impl Provider {
    pub(super) fn new(issuer: IssuerUrl, client: Client) -> Self {
        Self { issuer, http: Http(client), known: Mutex::default() }
    }

    /// The provider's metadata and signing keys.
    pub(super) async fn metadata(&self) -> Result<Arc<Metadata>, Fault> {
        self.metadata_since(FRESH).await
    }

    /// The same, fetched anew unless that was done a moment ago: a token was signed with a key not known yet.
    pub(super) async fn metadata_with_new_keys(&self) -> Result<Arc<Metadata>, Fault> {
        self.metadata_since(BETWEEN_KEY_FETCHES).await
    }

    async fn metadata_since(&self, longest: Duration) -> Result<Arc<Metadata>, Fault> {
        let mut known = self.known.lock().await;
        if let Some((metadata, fetched_at)) = &known.metadata
            && fetched_at.elapsed() < longest
        {
            return Ok(Arc::clone(metadata));
        }
        let left_alone = known.failed_at.is_some_and(|at| at.elapsed() < BETWEEN_FAILURES);
        let fetched = if left_alone { None } else { self.fetch().await };
        match (fetched, &known.metadata) {
            (Some(metadata), _) => {
                let metadata = Arc::new(metadata);
                *known = Known { metadata: Some((Arc::clone(&metadata), Instant::now())), failed_at: None };
                Ok(metadata)
            }
            (None, stale) => {
                let stale = stale.as_ref().map(|(metadata, _)| Arc::clone(metadata));
                if !left_alone {
                    known.failed_at = Some(Instant::now());
                }
                // What was known an hour ago is better than nothing.
                stale.ok_or_else(unavailable)
            }
        }
    }

    async fn fetch(&self) -> Option<Metadata> {
        match Metadata::discover_async(self.issuer.clone(), &self.http).await {
            Ok(metadata) => Some(metadata),
            Err(error) => {
                tracing::warn!(error = %error, "the identity provider's metadata could not be fetched");
                None
            }
        }
    }

    /// Sends requests to the provider.
    pub(super) const fn http(&self) -> &Http {
        &self.http
    }
}

/// The provider does not answer.
pub(super) fn unavailable() -> Fault {
    let text =
        "the identity provider does not answer right now; try again in a moment, or sign in with a wallet";
    Fault::new(Kind::Unavailable, text).retry_after(BETWEEN_FAILURES)
}
