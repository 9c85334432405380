//! The forms of the account page that change keys, polls and money.

use axum::body::Body;
use axum::http::Response;
use ep_kernel::fault::Fault;
use ep_kernel::guard::Admission;
use ep_tools::account::{CheckoutLink, CreateCheckout};
use ep_tools::keys::{CreateKey, RevokeKey};
use ep_tools::polls::CancelPoll;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use super::visitor::Visitor;
use super::{Done, sent};
use crate::http::{Exchange, Form};
use crate::site::deposit::{DEPOSITS, cents_of};
use crate::site::names::ACCOUNT_FORMS;

/// Creates a key and shows it once.
pub(crate) fn create_key(
    exchange: Exchange,
    _: Admission,
) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    sent(exchange, ACCOUNT_FORMS.keys, async |visitor: &Visitor<'_>, form: &Form| {
        let mut input = json!({ "label": form.text("label") });
        if !form.text("scope").is_empty() {
            input["scope"] = form.text("scope").into();
        }
        Ok(Done::Key(visitor.change::<CreateKey>(input, form).await?.typed()?.output))
    })
    .boxed()
}

/// Revokes a key.
pub(crate) fn revoke_key(
    exchange: Exchange,
    _: Admission,
) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    sent(exchange, ACCOUNT_FORMS.revocation, async |visitor: &Visitor<'_>, form: &Form| {
        visitor.change::<RevokeKey>(json!({ "key_id": form.text("key_id") }), form).await?;
        Ok(Done::Elsewhere("?done=revoked#keys"))
    })
    .boxed()
}

/// Begins a payment on the processor's page. CSP `form-action` forbids a redirect to another website, so the response is a page with
/// a link.
pub(crate) fn checkout(
    exchange: Exchange,
    _: Admission,
) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    sent(exchange, ACCOUNT_FORMS.checkout, async |visitor: &Visitor<'_>, form: &Form| {
        let amount = form.text("amount").trim_start_matches('$');
        let cents = cents_of(amount).filter(|cents| DEPOSITS.contains(cents)).ok_or_else(|| {
            let (least, most) = (DEPOSITS.start() / 100, DEPOSITS.end() / 100);
            let text = format!("enter an amount from ${least} to ${most}, for example 5 or 12.50.");
            Fault::invalid("amount", text)
        })?;
        let input = json!({ "amount_cents": cents });
        let page: CheckoutLink = visitor.change::<CreateCheckout>(input, form).await?.typed()?.output;
        Ok(Done::Checkout(page.url))
    })
    .boxed()
}

/// Cancels a poll. Its votes stay.
pub(crate) fn cancel_poll(
    exchange: Exchange,
    _: Admission,
) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    sent(exchange, ACCOUNT_FORMS.cancellation, async |visitor: &Visitor<'_>, form: &Form| {
        visitor.change::<CancelPoll>(json!({ "poll_id": form.text("poll_id") }), form).await?;
        Ok(Done::Elsewhere("?done=cancelled#polls"))
    })
    .boxed()
}
