//! Sentences on the account page: notices at its top, and outcomes of its forms.

use ep_polling::MicroUsd;
use ep_store::CheckoutRecord;

use super::page_data::AccountView;

/// A sentence at the top of the page.
pub(crate) struct Notice {
    pub(super) text: String,
    /// URL that shows whether something has changed since.
    pub(super) again: Option<String>,
}

impl From<&str> for Notice {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), again: None }
    }
}

/// Returns the notices at the top of the page. `payment` is the account's payment that the browser returns from: an
/// address alone proves no payment. `page` is the URL of the page.
pub(super) fn notices(view: &AccountView<'_>, payment: Option<&CheckoutRecord>, page: &str) -> Vec<Notice> {
    let funded = match (view.funded, payment) {
        ("no", _) => Some("You left the payment page. Nothing was charged.".into()),
        (_, Some(payment)) => Some(arrival(payment, page)),
        _ => None,
    };
    let notice = (view.notice == "no_starter_credit")
        .then(|| Notice::from("There is no starter credit left for today. Everything else works."));
    [funded, notice].into_iter().flatten().collect()
}

fn arrival(payment: &CheckoutRecord, page: &str) -> Notice {
    let amount = MicroUsd::new(payment.amount_micro_usd);
    match payment.status.as_str() {
        "paid" => Notice { text: format!("Thank you. {amount} is in your balance."), again: None },
        "open" => {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.append_pair("funded", payment.session_id.as_deref().unwrap_or_default());
            Notice {
                text: format!(
                    "Your payment of {amount} has not arrived yet. It usually takes a few seconds."
                ),
                again: Some(format!("{page}?{}", query.finish())),
            }
        }
        _ => Notice {
            text: format!("Your payment of {amount} was not made. Nothing was charged."),
            again: None,
        },
    }
}

/// Returns the outcome of a form and the section that shows it.
pub(super) fn outcome(done: &str) -> Option<(&'static str, &'static str)> {
    match done {
        "revoked" => Some(("keys", "The key is revoked. Programs that send it are refused.")),
        "cancelled" => Some(("polls", "The poll has ended with the votes so far.")),
        "deleted" => Some((
            "polls",
            "The poll is deleted. Its page is gone. Copies outside this service can stay visible for up to a day.",
        )),
        _ => None,
    }
}
