//! The forms of the account page that change keys, polls and money.

use ep_kernel::Fault;
use ep_kernel::guard::Admission;
use ep_site::deposit::{DEPOSITS, amount_rule, cents_of};
use ep_site::http::{Exchange, Form, HandlerFuture};
use ep_site::layout::uncapitalized;
use ep_site::names::ACCOUNT_FORMS;
use ep_tools::account::{CheckoutLink, CreateCheckout};
use ep_tools::keys::{CreateKey, RevokeKey};
use ep_tools::polls::CancelPoll;
use futures::FutureExt;
use serde_json::json;

use super::visitor::Visitor;
use super::{Done, sent};

/// Creates a key and shows it once.
pub(crate) fn create_key(exchange: Exchange, _: Admission) -> HandlerFuture {
    sent(exchange, ACCOUNT_FORMS.keys, async |visitor: &Visitor<'_>, form: &Form| {
        let mut input = json!({ "label": form.text("label") });
        // An empty scope is refused: without one, the key could do everything.
        if form.has("scope") {
            input["scope"] = form.text("scope").into();
        }
        Ok(Done::Key(visitor.change::<CreateKey>(input, form).await?.typed()?.output))
    })
    .boxed()
}

/// Revokes a key.
pub(crate) fn revoke_key(exchange: Exchange, _: Admission) -> HandlerFuture {
    sent(exchange, ACCOUNT_FORMS.revocation, async |visitor: &Visitor<'_>, form: &Form| {
        visitor.change::<RevokeKey>(json!({ "key_id": form.text("key_id") }), form).await?;
        Ok(Done::Elsewhere("?done=revoked#keys"))
    })
    .boxed()
}

/// Begins a payment on the processor's page. CSP `form-action` forbids a redirect to another website, so the response is a page with
/// a link.
pub(crate) fn checkout(exchange: Exchange, _: Admission) -> HandlerFuture {
    sent(exchange, ACCOUNT_FORMS.checkout, async |visitor: &Visitor<'_>, form: &Form| {
        let cents = chosen_cents(form)
            .ok_or_else(|| Fault::invalid("amount", format!("{}.", uncapitalized(&amount_rule()))))?;
        let input = json!({ "amount_cents": cents });
        let page: CheckoutLink = visitor.change::<CreateCheckout>(input, form).await?.typed()?.output;
        Ok(Done::Checkout { url: page.url, cents })
    })
    .boxed()
}

/// Returns the submitted amount, or the chosen preset if no amount was entered.
fn chosen_cents(form: &Form) -> Option<u32> {
    let entered = form.text("amount").trim();
    let text = if entered.is_empty() { form.text("preset") } else { entered };
    let cents = cents_of(&without_separators(text.trim_start_matches('$').trim()))?;
    DEPOSITS.contains(&cents).then_some(cents)
}

/// Removes commas between thousands, as in 1,000.00. Other commas stay, because many people write 2,50 for 2.50.
fn without_separators(amount: &str) -> String {
    let whole = amount.split('.').next().unwrap_or_default();
    let mut groups = whole.split(',');
    let is_grouped = groups.next().is_some_and(|first| (1..=3).contains(&first.len()))
        && groups.all(|group| group.len() == 3);
    if is_grouped { amount.replace(',', "") } else { amount.to_owned() }
}

/// Cancels a poll. Its votes stay.
pub(crate) fn cancel_poll(exchange: Exchange, _: Admission) -> HandlerFuture {
    sent(exchange, ACCOUNT_FORMS.cancellation, async |visitor: &Visitor<'_>, form: &Form| {
        visitor.change::<CancelPoll>(json!({ "poll_id": form.text("poll_id") }), form).await?;
        Ok(Done::Elsewhere("?done=cancelled#polls"))
    })
    .boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        let cents = |amount: &str, preset: &str| {
            let form = url::form_urlencoded::Serializer::new(String::new())
                .append_pair("preset", preset)
                .append_pair("amount", amount)
                .finish();
            chosen_cents(&Form::parse(form.as_bytes()))
        };
        for (amount, expected) in [
            ("", Some(1000)),
            (" $7 ", Some(700)),
            ("12.50", Some(1250)),
            ("1,000", Some(100_000)),
            ("1,000.01", None),
            ("2,50", None),
            ("1,00,0", None),
            ("0.99", None),
            ("1e2", None),
            ("-5", None),
        ] {
            assert_eq!(cents(amount, "10"), expected, "{amount}");
        }
        assert_eq!((cents("", ""), cents("", "0")), (None, None));
    }
}
