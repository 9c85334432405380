//! What is known of the identity provider: fetched when it is first needed, so that the service starts without it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ep_kernel::fault::{Fault, Kind};
use ep_kernel::tasks::Tasks;
use ep_outgoing::AnswerError;
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

/// How long the provider may take for one answer.
const TIMEOUT: Duration = Duration::from_secs(4);
/// Longest answer of the provider, in bytes.
const MAX_ANSWER: usize = 1024 * 1024;
/// How long what is known of the provider is good enough for [`Provider::renew`].
const FRESH: Duration = Duration::from_hours(1);
/// How long it is used, where the provider does not answer.
const STALE: Duration = Duration::from_hours(24);
/// The least time between two fetches for keys that are not known yet: anybody can name such a key.
const BETWEEN_KEY_FETCHES: Duration = Duration::from_mins(1);
/// How long a provider that did not answer is left alone while nothing is known of it.
const BETWEEN_FAILURES: Duration = Duration::from_secs(2);
/// How long it is left alone while something is known, but not the key that a token names.
const BETWEEN_LOOKS: Duration = Duration::from_secs(30);

/// Signatures by a key pair. One by a shared secret, or none, is never accepted.
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

/// Members of the provider's metadata that Discovery does not define.
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

/// An identity provider (OpenID Connect Discovery 1.0), as far as it is known.
#[derive(Clone)]
pub struct Provider(Arc<Shared>);

struct Shared {
    issuer: IssuerUrl,
    http: Http,
    tasks: Tasks,
    known: Mutex<Known>,
    /// Held by the one who asks the provider.
    asking: Arc<tokio::sync::Mutex<()>>,
}

/// Sends requests of the protocol.
pub(crate) struct Http(Client);

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

/// The same, keeping the first answer: the metadata as the provider wrote it.
struct Recorder<'h> {
    http: &'h Http,
    first: OnceLock<Vec<u8>>,
}

impl<'c> AsyncHttpClient<'c> for Recorder<'_> {
    type Error = AnswerError;
    type Future = BoxFuture<'c, Result<HttpResponse, AnswerError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        async move {
            let answer = self.http.call(request).await?;
            self.first.get_or_init(|| answer.body().clone());
            Ok(answer)
        }
        .boxed()
    }
}

#[derive(Clone, Default)]
struct Known {
    metadata: Option<(Arc<Metadata>, Instant)>,
    /// The metadata as the provider wrote it.
    document: Arc<Value>,
    failed_at: Option<Instant>,
    /// When it was last fetched for a key that was not known.
    looked_for_key_at: Option<Instant>,
}

impl Known {
    /// What was fetched no longer ago.
    fn within(&self, longest: Duration) -> Option<Arc<Metadata>> {
        let (metadata, fetched_at) = self.metadata.as_ref()?;
        (fetched_at.elapsed() < longest).then(|| Arc::clone(metadata))
    }

    fn failed_within(&self, time: Duration) -> bool {
        self.failed_at.is_some_and(|at| at.elapsed() < time)
    }
}

/// Why the provider is asked.
enum Wanted {
    /// Nothing is known, or something that is too old.
    Usable,
    /// What is known gets old.
    Fresh,
    /// A token was signed with a key that is not among these.
    OtherThan(Arc<Metadata>),
}

impl Wanted {
    /// What is known, if the provider need not be asked.
    fn known(&self, known: &Known) -> Option<Arc<Metadata>> {
        let other = match self {
            Self::Usable => return known.within(STALE),
            Self::Fresh => return known.within(FRESH),
            Self::OtherThan(other) => other,
        };
        let (metadata, _) = known.metadata.as_ref()?;
        let looked = known.looked_for_key_at.is_some_and(|at| at.elapsed() < BETWEEN_KEY_FETCHES);
        (looked || !Arc::ptr_eq(metadata, other)).then(|| Arc::clone(metadata))
    }

    /// How long a provider that did not answer is left alone.
    const fn between_failures(&self) -> Duration {
        match self {
            Self::Usable => BETWEEN_FAILURES,
            Self::Fresh => Duration::ZERO,
            Self::OtherThan(_) => BETWEEN_LOOKS,
        }
    }
}

impl Provider {
    /// The provider with this issuer URL, exactly as it calls itself. `http` must not follow redirects.
    pub fn new(issuer: String, http: Client, tasks: Tasks) -> Result<Self, url::ParseError> {
        let (issuer, http) = (IssuerUrl::new(issuer)?, Http(http));
        let (known, asking) = (Mutex::default(), Arc::default());
        Ok(Self(Arc::new(Shared { issuer, http, tasks, known, asking })))
    }

    /// Its issuer URL.
    pub fn issuer(&self) -> &str {
        self.0.issuer.as_str()
    }

    /// Its metadata as it wrote it (OpenID Connect Discovery 1.0 §3). [`Kind::Unavailable`] while it cannot be had.
    pub async fn document(&self) -> Result<Arc<Value>, Fault> {
        self.metadata().await?;
        Ok(self.known().document)
    }

    /// Fetches anew what was fetched an hour ago, or earlier; nothing if nothing is known.
    pub async fn renew(&self) -> Result<(), Fault> {
        if self.known().metadata.is_some() {
            self.find(Wanted::Fresh).await?;
        }
        Ok(())
    }

    /// Its metadata and signing keys. Nobody waits for new ones while known ones can be used.
    pub(crate) async fn metadata(&self) -> Result<Arc<Metadata>, Fault> {
        self.find(Wanted::Usable).await
    }

    /// The same, fetched anew unless that was done a moment ago: a token was signed with a key that is not among
    /// these.
    pub(crate) async fn metadata_with_new_keys(&self, known: &Arc<Metadata>) -> Result<Arc<Metadata>, Fault> {
        self.find(Wanted::OtherThan(Arc::clone(known))).await
    }

    /// What is wanted, if it is known once it is this caller's turn; otherwise what the provider answers, unless it has
    /// failed to a moment ago. It is asked to the end, whether or not the caller waits: who goes away must not have it
    /// asked again at once.
    async fn find(&self, wanted: Wanted) -> Result<Arc<Metadata>, Fault> {
        if let Some(metadata) = wanted.known(&self.known()) {
            return Ok(metadata);
        }
        let turn = Arc::clone(&self.0.asking).lock_owned().await;
        let known = self.known();
        if let Some(metadata) = wanted.known(&known) {
            return Ok(metadata);
        }
        if known.failed_within(wanted.between_failures()) {
            return Err(unavailable());
        }
        let provider = self.clone();
        let asked = self.0.tasks.spawn(async move {
            let _turn = turn;
            provider.ask(&wanted).await
        });
        asked.await.unwrap_or_else(|error| Err(Fault::internal(error)))
    }

    async fn ask(&self, wanted: &Wanted) -> Result<Arc<Metadata>, Fault> {
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
                    if matches!(wanted, Wanted::OtherThan(_)) {
                        known.looked_for_key_at = Some(now);
                    }
                });
                Ok(metadata)
            }
            Err(error) => {
                tracing::warn!(error = %error, "the identity provider's metadata could not be fetched");
                self.change(|known| known.failed_at = Some(Instant::now()));
                Err(unavailable())
            }
        }
    }

    fn known(&self) -> Known {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut Known)) {
        change(&mut self.0.known.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Sends requests to the provider.
    pub(crate) fn http(&self) -> &Http {
        &self.0.http
    }
}

/// The provider does not answer.
pub(crate) fn unavailable() -> Fault {
    let text = "the identity provider does not answer right now; try again in a moment, sign in with a wallet, or \
                send an API key";
    Fault::new(Kind::Unavailable, text).retry_after(BETWEEN_FAILURES)
}
