//! Verification of access tokens of the identity provider: JWTs of RFC 9068, signed with one of its keys.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ep_kernel::{Clock, Fault, ProvenToken, TokenVerifier};
use ep_polling::Timestamp;
use ep_store::{Email, Identity, KeyScope};
use openidconnect::JsonWebKey;
use openidconnect::core::{CoreJsonWebKey, CoreJwsSigningAlgorithm};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::identity::provider::{ALGORITHMS, Metadata, Provider};

/// Maximum length of a token, in bytes.
const MAX_TOKEN: usize = 8 * 1024;
/// Allowed clock skew between the issuer and this service.
const SKEW: Duration = Duration::from_mins(1);
/// Maximum length of a subject, in bytes (OpenID Connect Core 1.0 §2).
const MAX_SUBJECT: usize = 255;
/// Maximum number of keys tried per signature, because a provider may repeat or omit key ids.
const MAX_KEYS: usize = 4;

/// A verifier of one issuer's access tokens for this service.
pub struct IssuerTokens {
    provider: Provider,
    /// Identifiers of this service as a resource (RFC 8707). A token's audience must contain one of them,
    /// with or without a trailing slash.
    resources: Vec<String>,
    clock: Arc<dyn Clock>,
}

/// A parsed token that is not verified yet.
struct Token<'t> {
    algorithm: CoreJwsSigningAlgorithm,
    key_id: Option<String>,
    claims: Claims,
    /// The signing input (RFC 7515 §5.1).
    signed: &'t str,
    signature: Vec<u8>,
}

/// The header (RFC 7515 §4.1).
#[derive(Deserialize)]
struct Header {
    alg: String,
    typ: Option<String>,
    kid: Option<String>,
    crit: Option<IgnoredAny>,
}

/// The claims (RFC 9068 §2.2; those without `Option` are required there).
#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Audience,
    exp: f64,
    iat: f64,
    nbf: Option<f64>,
    #[serde(rename = "client_id")]
    _client_id: String,
    #[serde(rename = "jti")]
    _jti: String,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    email: Value,
    #[serde(default)]
    email_verified: Value,
    /// The key whose possession the sender must prove (RFC 7800).
    cnf: Option<IgnoredAny>,
}

/// One or several audiences (RFC 7519 §4.1.3).
#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl IssuerTokens {
    /// Creates a verifier of this provider's tokens for these resources. Their identifiers must have no
    /// trailing slash.
    pub fn new(provider: Provider, resources: Vec<String>, clock: Arc<dyn Clock>) -> Self {
        Self { provider, resources, clock }
    }

    /// Rejects claims for another service or another time.
    fn check(&self, claims: &Claims) -> Result<(), Fault> {
        let audiences = match &claims.aud {
            Audience::One(audience) => std::slice::from_ref(audience),
            Audience::Several(audiences) => audiences,
        };
        let is_ours = |audience: &String| {
            self.resources.iter().any(|ours| ours == audience.strip_suffix('/').unwrap_or(audience))
        };
        if !audiences.iter().any(is_ours) {
            let wanted = self.resources.join(" or ");
            let text =
                format!("it is for another service; request one with the audience (resource) {wanted}");
            return Err(refused(&text));
        }
        let now = self.clock.now();
        if now >= at(claims.exp).after(SKEW) {
            return Err(refused("it has expired"));
        }
        if [Some(claims.iat), claims.nbf].into_iter().flatten().any(|from| at(from) > now.after(SKEW)) {
            return Err(refused("it is not valid yet"));
        }
        if claims.cnf.is_some() {
            return Err(refused("it is bound to a key of its client, which is not supported here"));
        }
        let subject = &claims.sub;
        if subject.is_empty() || subject.len() > MAX_SUBJECT || subject.chars().any(char::is_control) {
            return Err(refused("its subject is empty, too long, or has control characters"));
        }
        Ok(())
    }

    /// Verifies the signature. Fetches the keys again if the token names an unknown one.
    async fn check_signature(&self, token: &Token<'_>) -> Result<(), Fault> {
        let known = self.provider.metadata().await?;
        let mut is_signed = token.is_signed_by(&known);
        if is_signed.is_none() {
            is_signed = token.is_signed_by(&*self.provider.metadata_with_new_keys(&known).await?);
        }
        if is_signed == Some(true) {
            Ok(())
        } else {
            Err(refused("it is not signed with a key of the identity provider"))
        }
    }
}

#[async_trait]
impl TokenVerifier for IssuerTokens {
    async fn verify(&self, token: &SecretString) -> Result<ProvenToken, Fault> {
        let token = Token::read(token.expose_secret())?;
        // Check the claims first, so that an invalid token never causes a request for keys.
        if token.claims.iss != self.provider.issuer() {
            return Err(refused("it was not issued by this service's identity provider"));
        }
        self.check(&token.claims)?;
        self.check_signature(&token).await?;
        let Claims { iss: issuer, sub: subject, scope, email, email_verified, .. } = token.claims;
        // Some providers send the claim as a string.
        let checked = email.as_str().filter(|_| email_verified == true || email_verified == "true");
        Ok(ProvenToken {
            email: Email::of_subject(&issuer, &subject, checked),
            scope: KeyScope::of_token(&scope),
            identity: Identity::Provider { issuer, subject },
        })
    }
}

impl<'t> Token<'t> {
    /// Parses a signed JWT (RFC 7515 §7.1).
    fn read(text: &'t str) -> Result<Self, Fault> {
        if text.len() > MAX_TOKEN {
            return Err(refused(&format!("it is longer than {MAX_TOKEN} bytes")));
        }
        let neither = "it is neither an API key (ep_k_…) nor a signed JWT";
        let (signed, signature) = text.rsplit_once('.').ok_or_else(|| refused(neither))?;
        let parts = signed.split_once('.').filter(|(_, claims)| !claims.contains('.'));
        let (header, claims) = parts.ok_or_else(|| refused(neither))?;
        let Header { alg, typ, kid, crit } = decode(header).ok_or_else(|| refused(neither))?;
        let typ = typ.unwrap_or_default().to_ascii_lowercase();
        // Other types, such as ID tokens, are not access tokens (RFC 9068 §4).
        if !matches!(typ.as_str(), "at+jwt" | "application/at+jwt") {
            return Err(refused("its type is not at+jwt (RFC 9068)"));
        }
        if crit.is_some() {
            return Err(refused("its header has extensions that are not supported here"));
        }
        let algorithm = serde_json::from_value(alg.into()).ok().filter(|named| ALGORITHMS.contains(named));
        let algorithm = algorithm.ok_or_else(|| refused("its signature algorithm is not accepted"))?;
        let claims = decode(claims).ok_or_else(|| {
            refused("it lacks one of the claims iss, sub, aud, exp, iat, client_id and jti, or has one of another type (RFC 9068)")
        })?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| refused(neither))?;
        Ok(Self { algorithm, key_id: kid, claims, signed, signature })
    }

    /// Returns true if one of the provider's keys has signed the token, or `None` if that key may be a new
    /// one.
    fn is_signed_by(&self, metadata: &Metadata) -> Option<bool> {
        let is_named = |key: &&CoreJsonWebKey| match &self.key_id {
            Some(id) => key.key_id().is_some_and(|known| known.as_str() == id),
            None => true,
        };
        let mut keys = metadata.jwks().keys().iter().filter(is_named).take(MAX_KEYS).peekable();
        keys.peek()?;
        // Verification fails for a key of another type or use than the algorithm's.
        let verifies = |key: &CoreJsonWebKey| {
            key.verify_signature(&self.algorithm, self.signed.as_bytes(), &self.signature).is_ok()
        };
        let is_signed = keys.any(verifies);
        (is_signed || self.key_id.is_some()).then_some(is_signed)
    }
}

fn decode<T: DeserializeOwned>(part: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

/// Converts a time in seconds since 1970 (RFC 7519 §2).
fn at(seconds: f64) -> Timestamp {
    // The conversion saturates.
    Timestamp::from_millis((seconds * 1e3) as i64)
}

/// Builds the error of a rejected token. The reason must not quote the token.
fn refused(why: &str) -> Fault {
    Fault::wrong_credential(format!("this access token is not accepted: {why}"))
}
