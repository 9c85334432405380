//! What a form of an account's page leads to, besides that page: the payment page, and signing in again.

use askama::Template;

use crate::documents::Site;
use crate::pages::Layout;
use crate::pages::layout::{Renders, own};
use crate::surface::http::Form;
use crate::surface::web::{DASHBOARD, LOGIN_PAGE};

/// The session ended while a form was open: what was typed is kept.
#[derive(Template)]
#[template(path = "signed_out.html")]
pub struct SignedOutPage<'a> {
    page: Layout<'a>,
    login: String,
    action: String,
    fields: Vec<(String, String)>,
}

impl<'a> SignedOutPage<'a> {
    /// The page for this form, by its name.
    pub fn new(site: &'a Site, name: &str, form: &Form) -> Self {
        let fields = form.fields().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let about = "Nothing was done. Sign in, and send the form again.".to_owned();
        let title = "Your session has ended".to_owned();
        Self {
            page: Layout { noindex: true, ..Layout::new(site, title, about) },
            login: own(&site.links.url(LOGIN_PAGE, &[])),
            action: own(&site.links.url(name, &[])),
            fields: fields.collect(),
        }
    }
}

impl Renders for SignedOutPage<'_> {
    fn html(&self) -> askama::Result<String> {
        self.render()
    }

    fn markdown(&self) -> askama::Result<String> {
        Ok(format!(
            "# Your session has ended\n\nNothing was done. Sign in at <{}>, and send the form again.\n",
            self.login
        ))
    }

    fn is_for_nobody(&self) -> bool {
        true
    }
}

/// A link to where the card is entered.
#[derive(Template)]
#[template(path = "checkout.html")]
pub struct CheckoutPage<'a> {
    page: Layout<'a>,
    url: String,
    host: String,
    amount: String,
    back: String,
}

impl<'a> CheckoutPage<'a> {
    /// The page for a payment of this amount, as it was typed, at this address.
    pub fn new(site: &'a Site, url: String, amount: &str) -> Self {
        let host = url::Url::parse(&url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let about = "The card is entered at the card processor.".to_owned();
        Self {
            page: Layout { noindex: true, ..Layout::new(site, "Pay by card".to_owned(), about) },
            host: host.unwrap_or_default(),
            url,
            amount: amount.trim_start_matches('$').to_owned(),
            back: own(&site.links.url(DASHBOARD, &[])),
        }
    }
}

impl Renders for CheckoutPage<'_> {
    fn html(&self) -> askama::Result<String> {
        self.render()
    }

    fn markdown(&self) -> askama::Result<String> {
        Ok(format!("# Pay by card\n\n${} is paid at <{}>\n", self.amount, self.url))
    }
}
