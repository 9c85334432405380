//! Signs a browser out.

use askama::Template;
use axum::body::Body;
use axum::http::Response;
use axum::http::header::{HeaderMap, SET_COOKIE};
use ep_kernel::Fault;
use ep_kernel::guard::{Admission, Credential};
use ep_kernel::tool::SessionChange;
use ep_site::http::{AppState, Exchange, HandlerFuture, protect, session_cookie};
use ep_site::layout::{Article, Layout, own};
use ep_site::{HTML, MARKDOWN, Site, wants_markdown};
use futures::FutureExt;

use crate::web::public_page::{page_headers, with_headers};
use crate::web::{LOGOUT, redirect, start_page};

/// Ends the session for every copy of its cookie. Redirects the browser to the identity provider if it signed in
/// there, otherwise to the start page.
pub(crate) fn handle(exchange: Exchange, _: Admission) -> HandlerFuture {
    async move {
        let headers = exchange.request.headers();
        if !is_own_wish(headers) {
            return confirm(&exchange.state.site, headers);
        }
        let AppState { app, oidc, .. } = &exchange.state;
        let provider_token = match &exchange.head.credential {
            Credential::Session(cookie) => app.guard.sessions.end(cookie).await?,
            _ => None,
        };
        let at_provider = match (oidc, provider_token) {
            (Some(oidc), Some(token)) => oidc.sign_out_url(&token).await,
            _ => None,
        };
        let base_url = exchange.state.links().base_url();
        let mut response = redirect(&at_provider.unwrap_or_else(|| start_page(base_url)))?;
        if let Some(cleared) = session_cookie(&SessionChange::End, base_url) {
            response.headers_mut().append(SET_COOKIE, cleared);
        }
        Ok(response)
    }
    .boxed()
}

/// True if the visitor or a page of this site made the request. Otherwise, other websites could sign visitors out.
fn is_own_wish(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin" || site == "none")
}

/// Asks a visitor from another website to confirm.
fn confirm(site: &Site, headers: &HeaderMap) -> Result<Response<Body>, Fault> {
    let (title, about) = ("Sign out", "Another website asks to sign you out.");
    let url = own(&site.links.url(LOGOUT, &[]));
    let text = format!("# {title}\n\n{about}\n\n[Sign out]({url})\n");
    let (bytes, media_type) = if wants_markdown(headers) {
        (text, MARKDOWN)
    } else {
        let page = Layout { noindex: true, ..Layout::new(site, title.into(), about.into()) };
        (Article::new(page, &text).render().map_err(Fault::internal)?, HTML)
    };
    Ok(with_headers(bytes, page_headers(media_type, "no-store", "accept", protect)))
}
