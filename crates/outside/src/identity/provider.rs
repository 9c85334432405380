//! Metadata of the identity provider. It is fetched on first use, so that the service starts without the
//! provider.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ep_kernel::{Fault, Kind, Tasks};
use ep_outgoing::ResponseError;
use futures::FutureExt;
use futures::future::BoxFuture;
use openidconnect::core::{
    CoreAuthDisplay, CoreClaimName, CoreClaimType, CoreClientAuthMethod, CoreGrantType, CoreJsonWebKey,
    CoreJweContentEncryptionAlgorithm, CoreJweKeyManagementAlgorithm, CoreJwsSigningAlgorithm,
    CoreResponseMode, CoreResponseType, CoreSubjectIdentifierType,
};
use openidconnect::{
    AdditionalProviderMetadata, AsyncHttpClient, EndSessionUrl, HttpRequest, HttpResponse, IssuerUrl,
    ProviderMetadata,
};
use reqwest::Client;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

/// Timeout of a request to the provider.
const TIMEOUT: Duration = Duration::from_secs(4);
/// Maximum length of a response, in bytes.
const MAX_RESPONSE: usize = 1024 * 1024;
/// Age from which [`Provider::renew`] fetches the metadata again.
const FRESH: Duration = Duration::from_hours(1);
/// Age up to which the metadata is used if the provider does not respond.
const STALE: Duration = Duration::from_hours(24);
/// Minimum time between fetches for unknown keys, because anyone can send a token that names one.
const BETWEEN_KEY_FETCHES: Duration = Duration::from_mins(1);
/// Retry delay after a failure while no metadata is cached.
const BETWEEN_FAILURES: Duration = Duration::from_secs(2);
/// Retry delay after a failure to fetch a token's key while older metadata is cached.
const BETWEEN_KEY_FAILURES: Duration = Duration::from_secs(30);

/// Accepted signature algorithms: key pairs only, never a shared secret or none.
pub(crate) const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// Fields of the provider's metadata that Discovery does not define.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FurtherMetadata {
    /// OpenID Connect RP-Initiated Logout 1.0 §2.1.
    pub(crate) end_session_endpoint: Option<EndSessionUrl>,
    /// RFC 9207 §3.
    #[serde(default)]
    pub(crate) authorization_response_iss_parameter_supported: bool,
}

impl AdditionalProviderMetadata for FurtherMetadata {}

pub(crate) type Metadata = ProviderMetadata<
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

/// An identity provider (OpenID Connect Discovery 1.0) with cached metadata.
#[derive(Clone)]
pub struct Provider(Arc<ProviderState>);

struct ProviderState {
    issuer: IssuerUrl,
    http: Http,
    tasks: Tasks,
    known: Mutex<CachedMetadata>,
    /// Held while fetching, so that only one task fetches at a time.
    fetch_lock: Arc<tokio::sync::Mutex<()>>,
}

/// A client for OpenID Connect requests.
pub(crate) struct Http(Client);

impl<'c> AsyncHttpClient<'c> for Http {
    type Error = ResponseError;
    type Future = BoxFuture<'c, Result<HttpResponse, ResponseError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        async move {
            let mut request = reqwest::Request::try_from(request).map_err(ResponseError::unreachable)?;
            *request.timeout_mut() = Some(TIMEOUT);
            let response = self.0.execute(request).await.map_err(ResponseError::unreachable)?;
            let (status, headers) = (response.status(), response.headers().clone());
            let mut response = HttpResponse::new(ep_outgoing::read(response, MAX_RESPONSE).await?);
            *response.status_mut() = status;
            *response.headers_mut() = headers;
            Ok(response)
        }
        .boxed()
    }
}

/// An HTTP client that records the first response: the provider's original metadata.
struct Recorder<'h> {
    http: &'h Http,
    first: OnceLock<Vec<u8>>,
}

impl<'c> AsyncHttpClient<'c> for Recorder<'_> {
    type Error = ResponseError;
    type Future = BoxFuture<'c, Result<HttpResponse, ResponseError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        async move {
            let response = self.http.call(request).await?;
            self.first.get_or_init(|| response.body().clone());
            Ok(response)
        }
        .boxed()
    }
}

#[derive(Clone, Default)]
struct CachedMetadata {
    metadata: Option<(Arc<Metadata>, Instant)>,
    /// The provider's original metadata document.
    document: Arc<Value>,
    failed_at: Option<Instant>,
    /// Time of the last fetch for an unknown key.
    key_fetched_at: Option<Instant>,
}

impl CachedMetadata {
    /// Returns the metadata if it is younger than this.
    fn within(&self, longest: Duration) -> Option<Arc<Metadata>> {
        let (metadata, fetched_at) = self.metadata.as_ref()?;
        (fetched_at.elapsed() < longest).then(|| Arc::clone(metadata))
    }

    fn failed_within(&self, time: Duration) -> bool {
        self.failed_at.is_some_and(|at| at.elapsed() < time)
    }
}

/// The reason for requesting metadata.
enum MetadataRequest {
    /// No metadata is cached, or it is too old to use.
    Usable,
    /// The cached metadata is due for renewal.
    Fresh,
    /// A token names a key that is not in this metadata.
    OtherThan(Arc<Metadata>),
}

impl MetadataRequest {
    /// Returns the cached metadata if it need not be fetched.
    fn known(&self, known: &CachedMetadata) -> Option<Arc<Metadata>> {
        let other = match self {
            Self::Usable => return known.within(STALE),
            Self::Fresh => return known.within(FRESH),
            Self::OtherThan(other) => other,
        };
        let (metadata, _) = known.metadata.as_ref()?;
        let is_recent = known.key_fetched_at.is_some_and(|at| at.elapsed() < BETWEEN_KEY_FETCHES);
        (is_recent || !Arc::ptr_eq(metadata, other)).then(|| Arc::clone(metadata))
    }

    /// Returns the retry delay after a failed fetch.
    const fn between_failures(&self) -> Duration {
        match self {
            Self::Usable => BETWEEN_FAILURES,
            Self::Fresh => Duration::ZERO,
            Self::OtherThan(_) => BETWEEN_KEY_FAILURES,
        }
    }
}

impl Provider {
    /// Creates a provider with this issuer URL, exactly as the provider writes it. `http` must not follow
    /// redirects.
    pub fn new(issuer: String, http: Client, tasks: Tasks) -> Result<Self, url::ParseError> {
        let (issuer, http) = (IssuerUrl::new(issuer)?, Http(http));
        let (known, fetch_lock) = (Mutex::default(), Arc::default());
        Ok(Self(Arc::new(ProviderState { issuer, http, tasks, known, fetch_lock })))
    }

    /// Returns the issuer URL.
    pub fn issuer(&self) -> &str {
        self.0.issuer.as_str()
    }

    /// Returns its original metadata (OpenID Connect Discovery 1.0 §3). Fails with [`Kind::Unavailable`] if
    /// it cannot be fetched.
    pub async fn document(&self) -> Result<Arc<Value>, Fault> {
        self.metadata().await?;
        Ok(self.known().document)
    }

    /// Fetches metadata older than an hour again. Does nothing if none is cached.
    pub async fn renew(&self) -> Result<(), Fault> {
        if self.known().metadata.is_some() {
            self.find(MetadataRequest::Fresh).await?;
        }
        Ok(())
    }

    /// Returns the metadata and signing keys. Callers never wait for a fetch while cached metadata is usable.
    pub(crate) async fn metadata(&self) -> Result<Arc<Metadata>, Fault> {
        self.find(MetadataRequest::Usable).await
    }

    /// Returns the metadata, fetched again unless that was done recently, because a token names a key that is
    /// not in `known`.
    pub(crate) async fn metadata_with_new_keys(&self, known: &Arc<Metadata>) -> Result<Arc<Metadata>, Fault> {
        self.find(MetadataRequest::OtherThan(Arc::clone(known))).await
    }

    /// Returns cached metadata if it became available while waiting for the lock. Otherwise fetches it,
    /// unless the last fetch failed recently. The fetch runs to its end even if the caller stops waiting, so
    /// that a disconnect does not cause another fetch at once.
    async fn find(&self, request: MetadataRequest) -> Result<Arc<Metadata>, Fault> {
        if let Some(metadata) = request.known(&self.known()) {
            return Ok(metadata);
        }
        let lock = Arc::clone(&self.0.fetch_lock).lock_owned().await;
        let known = self.known();
        if let Some(metadata) = request.known(&known) {
            return Ok(metadata);
        }
        if known.failed_within(request.between_failures()) {
            return Err(unavailable());
        }
        let provider = self.clone();
        let task = self.0.tasks.spawn(async move {
            let _lock = lock;
            provider.fetch(&request).await
        });
        task.await.unwrap_or_else(|error| Err(Fault::internal(error)))
    }

    async fn fetch(&self, request: &MetadataRequest) -> Result<Arc<Metadata>, Fault> {
        let recorder = Recorder { http: &self.0.http, first: OnceLock::new() };
        match Metadata::discover_async(self.0.issuer.clone(), &recorder).await {
            Ok(metadata) => {
                let metadata = Arc::new(metadata);
                let document = recorder.first.into_inner().unwrap_or_default();
                let document = Arc::new(serde_json::from_slice(&document).unwrap_or_default());
                let now = Instant::now();
                self.change(|known| {
                    known.metadata = Some((Arc::clone(&metadata), now));
                    (known.document, known.failed_at) = (document, None);
                    if matches!(request, MetadataRequest::OtherThan(_)) {
                        known.key_fetched_at = Some(now);
                    }
                });
                Ok(metadata)
            }
            Err(error) => {
                tracing::warn!(error = %error, "failed to fetch the identity provider's metadata");
                self.change(|known| known.failed_at = Some(Instant::now()));
                Err(unavailable())
            }
        }
    }

    fn known(&self) -> CachedMetadata {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut CachedMetadata)) {
        change(&mut self.0.known.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns the client for requests to the provider.
    pub(crate) fn http(&self) -> &Http {
        &self.0.http
    }
}

/// Builds the error for a provider that does not respond.
pub(crate) fn unavailable() -> Fault {
    let text = "the identity provider is not responding; try again in a moment, sign in with a wallet, or \
                send an API key";
    Fault::new(Kind::Unavailable, text).retry_after(BETWEEN_FAILURES)
}
