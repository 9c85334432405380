//! Signing in at an identity provider (OpenID Connect Core 1.0): authorization code with PKCE (RFC 7636), state,
//! nonce, and the issuer of the response (RFC 9207).

use std::sync::Arc;
use std::time::Duration;

use ep_kernel::{Clock, Entropy, Fault, Kind, Sealer};
use ep_polling::Timestamp;
use ep_store::{Email, Identity, Vault};
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreIdToken, CoreIdTokenClaims,
    CoreIdTokenVerifier, CoreTokenResponse,
};
use openidconnect::{
    AuthType, AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken,
    EndpointMaybeSet, EndpointNotSet, EndpointSet, LogoutRequest, Nonce, PkceCodeChallenge, PkceCodeVerifier,
    PostLogoutRedirectUrl, RedirectUrl, RequestTokenError, Scope, SignatureVerificationError, TokenResponse,
};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::identity::provider::{ALGORITHMS, Metadata, Provider, unavailable};

/// Maximum time that a visitor may spend at the provider.
pub const FLOW_LIFETIME: Duration = Duration::from_mins(10);
/// The cookie's name, which its encryption is bound to.
const FLOW_COOKIE: &str = "ep_oidc";
/// Maximum length of an ID token stored for signing out, in bytes.
const MAX_STORED_TOKEN: usize = 16 * 1024;

/// The service as a client of its provider.
#[derive(Debug, Clone)]
pub struct OidcConfig {
    /// The client id.
    pub client_id: String,
    /// The client secret.
    pub client_secret: SecretString,
    /// The URL to which the provider redirects visitors after signing in.
    pub redirect_url: String,
    /// The URL to which the provider redirects visitors after signing out.
    pub signed_out_url: String,
}

/// The dependencies of sign-in.
pub struct OidcPorts {
    /// The store of used states, which makes each sign-in usable once.
    pub used_nonces: Vault,
    /// Encrypts the cookie.
    pub sealer: Sealer,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of randomness.
    pub entropy: Arc<dyn Entropy>,
}

/// A sign-in client of one identity provider.
pub struct Oidc {
    ports: OidcPorts,
    provider: Provider,
    client_id: ClientId,
    client_secret: ClientSecret,
    redirect_url: RedirectUrl,
    signed_out_url: PostLogoutRedirectUrl,
}

/// A sign-in that has begun.
#[derive(Debug)]
pub struct BegunSignIn {
    /// The URL to redirect the browser to.
    pub url: String,
    /// The encrypted cookie that the browser must send back.
    pub cookie: SecretString,
}

/// The query parameters of the redirect back from the provider.
#[derive(Default, Deserialize)]
pub struct Callback {
    /// The authorization code.
    pub code: Option<String>,
    /// The state of the request.
    pub state: Option<String>,
    /// The issuer of the response (RFC 9207).
    pub iss: Option<String>,
    /// The error code of the provider (RFC 6749 §4.1.2.1).
    pub error: Option<String>,
}

/// A completed sign-in.
pub struct ProviderSignIn {
    /// The identity of the visitor.
    pub identity: Identity,
    /// The email address verified by the provider, or a placeholder that receives no mail.
    pub email: Email,
    /// The ID token, used as a hint when signing out at the provider.
    pub id_token: Option<String>,
    /// The path that the visitor requested.
    pub return_to: String,
}

/// The state of a sign-in, stored in the browser's cookie.
#[derive(Serialize, Deserialize)]
struct Flow {
    state: String,
    nonce: String,
    verifier: String,
    return_to: String,
    expires_at: i64,
}

type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

impl Oidc {
    /// Creates a client of this provider. Fails if a URL cannot be parsed.
    pub fn new(provider: Provider, config: OidcConfig, ports: OidcPorts) -> Result<Self, url::ParseError> {
        Ok(Self {
            provider,
            client_id: ClientId::new(config.client_id),
            client_secret: ClientSecret::new(config.client_secret.expose_secret().to_owned()),
            redirect_url: RedirectUrl::new(config.redirect_url)?,
            signed_out_url: PostLogoutRedirectUrl::new(config.signed_out_url)?,
            ports,
        })
    }

    /// Begins a sign-in. Afterwards the visitor returns to `return_to`, a path of this service.
    pub async fn begin(&self, return_to: String) -> Result<BegunSignIn, Fault> {
        let metadata = self.provider.metadata().await?;
        let random = || hex::encode(self.ports.entropy.bytes::<32>());
        let expires_at = self.ports.clock.now().after(FLOW_LIFETIME).millis();
        let flow = Flow { state: random(), nonce: random(), verifier: random(), return_to, expires_at };
        let verifier = PkceCodeVerifier::new(flow.verifier.clone());
        let (state, nonce) = (CsrfToken::new(flow.state.clone()), Nonce::new(flow.nonce.clone()));
        let client = self.client(&metadata);
        let request = client
            .authorize_url(CoreAuthenticationFlow::AuthorizationCode, || state, || nonce)
            .add_scope(Scope::new("email".to_owned()))
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier));
        let (url, _, _) = request.url();
        let text = serde_json::to_string(&flow).map_err(Fault::internal)?;
        let cookie = self.ports.sealer.seal(&text, FLOW_COOKIE, self.ports.entropy.bytes())?;
        Ok(BegunSignIn { url: url.into(), cookie: cookie.into() })
    }

    /// Completes the sign-in that began with this cookie. Returns [`Kind::Unauthenticated`] if a check fails.
    pub async fn finish(&self, cookie: &SecretString, callback: Callback) -> Result<ProviderSignIn, Fault> {
        let flow = self.flow(cookie, &callback).await?;
        let metadata = self.provider.metadata().await?;
        let named = callback.iss.as_deref();
        let must_be_named = metadata.additional_metadata().authorization_response_iss_parameter_supported;
        if named.map_or(must_be_named, |iss| iss != metadata.issuer().as_str()) {
            return Err(refused("the response came from another identity provider"));
        }
        if let Some(error) = callback.error {
            let code: String =
                error.chars().filter(|c| c.is_ascii_lowercase() || *c == '_').take(40).collect();
            return Err(refused(&format!("the identity provider refused ({code})")));
        }
        let code = callback.code.ok_or_else(|| refused("the identity provider sent no code"))?;
        let tokens = self.exchange(&metadata, code, flow.verifier).await?;
        let id_token = tokens.id_token().ok_or_else(|| refused("the identity provider sent no ID token"))?;
        let claims = self.claims(&metadata, id_token, &Nonce::new(flow.nonce)).await?;
        // OpenID Connect Core 1.0 §3.1.3.7, step 5: the audience may list several clients, but only one is
        // the authorized party.
        if claims.authorized_party().is_some_and(|party| *party != self.client_id) {
            return Err(refused("the identity provider's ID token was issued to another client"));
        }
        let (issuer, subject) = (claims.issuer().to_string(), claims.subject().to_string());
        // Ignore an unverified address: it may belong to another person.
        let checked = claims.email().filter(|_| claims.email_verified() == Some(true));
        Ok(ProviderSignIn {
            email: Email::of_subject(&issuer, &subject, checked.map(|email| email.as_str())),
            identity: Identity::Provider { issuer, subject },
            id_token: Some(id_token.to_string()).filter(|token| token.len() <= MAX_STORED_TOKEN),
            return_to: flow.return_to,
        })
    }

    /// Returns the URL for signing out at the provider too (RP-Initiated Logout 1.0). Returns `None` if the
    /// provider has no such endpoint or does not respond.
    pub async fn sign_out_url(&self, id_token: &SecretString) -> Option<String> {
        let metadata = self.provider.metadata().await.ok()?;
        let endpoint = metadata.additional_metadata().end_session_endpoint.clone()?;
        let id_token: CoreIdToken = id_token.expose_secret().parse().ok()?;
        let request = LogoutRequest::from(endpoint)
            .set_id_token_hint(&id_token)
            .set_client_id(self.client_id.clone())
            .set_post_logout_redirect_uri(self.signed_out_url.clone());
        Some(request.http_get_url().into())
    }

    /// Returns the state from the cookie if it matches the callback, has not expired, and was not used
    /// before.
    async fn flow(&self, cookie: &SecretString, callback: &Callback) -> Result<Flow, Fault> {
        let foreign = "this browser did not start this sign-in, or it took longer than ten minutes";
        let text =
            self.ports.sealer.open(cookie.expose_secret(), FLOW_COOKIE).map_err(|_| refused(foreign))?;
        let flow: Flow = serde_json::from_str(&text).map_err(Fault::internal)?;
        let expires_at = Timestamp::from_millis(flow.expires_at);
        let state = callback.state.as_deref().unwrap_or("");
        let is_same = bool::from(flow.state.as_bytes().ct_eq(state.as_bytes()));
        if !is_same || self.ports.clock.now() >= expires_at {
            return Err(refused(foreign));
        }
        if !self.ports.used_nonces.use_nonce(&format!("oidc:{}", flow.state), expires_at).await? {
            return Err(refused("this sign-in has been used already"));
        }
        Ok(flow)
    }

    async fn exchange(
        &self,
        metadata: &Metadata,
        code: String,
        verifier: String,
    ) -> Result<CoreTokenResponse, Fault> {
        let client = self.client(metadata);
        let request = client.exchange_code(AuthorizationCode::new(code)).map_err(Fault::internal)?;
        let request = request.set_pkce_verifier(PkceCodeVerifier::new(verifier));
        let exchanged = request.request_async(self.provider.http()).await;
        exchanged.map_err(|error| match error {
            RequestTokenError::ServerResponse(_) => refused("the identity provider did not accept the code"),
            // Do not log the error itself, because it may quote the provider's response.
            other => {
                let cause = match &other {
                    RequestTokenError::Request(cause) => cause.to_string(),
                    _ => "the response could not be parsed".to_owned(),
                };
                tracing::warn!(error = cause, "failed to exchange an authorization code");
                unavailable()
            }
        })
    }

    /// Returns the claims of an ID token after verifying its signature, issuer, audience, time and nonce.
    async fn claims(
        &self,
        metadata: &Arc<Metadata>,
        id_token: &CoreIdToken,
        nonce: &Nonce,
    ) -> Result<CoreIdTokenClaims, Fault> {
        let no_key =
            ClaimsVerificationError::SignatureVerification(SignatureVerificationError::NoMatchingKey);
        let client = self.client(metadata);
        let mut checked = id_token.claims(&self.verifier(&client), nonce).cloned();
        if checked.as_ref().is_err_and(|error| *error == no_key) {
            // The provider may have rotated its keys.
            let client = self.client(&*self.provider.metadata_with_new_keys(metadata).await?);
            checked = id_token.claims(&self.verifier(&client), nonce).cloned();
        }
        checked.map_err(|error| {
            tracing::warn!(error = %error, "rejected an ID token");
            refused("the identity provider's ID token is not valid")
        })
    }

    fn verifier<'c>(&self, client: &'c Client) -> CoreIdTokenVerifier<'c> {
        let clock = Arc::clone(&self.ports.clock);
        client.id_token_verifier().set_allowed_algs(ALGORITHMS).set_time_fn(move || {
            chrono::DateTime::from_timestamp_millis(clock.now().millis()).unwrap_or_default()
        })
    }

    fn client(&self, metadata: &Metadata) -> Client {
        let methods = metadata.token_endpoint_auth_methods_supported();
        let offers = |method| methods.is_none_or(|methods| methods.contains(&method));
        let by_body = !offers(CoreClientAuthMethod::ClientSecretBasic)
            && offers(CoreClientAuthMethod::ClientSecretPost);
        CoreClient::from_provider_metadata(
            metadata.clone(),
            self.client_id.clone(),
            Some(self.client_secret.clone()),
        )
        .set_redirect_uri(self.redirect_url.clone())
        .set_auth_type(if by_body { AuthType::RequestBody } else { AuthType::BasicAuth })
    }
}

fn refused(why: &str) -> Fault {
    Fault::new(Kind::Unauthenticated, format!("{why}; start again at the sign-in page"))
}
