//! Activation of the extension a2a-x402.

use axum::http::header::{HeaderName, HeaderValue};
use axum::http::{HeaderMap, Response};
use ep_outside::payments::Usdc;
use ep_site::Site;
use ep_site::http::AppState;

/// URI of the extension by which a task is paid for (a2a-x402, version 0.2).
pub const PAYMENT_EXTENSION: &str = "https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2";

/// Headers that activate extensions, in 1.0 and in 0.3.
const HEADERS: [HeaderName; 2] =
    [HeaderName::from_static("a2a-extensions"), HeaderName::from_static("x-a2a-extensions")];

/// Payment support of a request.
#[derive(Clone)]
pub(super) struct PaymentSupport {
    /// The deposits that payments become; `None` without settings.
    usdc: Option<Usdc>,
    /// True if the client has activated the extension and payments are offered.
    active: bool,
}

impl PaymentSupport {
    /// Returns the support for a request with these headers.
    pub(super) fn new(usdc: Option<Usdc>, state: &AppState, headers: &HeaderMap) -> Self {
        let activated = HEADERS.iter().any(|name| names_extension(headers, name));
        let active = usdc.is_some() && activated && offers_extension(&state.site);
        Self { usdc, active }
    }

    /// Returns the deposits that payments become; `None` without settings.
    pub(super) fn usdc(&self) -> Option<&Usdc> {
        self.usdc.as_ref()
    }

    /// True if the client has activated the extension and payments are offered.
    pub(super) const fn is_active(&self) -> bool {
        self.active
    }

    /// Returns active or inactive support. Without settings it stays inactive.
    pub(super) fn active(self, active: bool) -> Self {
        Self { active: active && self.usdc.is_some(), ..self }
    }
}

/// True if a payment rail pays for tasks by this extension.
fn offers_extension(site: &Site) -> bool {
    let mut extensions = site.settings.offer.rails().filter_map(|rail| rail.agent_extension.as_ref());
    extensions.any(|extension| extension.uri == PAYMENT_EXTENSION)
}

fn names_extension(headers: &HeaderMap, name: &HeaderName) -> bool {
    let lists = headers.get_all(name).into_iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|uri| uri.trim() == PAYMENT_EXTENSION)
}

/// Confirms the extension in a response, under the names from the request.
pub(super) fn confirm<B>(request: &HeaderMap, response: &mut Response<B>) {
    for name in HEADERS.iter().filter(|name| names_extension(request, name)) {
        response.headers_mut().insert(name, HeaderValue::from_static(PAYMENT_EXTENSION));
    }
}
