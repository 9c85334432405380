//! The `WWW-Authenticate` header for missing or insufficient credentials.

use axum::http::header::HeaderValue;
use ep_kernel::guard::Credential;
use ep_kernel::{Fault, Kind};

use super::AppState;
use crate::Challenge;

/// Returns the header if the fault concerns the credential (RFC 6750 §3; with an issuer also RFC 9728 §5.1).
pub(super) fn header(
    challenge: Challenge,
    state: &AppState,
    sent: &Credential,
    fault: &Fault,
) -> Option<HeaderValue> {
    // The error code applies only to an invalid token, not to a valid token that this route does not accept.
    let is_wrong = matches!(sent, Credential::Bearer(_)) && fault.rejects_credential();
    let (error, scope) = match (fault.kind(), fault.missing_scope()) {
        (Kind::Unauthenticated, _) => (is_wrong.then_some("invalid_token"), challenge.scope),
        (_, Some(missing)) => (Some("insufficient_scope"), missing),
        _ => return None,
    };
    let mut parts = vec![r#"Bearer realm="ensemble-poll""#.to_owned()];
    parts.extend(error.map(|error| format!(r#"error="{error}""#)));
    if state.provider.is_some() {
        let metadata = state.links().url(challenge.resource.document, &[]);
        parts.push(format!(r#"scope="{}""#, scope.token_scopes().join(" ")));
        parts.push(format!(r#"resource_metadata="{metadata}""#));
    }
    HeaderValue::try_from(parts.join(", ")).ok()
}
