//! How a caller whose credential does not suffice is told what does: `WWW-Authenticate`.

use axum::http::header::HeaderValue;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::guard::Credential;
use ep_kernel::key_terms::KeyScope;

use super::AppState;
use crate::documents::ProtectedResource;

/// What a route wants of its callers.
#[derive(Debug, Clone, Copy)]
pub struct Challenge {
    /// What access tokens are asked for.
    pub resource: ProtectedResource,
    /// The scope that they need.
    pub scope: KeyScope,
}

impl Default for Challenge {
    fn default() -> Self {
        Self { resource: ProtectedResource::Api, scope: KeyScope::Read }
    }
}

impl Challenge {
    /// The header of a refusal, if it is one of the credential (RFC 6750 §3; RFC 9728 §5.1, where an issuer is
    /// configured).
    pub(super) fn header(self, state: &AppState, sent: &Credential, fault: &Fault) -> Option<HeaderValue> {
        // The error code is only for a token that is wrong, not for one that is not accepted here.
        let is_wrong = matches!(sent, Credential::Bearer(_)) && fault.rejects_credential();
        let (error, scope) = match (fault.kind(), fault.missing_scope()) {
            (Kind::Unauthenticated, _) => (is_wrong.then_some("invalid_token"), self.scope),
            (_, Some(missing)) => (Some("insufficient_scope"), missing),
            _ => return None,
        };
        let mut parts = vec![r#"Bearer realm="ensemble-poll""#.to_owned()];
        parts.extend(error.map(|error| format!(r#"error="{error}""#)));
        if state.provider.is_some() {
            let metadata = state.links().url(self.resource.document(), &[]);
            parts.push(format!(r#"scope="{}""#, scope.token_scopes().join(" ")));
            parts.push(format!(r#"resource_metadata="{metadata}""#));
        }
        HeaderValue::try_from(parts.join(", ")).ok()
    }
}
